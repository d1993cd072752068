//! The files of a TLS connection: the authorities to trust, and the client's certificate.

use std::fs;

use jobbers_common::engine::{Error, Result};
use percent_encoding::percent_decode_str;
use redis::{ClientTlsConfig, TlsCertificates};

/// The PEM files that the parameters of an address name, read once.
#[derive(Default)]
pub(super) struct TlsFiles {
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
    pub(super) fn take(&mut self, name: &str, path: &str) -> Result<bool> {
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

    /// The files in the `redis` crate's format; `None` if the system's authorities are trusted and no certificate is
    /// sent.
    ///
    /// # Errors
    /// If half of a client's certificate is missing.
    pub(super) fn certificates(self) -> Result<Option<TlsCertificates>> {
        let client_tls = match (self.cert, self.key) {
            (Some(client_cert), Some(client_key)) => Some(ClientTlsConfig { client_cert, client_key }),
            (None, None) => None,
            _ => {
                return Err(Error::Config(
                    "what a client shows of itself takes both cert=FILE and key=FILE".to_owned(),
                ));
            }
        };
        let root_cert = self.ca;
        Ok((client_tls.is_some() || root_cert.is_some()).then_some(TlsCertificates { client_tls, root_cert }))
    }
}
