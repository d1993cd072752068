//! `--engine-url`, `ENGINE_URL`, `REDIS_URL`: one way to say which store.

use clap::Args;
use serde::Serialize;

/// The store's address, as flag or environment. Flatten it into a binary's arguments.
#[derive(Debug, Clone, Default, Args, Serialize)]
pub struct EngineArgs {
    /// Where tasks are kept: sqlite://PATH (embedded, the default) or redis://HOST:PORT/DB
    #[arg(long, env = "ENGINE_URL", value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_url: Option<String>,
    /// Used when neither --engine-url nor ENGINE_URL is given
    #[arg(long, env = "REDIS_URL", value_name = "URL", hide = true)]
    #[serde(skip)]
    pub redis_url: Option<String>,
}

impl EngineArgs {
    /// The address that was given, if any: the flag, then `ENGINE_URL`, then `REDIS_URL`.
    #[must_use]
    pub fn given(&self) -> Option<&str> {
        self.engine_url.as_deref().or(self.redis_url.as_deref())
    }

    /// The same with `engine_url` filled from `REDIS_URL` where that decides; for [`crate::config::layered`].
    #[must_use]
    pub fn resolved(&self) -> Self {
        Self { engine_url: self.given().map(str::to_owned), redis_url: None }
    }
}
