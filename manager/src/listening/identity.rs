//! Whom a proxy signed in: it names the person in the header that `trusted_header` names.
//!
//! The header counts on connections from the proxies' networks alone, by the address of the connection; `X-Forwarded-For` does
//! not count. It is taken off every request, from elsewhere too, so no code behind this reads what a client wrote.
//!
//! A key of the request's own, in `Authorization`, wins: then the header is not looked at.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue, header},
};
use jobbers_process::server::networks::Networks;

use super::server::Caller;
use crate::config::Config;

/// Longest name of a person, in bytes.
const MAX_BYTES: usize = 256;

/// The header in which proxies name people, and where these proxies are.
#[derive(Debug)]
pub(crate) struct TrustedHeader {
    name: HeaderName,
    from: Networks,
}

/// Whom a trusted proxy names, in the extensions of a request.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    header: HeaderName,
    person: Result<Arc<str>, &'static str>,
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
        let mut values = request.headers().get_all(&self.name).iter();
        let first = values.next().filter(|_| self.from.contain(peer))?;
        let person = match values.next() {
            None => read_person(first),
            Some(_) => Err("is there twice"),
        };
        Some(Identity { header: self.name.clone(), person })
    }
}

impl Identity {
    /// The name of the person.
    ///
    /// # Errors
    /// Which header names none, and what is wrong with it.
    pub(crate) fn person(&self) -> Result<&str, String> {
        self.person.as_deref().map_err(|why| format!("the header {} {why}", self.header))
    }

    /// The header again, for a manager that the request is passed on to.
    pub(crate) fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        let value = HeaderValue::from_bytes(self.person.as_deref().ok()?.as_bytes()).ok()?;
        Some((self.header.clone(), value))
    }
}

fn read_person(value: &HeaderValue) -> Result<Arc<str>, &'static str> {
    if value.is_empty() {
        return Err("is empty");
    }
    if value.len() > MAX_BYTES {
        return Err("has over 256 bytes");
    }
    let text = str::from_utf8(value.as_bytes()).map_err(|_| "is not UTF-8")?;
    if text.chars().any(char::is_control) { Err("has control characters") } else { Ok(text.into()) }
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
        Some(identity.person().map(str::to_owned))
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
            assert_eq!(read(values, "::1"), Some(Err(format!("the header remote-user {why}"))));
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
}
