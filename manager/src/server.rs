//! The listener: bounded connections, patience with slow clients ([`crate::connections`]), and a graceful stop. It knows
//! no routes.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::Body,
    http::{HeaderValue, Request, Response, header},
};
use http_body_util::BodyExt;
use hyper::{
    body::{Body as _, Incoming},
    server::conn::http1,
    service::{Service, service_fn},
};
use hyper_util::{rt::TokioIo, server::graceful::GracefulShutdown, service::TowerToHyperService};
use jobbers_process::shutdown::Shutdown;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::OwnedSemaphorePermit,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    config::Config,
    connections::{Busy, ConnectionState, Connections, Noted},
    guard::Ambiguous,
    leases::Undelivered,
};

/// Serves until `shutdown`; returns when no connection is left.
pub(crate) async fn serve(listener: TcpListener, router: Router, config: &Config, shutdown: &Shutdown) {
    let mut builder = http1::Builder::new();
    // One timer serves the timeouts of all connections.
    builder.header_read_timeout(None);
    let places = Arc::new(Connections::new(config));
    let watching = tokio::spawn({
        let places = Arc::clone(&places);
        async move { places.watch().await }
    });
    let (graceful, connections, cut) = (GracefulShutdown::new(), TaskTracker::new(), CancellationToken::new());
    while let Some(Some((stream, peer, place))) = shutdown.drain.run_until_cancelled(accept(&listener, &places)).await {
        let state = places.open();
        let stream = TokioIo::new(Noted::new(stream, Arc::clone(&state)));
        let connection = graceful.watch(builder.serve_connection(stream, noted(&router, &state, peer)));
        let cut = cut.clone();
        connections.spawn(async move {
            let ended = cut.run_until_cancelled(until_closed(connection, &state)).await;
            // A client that goes away in the middle is not an error here.
            if let Some(Some(Err(error))) = ended {
                tracing::debug!(%error, "a connection broke");
            }
            state.give_up();
            drop(place);
        });
    }
    // From here on new connections are refused and go to another manager.
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
    watching.abort();
}

/// The routes for one connection, which notes while they work for it.
fn noted(
    router: &Router,
    state: &Arc<ConnectionState>,
    peer: SocketAddr,
) -> impl Service<Request<Incoming>, Response = Response<Body>, Error = std::convert::Infallible, Future: Send> + use<>
{
    let (router, state) = (TowerToHyperService::new(router.clone()), Arc::clone(state));
    service_fn(move |mut request: Request<Incoming>| {
        let (busy, is_plain) = Arc::clone(&state).begin();
        let is_ambiguous = !is_plain && request.headers().contains_key(header::TRANSFER_ENCODING);
        if is_ambiguous {
            request.extensions_mut().insert(Ambiguous);
        }
        request.extensions_mut().insert(peer);
        let (answer, state) = (router.call(request), Arc::clone(&state));
        async move {
            let mut answer = answer.await;
            if let (true, Ok(answer)) = (is_ambiguous, &mut answer) {
                answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            // The next flush is after the whole answer, which is handed over in this same poll.
            if let Ok(Some(undelivered)) = answer.as_mut().map(|it| it.extensions_mut().remove::<Undelivered>()) {
                state.owes(undelivered);
            }
            // The manager works for a stream until its end. A response with a length is written as fast as the client
            // reads it.
            match answer {
                Ok(answer) if answer.body().size_hint().exact().is_none() => {
                    Ok(answer.map(|body| Body::new(body.map_frame(move |frame| held(&busy, frame)))))
                }
                answer => answer,
            }
        }
    })
}

/// The frame of a stream, whose request counts as under way as long as this is called by something.
fn held<T>(_busy: &Busy, frame: T) -> T {
    frame
}

/// Serves a connection until it ends, or is closed while the manager does not work for it: then `None`.
async fn until_closed<C: Future>(connection: C, state: &ConnectionState) -> Option<C::Output> {
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = &mut connection => return Some(ended),
        () = state.closed() => {}
    }
    if state.is_busy() { Some(connection.await) } else { None }
}

/// The next connection, once there is room for one. `None` if no more will come.
async fn accept(listener: &TcpListener, places: &Connections) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = places.place().await?;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Answers are small and written at once; waiting to fill a packet would only add latency.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "TCP_NODELAY was refused");
                }
                return Some((stream, peer, place));
            }
            // Mostly "too many open files", which passes when a connection ends; no event signals that.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                places.make_room();
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}
