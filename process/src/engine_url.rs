//! `--engine-url`, `ENGINE_URL`, `REDIS_URL`: the three settings that select the store.

use clap::Args;
use serde::Serialize;

use crate::site::Site;

/// The store's address, as flag or environment. Flatten it into a binary's arguments.
#[derive(Debug, Clone, Default, Args, Serialize)]
pub struct EngineArgs {
    /// Where tasks are kept: sqlite://PATH (embedded, the default) or redis://HOST:PORT/DB
    #[arg(long, env = "ENGINE_URL", hide_env_values = true, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_url: Option<String>,
    /// Used when neither --engine-url nor ENGINE_URL is given
    #[arg(long, env = "REDIS_URL", hide_env_values = true, value_name = "URL", hide = true)]
    #[serde(skip)]
    pub redis_url: Option<String>,
}

/// A store's address without its password: `redis://user:secret@host` becomes `redis://user:***@host`, and
/// `?pass=secret` becomes `?pass=***`.
#[must_use]
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    // The last @ before the path, because a password may contain one too.
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let authority = match authority.rsplit_once('@') {
        Some((login, host)) if login.contains(':') => {
            format!("{}:***@{host}", login.split(':').next().unwrap_or_default())
        }
        _ => authority.to_owned(),
    };
    let query = query.map(|query| {
        let shown = query.split('&').map(|pair| match pair.split_once('=') {
            Some((key @ ("pass" | "password"), _)) => format!("{key}=***"),
            _ => pair.to_owned(),
        });
        format!("?{}", shown.collect::<Vec<_>>().join("&"))
    });
    format!("{scheme}://{authority}{path}{}", query.unwrap_or_default())
}

impl EngineArgs {
    /// The configured address, if any: the flag, then `ENGINE_URL`, then `REDIS_URL`.
    #[must_use]
    pub fn given(&self) -> Option<&str> {
        self.engine_url.as_deref().or(self.redis_url.as_deref())
    }

    /// The configured address, or else the store of the `jobbers up` that runs in the working directory, if any.
    #[must_use]
    pub fn given_or_found(&self) -> Option<String> {
        self.given().map(str::to_owned).or_else(|| Site::here().map(|site| site.store))
    }

    /// The same with `engine_url` filled from `REDIS_URL` if only that is set; for [`crate::config::layered`].
    #[must_use]
    pub fn resolved(&self) -> Self {
        Self { engine_url: self.given().map(str::to_owned), redis_url: None }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Arg, CommandFactory, Parser};

    use super::{EngineArgs, without_password};

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        _engine: EngineArgs,
    }

    #[test]
    fn help_shows_no_value_of_the_environment() {
        let command = Program::command();
        let from_environment: Vec<&Arg> = command.get_arguments().filter(|arg| arg.get_env().is_some()).collect();
        assert_eq!(from_environment.len(), 2);
        assert!(from_environment.iter().all(|arg| arg.is_hide_env_values_set()));
    }

    #[test]
    fn a_password_is_not_shown() {
        for (url, shown) in [
            ("redis://me:s3@cret@host:6379/1", "redis://me:***@host:6379/1"),
            ("redis://:secret@host", "redis://:***@host"),
            ("redis+unix:///run/redis.sock?db=1&pass=secret", "redis+unix:///run/redis.sock?db=1&pass=***"),
            ("unix:///run/redis.sock?password=a=b&db=1", "unix:///run/redis.sock?password=***&db=1"),
        ] {
            assert_eq!(without_password(url), shown);
        }
        for open in ["redis://host:6379", "sqlite://./a@b.db?synchronous=full", "sqlite::memory:"] {
            assert_eq!(without_password(open), open);
        }
    }
}
