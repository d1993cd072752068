//! An identity: its certificate, its key, and the authorities of its clients. The files are read again when they change;
//! files that can't be used leave the identity as it was.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use jiff::Timestamp;
use parking_lot::RwLock;
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};
use tokio_rustls::TlsAcceptor;
use x509_cert::{Certificate, der::Decode, time::Time};

use super::{
    super::{Protocol, connections::ConnectionState, transport::Transport},
    TlsError, TlsFiles, Validity,
    certificate_name::name_of,
};

/// How often the files are compared with what was read.
const COMPARED: Duration = Duration::from_secs(5);
/// The first byte of a client that speaks TLS.
const HANDSHAKE: u8 = 22;
/// The answer to a client of plain HTTP.
const PLAIN: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n\
    This port speaks TLS: write https:// in place of http://.\n";

/// The identity of a listener.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    protocol: Protocol,
    identity: RwLock<LoadedIdentity>,
}

/// What the files held when they were read.
#[derive(Debug)]
struct LoadedIdentity {
    server: Arc<ServerConfig>,
    validity: Validity,
    marks: [Option<FileStamp>; 3],
}

/// A file as it was when it was read; it differs once the file was changed or replaced.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Tls {
    /// Reads the files of a listener whose clients speak `protocol`.
    ///
    /// # Errors
    /// When they can't be used as an identity. A certificate that is over can be: it is logged, because clients refuse it.
    pub fn open(files: TlsFiles, protocol: Protocol) -> Result<Arc<Self>, TlsError> {
        let identity = LoadedIdentity::read(&files, protocol)?;
        if let Some(warning) = identity.validity.warning(Timestamp::now()) {
            tracing::warn!(certificate = %files.certificate.display(), "{warning}");
        }
        Ok(Arc::new(Self { files, protocol, identity: RwLock::new(identity) }))
    }

    /// For how long the certificate in use is valid.
    pub fn validity(&self) -> Validity {
        self.identity.read().validity
    }

    /// Whether only clients with a certificate are served.
    pub const fn knows_clients(&self) -> bool {
        self.files.client_authorities.is_some()
    }

    /// The handshake with a client, whose state gets the name of its certificate. A client that does not speak TLS is answered
    /// with a sentence.
    pub(in super::super) async fn accept(
        &self,
        mut stream: TcpStream,
        state: &ConnectionState,
    ) -> io::Result<Transport> {
        let mut first = [0];
        if stream.peek(&mut first).await? > 0 && first != [HANDSHAKE] {
            if self.protocol == Protocol::Http1 {
                stream.write_all(PLAIN).await?;
                stream.shutdown().await?;
            }
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the client does not speak TLS"));
        }
        let server = Arc::clone(&self.identity.read().server);
        let stream = TlsAcceptor::from(server).accept(stream).await?;
        if let Some(certificate) = stream.get_ref().1.peer_certificates().and_then(<[_]>::first) {
            state.name_client(name_of(certificate));
        }
        Ok(Transport::Tls(Box::new(stream)))
    }

    /// Reads the files again whenever they change, until it is dropped.
    pub(in super::super) async fn watch(self: Arc<Self>) {
        let mut ticks = interval(COMPARED);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut refused = None;
        loop {
            ticks.tick().await;
            let this = Arc::clone(&self);
            let Ok(outcome) = spawn_blocking(move || this.renew()).await else { continue };
            match outcome {
                Ok(None) => refused = None,
                Ok(Some(Validity { ends_at, .. })) => {
                    refused = None;
                    tracing::info!(certificate = %self.files.certificate.display(), %ends_at, "the certificate was read again");
                }
                Err(error) => {
                    let error = error.to_string();
                    if refused.as_ref() != Some(&error) {
                        tracing::warn!(error, "the changed certificate can't be used; the one before stays");
                        refused = Some(error);
                    }
                }
            }
        }
    }

    /// Reads the files if they changed. Returns for how long the new certificate is valid.
    fn renew(&self) -> Result<Option<Validity>, TlsError> {
        if self.files.marks() == self.identity.read().marks {
            return Ok(None);
        }
        let identity = LoadedIdentity::read(&self.files, self.protocol)?;
        let validity = identity.validity;
        *self.identity.write() = identity;
        Ok(Some(validity))
    }
}

impl TlsFiles {
    fn marks(&self) -> [Option<FileStamp>; 3] {
        [Some(&self.certificate), Some(&self.key), self.client_authorities.as_ref()].map(|path| {
            let data = fs::metadata(path?).ok()?;
            Some(FileStamp { inode: data.ino(), bytes: data.len(), modified: data.modified().ok() })
        })
    }
}

impl LoadedIdentity {
    fn read(files: &TlsFiles, protocol: Protocol) -> Result<Self, TlsError> {
        // Before the files: a change while they are read is then noticed at the next comparison.
        let marks = files.marks();
        let chain = certificates(&files.certificate)?;
        let validity = validity_of(&files.certificate, &chain)?;
        let key = private_key(&files.key)?;
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let mismatch = |error: rustls::Error| TlsError::Mismatch {
            certificate: files.certificate.clone(),
            key: files.key.clone(),
            problem: error.to_string(),
        };
        let builder = builder.with_safe_default_protocol_versions().map_err(mismatch)?;
        let builder = match &files.client_authorities {
            None => builder.with_no_client_auth(),
            Some(path) => builder.with_client_cert_verifier(verifier(path)?),
        };
        let mut server = builder.with_single_cert(chain, key).map_err(mismatch)?;
        server.alpn_protocols = vec![match protocol {
            Protocol::Http1 => b"http/1.1".to_vec(),
            Protocol::Http2 => b"h2".to_vec(),
        }];
        Ok(Self { server: Arc::new(server), validity, marks })
    }
}

fn verifier(path: &Path) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, TlsError> {
    let refused = |problem: String| TlsError::Authorities { path: path.to_owned(), problem };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| refused(error.to_string()))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(ring::default_provider()));
    verifier.build().map(|it| it as _).map_err(|error| refused(error.to_string()))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let not_pem = |problem: String| TlsError::NotPem { path: path.to_owned(), what: "certificate", problem };
    let text = read(path)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.map_err(|error| not_pem(error.to_string()))?;
    if chain.is_empty() { Err(not_pem("it has no section CERTIFICATE".to_owned())) } else { Ok(chain) }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let not_pem = |problem: String| TlsError::NotPem { path: path.to_owned(), what: "private key", problem };
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|error| not_pem(error.to_string()))
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Unreadable { path: path.to_owned(), source })
}

/// For how long the first certificate of a chain is valid.
fn validity_of(path: &Path, chain: &[CertificateDer<'_>]) -> Result<Validity, TlsError> {
    let der = chain.first().map_or(&[][..], |it| it.as_ref());
    let unreadable = |problem: String| TlsError::NotPem { path: path.to_owned(), what: "certificate", problem };
    let certificate = Certificate::from_der(der).map_err(|error| unreadable(error.to_string()))?;
    let validity = certificate.tbs_certificate().validity();
    let at = |time: Time| Timestamp::try_from(time.to_system_time()).map_err(|error| unreadable(error.to_string()));
    Ok(Validity { begins_at: at(validity.not_before)?, ends_at: at(validity.not_after)? })
}
