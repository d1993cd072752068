//! What the manager is told: flags over environment over file over `manager.default.toml`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::Parser;
use jobbers_common::duration;
use jobbers_process::{
    config::{ConfigError, layered},
    engine_url::EngineArgs,
    logging::LogArgs,
};
use serde::{Deserialize, Serialize};

/// The commented file shipped to users is the layer everything starts from.
const DEFAULTS: &str = include_str!("../manager.default.toml");

const AFTER_HELP: &str = "\
Exit codes:
  0   stopped in good order
  2   the command line makes no sense
  64  the configuration makes no sense, or the address to listen on was refused
  69  the store or the address to listen on can't be had

SIGTERM or SIGINT stops it in good order: requests under way are answered first. A second one stops it at once.
The API is described at /docs and /openapi.json.";

/// Takes tasks in over HTTP, routes them to queues, and tells how they stand
#[derive(Debug, Clone, Parser, Serialize)]
#[command(name = "manager", version, after_help = AFTER_HELP)]
pub struct Args {
    /// Where to listen [default: 127.0.0.1:8000]
    #[arg(long, env = "MANAGER_LISTEN", value_name = "ADDRESS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// The store.
    #[command(flatten)]
    #[serde(flatten)]
    pub engine: EngineArgs,
    /// Listen on an address that isn't loopback although there is no authentication
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// A configuration file; --print-config shows what may stand in it
    #[arg(long, env = "MANAGER_CONFIG", value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Print the configuration as it is put together from all layers, and exit
    #[arg(long)]
    #[serde(skip)]
    pub print_config: bool,
    /// What is said of dead letters.
    #[command(flatten)]
    #[serde(flatten)]
    pub dead_letters: DeadLetterArgs,
    /// What is logged.
    #[command(flatten)]
    #[serde(skip)]
    pub log: LogArgs,
}

/// What is said of dead letters.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
pub struct DeadLetterArgs {
    /// The file that dead letters are kept in, or `none` [default: beside the data]
    #[arg(long, env = "DLQ_PATH", value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dlq_path: Option<String>,
}

/// The manager's configuration; `manager.default.toml` says what each key means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Whether that address may be other than loopback.
    pub insecure: bool,
    /// The store's address.
    pub engine_url: String,
    /// Most bytes of one task's parameters.
    pub max_payload_bytes: usize,
    /// Most bytes of one request's body.
    pub max_body_bytes: usize,
    /// Most connections at a time.
    pub max_connections: usize,
    /// How long a connection may take over the next request's headers.
    #[serde(with = "duration::text")]
    pub header_timeout: Duration,
    /// How long a request may take over its body.
    #[serde(with = "duration::text")]
    pub body_timeout: Duration,
    /// How long requests under way may take when the manager stops.
    #[serde(with = "duration::text")]
    pub drain_timeout: Duration,
    /// How often the live configuration is read anew.
    #[serde(with = "duration::text")]
    pub config_refresh: Duration,
    /// How often the chores are done.
    #[serde(with = "duration::text")]
    pub tick: Duration,
    /// The file of dead letters; empty is beside the data, `none` keeps none.
    pub dlq_path: String,
    /// How large that file may grow, in bytes; 0 does not bound it.
    pub dlq_max_bytes: u64,
    /// How long dead letters are kept; 0 keeps them until they are deleted.
    #[serde(with = "duration::text")]
    pub dlq_retention: Duration,
    /// How many dead letters are kept at most, the newest; 0 does not bound them.
    pub dlq_max_letters: u64,
    /// Where other managers send whoever asks for dead letters; empty is the address listened on.
    pub advertise_url: String,
}

/// The file of dead letters where no other is named and the data lies elsewhere.
const DEAD_LETTER_FILE: &str = "jobbers.dead-letters.db";

impl Config {
    /// Puts the layers together.
    ///
    /// # Errors
    /// [`ConfigError`], with the key that is wrong.
    pub fn load(args: &Args) -> Result<Self, ConfigError> {
        let args = Args { engine: args.engine.resolved(), ..args.clone() };
        layered::<Self>(DEFAULTS, args.config.as_deref(), &args)?.checked()
    }

    /// Zero would mean "never", "nothing" or "without a pause", and nobody who writes it means that.
    fn checked(self) -> Result<Self, ConfigError> {
        let positive = [
            ("max_payload_bytes", self.max_payload_bytes > 0),
            ("max_body_bytes", self.max_body_bytes > 0),
            ("max_connections", self.max_connections > 0),
            ("header_timeout", !self.header_timeout.is_zero()),
            ("body_timeout", !self.body_timeout.is_zero()),
            ("config_refresh", !self.config_refresh.is_zero()),
            ("tick", !self.tick.is_zero()),
        ];
        match positive.iter().find(|(_, fine)| !fine) {
            Some((key, _)) => Err(ConfigError::Invalid(format!("{key} must be above 0"))),
            None => Ok(self),
        }
    }

    /// The file that dead letters are kept in; `None`: this manager keeps none.
    #[must_use]
    pub fn dead_letter_file(&self) -> Option<PathBuf> {
        match self.dlq_path.as_str() {
            "none" => None,
            "" => beside(&self.engine_url),
            path => Some(PathBuf::from(path)),
        }
    }

    /// Where this manager is reached by others when it listens on `address`.
    #[must_use]
    pub fn url(&self, address: SocketAddr) -> String {
        if self.advertise_url.is_empty() { format!("http://{address}") } else { self.advertise_url.clone() }
    }

    /// The configuration as TOML that [`Config::load`] would read, without the password of the store's address.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let shown = Self { engine_url: without_password(&self.engine_url), ..self.clone() };
        // Plain keys and values always are TOML; were they not, the debug form still tells what is set.
        toml::to_string(&shown).unwrap_or_else(|_| format!("# {shown:?}\n"))
    }
}

impl Default for Config {
    fn default() -> Self {
        #[expect(clippy::expect_used, reason = "a file of ours, which a test reads")]
        layered(DEFAULTS, None, &std::collections::BTreeMap::<String, String>::new()).expect("the defaults are valid")
    }
}

/// The file of dead letters beside a store's data; `None` for a store in memory, which has no place.
fn beside(engine_url: &str) -> Option<PathBuf> {
    let Some(rest) = engine_url.strip_prefix("sqlite:") else { return Some(PathBuf::from(DEAD_LETTER_FILE)) };
    let path = rest.split('?').next().unwrap_or_default();
    let path = path.strip_prefix("//").unwrap_or(path);
    if path == ":memory:" {
        return None;
    }
    let data = PathBuf::from(path);
    let stem = data.file_stem().map_or_else(|| "jobbers".to_owned(), |stem| stem.to_string_lossy().into_owned());
    Some(data.with_file_name(format!("{stem}.dead-letters.db")))
}

/// `redis://user:secret@host` as `redis://user:***@host`.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    // The last @ before the path: a password may hold one too.
    let authority = rest.find('/').map_or(rest, |end| &rest[..end]);
    match authority.rsplit_once('@') {
        Some((login, host)) if login.contains(':') => {
            let user = login.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}:***@{host}{}", &rest[authority.len()..])
        }
        _ => url.to_owned(),
    }
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
    fn dead_letters_lie_beside_the_data_unless_told_otherwise() {
        let of = |line: &[&str]| load(line).unwrap().dead_letter_file();
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(of(&[]), path("./jobbers.dead-letters.db"));
        assert_eq!(
            of(&["--engine-url", "sqlite:///var/lib/a.db?synchronous=full"]),
            path("/var/lib/a.dead-letters.db")
        );
        assert_eq!(of(&["--engine-url", "redis://host"]), path("jobbers.dead-letters.db"));
        assert_eq!(of(&["--engine-url", "sqlite::memory:"]), None);
        assert_eq!(of(&["--dlq-path", "x.db"]), path("x.db"));
        assert_eq!(of(&["--dlq-path", "none"]), None);
    }

    #[test]
    fn zero_is_refused_by_name() {
        let error = Config { tick: Duration::ZERO, ..Config::default() }.checked().unwrap_err().to_string();
        assert!(error.contains("tick must be above 0"), "{error}");
    }

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(without_password("redis://me:s3@cret@host:6379/1"), "redis://me:***@host:6379/1");
        assert_eq!(without_password("redis://:secret@host"), "redis://:***@host");
        for open in ["redis://host:6379", "sqlite://./a@b.db", "sqlite::memory:"] {
            assert_eq!(without_password(open), open);
        }
    }
}
