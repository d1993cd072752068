//! MassTasker over gRPC: `masstasker.MassTasker` with Update, Query, BulkSet and Debug.
//!
//! Each call becomes one commit, one take or a walk over lists of the board [`BOARD`]; the id of a task is its revision.
//! What belongs to a call beyond that is here: waiting for a task ([`query`]), and giving back what its caller did not
//! get ([`undelivered`]). TLS and authentication are not.
//!
//! Start reading at [`serve`], then [`service`].

use std::sync::Arc;

use jobbers_common::{engine::boards::Boards, name::BoardName};
use jobbers_process::shutdown::Shutdown;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

mod bootstrap;
mod connections;
mod debug;
mod finished;
mod front;
pub mod proto;
mod query;
mod service;
mod settings;
mod translate;
mod undelivered;
pub mod wrapper;

use self::front::Front;
pub use self::settings::{DEFAULT_MAX_MESSAGE_BYTES, HIGHEST_MAX_MESSAGE_BYTES, Settings};

/// The board that holds the tasks of MassTasker's clients.
pub const BOARD: &str = "masstasker";
/// The port that MassTasker's clients expect.
pub const DEFAULT_PORT: u16 = 50_053;

/// The board's name.
#[must_use]
pub fn board() -> BoardName {
    #[expect(clippy::expect_used, reason = "eight letters")]
    BoardName::new(BOARD).expect("a legal board name")
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
