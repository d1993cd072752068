//! A client that speaks TLS by itself, so that a test chooses its authority, its certificate and what it says first.

use std::{io, net::SocketAddr, sync::Arc};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    },
};

use crate::authority::Authority;

/// Whom a client trusts, and who it is.
#[derive(Debug, Clone, Copy)]
pub struct TlsClient<'a> {
    /// It trusts servers of this authority.
    pub trusts: &'a Authority,
    /// It shows the client's certificate of this authority.
    pub is_of: Option<&'a Authority>,
}

impl TlsClient<'_> {
    /// The connection after the handshake, with this protocol of ALPN.
    ///
    /// # Errors
    /// When the handshake fails.
    ///
    /// # Panics
    /// When the files of the authorities can't be used.
    pub async fn connect(self, address: SocketAddr, protocol: &[u8]) -> io::Result<TlsStream<TcpStream>> {
        let certificate = |path| CertificateDer::from_pem_file(path).expect("a certificate");
        let mut roots = RootCertStore::empty();
        roots.add(certificate(self.trusts.file("ca.pem"))).expect("an authority");
        let builder = ClientConfig::builder().with_root_certificates(roots);
        let mut config = match self.is_of {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let key = PrivateKeyDer::from_pem_file(authority.file("client.key")).expect("its key");
                let chain = vec![certificate(authority.file("client.pem"))];
                builder.with_client_auth_cert(chain, key).expect("the key is the certificate's")
            }
        };
        config.alpn_protocols = vec![protocol.to_vec()];
        let stream = TcpStream::connect(address).await?;
        let name = ServerName::try_from("localhost").expect("a legal name");
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    /// The whole answer to `GET path`. A server that refuses the client's certificate does so after the handshake.
    ///
    /// # Errors
    /// When the handshake fails, or the connection ends before the answer.
    pub async fn get(self, address: SocketAddr, path: &str) -> io::Result<String> {
        let mut stream = self.connect(address, b"http/1.1").await?;
        ask(&mut stream, path).await
    }
}

/// The whole answer to `GET path` without TLS.
///
/// # Errors
/// Those of the connection.
pub async fn get_plainly(address: SocketAddr, path: &str) -> io::Result<String> {
    ask(&mut TcpStream::connect(address).await?, path).await
}

async fn ask(stream: &mut (impl AsyncReadExt + AsyncWriteExt + Unpin), path: &str) -> io::Result<String> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
