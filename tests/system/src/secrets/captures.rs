//! What a listener on the network sees of a whole installation: two managers, a worker over HTTP, and Redis.

use std::{fs, net::SocketAddr, time::Duration};

use jobbers_test_support::{
    authority::Authority,
    collector::Collector,
    port::free_port,
    program::Program,
    recording_proxy::RecordingProxy,
    redis_server::{RedisOptions, RedisServer},
    wait::until,
};
use jobbers_worker::{
    Client, Payload, Raw,
    client::{Claim, LeaseClient, Outcome, Return},
    stock,
};

use crate::{secrets::keys::create, stack::Stack, watching::telemetry::end};

const SOON: Duration = Duration::from_secs(30);
const PARAMETER: &str = "card-4242424242424242";
const RESULT: &str = "receipt-8f14e45fceea167a";
const ERROR: &str = "declined-5a105e8b9d40e132";

/// The traffic of an installation, by listener, and what it printed and sent to a collector of telemetry.
struct Capture {
    traffic: Vec<(&'static str, Vec<u8>)>,
    printed: String,
    telemetry: String,
    keys: Vec<String>,
}

/// A collector behind a proxy that records: spans, metrics and log lines.
pub(super) async fn collector() -> (Collector, RecordingProxy) {
    let (collector, proxy) = (Collector::http().await, RecordingProxy::start().await);
    proxy.lead_to(collector.endpoint().trim_start_matches("http://").trim_end_matches('/').parse().unwrap());
    (collector, proxy)
}

impl Capture {
    /// Which secrets are in the traffic of a listener.
    fn found(&self, listener: &str) -> Vec<&str> {
        let (_, bytes) = self.traffic.iter().find(|(name, _)| *name == listener).unwrap();
        assert!(bytes.len() > 2_000, "{listener}: {} bytes", bytes.len());
        let text = String::from_utf8_lossy(bytes);
        let payloads = [PARAMETER, RESULT, ERROR];
        payloads.into_iter().chain(self.keys.iter().map(String::as_str)).filter(|it| text.contains(it)).collect()
    }
}

/// Redis, which speaks TLS on its port or does not.
fn redis(authority: Option<&Authority>) -> (RedisServer, SocketAddr) {
    let Some(authority) = authority else {
        let server = RedisServer::start(RedisOptions::default());
        let address = server.address();
        return (server, address);
    };
    let port = free_port();
    let file = |name: &str| authority.file(name).display().to_string();
    let arguments = [
        ["--tls-port", &port.to_string()],
        ["--tls-cert-file", &file("server.pem")],
        ["--tls-key-file", &file("server.key")],
        ["--tls-ca-cert-file", &file("ca.pem")],
        ["--tls-auth-clients", "no"],
    ];
    let arguments = arguments.concat().into_iter().map(str::to_owned).collect();
    let server = RedisServer::start(RedisOptions { arguments, ..RedisOptions::default() });
    (server, SocketAddr::from(([127, 0, 0, 1], port)))
}

/// Lists the dead letter at each manager: one keeps it, and the other passes the request on. Returns what was printed.
async fn list_dead_letters(stack: &Stack, urls: &[String]) -> String {
    let mut printed = String::new();
    for url in urls {
        printed += &until(SOON, "the dead letter is listed", async || {
            let line = ["dlq", "list", "--manager", url, "--key-file", "ops.key"];
            let mut command = Program::start("jobbers", stack.folder(), &line, &[]);
            command.exit().await;
            Some(command.said()).filter(|said| said.contains(ERROR))
        })
        .await;
    }
    printed
}

/// Runs an installation with each listener behind a proxy that records.
async fn capture(authority: Option<&Authority>) -> Capture {
    let url = |scheme: &str, proxy: &RecordingProxy| match authority {
        Some(authority) => {
            format!("{scheme}s://localhost:{}?ca={}", proxy.port(), authority.file("ca.pem").display())
        }
        None => format!("{scheme}://localhost:{}", proxy.port()),
    };
    let (server, address) = tokio::task::block_in_place(|| redis(authority));
    let of_redis = RecordingProxy::start().await;
    of_redis.lead_to(address);
    let stack = Stack::at(&url("redis", &of_redis));
    let keys = vec![create(&stack, "ops", "admin").await, create(&stack, "lessor", "worker").await];
    fs::write(stack.folder().join("ops.key"), &keys[0]).unwrap();

    let (_collector, of_telemetry) = collector().await;
    let endpoint = format!("http://localhost:{}", of_telemetry.port());
    let (mut proxies, mut managers) = (Vec::new(), Vec::new());
    for name in ["first", "second"] {
        let proxy = RecordingProxy::start().await;
        let advertised = url("http", &proxy);
        let mut arguments = ["--engine-url", stack.url(), "--listen", "127.0.0.1:0", "--advertise-url", &advertised]
            .map(str::to_owned)
            .to_vec();
        if let Some(authority) = authority {
            let file = |name: &str| authority.file(name).display().to_string();
            arguments.extend(["--tls-cert".to_owned(), file("server.pem"), "--tls-key".to_owned(), file("server.key")]);
        }
        let archive = format!("{name}-letters.db");
        arguments.extend(["--log".to_owned(), "trace".to_owned()]);
        let variables = [("DLQ_PATH", archive.as_str()), ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str())];
        let program = Program::start("manager", stack.folder(), &arguments, &variables);
        let line = program.line("listening address=").await;
        let (_, address) = line.rsplit_once("address=").unwrap();
        proxy.lead_to(address.split_whitespace().next().unwrap().parse().unwrap());
        proxies.push(proxy);
        managers.push(program);
    }
    let urls: Vec<String> = proxies.iter().map(|proxy| url("http", proxy)).collect();

    let client = Client::http_with_key(&urls[0], &keys[0]).unwrap();
    let lessor = LeaseClient::new(&urls[1], "lessor-1".parse().unwrap()).unwrap().with_key(&keys[1]).unwrap();
    let task = |id: &str| stock::echo.with(Raw(Payload::encode(PARAMETER).unwrap())).id(id).submit(&client);
    let (good, bad) = (task("good").await.unwrap(), task("bad").await.unwrap());
    let claim = Claim { wait: SOON, limit: 2, ..Claim::of(["default".parse().unwrap()]) };
    let leased = lessor.claim(&claim).await.unwrap().tasks;
    let returns = leased.iter().map(|task| {
        let is_good = task.id == good.id;
        let failed = Outcome::Failed { message: ERROR.to_owned(), fatal: true };
        let completed = Outcome::Completed(Some(Payload::encode(RESULT).unwrap()));
        Return::new(task, if is_good { completed } else { failed })
    });
    lessor.finish(&returns.collect::<Vec<_>>()).await.unwrap();
    assert_eq!(client.task::<String>(good.id).wait(SOON).await.unwrap(), RESULT);
    assert!(bad.result(SOON).await.unwrap_err().to_string().contains(ERROR));
    let mut printed = list_dead_letters(&stack, &urls).await;
    // They send the rest of their telemetry.
    for manager in &mut managers {
        end(manager).await;
        printed += &manager.said();
    }
    let telemetry = String::from_utf8_lossy(&of_telemetry.recorded()).into_owned();
    let traffic =
        vec![("redis", of_redis.recorded()), ("first", proxies[0].recorded()), ("second", proxies[1].recorded())];
    drop((managers, server));
    Capture { traffic, printed, telemetry, keys }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_tls_on_the_network_sees_no_key_and_no_payload() {
    let authority = Authority::new();
    let secret = capture(Some(&authority)).await;
    for listener in ["redis", "first", "second"] {
        assert_eq!(secret.found(listener), [""; 0], "{listener}");
    }
    let clear = capture(None).await;
    let keys: Vec<&str> = clear.keys.iter().map(String::as_str).collect();
    let payloads = [PARAMETER, RESULT, ERROR];
    assert_eq!(clear.found("redis"), payloads, "the store has digests of keys");
    assert_eq!(clear.found("first"), [&payloads[..], &keys[..1]].concat());
    let of_second = clear.found("second");
    assert!([&payloads[..], &keys[1..]].concat().iter().all(|it| of_second.contains(it)), "{of_second:?}");
    for capture in [&secret, &clear] {
        assert!(capture.printed.contains("listening address="), "{}", capture.printed);
        for words in ["send default", "jobbers.tasks.submitted"] {
            assert!(capture.telemetry.contains(words), "{words} is not among the telemetry");
        }
        for text in [&capture.printed, &capture.telemetry] {
            assert!(capture.keys.iter().all(|key| !text.contains(key.as_str())), "{text}");
        }
        assert!(!capture.telemetry.contains(PARAMETER) && !capture.telemetry.contains(RESULT), "{}", capture.telemetry);
    }
}
