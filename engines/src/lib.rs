//! The two stores behind [`jobbers_common::engine::Engine`]: embedded SQLite and Redis.
//!
//! This crate knows no HTTP and no configuration files. [`open`] is the door: the URL decides.

use std::{sync::Arc, time::Duration};

use jobbers_common::engine::{Engine, Error, Result};
use tokio::time::{Instant, sleep};
use tracing::warn;

pub mod config_cache;
pub mod measured;
mod options;
pub mod ordinary_file;
#[cfg(any(feature = "redis", feature = "sqlite"))]
mod pieces;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "sqlite")]
pub mod sqlite;

use self::measured::Measured;
pub use self::options::OpenOptions;

/// The default store.
pub const DEFAULT_URL: &str = "sqlite://./jobbers.db";

/// The pauses between two attempts to open a store, and how often it is logged that it can't be reached.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
const SAY_AGAIN: Duration = Duration::from_secs(30);

/// Opens the store at `url`, creating (unless [`OpenOptions::must_exist`]) or migrating it where needed. Its calls are measured on OpenTelemetry's global
/// meter, as that is now.
///
/// `sqlite://PATH` (relative or absolute; `?synchronous=full|normal`, `?max_bytes=N`, `?reserve_bytes=N`), `sqlite::memory:` (this process
/// only, for tests), `redis://[USER:PASSWORD@]HOST[:PORT][/DB]` (`?prefix=NAME`), `redis+unix:///SOCKET`,
/// `redis+sentinel://HOST,HOST/NAME[/DB]`, `redis+cluster://HOST,HOST`, all but the socket also with `rediss` for TLS. The features
/// `sqlite` and `redis` decide which of them the program contains.
///
/// # Errors
/// [`Error::Config`] for a URL of another kind, or one that leads to no store where one must exist; [`Error::Schema`] for a store of a newer version;
/// [`Error::Unavailable`] for a server that could not be reached within [`OpenOptions::wait`]; those of the store.
pub async fn open(url: &str, options: OpenOptions) -> Result<Arc<dyn Engine>> {
    let until = Instant::now() + options.wait;
    let mut pause = FIRST_PAUSE;
    let mut say_at = Instant::now();
    loop {
        let error = match open_now(url, options.clone()).await {
            Err(error @ Error::Unavailable { .. }) if Instant::now() + pause < until => error,
            opened => return opened,
        };
        if Instant::now() >= say_at {
            let left = until.saturating_duration_since(Instant::now()).as_secs();
            warn!("the store can't be reached, and is tried again for {left} s: {error}");
            say_at = Instant::now() + SAY_AGAIN;
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn open_now(url: &str, options: OpenOptions) -> Result<Arc<dyn Engine>> {
    match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("sqlite") => open_sqlite(url, options).await,
        Some("redis" | "rediss" | "redis+unix" | "unix") => open_redis(url, options).await,
        Some("redis+sentinel" | "rediss+sentinel" | "redis+cluster" | "rediss+cluster") => {
            open_redis(url, options).await
        }
        _ => Err(Error::Config(format!(
            "{} is not the address of a store: write sqlite://PATH or redis://HOST:PORT",
            beginning(url)
        ))),
    }
}

#[cfg(feature = "sqlite")]
async fn open_sqlite(url: &str, options: OpenOptions) -> Result<Arc<dyn Engine>> {
    Ok(measured("sqlite", sqlite::SqliteEngine::open(url, options).await?))
}

#[cfg(feature = "redis")]
async fn open_redis(url: &str, options: OpenOptions) -> Result<Arc<dyn Engine>> {
    Ok(measured("redis", redis::RedisEngine::open(url, options).await?))
}

#[cfg(not(feature = "sqlite"))]
async fn open_sqlite(_: &str, _: OpenOptions) -> Result<Arc<dyn Engine>> {
    Err(left_out("SQLite", "sqlite"))
}

#[cfg(not(feature = "redis"))]
async fn open_redis(_: &str, _: OpenOptions) -> Result<Arc<dyn Engine>> {
    Err(left_out("Redis", "redis"))
}

/// The error for a store that this program was compiled without.
#[cfg(not(all(feature = "sqlite", feature = "redis")))]
fn left_out(store: &str, feature: &str) -> Error {
    Error::Config(format!(
        "this program is built without {store}: build it with the feature `{feature}` of jobbers-worker"
    ))
}

/// What an address begins with: behind the scheme, mistyped as it may be, can stand a password.
fn beginning(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, _)) => format!("{scheme}://…"),
        None if url.contains('@') => "what was given".to_owned(),
        None => format!("{url:?}"),
    }
}

fn measured(name: &'static str, engine: impl Engine) -> Arc<dyn Engine> {
    Arc::new(Measured::new(Arc::new(engine), name, &opentelemetry::global::meter("jobbers")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_mistyped_scheme_does_not_show_the_password() {
        for url in ["reddis://me:s3cret@host/1", "me:s3cret@host"] {
            let Err(Error::Config(said)) = open(url, OpenOptions::default()).await else { panic!("{url} was opened") };
            assert!(!said.contains("s3cret") && said.contains("is not the address of a store"), "{said}");
        }
    }
}
