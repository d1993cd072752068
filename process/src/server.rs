//! The listeners of Jobbers: bounded connections, patience with slow clients ([`connections`]), one account of the memory
//! that clients take ([`memory`]), and a graceful stop. It knows no routes and no calls.
//!
//! Start reading at [`serve`].

use std::{fmt::Display, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use hyper_util::{rt::TokioIo, server::graceful::GracefulConnection};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub mod answer;
pub mod connections;
mod guests;
mod head_scan;
mod listener;
pub mod memory;
pub mod networks;
mod policy;
mod socket_file;
pub mod tls;
mod transport;

use self::{
    connections::{ConnectionState, Connections, Noted},
    guests::Guests,
    memory::ClientMemory,
    transport::Accepted,
};
pub use self::{
    listener::Listener,
    policy::{Policy, Protocol},
    socket_file::SocketFileListener,
};
use crate::shutdown::Shutdown;

/// What an open connection counts in the account: its buffers and its task.
pub const CONNECTION_BYTES: usize = 12 * 1024;
/// What TLS counts besides: its session, and a record in each direction.
const TLS_BYTES: usize = 40 * 1024;
/// How long a client of HTTP/2 may take over the notice that its connection ends.
const GOODBYE: Duration = Duration::from_secs(1);

/// A connection as its protocol gets it.
pub type Stream = TokioIo<Noted>;

/// Serves until `shutdown`; returns when no connection is left. `connect` makes the protocol's connection of a stream,
/// and of the address of its client: a client of a socket in the file system has none.
pub async fn serve<C>(
    listener: Listener,
    policy: &Policy,
    memory: &Arc<ClientMemory>,
    shutdown: &Shutdown,
    connect: impl Fn(Stream, Option<SocketAddr>, Arc<ConnectionState>) -> C + Clone + Send + 'static,
) where
    C: GracefulConnection<Error: Display + Send> + Send + 'static,
{
    let places = Arc::new(Connections::new(policy, Arc::clone(memory)));
    let watching = tokio::spawn({
        let places = Arc::clone(&places);
        let opening = listener.opening();
        async move { tokio::join!(places.watch(), opening.watch()) }
    });
    let opening = listener.opening();
    let (connections, cut) = (TaskTracker::new(), CancellationToken::new());
    let mut guests = Guests::of(policy.clients.clone());
    while let Some(Some((stream, peer, place))) =
        shutdown.drain.run_until_cancelled(accept(&listener, &places, &mut guests)).await
    {
        let (state, connect, opening) = (places.open(&shutdown.drain), connect.clone(), opening.clone());
        let (cut, drain) = (cut.clone(), shutdown.drain.clone());
        let share = memory.share();
        share.add(opening.bytes());
        connections.spawn(async move {
            let served = async {
                // Moved in: it need not be shared between threads.
                let connect = connect;
                let stream = opening.open(stream, &state, &drain).await?;
                let stream = TokioIo::new(Noted::new(stream, Arc::clone(&state)));
                let connection = connect(stream, peer, Arc::clone(&state));
                until_closed(connection, &state, &drain, &cut).await
            };
            // A client that goes away in the middle is not an error here.
            if let Some(Err(error)) = served.await {
                tracing::debug!(%error, "a connection broke");
            }
            state.give_up();
            drop((place, share));
        });
    }
    // From here on new connections are refused and go to another process.
    drop(listener);
    connections.close();
    tokio::select! {
        () = connections.wait() => {}
        () = tokio::time::sleep(policy.drain_timeout) => {
            tracing::warn!(connections = connections.len(), "requests were still under way at the drain deadline");
        }
        () = shutdown.now.cancelled() => {}
    }
    cut.cancel();
    connections.wait().await;
    watching.abort();
}

/// Serves a connection until it ends, or is closed while the process does not work for it, or until `cut`, which comes after
/// `drain`: then `None`. From `drain` on it takes no further request.
async fn until_closed<C: GracefulConnection<Error: Send>>(
    connection: C,
    state: &ConnectionState,
    drain: &CancellationToken,
    cut: &CancellationToken,
) -> Option<C::Output> {
    let mut connection = pin!(connection);
    // Polled with each piece of each request, so it asks for one thing besides.
    tokio::select! {
        biased;
        ended = connection.as_mut() => return Some(ended),
        () = state.noticed() => {}
    }
    if state.is_closed() && !state.is_busy() {
        if state.protocol() == Protocol::Http1 {
            return None;
        }
        connection.as_mut().graceful_shutdown();
        return cut.run_until_cancelled(tokio::time::timeout(GOODBYE, connection)).await?.ok();
    }
    if drain.is_cancelled() {
        connection.as_mut().graceful_shutdown();
    }
    tokio::select! {
        ended = connection.as_mut() => return Some(ended),
        () = state.closed() => {}
        () = cut.cancelled() => return None,
    }
    if state.is_busy() { cut.run_until_cancelled(connection).await } else { None }
}

/// The next connection of a client that is served, once there is room for one. `None` if no more will come.
async fn accept(
    listener: &Listener,
    places: &Connections,
    guests: &mut Guests,
) -> Option<(Accepted, Option<SocketAddr>, OwnedSemaphorePermit)> {
    let place = places.place().await?;
    loop {
        match listener.accept().await {
            // Who may connect to a socket in the file system, its permissions say.
            Ok((_, Some(peer))) if !guests.include(peer) => {}
            Ok((stream, peer)) => return Some((stream, peer, place)),
            // Mostly "too many open files", which passes when a connection ends; no event signals that.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                places.make_room();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
