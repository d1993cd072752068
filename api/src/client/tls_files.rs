//! The files that a manager's `https` address names: `?ca=FILE`, the authorities to trust in place of the system's, and
//! `cert=FILE&key=FILE`, the client's own certificate. All are PEM.

use std::fmt;

use reqwest::{ClientBuilder, Url};

/// What an address may name.
const KNOWN: &str = "?ca=FILE, ?cert=FILE and ?key=FILE";

/// The files, read once.
#[derive(Clone, Default)]
pub(super) struct TlsFiles {
    ca: Option<Vec<u8>>,
    cert: Option<Vec<u8>>,
    key: Option<Vec<u8>>,
}

/// A key is in it.
impl fmt::Debug for TlsFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = |file: &Option<Vec<u8>>| file.is_some();
        write!(f, "TlsFiles {{ ca: {}, cert: {}, key: {} }}", has(&self.ca), has(&self.cert), has(&self.key))
    }
}

impl TlsFiles {
    /// Takes them out of an address.
    ///
    /// # Errors
    /// What is wrong: another parameter, an address without TLS, a file that can't be read, a certificate without its key.
    pub(super) fn take(url: &mut Url) -> Result<Self, String> {
        let mut files = Self::default();
        for (name, path) in url.query_pairs() {
            let place = match &*name {
                "ca" => &mut files.ca,
                "cert" => &mut files.cert,
                "key" => &mut files.key,
                _ => return Err(format!("it has {name:?} behind its `?`, where only {KNOWN} may be")),
            };
            if url.scheme() != "https" {
                return Err(format!("{name}={path} needs https://"));
            }
            *place = Some(std::fs::read(&*path).map_err(|error| format!("{name}={path}: {error}"))?);
        }
        if files.cert.is_some() != files.key.is_some() {
            return Err("what a client shows of itself takes both cert=FILE and key=FILE".to_owned());
        }
        url.set_query(None);
        Ok(files)
    }

    /// A builder whose clients use them.
    ///
    /// # Errors
    /// What is wrong with a file.
    #[cfg(feature = "https")]
    pub(super) fn given_to(&self, mut builder: ClientBuilder) -> Result<ClientBuilder, String> {
        if let Some(pem) = &self.ca {
            let authorities = reqwest::Certificate::from_pem_bundle(pem).map_err(|error| format!("ca: {error}"))?;
            if authorities.is_empty() {
                return Err("ca: the file holds no certificate in PEM".to_owned());
            }
            builder = builder.tls_certs_only(authorities);
        }
        if let (Some(cert), Some(key)) = (&self.cert, &self.key) {
            let identity = reqwest::Identity::from_pem(&[&cert[..], b"\n", key].concat());
            builder = builder.identity(identity.map_err(|error| format!("cert, key: {error}"))?);
        }
        Ok(builder)
    }

    /// Without TLS there are none.
    #[cfg(not(feature = "https"))]
    pub(super) fn given_to(&self, builder: ClientBuilder) -> Result<ClientBuilder, String> {
        Ok(builder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(address: &str) -> String {
        TlsFiles::take(&mut address.parse().unwrap()).unwrap_err()
    }

    #[test]
    fn an_address_names_only_files_of_tls() {
        assert!(refused("https://h?certificate=x").contains(KNOWN));
        assert!(refused("http://h?ca=x").contains("needs https://"));
        assert!(refused("https://h?ca=/none/there.pem").contains("/none/there.pem"));
        let file = std::env::current_exe().unwrap().display().to_string();
        assert!(refused(&format!("https://h?cert={file}")).contains("both"));
        let mut url: Url = format!("https://h:1/below?ca={file}").parse().unwrap();
        let files = TlsFiles::take(&mut url).unwrap();
        assert_eq!(url.as_str(), "https://h:1/below");
        assert_eq!(format!("{files:?}"), "TlsFiles { ca: true, cert: false, key: false }");
    }
}
