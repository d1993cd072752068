//! The listener: bounded connections, patience with slow clients, and a graceful stop. It knows no routes.

use std::sync::Arc;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use jobbers_process::shutdown::Shutdown;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::config::Config;

/// Serves until `shutdown` says so; returns when no connection is left.
pub(crate) async fn serve(listener: TcpListener, router: Router, config: &Config, shutdown: &Shutdown) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(config.header_timeout);
    let slots = Arc::new(Semaphore::new(config.max_connections));
    let (graceful, connections, cut) = (GracefulShutdown::new(), TaskTracker::new(), CancellationToken::new());
    while let Some(Some((stream, slot))) = shutdown.drain.run_until_cancelled(accept(&listener, &slots)).await {
        let service = TowerToHyperService::new(router.clone());
        let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), service));
        let cut = cut.clone();
        connections.spawn(async move {
            // A client that goes away in the middle is its own business.
            if let Some(Err(error)) = cut.run_until_cancelled(connection).await {
                tracing::debug!(%error, "a connection broke");
            }
            drop(slot);
        });
    }
    // From here on a client that connects is refused, and goes to another manager.
    drop(listener);
    tokio::select! {
        () = graceful.shutdown() => {}
        () = tokio::time::sleep(config.drain_timeout) => {
            tracing::warn!(connections = connections.len(), "requests were still under way at the drain deadline");
        }
        () = shutdown.now.cancelled() => {}
    }
    cut.cancel();
    connections.close();
    connections.wait().await;
}

/// The next connection, once there is room for one. `None` when there will be no more.
async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are small and written at once; waiting to fill a packet would only add latency.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "TCP_NODELAY was refused");
                }
                return Some((stream, slot));
            }
            // Mostly "too many open files", which passes when a connection ends; there is no event to await for it.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}
