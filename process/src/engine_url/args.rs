//! `--engine-url`, `ENGINE_URL`, `REDIS_URL`: the three settings that select the store; and `--wait-for-store`.

use std::time::Duration;

use clap::Args;
use jobbers_common::values::duration;
use serde::Serialize;

use crate::{config::is_flag, site::Site};

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

/// How long a service waits at its start for a store that can't be reached. Flatten it into a service's arguments.
#[derive(Debug, Clone, Default, Args, Serialize)]
pub struct WaitArgs {
    /// At the start, try again for this long to reach the store, before ending with code 69 [default: 0s]
    #[arg(long, env = "WAIT_FOR_STORE", value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    pub wait_for_store: Option<Duration>,
}

impl EngineArgs {
    /// The configured address, if any: the flag, then `ENGINE_URL`, then `REDIS_URL`.
    #[must_use]
    pub fn given(&self) -> Option<&str> {
        self.engine_url.as_deref().or(self.redis_url.as_deref())
    }

    /// Whether the address is on the command line.
    #[must_use]
    pub fn is_flag(&self) -> bool {
        is_flag(self.engine_url.as_deref(), "ENGINE_URL")
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

    use super::EngineArgs;

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
}
