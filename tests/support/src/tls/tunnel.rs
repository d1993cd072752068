//! A plain port that leads to a server that speaks TLS, as `stunnel` does for clients that know none.

use std::{net::SocketAddr, sync::Arc};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

use crate::{
    authority::Authority,
    tls::client::{config, shake_hands},
};

/// A tunnel to one server. Ends when dropped.
#[derive(Debug)]
pub struct TlsTunnel {
    address: SocketAddr,
    accepting: AbortHandle,
}

impl TlsTunnel {
    /// Listens on a free port. It trusts servers of the authority, shows its certificate in `FILE.pem`, and speaks this protocol of ALPN.
    ///
    /// # Panics
    /// When no port can be had, or the files can't be used.
    pub async fn start(server: SocketAddr, authority: &Authority, file: &str, protocol: &[u8]) -> Self {
        let config = Arc::new(config(authority, Some((authority, file)), protocol));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let accepting = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let config = Arc::clone(&config);
                tokio::spawn(async move {
                    let Ok(stream) = TcpStream::connect(server).await else { return };
                    // A server that refuses the certificate hangs up.
                    let Ok(mut server) = shake_hands(config, stream).await else { return };
                    copy_bidirectional(&mut client, &mut server).await.ok();
                });
            }
        });
        Self { address, accepting: accepting.abort_handle() }
    }

    /// Its address, such as `http://127.0.0.1:40123`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for TlsTunnel {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
