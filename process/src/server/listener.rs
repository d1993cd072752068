//! A socket that is listened on, and whether its connections speak TLS.

use std::{io, net::SocketAddr, sync::Arc};

use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::{CONNECTION_BYTES, TLS_BYTES, connections::ConnectionState, tls::Tls, transport::Transport};

/// What [`super::serve`] accepts connections from.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    tls: Option<Arc<Tls>>,
}

/// How the connections of a listener begin.
#[derive(Debug, Clone)]
pub(super) struct Opening(Option<Arc<Tls>>);

impl From<TcpListener> for Listener {
    /// One without TLS.
    fn from(socket: TcpListener) -> Self {
        Self { socket, tls: None }
    }
}

impl Listener {
    /// One with this identity, if there is one.
    #[must_use]
    pub const fn with_tls(socket: TcpListener, tls: Option<Arc<Tls>>) -> Self {
        Self { socket, tls }
    }

    /// Its identity.
    #[must_use]
    pub const fn tls(&self) -> Option<&Arc<Tls>> {
        self.tls.as_ref()
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Those of the system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    pub(super) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.socket.accept().await
    }

    pub(super) fn opening(&self) -> Opening {
        Opening(self.tls.clone())
    }
}

impl Opening {
    /// The bytes of a new connection, after its handshake. `None` if that failed, took too long, or `drain` came first.
    pub(super) async fn open(
        &self,
        stream: TcpStream,
        state: &ConnectionState,
        drain: &CancellationToken,
    ) -> Option<Transport> {
        let Some(tls) = &self.0 else { return Some(Transport::Plain(stream)) };
        state.begin_handshake();
        let shaken = tokio::select! {
            shaken = tls.accept(stream) => shaken,
            () = state.closed() => return None,
            () = drain.cancelled() => return None,
        };
        // Scanners, and clients that do not trust the certificate, are no errors here.
        let transport = shaken.inspect_err(|error| tracing::debug!(%error, "a handshake failed")).ok()?;
        state.end_handshake();
        Some(transport)
    }

    /// Keeps the identity current, until it is dropped.
    pub(super) async fn watch(self) {
        if let Some(tls) = self.0 {
            tls.watch().await;
        }
    }

    /// What a connection of this kind counts in the account.
    pub(super) const fn bytes(&self) -> usize {
        if self.0.is_some() { CONNECTION_BYTES + TLS_BYTES } else { CONNECTION_BYTES }
    }
}
