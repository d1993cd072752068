//! Serves the front until it is stopped.

use std::sync::Arc;

use jobbers_common::engine::boards::Boards;
use jobbers_process::{server::Listener, shutdown::Shutdown};
use tokio_util::task::TaskTracker;

use super::{board, bootstrap, connections, front::Front, service, settings::Settings};

/// Serves MassTasker on `listener` until `shutdown` is cancelled, and returns when the last call is answered or cut off.
///
/// `shutdown.drain` stops accepting, ends waiting calls, and lets calls under way finish, for at most
/// [`Settings::drain_timeout`]; `shutdown.now` cuts them at once. The caller has checked the address
/// ([`jobbers_process::listen::check`]).
pub async fn serve(settings: Settings, boards: Arc<dyn Boards>, listener: impl Into<Listener>, shutdown: Shutdown) {
    let listener = listener.into();
    if let Ok(address) = listener.endpoint() {
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
