//! The files of a TLS connection: the authorities to trust, and the client's certificate.

use std::fs;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jobbers_common::engine::{Error, Result};
use percent_encoding::percent_decode_str;
use redis::{ClientTlsConfig, TlsCertificates};
use rustls::{RootCertStore, pki_types::CertificateDer};

/// The length of a line of PEM.
const PEM_LINE: usize = 64;

/// The PEM files that the parameters of an address name, read once.
#[derive(Default)]
pub(crate) struct TlsFiles {
    ca: Option<Vec<u8>>,
    cert: Option<Vec<u8>>,
    key: Option<Vec<u8>>,
}

impl TlsFiles {
    /// Takes a parameter of an address; `false` if it is none of these.
    ///
    /// # Errors
    /// If the file can't be read, or holds nothing of the kind. A key in place of a certificate would otherwise trust
    /// no server, and fail only at the connection.
    pub(crate) fn take(&mut self, name: &str, path: &str) -> Result<bool> {
        let (place, kind) = match name {
            "ca" => (&mut self.ca, "CERTIFICATE-----"),
            "cert" => (&mut self.cert, "CERTIFICATE-----"),
            "key" => (&mut self.key, "PRIVATE KEY-----"),
            _ => return Ok(false),
        };
        let path = percent_decode_str(path).decode_utf8_lossy();
        let wrong = |problem: String| Error::Config(format!("{name}={path}: {problem}"));
        let pem = fs::read(path.as_ref()).map_err(|error| wrong(error.to_string()))?;
        if !String::from_utf8_lossy(&pem).contains(kind) {
            return Err(wrong(format!("no PEM file with a \"{}\"", kind.trim_end_matches('-'))));
        }
        *place = Some(pem);
        Ok(true)
    }

    /// The files in the `redis` crate's format. The authorities of the system are read only if none are named.
    ///
    /// # Errors
    /// If half of a client's certificate is missing, or if no authorities are named and the system has none.
    pub(crate) fn certificates(self) -> Result<TlsCertificates> {
        let client_tls = match (self.cert, self.key) {
            (Some(client_cert), Some(client_key)) => Some(ClientTlsConfig { client_cert, client_key }),
            (None, None) => None,
            _ => {
                return Err(Error::Config(
                    "what a client shows of itself takes both cert=FILE and key=FILE".to_owned(),
                ));
            }
        };
        let root_cert = self.ca.map_or_else(authorities_of_the_system, Ok)?;
        Ok(TlsCertificates { client_tls, root_cert: Some(root_cert) })
    }
}

/// The authorities that the system trusts, or those of `SSL_CERT_FILE`, as PEM. One that can't be read as such is left
/// out, as other programs do.
fn authorities_of_the_system() -> Result<Vec<u8>> {
    let is_readable = |certificate: &CertificateDer<'static>| RootCertStore::empty().add(certificate.clone()).is_ok();
    let found = rustls_native_certs::load_native_certs().certs;
    let pem: String = found.iter().filter(|certificate| is_readable(certificate)).map(pem).collect();
    if pem.is_empty() {
        return Err(Error::Config(
            "rediss:// needs certificate authorities, and this system has none: name them with ?ca=FILE, or install \
             the system's package ca-certificates"
                .to_owned(),
        ));
    }
    Ok(pem.into_bytes())
}

fn pem(certificate: &CertificateDer<'static>) -> String {
    let encoded = STANDARD.encode(certificate);
    let lines: Vec<&str> = encoded.as_bytes().chunks(PEM_LINE).filter_map(|line| str::from_utf8(line).ok()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}
