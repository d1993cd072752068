//! MassTasker over gRPC: `masstasker.MassTasker` with Update, Query, BulkSet and Debug.
//!
//! Each call becomes one commit, one take or a walk over lists of the board [`BOARD`]; the id of a task is its revision.
//! What belongs to a call beyond that is here: waiting for a task ([`query`]), and giving back what its caller did not
//! get ([`undelivered`]). TLS and authentication are not.
//!
//! Start reading at [`serve`], then [`service`].

use std::{sync::Arc, time::Duration};

use jobbers_common::{engine::boards::Boards, limits::MAX_BOARD_COMMIT_BYTES, name::BoardName};
use jobbers_process::{server::memory::ClientMemory, shutdown::Shutdown};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

mod bootstrap;
mod connections;
mod debug;
mod finished;
pub mod proto;
mod query;
mod service;
mod translate;
mod undelivered;
pub mod wrapper;

/// The board that holds the tasks of MassTasker's clients.
pub const BOARD: &str = "masstasker";
/// The port that MassTasker's clients expect.
pub const DEFAULT_PORT: u16 = 50_053;
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
        }
    }
}

/// The board's name.
#[must_use]
pub fn board() -> BoardName {
    #[expect(clippy::expect_used, reason = "eight letters")]
    BoardName::new(BOARD).expect("a legal board name")
}

/// What all calls share.
#[derive(Debug)]
struct Front {
    boards: Arc<dyn Boards>,
    board: BoardName,
    settings: Settings,
    /// The service is reported as not serving once it is cancelled.
    leaving: CancellationToken,
    /// Waiting calls end when it is cancelled.
    drain: CancellationToken,
    /// Takes and give-backs under way, which no caller can abandon.
    calls: TaskTracker,
}

/// Serves MassTasker on `listener` until `shutdown` is cancelled, and returns when the last call is answered or cut off.
///
/// `shutdown.drain` stops accepting, ends waiting calls, and lets calls under way finish, for at most
/// [`Settings::drain_timeout`]; `shutdown.now` cuts them at once. The caller has checked the address
/// ([`jobbers_process::listen::check`]).
pub async fn serve(settings: Settings, boards: Arc<dyn Boards>, listener: TcpListener, shutdown: Shutdown) {
    if let Ok(address) = listener.local_addr() {
        tracing::info!(%address, "listening for clients of MassTasker");
    }
    let front = Arc::new(Front {
        boards,
        board: board(),
        leaving: shutdown.leaving.clone(),
        drain: shutdown.drain.clone(),
        calls: TaskTracker::new(),
        settings: settings.clone(),
    });
    // The first client to be answered finds the bootstrap task, unless the store is away.
    let bootstrap = match bootstrap::is_done(&front).await {
        true => None,
        false => Some(tokio::spawn(bootstrap::retry(Arc::clone(&front)))),
    };
    connections::serve(listener, service::routes(&front), &settings, &shutdown).await;
    if let Some(bootstrap) = bootstrap {
        bootstrap.abort();
    }
    front.calls.close();
    tokio::time::timeout(settings.drain_timeout, front.calls.wait()).await.ok();
}
