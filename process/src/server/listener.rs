//! A socket that is listened on, of TCP or in the file system, and whether its connections speak TLS.

use std::{io, net::SocketAddr, sync::Arc};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{
    CONNECTION_BYTES, TLS_BYTES,
    connections::ConnectionState,
    socket_file::SocketFileListener,
    tls::Tls,
    transport::{Accepted, Transport},
};
use crate::listen::Endpoint;

/// What [`super::serve`] accepts connections from.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    tls: Option<Arc<Tls>>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    File(SocketFileListener),
}

/// How the connections of a listener begin.
#[derive(Debug, Clone)]
pub(super) struct Opening(Option<Arc<Tls>>);

impl From<TcpListener> for Listener {
    /// One without TLS.
    fn from(socket: TcpListener) -> Self {
        Self { socket: Socket::Tcp(socket), tls: None }
    }
}

impl From<SocketFileListener> for Listener {
    /// One without TLS: its connections do not leave the machine.
    fn from(socket: SocketFileListener) -> Self {
        Self { socket: Socket::File(socket), tls: None }
    }
}

impl Listener {
    /// One with this identity, if there is one.
    #[must_use]
    pub const fn with_tls(socket: TcpListener, tls: Option<Arc<Tls>>) -> Self {
        Self { socket: Socket::Tcp(socket), tls }
    }

    /// Its identity.
    #[must_use]
    pub const fn tls(&self) -> Option<&Arc<Tls>> {
        self.tls.as_ref()
    }

    /// At which address it listens.
    ///
    /// # Errors
    /// Those of the system; for a socket in the file system, [`io::ErrorKind::Unsupported`].
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.socket {
            Socket::Tcp(socket) => socket.local_addr(),
            Socket::File(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Those of the system.
    pub fn endpoint(&self) -> io::Result<Endpoint> {
        match &self.socket {
            Socket::Tcp(socket) => socket.local_addr().map(Endpoint::Tcp),
            Socket::File(socket) => Ok(Endpoint::Unix(socket.file().clone())),
        }
    }

    /// The next connection, with the address of its client, if that has one.
    pub(super) async fn accept(&self) -> io::Result<(Accepted, Option<SocketAddr>)> {
        match &self.socket {
            Socket::Tcp(socket) => {
                let (stream, peer) = socket.accept().await?;
                // Answers are small and written at once; waiting to fill a packet would only add latency.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "TCP_NODELAY was refused");
                }
                Ok((Accepted::Tcp(stream), Some(peer)))
            }
            Socket::File(socket) => Ok((Accepted::Unix(socket.accept().await?), None)),
        }
    }

    pub(super) fn opening(&self) -> Opening {
        Opening(self.tls.clone())
    }
}

impl Opening {
    /// The bytes of a new connection, after its handshake. `None` if that failed, took too long, or `drain` came first.
    pub(super) async fn open(
        &self,
        stream: Accepted,
        state: &ConnectionState,
        drain: &CancellationToken,
    ) -> Option<Transport> {
        let (tls, stream) = match (&self.0, stream) {
            (_, Accepted::Unix(stream)) => return Some(Transport::Unix(stream)),
            (None, Accepted::Tcp(stream)) => return Some(Transport::Plain(stream)),
            (Some(tls), Accepted::Tcp(stream)) => (tls, stream),
        };
        state.begin_handshake();
        let shaken = tokio::select! {
            shaken = tls.accept(stream, state) => shaken,
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
