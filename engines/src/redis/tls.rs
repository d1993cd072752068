//! The files a TLS connection is made with: whom to trust, and what to show of oneself.

use std::fs;

use jobbers_common::engine::{Error, Result};
use percent_encoding::percent_decode_str;
use redis::{ClientTlsConfig, TlsCertificates};

/// What the parameters of an address name, as PEM files read once.
#[derive(Default)]
pub(super) struct TlsFiles {
    ca: Option<Vec<u8>>,
    cert: Option<Vec<u8>>,
    key: Option<Vec<u8>>,
}

impl TlsFiles {
    /// Takes a parameter of an address; `false` when it is none of these.
    ///
    /// # Errors
    /// When the file can't be read, or holds nothing of the kind: a key in place of a certificate would otherwise trust
    /// nobody, and say so only when it connects.
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

    /// The files as the `redis` crate takes them; `None` when the system's authorities are trusted and nothing is shown.
    ///
    /// # Errors
    /// When half of a client's certificate is missing.
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
