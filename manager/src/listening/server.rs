//! HTTP/1.1 on a listener ([`jobbers_process::server`]): each request comes with its [`Caller`]. It knows no routes.

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::{
    Router,
    body::Body,
    http::{Request, Response},
};
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{Service, service_fn},
};
use hyper_util::service::TowerToHyperService;
use jobbers_process::{
    server::{
        self, Listener, Policy, Protocol,
        connections::ConnectionState,
        memory::{ClientMemory, MemoryShare},
    },
    shutdown::Shutdown,
};

use crate::{config::Config, listening::version};

/// How much of a connection is read and written ahead. The head of a request has no more.
const BUFFER_BYTES: usize = 64 * 1024;

/// Where a request comes from, and what is held for it.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// Its address; `None` for a client of a socket in the file system.
    pub(crate) peer: Option<IpAddr>,
    pub(crate) connection: Arc<ConnectionState>,
    /// What the request counts until it is answered.
    pub(crate) share: Arc<MemoryShare>,
}

/// Serves until `shutdown`; returns when no connection is left.
pub(crate) async fn serve(
    listener: Listener,
    routes: Routes,
    config: &Config,
    memory: &Arc<ClientMemory>,
    shutdown: &Shutdown,
) {
    let policy = Policy {
        protocol: Protocol::Http1,
        max_connections: config.max_connections,
        idle_timeout: config.idle_timeout,
        header_timeout: config.header_timeout,
        write_timeout: config.write_timeout,
        drain_timeout: config.drain_timeout,
        clients: config.behind_proxy.clone(),
    };
    let mut builder = http1::Builder::new();
    // One timer serves the timeouts of all connections.
    builder.header_read_timeout(None).max_buf_size(BUFFER_BYTES);
    let held = Arc::clone(memory);
    server::serve(listener, &policy, memory, shutdown, move |stream, peer, connection| {
        builder.serve_connection(stream, service(&routes, &held, peer, connection))
    })
    .await;
}

/// What is served.
#[derive(Debug, Clone)]
pub(crate) struct Routes {
    router: Router,
    is_versioned: bool,
}

impl Routes {
    /// These routes, also below the version of the API.
    pub(crate) const fn versioned(router: Router) -> Self {
        Self { router, is_versioned: true }
    }

    /// These routes alone.
    pub(crate) const fn plain(router: Router) -> Self {
        Self { router, is_versioned: false }
    }
}

/// The routes for one connection.
fn service(
    routes: &Routes,
    memory: &Arc<ClientMemory>,
    peer: Option<SocketAddr>,
    connection: Arc<ConnectionState>,
) -> impl Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send> + use<> {
    let (router, memory) = (TowerToHyperService::new(routes.router.clone()), Arc::clone(memory));
    let (is_versioned, peer) = (routes.is_versioned, peer.map(|peer| peer.ip()));
    service_fn(move |mut request: Request<Incoming>| {
        let (connection, share) = (Arc::clone(&connection), Arc::new(memory.share()));
        request.extensions_mut().insert(Caller { peer, connection, share });
        if is_versioned && let Some(uri) = version::unversioned(request.uri()) {
            *request.uri_mut() = uri;
        }
        router.call(request)
    })
}
