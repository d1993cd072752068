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
        let config = config(self.trusts, self.is_of.map(|authority| (authority, "client")), protocol);
        shake_hands(Arc::new(config), TcpStream::connect(address).await?).await
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

/// What a client offers that trusts servers of an authority, shows the certificate of an authority in `FILE.pem`, and speaks a protocol
/// of ALPN.
pub(crate) fn config(trusts: &Authority, shows: Option<(&Authority, &str)>, protocol: &[u8]) -> ClientConfig {
    let certificate = |path| CertificateDer::from_pem_file(path).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(certificate(trusts.file("ca.pem"))).expect("an authority");
    let builder = ClientConfig::builder().with_root_certificates(roots);
    let mut config = match shows {
        None => builder.with_no_client_auth(),
        Some((authority, file)) => {
            let key = PrivateKeyDer::from_pem_file(authority.file(&format!("{file}.key"))).expect("its key");
            let chain = vec![certificate(authority.file(&format!("{file}.pem")))];
            builder.with_client_auth_cert(chain, key).expect("the key is the certificate's")
        }
    };
    config.alpn_protocols = vec![protocol.to_vec()];
    config
}

/// The connection to `localhost` after the handshake.
pub(crate) async fn shake_hands(config: Arc<ClientConfig>, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from("localhost").expect("a legal name");
    TlsConnector::from(config).connect(name, stream).await
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
