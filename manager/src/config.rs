//! The manager's configuration: flags over environment over file over `manager.default.toml`.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Parser;
use jobbers_boards::{masstasker::HIGHEST_MAX_MESSAGE_BYTES, taskstore::Unit};
use jobbers_common::{
    limits::{HIGHEST_MAX_PAYLOAD_BYTES, MAX_BOARD_GROUP_BYTES},
    task::tombstone::TombstonePolicy,
    values::duration,
};
use jobbers_engines::OpenOptions;
use jobbers_process::{
    config::{ConfigError, SiteKeys, layered, layered_on_site},
    engine_url::{EngineArgs, WaitArgs, without_password},
    host,
    listen::{self, Endpoint},
    logging::LogArgs,
    server::networks::Networks,
};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};

pub(crate) use self::listening::{Door, Ground};
pub use self::{
    bridges::Bridges,
    grpc_address::GrpcAddress,
    layer::SetArgs,
    listening::{ClientArgs, Exposed, TlsArgs},
};

pub mod bridges;
mod grpc_address;
mod layer;
mod listening;
mod trace_url;

/// Most workflows that are over and may be kept: half of what a store holds.
const MOST_WORKFLOWS_KEPT: u64 = 5_000;

const AFTER_HELP: &str = "\
Exit codes:
  0   stopped in good order
  2   the command line makes no sense
  64  the configuration makes no sense, the address to listen on was refused, or the store is of another version
  69  the store or the address to listen on can't be had

SIGTERM or SIGINT stops it in good order: it serves on for --shutdown-delay while /health/ready answers 503, and then
requests under way are answered first. A second one stops it at once.
The API is described at /docs and /openapi.json.";

/// Accepts tasks over HTTP, routes them to queues, and shows their status
#[derive(Debug, Clone, Parser, Serialize)]
#[command(name = "manager", version, after_help = AFTER_HELP)]
pub struct Args {
    /// Where to listen [default: 127.0.0.1:8000]
    #[arg(long, env = "MANAGER_LISTEN", value_name = "ADDRESS", value_parser = listen::parse)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// The store.
    #[command(flatten)]
    #[serde(flatten)]
    pub engine: EngineArgs,
    /// Which clients are served.
    #[command(flatten)]
    #[serde(flatten)]
    pub clients: ClientArgs,
    /// Whether and how TLS is spoken.
    #[command(flatten)]
    #[serde(flatten)]
    pub tls: TlsArgs,
    /// A configuration file; --print-config shows its keys
    #[arg(long, env = "MANAGER_CONFIG", value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Print the merged configuration of all layers, and exit
    #[arg(long)]
    #[serde(skip)]
    pub print_config: bool,
    /// Settings for dead letters.
    #[command(flatten)]
    #[serde(flatten)]
    pub dead_letters: DeadLetterArgs,
    /// Under which names it is reached.
    #[command(flatten)]
    #[serde(flatten)]
    pub names: NameArgs,
    /// Where TaskStore's clients are answered.
    #[command(flatten)]
    #[serde(flatten)]
    pub taskstore: TaskStoreArgs,
    /// Where MassTasker's clients are answered.
    #[command(flatten)]
    #[serde(flatten)]
    pub masstasker: MassTaskerArgs,
    /// All other settings.
    #[command(flatten)]
    #[serde(skip)]
    pub settings: SetArgs,
    /// How it begins.
    #[command(flatten)]
    #[serde(flatten)]
    pub wait: WaitArgs,
    /// How it stops.
    #[command(flatten)]
    #[serde(flatten)]
    pub stop: StopArgs,
    /// What is logged.
    #[command(flatten)]
    #[serde(skip)]
    pub log: LogArgs,
}

/// How a manager stops.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
pub struct StopArgs {
    /// After SIGTERM, report not to be ready for this long, and serve on, before the listener closes [default: 0s]
    #[arg(long, env = "MANAGER_SHUTDOWN_DELAY", value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    pub shutdown_delay: Option<Duration>,
}

/// Where TaskStore's clients are answered, beside `/taskstore` and `/taskstore-ns`.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
pub struct TaskStoreArgs {
    /// Also answer TaskStore's clients at the root of this address, or at unix:/PATH[?mode=0660]
    #[arg(long, env = "MANAGER_TASKSTORE_LISTEN", value_name = "ADDRESS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taskstore_listen: Option<Endpoint>,
    /// In which unit that address counts time: ns as the Go client does, ms as TaskStore's document says [default: ns]
    #[arg(long, env = "MANAGER_TASKSTORE_UNIT", value_name = "UNIT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taskstore_unit: Option<Unit>,
}

/// Where MassTasker's clients are answered.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
pub struct MassTaskerArgs {
    /// Answer MassTasker's clients over gRPC at this address, at :PORT, unix:/PATH[?mode=0660] or none [without an address: 127.0.0.1:50053]
    #[arg(
        long,
        env = "MASSTASKER_LISTEN_RPC",
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:50053"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masstasker_listen: Option<GrpcAddress>,
    /// Speak TLS there too, as on the other ports; the original's clients know none
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub masstasker_tls: bool,
    /// Create one empty task in this group, once per store
    #[arg(long, env = "MASSTASKER_BOOTSTRAP_TASK_GROUP", value_name = "GROUP")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_task_group: Option<String>,
}

/// Settings for dead letters.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
pub struct DeadLetterArgs {
    /// The file that dead letters are kept in, or `none` [default: beside the data]
    #[arg(long, env = "DLQ_PATH", value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dlq_path: Option<String>,
}

/// Under which names a manager is reached.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
pub struct NameArgs {
    /// Where other managers ask for dead letters, with ?ca=FILE for an authority of your own [default: the address listened on]
    #[arg(long, env = "MANAGER_ADVERTISE_URL", value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advertise_url: Option<String>,
    /// A host name accepted by a manager on loopback besides localhost, such as a proxy's; * for any
    #[arg(long = "allowed-host", env = "MANAGER_ALLOWED_HOSTS", value_name = "NAME", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_hosts: Vec<String>,
}

/// The manager's configuration; `manager.default.toml` says what each key means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where to listen.
    #[serde(deserialize_with = "listen::read")]
    pub listen: SocketAddr,
    /// Whether clients of other machines are served without another ground.
    pub insecure: bool,
    /// The networks of the only clients that are served, which are proxies and other managers; empty to serve all.
    pub behind_proxy: Networks,
    /// The header in which a proxy names the person whom it signed in; empty for none.
    pub trusted_header: String,
    /// The networks of the proxies whose header counts.
    pub trusted_from: Networks,
    /// The file of the certificate; empty for listeners that speak no TLS.
    pub tls_cert: String,
    /// The file of its private key.
    pub tls_key: String,
    /// The file of the authorities of clients; empty to serve clients without a certificate too.
    pub tls_client_ca: String,
    /// Whether the name of a client's certificate is that of its key, if it sends none.
    pub tls_client_keys: bool,
    /// The store's address.
    pub engine_url: String,
    /// How long it waits at its start for a store that can't be reached.
    #[serde(with = "duration::text")]
    pub wait_for_store: Duration,
    /// Most bytes of one task's parameters.
    pub max_payload_bytes: usize,
    /// Most bytes of one request's body.
    pub max_body_bytes: usize,
    /// Most bytes of memory held for all clients: requests, answers, and callers that wait.
    pub max_client_memory: usize,
    /// Most concurrent connections.
    pub max_connections: usize,
    /// How long a connection may be idle.
    #[serde(with = "duration::text")]
    pub idle_timeout: Duration,
    /// How long a request's headers may take.
    #[serde(with = "duration::text")]
    pub header_timeout: Duration,
    /// How long a request's body may take.
    #[serde(with = "duration::text")]
    pub body_timeout: Duration,
    /// How long a client may take to read an answer.
    #[serde(with = "duration::text")]
    pub write_timeout: Duration,
    /// How long it serves on after SIGTERM while it reports not to be ready.
    #[serde(with = "duration::text")]
    pub shutdown_delay: Duration,
    /// How long requests under way may take when the manager stops.
    #[serde(with = "duration::text")]
    pub drain_timeout: Duration,
    /// How often the live configuration is read again.
    #[serde(with = "duration::text")]
    pub config_refresh: Duration,
    /// How often the chores are done.
    #[serde(with = "duration::text")]
    pub tick: Duration,
    /// For how long after its end a pruned task is remembered, if its client chose its id.
    #[serde(with = "duration::text")]
    pub tombstone_age: Duration,
    /// How many such tasks are remembered at most.
    pub tombstone_count: u64,
    /// How long a workflow is kept after its end.
    #[serde(with = "duration::text")]
    pub workflow_age: Duration,
    /// How many workflows that are over are kept at most.
    pub workflow_count: u64,
    /// The file of dead letters; empty is beside the data, `none` keeps none.
    pub dlq_path: String,
    /// How large that file may grow, in bytes; 0 does not limit it.
    pub dlq_max_bytes: u64,
    /// How long dead letters are kept; 0 keeps them until they are deleted.
    #[serde(with = "duration::text")]
    pub dlq_retention: Duration,
    /// How many dead letters are kept at most; 0 does not limit them. Handled ones are deleted first.
    pub dlq_max_letters: u64,
    /// How long changes stay in the audit log; 0 keeps them for ever.
    #[serde(with = "duration::text")]
    pub audit_retention: Duration,
    /// How many changes the audit log has at most; 0 does not limit them.
    pub audit_max_entries: u64,
    /// The file of the key that is created at the start unless the store has keys; empty for none.
    pub bootstrap_key_file: String,
    /// Whether each request is written to the log, a line each.
    pub access_log: bool,
    /// The address of a trace in a viewer, with `{trace_id}` in the place of its id; empty for none.
    pub trace_url: String,
    /// Where other managers ask for dead letters; empty is the address listened on.
    pub advertise_url: String,
    /// Host names accepted by a manager on loopback besides localhost; `*` for any.
    pub allowed_hosts: Vec<String>,
    /// Where TaskStore's clients are answered at the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taskstore_listen: Option<Endpoint>,
    /// In which unit that address counts time.
    pub taskstore_unit: Unit,
    /// Where MassTasker's clients are answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masstasker_listen: Option<GrpcAddress>,
    /// Whether TLS is spoken there too.
    pub masstasker_tls: bool,
    /// The group that gets one empty task, once per store; empty for none.
    pub bootstrap_task_group: String,
    /// Most bytes of one message of MassTasker's clients.
    pub masstasker_max_message_bytes: usize,
    /// Groups of boards that native tasks serve.
    #[serde(default, skip_serializing_if = "Bridges::is_empty")]
    pub bridges: Bridges,
    /// The address file of the running system that named the store, if one did.
    #[serde(skip)]
    pub address_file: Option<PathBuf>,
}

/// Chores with a promise of one second must run at least this often.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The file of dead letters where no other is named and the data lies elsewhere.
const DEAD_LETTER_FILE: &str = "jobbers.dead-letters.db";

impl Config {
    /// Merges the layers.
    ///
    /// # Errors
    /// [`ConfigError`], with the key that is wrong.
    pub fn load(args: &Args) -> Result<Self, ConfigError> {
        let args = Args { engine: args.engine.resolved(), ..args.clone() };
        let given = layer::given(&args, &args.settings);
        let (config, address_file) =
            layered_on_site::<Self>(layer::DEFAULTS, SiteKeys::Store, args.config.as_deref(), &given)?;
        Self { address_file, ..config }.checked()
    }

    /// Zero would mean "never", "nothing" or "without a pause", which is never intended.
    fn checked(self) -> Result<Self, ConfigError> {
        let positive = [
            ("max_payload_bytes", self.max_payload_bytes > 0),
            ("max_body_bytes", self.max_body_bytes > 0),
            ("max_connections", self.max_connections > 0),
            ("idle_timeout", !self.idle_timeout.is_zero()),
            ("header_timeout", !self.header_timeout.is_zero()),
            ("body_timeout", !self.body_timeout.is_zero()),
            ("write_timeout", !self.write_timeout.is_zero()),
            ("config_refresh", !self.config_refresh.is_zero()),
            ("tick", !self.tick.is_zero()),
            ("masstasker_max_message_bytes", self.masstasker_max_message_bytes > 0),
        ];
        if let Some((key, _)) = positive.iter().find(|(_, fine)| !fine) {
            return Err(ConfigError::Invalid(format!("{key} must be above 0")));
        }
        if self.max_client_memory / 4 < self.max_body_bytes {
            let rule = "max_client_memory must be at least four times max_body_bytes";
            return Err(ConfigError::Invalid(rule.to_owned()));
        }
        if self.max_payload_bytes > HIGHEST_MAX_PAYLOAD_BYTES {
            return Err(ConfigError::Invalid(format!(
                "max_payload_bytes is at most {HIGHEST_MAX_PAYLOAD_BYTES}: store large data elsewhere and pass its address"
            )));
        }
        if self.masstasker_max_message_bytes > HIGHEST_MAX_MESSAGE_BYTES {
            let rule = format!("masstasker_max_message_bytes is at most {HIGHEST_MAX_MESSAGE_BYTES}");
            return Err(ConfigError::Invalid(rule));
        }
        if self.bootstrap_task_group.len() > MAX_BOARD_GROUP_BYTES {
            let rule = format!("bootstrap_task_group has at most {MAX_BOARD_GROUP_BYTES} bytes");
            return Err(ConfigError::Invalid(rule));
        }
        if self.workflow_count > MOST_WORKFLOWS_KEPT {
            let rule = format!("workflow_count is at most {MOST_WORKFLOWS_KEPT}");
            return Err(ConfigError::Invalid(rule));
        }
        if !cfg!(feature = "boards") && self.masstasker_listen.is_some() {
            let rule = "masstasker_listen: this program is built without the feature `boards`, which answers MassTasker's clients";
            return Err(ConfigError::Invalid(rule.to_owned()));
        }
        self.check_listening().map_err(ConfigError::Invalid)?;
        trace_url::check(&self.trace_url).map_err(ConfigError::Invalid)?;
        bridges::check(&self.bridges).map_err(ConfigError::Invalid)?;
        let pauses = [("config_refresh", self.config_refresh), ("tick", self.tick)];
        if let Some((key, pause)) = pauses.iter().find(|(_, pause)| *pause > LONGEST_PAUSE) {
            let pause = duration::format(*pause);
            return Err(ConfigError::Invalid(format!(
                "{key} is at most 1s, not {pause}: changes, due tasks and lost leases are seen within a second"
            )));
        }
        Ok(self)
    }

    /// How to open the store.
    #[must_use]
    pub fn open_options(&self) -> OpenOptions {
        let tombstones = TombstonePolicy { age: self.tombstone_age, count: self.tombstone_count };
        OpenOptions { tombstones, wait: self.wait_for_store, ..OpenOptions::default() }
    }

    /// The file of the first access key, if one is named.
    #[must_use]
    pub fn bootstrap_key_file(&self) -> Option<&Path> {
        Some(Path::new(&self.bootstrap_key_file)).filter(|path| !path.as_os_str().is_empty())
    }

    /// The file of dead letters; `None` if this manager keeps none.
    #[must_use]
    pub fn dead_letter_file(&self) -> Option<PathBuf> {
        match self.dlq_path.as_str() {
            "none" => None,
            "" => beside(&self.engine_url),
            path => Some(PathBuf::from(path)),
        }
    }

    /// The URL at which others reach this manager when it listens on `address`; for an address that means every
    /// interface, with the machine's name.
    #[must_use]
    pub fn url(&self, address: SocketAddr) -> String {
        let scheme = if self.tls_cert.is_empty() { "http" } else { "https" };
        match host::name() {
            _ if !self.advertise_url.is_empty() => self.advertise_url.clone(),
            Some(name) if address.ip().is_unspecified() => format!("{scheme}://{name}:{}", address.port()),
            _ => format!("{scheme}://{address}"),
        }
    }

    /// The URL at which a command on this machine reaches this manager when it listens on `address`. With TLS it is
    /// [`Config::url`], for the certificate has that name.
    #[must_use]
    pub fn url_here(&self, address: SocketAddr) -> String {
        if !self.tls_cert.is_empty() {
            return self.url(address);
        }
        let ip = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        format!("http://{}", SocketAddr::new(ip, address.port()))
    }

    /// The configuration as TOML that [`Config::load`] would read, without the password of the store's address.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let shown = Self { engine_url: without_password(&self.engine_url), ..self.clone() };
        // Plain keys and values always are TOML; if not, the debug form still shows the settings.
        toml::to_string(&shown).unwrap_or_else(|_| format!("# {shown:?}\n"))
    }
}

impl Default for Config {
    fn default() -> Self {
        #[expect(clippy::expect_used, reason = "a file of ours, which a test reads")]
        layered(layer::DEFAULTS, None, &std::collections::BTreeMap::<String, String>::new())
            .expect("the defaults are valid")
    }
}

/// The default file of dead letters next to a store's data; `None` for a store in memory.
fn beside(engine_url: &str) -> Option<PathBuf> {
    let Some(rest) = engine_url.strip_prefix("sqlite:") else { return Some(PathBuf::from(DEAD_LETTER_FILE)) };
    let path = rest.split('?').next().unwrap_or_default();
    let path = path.strip_prefix("//").unwrap_or(path);
    if path == ":memory:" {
        return None;
    }
    // As the store reads it.
    let data = PathBuf::from(&*percent_decode_str(path).decode_utf8_lossy());
    let stem = data.file_stem().map_or_else(|| "jobbers".to_owned(), |stem| stem.to_string_lossy().into_owned());
    Some(data.with_file_name(format!("{stem}.dead-letters.db")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(line: &[&str]) -> Result<Config, ConfigError> {
        Config::load(&Args::try_parse_from(["manager"].iter().chain(line)).unwrap())
    }

    #[test]
    fn the_shipped_file_is_a_whole_configuration() {
        let config = Config::default();
        assert_eq!(config.listen, "127.0.0.1:8000".parse().unwrap());
        assert_eq!(config.max_payload_bytes, jobbers_common::limits::DEFAULT_MAX_PAYLOAD_BYTES);
        assert_eq!(config.engine_url, jobbers_engines::DEFAULT_URL);
    }

    #[test]
    fn flags_win_and_what_is_printed_reads_back() {
        let config = load(&["--listen", "[::1]:9", "--engine-url", "sqlite://x.db", "--insecure"]).unwrap();
        assert_eq!((config.listen, config.insecure), ("[::1]:9".parse().unwrap(), true));
        assert_eq!(toml::from_str::<Config>(&config.to_toml()).unwrap(), config);
    }

    #[test]
    fn the_default_variable_of_masstasker_stops_no_manager() {
        let config = load(&["--masstasker-listen", ":50053"]).unwrap();
        assert_eq!(config.masstasker_endpoint(), Some("127.0.0.1:50053".parse().unwrap()));
        assert!(config.check_addresses().is_ok());
        let open = load(&["--masstasker-listen", ":50053", "--insecure"]).unwrap();
        assert_eq!(open.masstasker_endpoint(), Some("0.0.0.0:50053".parse().unwrap()));
        assert_eq!(toml::from_str::<Config>(&open.to_toml()).unwrap(), open);
        assert_eq!(load(&["--masstasker-listen", "none"]).unwrap().masstasker_endpoint(), None);
        assert!(load(&["--masstasker-listen", "0.0.0.0:1"]).unwrap().check_addresses().is_err());
    }

    #[test]
    fn dead_letters_lie_beside_the_data_unless_told_otherwise() {
        let of = |line: &[&str]| load(line).unwrap().dead_letter_file();
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(of(&[]), path("./jobbers.dead-letters.db"));
        assert_eq!(
            of(&["--engine-url", "sqlite:///var/lib/a.db?synchronous=full"]),
            path("/var/lib/a.dead-letters.db")
        );
        assert_eq!(of(&["--engine-url", "sqlite:///srv/a%20b%3F.db"]), path("/srv/a b?.dead-letters.db"));
        assert_eq!(of(&["--engine-url", "redis://host"]), path("jobbers.dead-letters.db"));
        assert_eq!(of(&["--engine-url", "sqlite::memory:"]), None);
        assert_eq!(of(&["--dlq-path", "x.db"]), path("x.db"));
        assert_eq!(of(&["--dlq-path", "none"]), None);
    }

    #[test]
    fn a_bound_on_parameters_that_no_call_could_carry_is_refused() {
        let with = |max_payload_bytes| Config { max_payload_bytes, ..Config::default() }.checked();
        assert!(with(1 << 20).is_ok());
        assert!(with((1 << 20) + 1).unwrap_err().to_string().contains("at most 1048576"));
    }

    #[test]
    fn a_bridge_of_a_file_is_read_checked_and_printed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("manager.toml");
        let load = |text: &str| {
            std::fs::write(&path, text).unwrap();
            load(&["--config", path.to_str().unwrap()])
        };
        let bridge = "[bridges.resize]\nboard = \"masstasker\"\ngroup = \"resize\"\n";
        let config = load(&format!("{bridge}reply_group = \"resized\"\nlease = \"30s\"\n")).unwrap();
        assert_eq!(config.bridges["resize"].lease, Duration::from_secs(30));
        assert_eq!(toml::from_str::<Config>(&config.to_toml()).unwrap(), config);
        let error = load(bridge).unwrap_err().to_string();
        assert!(error.contains("bridges.resize: needs reply_group"), "{error}");
        let error = load(&format!("{bridge}grup = \"x\"\n")).unwrap_err().to_string();
        assert!(error.contains("unknown field: found `grup`") && error.contains("bridges.resize"), "{error}");
    }

    #[test]
    fn zero_is_refused_by_name() {
        let error = Config { tick: Duration::ZERO, ..Config::default() }.checked().unwrap_err().to_string();
        assert!(error.contains("tick must be above 0"), "{error}");
    }

    #[test]
    fn what_happens_within_a_second_is_looked_for_as_often() {
        for coarse in [
            Config { tick: Duration::from_secs(5), ..Config::default() },
            Config { config_refresh: Duration::from_millis(1_001), ..Config::default() },
        ] {
            let error = coarse.checked().unwrap_err().to_string();
            assert!(error.contains("is at most 1s"), "{error}");
        }
    }

    #[test]
    fn an_address_that_leads_nowhere_is_not_advertised() {
        let url = |listen: &str| Config::default().url(listen.parse().unwrap());
        assert_eq!(url("127.0.0.1:8000"), "http://127.0.0.1:8000");
        let name = host::name().unwrap();
        for everywhere in ["0.0.0.0:8000", "[::]:8000"] {
            assert_eq!(url(everywhere), format!("http://{name}:8000"));
        }
        let given = "https://jobs.example.org/manager/";
        assert_eq!(load(&["--advertise-url", given]).unwrap().url("0.0.0.0:1".parse().unwrap()), given);
    }
}
