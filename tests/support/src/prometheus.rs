//! A Prometheus of one test's own: on a free port, in a folder of its own, ended with the test.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use reqwest::Client;
use serde_json::Value;
use tempfile::TempDir;

use crate::{port::free_port, wait::until};

/// Another program may take a free port between the moment it is found and the moment Prometheus binds it.
const ATTEMPTS: usize = 5;
/// How long it may take to come up. A bound, not a measurement.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it scrapes and evaluates rules.
pub const EVERY: Duration = Duration::from_secs(1);

/// A running `prometheus` that scrapes and evaluates rules every second. It is killed when this is dropped.
#[derive(Debug)]
pub struct Prometheus {
    address: SocketAddr,
    client: Client,
    child: Child,
    /// Its configuration, data and log.
    folder: TempDir,
}

/// A series with its points.
#[derive(Debug, Clone)]
pub struct Series {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Seconds of Unix time, and the value; what is not a number is left out.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// One of its labels; empty when it has none.
    #[must_use]
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

impl Prometheus {
    /// Starts one that scrapes `targets` and evaluates the rules of a file, and waits until it is ready.
    ///
    /// # Panics
    /// If `prometheus` is not on the path or does not start.
    pub async fn start(targets: &[SocketAddr], rules: &Path) -> Self {
        Self::start_with(targets, rules, "").await
    }

    /// The same for targets that speak TLS with a certificate for `localhost` of the authority in the file `ca`.
    ///
    /// # Panics
    /// If `prometheus` is not on the path or does not start.
    pub async fn start_over_tls(targets: &[SocketAddr], rules: &Path, ca: &Path) -> Self {
        let tls = format!("scheme: https, tls_config: {{ca_file: \"{}\", server_name: localhost}}, ", ca.display());
        Self::start_with(targets, rules, &tls).await
    }

    /// The same for targets that ask for an access key, which is in a file.
    ///
    /// # Panics
    /// If `prometheus` is not on the path or does not start.
    pub async fn start_with_key(targets: &[SocketAddr], rules: &Path, key: &Path) -> Self {
        let authorization = format!("authorization: {{credentials_file: \"{}\"}}, ", key.display());
        Self::start_with(targets, rules, &authorization).await
    }

    async fn start_with(targets: &[SocketAddr], rules: &Path, scheme: &str) -> Self {
        for _ in 0..ATTEMPTS {
            if let Some(prometheus) = Self::try_start(targets, rules, scheme).await {
                return prometheus;
            }
        }
        panic!("prometheus did not start in {ATTEMPTS} attempts");
    }

    async fn try_start(targets: &[SocketAddr], rules: &Path, scheme: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder for Prometheus");
        let targets: Vec<String> = targets.iter().map(|target| format!("\"{target}\"")).collect();
        let rules = rules.canonicalize().expect("the rules are there");
        let every = EVERY.as_secs();
        let configuration = format!(
            "global: {{scrape_interval: {every}s, scrape_timeout: {every}s, evaluation_interval: {every}s}}\n\
             rule_files: [\"{}\"]\n\
             scrape_configs: [{{job_name: jobbers, {scheme}static_configs: [{{targets: [{}]}}]}}]\n",
            rules.display(),
            targets.join(", ")
        );
        let path = folder.path().join("prometheus.yml");
        std::fs::write(&path, configuration).expect("the folder is ours");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let log = std::fs::File::create(folder.path().join("log")).expect("the folder is ours");
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", path.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .args(["--log.level=warn", "--query.lookback-delta=5m"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("prometheus: {error}; install it (apt-get install prometheus)"));
        let client = jobbers_api::client::http_client().timeout(PATIENCE).build().expect("a client");
        let mut started = Self { address, client, child, folder };
        until(PATIENCE, "Prometheus is ready or has ended", async || started.state().await).await.then_some(started)
    }

    /// Whether it is ready (true) or has ended (false); nothing while it starts.
    async fn state(&mut self) -> Option<bool> {
        if let Some(status) = self.child.try_wait().expect("the child is ours") {
            let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(log.contains("address already in use"), "prometheus ended with {status}: {log}");
            return Some(false);
        }
        let ready = self.client.get(format!("http://{}/-/ready", self.address)).send().await;
        ready.is_ok_and(|answer| answer.status().is_success()).then_some(true)
    }

    /// Asks its HTTP API; answers `data`.
    ///
    /// # Panics
    /// When it refuses: then the expression is wrong.
    pub async fn api(&self, path: &str, query: &[(&str, &str)]) -> Value {
        let request = self.client.get(format!("http://{}/api/v1/{path}", self.address)).query(query);
        let answer = request.send().await.expect("an answer").bytes().await.expect("a body");
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        assert_eq!(answer["status"], "success", "{path} {query:?}: {}", answer["error"]);
        answer["data"].clone()
    }

    /// What `expr` is now. A number without labels is one series.
    pub async fn query(&self, expr: &str) -> Vec<Series> {
        let data = self.api("query", &[("query", expr)]).await;
        let of = |series: &Value| read(series, std::slice::from_ref(&series["value"]));
        data["result"].as_array().map(|all| all.iter().map(of).collect()).unwrap_or_default()
    }

    /// The one number `expr` is now; nothing when it is no series.
    pub async fn number(&self, expr: &str) -> Option<f64> {
        self.query(expr).await.first()?.points.first().map(|(_, value)| *value)
    }

    /// What `expr` was, second by second, from `start` until now.
    pub async fn range(&self, expr: &str, start: SystemTime) -> Vec<Series> {
        let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64().to_string();
        let (start, end) = (seconds(start), seconds(SystemTime::now()));
        let query = [("query", expr), ("start", &start), ("end", &end), ("step", "1")];
        let data = self.api("query_range", &query).await;
        let of = |series: &Value| read(series, series["values"].as_array().map_or(&[], Vec::as_slice));
        data["result"].as_array().map(|all| all.iter().map(of).collect()).unwrap_or_default()
    }
}

fn read(series: &Value, points: &[Value]) -> Series {
    let labels = series["metric"].as_object().into_iter().flatten();
    let point = |point: &Value| {
        let value: f64 = point[1].as_str()?.parse().ok()?;
        value.is_finite().then_some((point[0].as_f64()?, value))
    };
    Series {
        labels: labels.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())).collect(),
        points: points.iter().filter_map(point).collect(),
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone after this.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
