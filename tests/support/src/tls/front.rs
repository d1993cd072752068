//! A TLS front for a plain-text server: it terminates TLS and forwards the data, as a reverse proxy does.

use std::{net::SocketAddr, sync::Arc};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

use crate::authority::Authority;

/// A front before one server. Ends when dropped.
#[derive(Debug)]
pub struct TlsFront {
    address: SocketAddr,
    accepting: AbortHandle,
}

impl TlsFront {
    /// Listens on a free port, with the authority's certificate of a server.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn start(upstream: SocketAddr, authority: &Authority) -> Self {
        let certificate = CertificateDer::from_pem_file(authority.file("server.pem")).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(authority.file("server.key")).expect("its key");
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key);
        let mut config = config.expect("the key is the certificate's");
        // gRPC speaks nothing else.
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // A client that does not trust the certificate hangs up.
                    let Ok(mut client) = acceptor.accept(client).await else { return };
                    if let Ok(mut server) = TcpStream::connect(upstream).await {
                        copy_bidirectional(&mut client, &mut server).await.ok();
                    }
                });
            }
        });
        Self { address, accepting: accepting.abort_handle() }
    }

    /// Its address, such as `https://localhost:40123`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://localhost:{}", self.address.port())
    }
}

impl Drop for TlsFront {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
