//! Protects a manager from web pages that use their visitor's browser.
//!
//! While its store has no access key, any client that reaches a manager may do anything, so it listens on loopback. A
//! browser on that machine reaches it too, and sends requests for any page of any site. The browser marks these requests with
//! `Sec-Fetch-Site` or `Origin`, and a request that changes something is refused if it comes from a page of another site. A
//! page whose own name points to this machine (DNS rebinding) is the same site for the browser, but its `Host` shows that
//! name, so a manager on loopback, or with `allowed_hosts`, answers only to known names.
//!
//! Programs send neither header and are not affected. This is no access control: it does not stop clients that reach the address.

use std::{net::IpAddr, sync::Arc};

use arc_swap::ArcSwapOption;
use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Uri, Version, header, uri::Authority},
};
use jobbers_api::problem::{Code, Problem, Result};
use jobbers_process::listen::Endpoint;

use crate::config::Config;

/// Where a browser says from which page a request comes.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Marks a request whose length may be declared in two ways, of which a proxy may have taken the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ambiguous;

/// Which names a manager answers to.
#[derive(Debug)]
pub(crate) struct Guard {
    /// `None`: any.
    names: Option<Vec<String>>,
    /// A `Host` that was let through, as most requests have the same.
    known: ArcSwapOption<HeaderValue>,
}

impl Guard {
    /// For a manager that listens on `address`.
    pub(crate) fn new(config: &Config, address: &Endpoint) -> Self {
        // Elsewhere than on loopback its names are known only if they are given. No web page reaches a socket in the file system.
        let has_names = address.is_loopback() || !config.allowed_hosts.is_empty();
        let is_open = !has_names || config.allowed_hosts.iter().any(|name| name == "*");
        let advertised = config.advertise_url.parse::<Uri>().ok();
        let advertised = advertised.as_ref().and_then(Uri::host).map(str::to_owned);
        let names = config.allowed_hosts.iter().cloned().chain(advertised);
        let names = (!is_open).then(|| names.map(|name| name.to_ascii_lowercase()).collect());
        Self { names, known: ArcSwapOption::empty() }
    }

    /// Lets a request through, or refuses it.
    pub(crate) fn check(&self, request: &Request) -> Result<()> {
        if request.extensions().get::<Ambiguous>().is_some() {
            let detail = "the request has both Content-Length and Transfer-Encoding, or can't be shown not to have them \
                          because it was sent behind another one; send one of them, on a connection of its own";
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        if self.is_known(request) {
            return Ok(());
        }
        let asked = authority(request)?;
        if let (Some(names), Some(asked)) = (&self.names, &asked) {
            check_name(names, asked.host())?;
        }
        if request.uri().authority().is_none() {
            self.known.store(request.headers().get(header::HOST).cloned().map(Arc::new));
        }
        if request.method().is_safe() { Ok(()) } else { check_origin(request.headers(), asked.as_ref()) }
    }

    /// Whether a program asks for a name that was let through before: then nothing is left to check.
    fn is_known(&self, request: &Request) -> bool {
        let headers = request.headers();
        let mut hosts = headers.get_all(header::HOST).iter();
        let is_same = hosts.next().is_some_and(|host| self.known.load().as_deref() == Some(host));
        let is_plain = hosts.next().is_none() && request.uri().authority().is_none();
        is_same && is_plain && !is_of_browser(headers)
    }
}

/// Whether a request says from which page it comes, as those of browsers do that may change something.
pub(crate) fn is_of_browser(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || headers.contains_key(FETCH_SITE)
}

/// What a request asks for: the host and port that its client believes to speak to. An HTTP/1.1 request has exactly one.
fn authority(request: &Request) -> Result<Option<Authority>> {
    let refused = |why: &str| Err(Problem::new(Code::InvalidParameter, format!("the header Host: {why}")));
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let said = match (hosts.next(), hosts.next()) {
        (None, _) if request.version() < Version::HTTP_11 => return Ok(request.uri().authority().cloned()),
        (None, _) => return refused("it is missing"),
        (Some(_), Some(_)) => return refused("there are several"),
        (Some(host), None) => host,
    };
    match said.to_str().ok().and_then(|text| text.parse::<Authority>().ok()) {
        Some(said) if !said.as_str().contains('@') => Ok(Some(request.uri().authority().cloned().unwrap_or(said))),
        _ => refused("it is no name or address, with or without a port"),
    }
}

fn check_name(names: &[String], host: &str) -> Result<()> {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    // An address can't be made to point elsewhere.
    let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    if is_address || host == "localhost" || host.ends_with(".localhost") || names.contains(&host) {
        return Ok(());
    }
    let detail = format!(
        "this manager does not answer to the name {host}; ask for localhost or an address, or put the name into its \
         allowed_hosts"
    );
    Err(Problem::new(Code::ForeignHost, detail))
}

fn check_origin(headers: &HeaderMap, asked: Option<&Authority>) -> Result<()> {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let is_foreign = match (text(FETCH_SITE), text(header::ORIGIN)) {
        (Some(site), _) => !matches!(site, "same-origin" | "none"),
        (None, Some(origin)) => {
            let origin = origin.split_once("://").map(|(_, authority)| authority);
            !origin.zip(asked).is_some_and(|(origin, asked)| origin.eq_ignore_ascii_case(asked.as_str()))
        }
        (None, None) => false,
    };
    if !is_foreign {
        return Ok(());
    }
    let page = text(header::ORIGIN).unwrap_or("another site");
    Err(Problem::new(Code::ForeignOrigin, format!("a page of {page} may not change anything here")))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn request(method: &str, headers: &[(&str, &str)]) -> Request {
        let builder = axum::http::Request::builder().method(method).uri("/tasks/cancel");
        headers.iter().fold(builder, |it, (name, value)| it.header(*name, *value)).body(Body::empty()).unwrap()
    }

    fn refused(guard: &Guard, method: &str, headers: &[(&str, &str)]) -> Option<Code> {
        guard.check(&request(method, headers)).err().map(|problem| problem.code())
    }

    fn on(address: &str, allowed: &[&str]) -> Guard {
        let allowed_hosts = allowed.iter().map(|&name| name.to_owned()).collect();
        let config = Config { allowed_hosts, advertise_url: "http://Advertised:1".to_owned(), ..Config::default() };
        Guard::new(&config, &address.parse().unwrap())
    }

    #[test]
    fn a_page_of_another_site_changes_nothing() {
        let guard = on("127.0.0.1:8000", &[]);
        let host = ("host", "127.0.0.1:8000");
        for foreign in [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "odd"),
            ("origin", "https://evil.example"),
            ("origin", "http://127.0.0.1:8001"),
            ("origin", "null"),
        ] {
            for method in ["POST", "PUT", "DELETE", "PATCH"] {
                let told = refused(&guard, method, &[host, foreign]);
                assert_eq!(told, Some(Code::ForeignOrigin), "{method} {foreign:?}");
            }
            assert_eq!(refused(&guard, "GET", &[host, foreign]), None, "a link may lead here");
        }
        let rebound = [("host", "evil.example"), ("origin", "http://evil.example"), ("sec-fetch-site", "same-origin")];
        assert_eq!(refused(&guard, "POST", &rebound), Some(Code::ForeignHost));
        assert_eq!(refused(&guard, "GET", &rebound), Some(Code::ForeignHost));
    }

    #[test]
    fn a_name_that_was_let_through_before_lets_no_other_request_through() {
        let guard = on("127.0.0.1:8000", &[]);
        let host = ("host", "localhost:8000");
        assert_eq!(refused(&guard, "POST", &[host]), None);
        assert_eq!(refused(&guard, "POST", &[host]), None);
        assert_eq!(refused(&guard, "POST", &[host, ("origin", "http://evil.example")]), Some(Code::ForeignOrigin));
        assert_eq!(refused(&guard, "POST", &[host, ("sec-fetch-site", "cross-site")]), Some(Code::ForeignOrigin));
        assert_eq!(refused(&guard, "GET", &[("host", "evil.example")]), Some(Code::ForeignHost));
        assert_eq!(refused(&guard, "GET", &[host, host]), Some(Code::InvalidParameter));
        assert_eq!(refused(&guard, "GET", &[]), Some(Code::InvalidParameter));
        let mut absolute = request("GET", &[host]);
        *absolute.uri_mut() = "http://evil.example/tasks".parse().unwrap();
        assert_eq!(guard.check(&absolute).unwrap_err().code(), Code::ForeignHost);
    }

    #[test]
    fn programs_and_its_own_pages_are_let_through() {
        let guard = on("[::1]:8000", &["jobs.example.org"]);
        for headers in [
            &[("host", "localhost:8000")][..],
            &[("host", "LOCALHOST.")],
            &[("host", "jobs.localhost")],
            &[("host", "127.0.0.1:8000"), ("origin", "http://127.0.0.1:8000")],
            &[("host", "[::1]:8000"), ("sec-fetch-site", "same-origin"), ("origin", "http://[::1]:8000")],
            &[("host", "10.0.0.7"), ("sec-fetch-site", "none")],
            &[("host", "Jobs.Example.org")],
            &[("host", "advertised:1")],
        ] {
            assert_eq!(refused(&guard, "POST", headers), None, "{headers:?}");
        }
        let named = on("0.0.0.0:8000", &["jobs.example.org"]);
        assert_eq!(refused(&named, "GET", &[("host", "evil.example")]), Some(Code::ForeignHost));
        for known in ["jobs.example.org", "10.0.0.7:8000", "localhost"] {
            assert_eq!(refused(&named, "POST", &[("host", known)]), None, "{known}");
        }
        for open in [on("0.0.0.0:8000", &[]), on("127.0.0.1:8000", &["*"])] {
            assert_eq!(refused(&open, "POST", &[("host", "any.example")]), None);
            let foreign = [("host", "any.example"), ("origin", "http://evil.example")];
            assert_eq!(refused(&open, "POST", &foreign), Some(Code::ForeignOrigin));
        }
    }
}
