//! The bounds and deadlines of the front, and their defaults.

use std::{sync::Arc, time::Duration};

use jobbers_common::limits::MAX_BOARD_COMMIT_BYTES;
use jobbers_process::server::{memory::ClientMemory, networks::Networks};

use super::gate::Gate;

/// The largest message by default: 4 MiB, as in the original.
pub const DEFAULT_MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// The largest message that can be set: a commit takes no more.
pub const HIGHEST_MAX_MESSAGE_BYTES: usize = MAX_BOARD_COMMIT_BYTES;

/// How the front is to serve.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Most bytes of one message.
    pub max_message_bytes: usize,
    /// By how much a caller's present may differ from this machine's; a larger difference is cut. `None`: by anything.
    pub max_clock_skew: Option<Duration>,
    /// The group that gets one empty task, once per store.
    pub bootstrap_group: Option<String>,
    /// For how long a Query waits for the first task of an empty group.
    pub empty_wait: Duration,
    /// Most connections at a time. Further ones take the place of those that have waited longest for their clients.
    pub max_connections: usize,
    /// How long a connection may be without a call.
    pub idle_timeout: Duration,
    /// How long a client may take over the first words of its connection.
    pub header_timeout: Duration,
    /// How long a client may take over an answer.
    pub write_timeout: Duration,
    /// The account of what is held for clients.
    pub memory: Arc<ClientMemory>,
    /// How long calls under way may take when the front stops.
    pub drain_timeout: Duration,
    /// The networks whose clients are served; none for all.
    pub clients: Networks,
    /// Lets calls in; `None` lets all in.
    pub gate: Option<Arc<dyn Gate>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_message_bytes: DEFAULT_MAX_MESSAGE_BYTES,
            max_clock_skew: None,
            bootstrap_group: None,
            empty_wait: Duration::from_secs(5),
            max_connections: 10_000,
            idle_timeout: Duration::from_secs(75),
            header_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(30),
            memory: ClientMemory::new(256 * 1024 * 1024),
            drain_timeout: Duration::from_secs(10),
            clients: Networks::NONE,
            gate: None,
        }
    }
}
