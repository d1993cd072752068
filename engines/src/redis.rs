//! Redis behind an [`Engine`](jobbers_common::engine::Engine): one primary, many machines.
//!
//! Each verb is one call of one script (`redis/scripts`), which is one atomic step. `redis/kernel/keys.rs` lists what each key
//! holds, and `redis/kernel/layout.rs` the layout of the strings. The engine's own state is only its connections and the
//! waiting callers of this process; any number of engines work on one store side by side.
//!
//! It follows its primary wherever Sentinels or a Cluster move it (`server/primary.rs`). It deliberately uses one slot of
//! a Cluster only: every key carries the hash tag of the only shard.
//! Start reading at `redis/verbs/work.rs` and `redis/scripts/verbs/cycle.lua`: the worker's loop.

use std::sync::Arc;

use jobbers_common::engine::Result;

use self::{
    boards::calls::Lines,
    read::health::check_durability,
    server::{address::Address, following::follow_primary, primary::Primary, store::Store},
    verbs::submit::Submitter,
};
use crate::options::OpenOptions;

mod audit;
mod audit_log;
mod backup;
mod boards;
mod engine;
mod follow;
mod kernel;
mod read;
mod schedules;
mod server;
mod verbs;
mod workflows;

/// A store on a Redis server.
#[derive(Debug)]
pub struct RedisEngine {
    store: Arc<Store>,
    submitter: Submitter,
    board_lines: Lines,
}

impl RedisEngine {
    /// Connects to the server at `url` and creates the store if it does not exist, unless [`OpenOptions::must_exist`].
    ///
    /// # Errors
    /// [`Error::Config`](jobbers_common::engine::Error::Config) for an invalid address, a refused login, or a database
    /// without a store if one must exist, [`Error::Schema`](jobbers_common::engine::Error::Schema) for a store of a
    /// newer version, [`Error::Unavailable`](jobbers_common::engine::Error::Unavailable) if the server does not answer.
    pub async fn open(url: &str, options: OpenOptions) -> Result<Self> {
        let store = Arc::new(Store::open(Address::parse(url)?, options).await?);
        check_durability(&store).await?;
        follow_primary(&store);
        let submitter = Submitter::start(Arc::clone(&store));
        let board_lines = Lines::start(&store);
        Ok(Self { store, submitter, board_lines })
    }
}

/// A client for the server that takes the writes of the store at `url`: for what is no verb of a store, as measuring a bare
/// server.
///
/// # Errors
/// As [`RedisEngine::open`]; the store itself may be missing.
pub async fn primary(url: &str) -> Result<redis::Client> {
    let Address { client, directory, .. } = Address::parse(url)?;
    let primary = Primary::open(directory, client).await?;
    let client = primary.lead().client.clone();
    Ok(client)
}
