//! A TCP proxy that records all bytes that pass, as a listener on the network sees them.

use std::{net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

/// A proxy in front of one server. Ends when dropped.
#[derive(Debug)]
pub struct RecordingProxy {
    address: SocketAddr,
    upstream: Arc<Mutex<Option<SocketAddr>>>,
    recorded: Arc<Mutex<Vec<u8>>>,
    accepting: AbortHandle,
}

impl RecordingProxy {
    /// Listens on a free port. Until it leads to a server, it closes what connects.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (upstream, recorded) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(Vec::new())));
        let (leads_to, records) = (Arc::clone(&upstream), Arc::clone(&recorded));
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (upstream, records): (Option<SocketAddr>, _) = (*leads_to.lock(), Arc::clone(&records));
                tokio::spawn(async move {
                    let Some(upstream) = upstream else { return };
                    let Ok(server) = TcpStream::connect(upstream).await else { return };
                    let ((from_client, to_client), (from_server, to_server)) =
                        (client.into_split(), server.into_split());
                    tokio::join!(pass(from_client, to_server, &records), pass(from_server, to_client, &records));
                });
            }
        });
        Self { address, upstream, recorded, accepting: accepting.abort_handle() }
    }

    /// Passes what connects from now on to this server.
    pub fn lead_to(&self, server: SocketAddr) {
        *self.upstream.lock() = Some(server);
    }

    /// Its port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    /// What has passed so far, in both directions.
    #[must_use]
    pub fn recorded(&self) -> Vec<u8> {
        self.recorded.lock().clone()
    }
}

impl Drop for RecordingProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Passes one direction on, until it ends. What is read at once is recorded in one piece.
async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, recorded: &Mutex<Vec<u8>>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        recorded.lock().extend_from_slice(&buffer[..count]);
        if to.write_all(&buffer[..count]).await.is_err() {
            break;
        }
    }
    to.shutdown().await.ok();
}
