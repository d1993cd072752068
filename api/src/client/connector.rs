//! The HTTP clients beneath a [`super::Client`]. The system's certificate authorities are read for the first `https` URL
//! and not before: a system without any, such as a small container, speaks plain HTTP all the same.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use reqwest::{ClientBuilder, Url, redirect};

use super::tls_files::TlsFiles;

/// How long a manager may take to accept a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// What helps a system without authorities.
#[cfg(feature = "https")]
const NO_AUTHORITIES: &str = "this system has no certificate authorities to check an https address with: install its \
                              package ca-certificates, or name a file of them with SSL_CERT_FILE";

/// One client for plain HTTP, and one that is made for the first `https` URL.
#[derive(Debug, Clone)]
pub(super) struct HttpClients {
    pub(super) plain: reqwest::Client,
    secure: Arc<OnceLock<Result<reqwest::Client, String>>>,
    agent: String,
    files: TlsFiles,
}

impl HttpClients {
    /// # Errors
    /// What is wrong, if no client can be made with this `User-Agent`.
    pub(super) fn new(agent: &str, files: TlsFiles) -> Result<Self, String> {
        let plain = built(http_client(), agent)?;
        Ok(Self { plain, secure: Arc::default(), agent: agent.to_owned(), files })
    }

    /// The client for a URL.
    ///
    /// # Errors
    /// What is wrong, if the URL is `https` and this system has no authorities, or a file of them can't be used.
    pub(super) fn client_of(&self, url: &Url) -> Result<&reqwest::Client, String> {
        if url.scheme() != "https" {
            return Ok(&self.plain);
        }
        let secure = || built(self.files.given_to(with_authorities())?, &self.agent);
        self.secure.get_or_init(secure).as_ref().map_err(Clone::clone)
    }
}

fn built(builder: ClientBuilder, agent: &str) -> Result<reqwest::Client, String> {
    let builder = builder.redirect(redirect::Policy::none()).connect_timeout(CONNECT_WITHIN).user_agent(agent);
    builder.build().map_err(|error| {
        #[cfg(feature = "https")]
        if error.is_builder() && rustls_native_certs::load_native_certs().certs.is_empty() {
            return NO_AUTHORITIES.to_owned();
        }
        format!("can't make an HTTP client: {error}")
    })
}

/// A builder of clients that ask a manager directly over plain HTTP: a proxy of the environment is for the world outside.
pub fn http_client() -> ClientBuilder {
    let builder = directly();
    #[cfg(feature = "https")]
    let builder = builder.tls_certs_only([]);
    builder
}

/// The same for this URL, which may be `https`.
pub fn http_client_for(url: &str) -> ClientBuilder {
    if url.starts_with("https:") { with_authorities() } else { http_client() }
}

/// `reqwest` has no cryptography of its own here; this chooses *ring* for the process, unless the program has chosen.
fn directly() -> ClientBuilder {
    #[cfg(feature = "https")]
    rustls::crypto::ring::default_provider().install_default().ok();
    reqwest::Client::builder().no_proxy()
}

/// A builder whose clients trust the system's authorities, or those of `SSL_CERT_FILE`, read when the client is built.
fn with_authorities() -> ClientBuilder {
    directly()
}
