//! Who a client is, besides its key: whom a proxy signed in, or whom the client's certificate names.
//!
//! A proxy names the person in the header that `trusted_header` names. The header counts on connections from the proxies' networks
//! alone, by the address of the connection; `X-Forwarded-For` does not count. It is taken off every request, from elsewhere too, so no
//! code behind this reads what a client wrote.
//!
//! With `tls_client_keys`, the name of the certificate that a client showed in its handshake counts where no proxy names a person. A
//! request that another manager passed on comes over that manager's connection: its client is the one that the manager names, which
//! counts by the manager's own certificate.
//!
//! A key of the request's own, in `Authorization`, wins: then none of it is looked at.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, header},
};
use jobbers_process::server::{networks::Networks, tls::CertificateName};

use super::{
    passed_on::{CERTIFICATE_NAME, PASSED_ON},
    server::Caller,
};
use crate::config::Config;

/// Longest name of a person, in bytes.
const MAX_BYTES: usize = 256;

/// The header in which proxies name people, and where these proxies are.
#[derive(Debug)]
pub(crate) struct TrustedHeader {
    name: HeaderName,
    from: Networks,
}

/// Who a client is, in the extensions of a request.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    source: Source,
    name: Result<Arc<str>, &'static str>,
}

/// By what a client is named.
#[derive(Debug, Clone)]
enum Source {
    /// A trusted proxy, in this header.
    Header(HeaderName),
    /// Its certificate.
    Certificate,
    /// Its certificate, as the manager says that passed the request on and has a certificate of this name.
    PassedOn(CertificateName),
}

impl TrustedHeader {
    /// That of a configuration, which was checked.
    pub(crate) fn of(config: &Config) -> Option<Self> {
        let name = config.trusted_header().ok().flatten()?;
        Some(Self { name, from: config.trusted_from.clone() })
    }

    /// Takes the header off a request, and puts whom it names into the extensions.
    ///
    /// What a page asks of the API comes without the header, and keeps the extension of the page's request.
    pub(crate) fn take_off(&self, request: &mut Request) {
        let peer = request.extensions().get::<Caller>().and_then(|caller| caller.peer);
        let has_key = request.headers().contains_key(header::AUTHORIZATION);
        let identity = peer.filter(|_| !has_key).and_then(|peer| self.read(request, peer));
        request.headers_mut().remove(&self.name);
        if let Some(identity) = identity {
            request.extensions_mut().insert(identity);
        }
    }

    fn read(&self, request: &Request, peer: IpAddr) -> Option<Identity> {
        let name = name_in(request.headers(), &self.name).filter(|_| self.from.contain(peer))?;
        Some(Identity { source: Source::Header(self.name.clone()), name })
    }
}

impl Identity {
    /// Puts whom a client's certificate names into the extensions of its request, unless it has a key or a proxy names a person.
    ///
    /// What a page asks of the API keeps the extension of the page's request.
    pub(crate) fn note_certificate(request: &mut Request) {
        let has_key = request.headers().contains_key(header::AUTHORIZATION);
        if has_key || request.extensions().get::<Self>().is_some() {
            return;
        }
        let caller = request.extensions().get::<Caller>();
        let shown = caller.and_then(|caller| caller.connection.certificate_name()).cloned();
        if let Some(identity) = shown.and_then(|shown| Self::over(shown, request.headers())) {
            request.extensions_mut().insert(identity);
        }
    }

    /// That of a request over a connection whose client showed a certificate of this name.
    pub(crate) fn over(shown: CertificateName, headers: &HeaderMap) -> Option<Self> {
        if headers.contains_key(PASSED_ON) {
            // Without a name its client has a session, or is named by a proxy: the manager's own name is not the client's.
            let name = name_in(headers, &CERTIFICATE_NAME)?;
            return Some(Self { source: Source::PassedOn(shown), name });
        }
        let name = shown.and_then(|name| check(&name).map(|()| name));
        Some(Self { source: Source::Certificate, name })
    }

    /// The name of the client.
    ///
    /// # Errors
    /// What names none, what is wrong with it, and what to do.
    pub(crate) fn name(&self) -> Result<&str, String> {
        self.name.as_deref().map_err(|why| match &self.source {
            Source::Header(header) => format!(
                "the header {header} {why}; the proxy in front of this manager sets it once, to the name of the person whom it \
                 signed in"
            ),
            Source::Certificate | Source::PassedOn(_) => format!(
                "the name of your certificate {why}; its first DNS name is the name of your key, or its common name if it has \
                 none. Otherwise send a key"
            ),
        })
    }

    /// The beginning of a sentence about a client of this name.
    pub(crate) fn introduce(&self, name: &str) -> String {
        match &self.source {
            Source::Header(_) => format!("your proxy signed you in as {name:?}"),
            Source::Certificate | Source::PassedOn(_) => format!("your certificate is that of {name:?}"),
        }
    }

    /// Whether a certificate names the client, and no proxy.
    pub(crate) const fn is_of_certificate(&self) -> bool {
        !matches!(self.source, Source::Header(_))
    }

    /// The name of the certificate of the manager that passed the request on and names its client.
    pub(crate) const fn passed_on_by(&self) -> Option<&CertificateName> {
        match &self.source {
            Source::PassedOn(manager) => Some(manager),
            Source::Header(_) | Source::Certificate => None,
        }
    }

    /// The header for a manager that the request is passed on to.
    pub(crate) fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        let value = HeaderValue::from_bytes(self.name.as_deref().ok()?.as_bytes()).ok()?;
        let header = match &self.source {
            Source::Header(header) => header.clone(),
            Source::Certificate | Source::PassedOn(_) => CERTIFICATE_NAME,
        };
        Some((header, value))
    }
}

/// The name in a header, if it is there.
fn name_in(headers: &HeaderMap, header: &HeaderName) -> Option<Result<Arc<str>, &'static str>> {
    let mut values = headers.get_all(header).iter();
    let first = values.next()?;
    Some(match values.next() {
        None => read(first),
        Some(_) => Err("is there twice"),
    })
}

fn read(value: &HeaderValue) -> Result<Arc<str>, &'static str> {
    let text = str::from_utf8(value.as_bytes()).map_err(|_| "is not UTF-8")?;
    check(text).map(|()| text.into())
}

/// Whether a text may be a name.
fn check(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        return Err("is empty");
    }
    if text.len() > MAX_BYTES {
        return Err("has over 256 bytes");
    }
    if text.chars().any(char::is_control) { Err("has control characters") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn read(values: &[&[u8]], peer: &str) -> Option<Result<String, String>> {
        let name = HeaderName::from_static("remote-user");
        let trusted = TrustedHeader {
            name: name.clone(),
            from: ["10.0.0.0/8", "::1"].iter().map(|text| text.parse().unwrap()).collect(),
        };
        let mut request = Request::new(Body::empty());
        for value in values {
            request.headers_mut().append(name.clone(), HeaderValue::from_bytes(value).unwrap());
        }
        let identity = trusted.read(&request, peer.parse().unwrap())?;
        Some(identity.name().map(str::to_owned))
    }

    #[test]
    fn a_person_is_named_by_a_trusted_proxy_in_one_plain_text() {
        let named = |text: &str| Some(Ok(text.to_owned()));
        assert_eq!(read(&[b"ada"], "10.1.2.3"), named("ada"));
        assert_eq!(read(&[b"ada"], "::ffff:10.1.2.3"), named("ada"));
        assert_eq!(read(&["Ad\u{e4}@example.org".as_bytes()], "::1"), named("Ad\u{e4}@example.org"));
        assert_eq!(read(&[&[b'x'; 256]], "::1"), named(&"x".repeat(256)));
        for elsewhere in ["192.0.2.1", "::2", "127.0.0.1"] {
            assert_eq!(read(&[b"ada"], elsewhere), None, "{elsewhere}");
        }
        assert_eq!(read(&[], "::1"), None);
        for (values, why) in [
            (&[b"ada".as_slice(), b"ada"][..], "is there twice"),
            (&[b""], "is empty"),
            (&[&[b'x'; 257]], "has over 256 bytes"),
            (&[b"a\tb"], "has control characters"),
            (&["a\u{85}b".as_bytes()], "has control characters"),
            (&[b"a\xff"], "is not UTF-8"),
        ] {
            let refused = read(values, "::1").unwrap().unwrap_err();
            assert!(refused.starts_with(&format!("the header remote-user {why}; ")), "{refused}");
        }
    }

    #[test]
    fn a_request_without_a_connection_or_with_a_key_of_its_own_names_no_person() {
        let name = HeaderName::from_static("remote-user");
        let trusted = TrustedHeader { name: name.clone(), from: ["::1".parse().unwrap()].into_iter().collect() };
        let mut request = Request::new(Body::empty());
        request.headers_mut().append(name.clone(), HeaderValue::from_static("ada"));
        request.headers_mut().append(name.clone(), HeaderValue::from_static("bob"));
        trusted.take_off(&mut request);
        assert!(request.extensions().get::<Identity>().is_none() && !request.headers().contains_key(&name));
    }

    #[test]
    fn a_certificate_names_its_client_and_a_manager_names_the_client_of_what_it_passes_on() {
        let over = |shown: &CertificateName, sent: &[(&str, &str)]| {
            let of = |(name, value): &(&str, &str)| {
                (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::try_from(*value).unwrap())
            };
            Identity::over(shown.clone(), &sent.iter().map(of).collect())
        };
        let (shown, named) = (Ok("ci".into()), ("jobbers-certificate-name", "ada"));
        let client = over(&shown, &[]).unwrap();
        assert_eq!((client.name(), client.passed_on_by()), (Ok("ci"), None));
        assert_eq!(client.header().unwrap(), (CERTIFICATE_NAME, HeaderValue::from_static("ci")));
        assert_eq!(over(&shown, &[named]).unwrap().name(), Ok("ci"), "only a manager names another client");
        assert!(over(&shown, &[("jobbers-passed-on", "1")]).is_none(), "the client is not the manager");
        let passed_on = over(&shown, &[("jobbers-passed-on", "1"), named]).unwrap();
        assert_eq!((passed_on.name(), passed_on.passed_on_by()), (Ok("ada"), Some(&shown)));
        let twice = over(&shown, &[("jobbers-passed-on", "1"), named, named]).unwrap();
        assert!(twice.name().unwrap_err().contains("is there twice"));
        for (shown, why) in [
            (Err("is missing"), "is missing"),
            (Ok("".into()), "is empty"),
            (Ok("x".repeat(257).into()), "has over 256 bytes"),
            (Ok("a\0b".into()), "has control characters"),
        ] {
            let refused = over(&shown, &[]).unwrap().name().map(str::to_owned).unwrap_err();
            assert!(refused.starts_with(&format!("the name of your certificate {why}; ")), "{refused}");
        }
    }
}
