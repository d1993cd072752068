//! Asks the API of this process, as a client would: with the caller's own headers, through the same checks.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts, MatchedPath, OriginalUri, Request},
    http::{
        Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts, uri::Authority,
    },
};
use http_body_util::BodyExt;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use jobbers_api::problem::{Code, Problem, ProblemBody};
use serde::{Serialize, de::DeserializeOwned};

use super::token::TOKEN_FIELD;
use crate::settings::PageSettings;

/// The headers of a page's request that its requests to the API carry: who asks, and from which page.
static CARRIED: [HeaderName; 7] = [
    header::HOST,
    header::AUTHORIZATION,
    header::COOKIE,
    header::ORIGIN,
    HeaderName::from_static("sec-fetch-site"),
    HeaderName::from_static("x-forwarded-proto"),
    HeaderName::from_static("x-request-id"),
];

/// Most fields of a form: a list of a thousand rows has a field for each.
const MAX_FIELDS: usize = 4_096;

/// The API, on behalf of the caller of a page.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    service: Router,
    headers: HeaderMap,
    extensions: Extensions,
    /// The host and the port by which the browser reached the manager.
    host: Option<String>,
}

/// Why the API did not do what a page asked for.
#[derive(Debug, Clone)]
pub(crate) struct ApiRefusal {
    pub(crate) status: StatusCode,
    pub(crate) problem: Box<ProblemBody>,
}

/// An answer of the API.
#[derive(Debug)]
pub(crate) struct ApiAnswer {
    pub(crate) etag: Option<HeaderValue>,
    cookie: Option<HeaderValue>,
    pub(crate) body: Bytes,
}

impl FromRequestParts<Router> for Api {
    type Rejection = ApiRefusal;

    async fn from_request_parts(parts: &mut Parts, service: &Router) -> Result<Self, ApiRefusal> {
        let carried = CARRIED
            .iter()
            .flat_map(|name| parts.headers.get_all(name).iter().map(|value| (name.clone(), value.clone())));
        let mut extensions = parts.extensions.clone();
        // Those of the page are not those of what it asks for.
        extensions.remove::<MatchedPath>();
        extensions.remove::<OriginalUri>();
        let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| parts.uri.authority().map(Authority::as_str)).map(str::to_owned);
        Ok(Self { service: service.clone(), headers: carried.collect(), extensions, host })
    }
}

impl Api {
    /// What the manager configures of its pages.
    pub(crate) fn settings(&self) -> Option<&PageSettings> {
        self.extensions.get::<Arc<PageSettings>>().map(AsRef::as_ref)
    }

    /// The address by which the browser reached the manager, for the commands of a page: `http://127.0.0.1:8000`.
    pub(crate) fn address(&self) -> String {
        let is_plain = |host: &&str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte));
        let host = self.host.as_deref().filter(is_plain).unwrap_or("127.0.0.1:8000");
        let forwarded = self.headers.get("x-forwarded-proto");
        let is_https = self.settings().is_some_and(|settings| settings.speaks_tls)
            || forwarded.is_some_and(|scheme| scheme.as_bytes().eq_ignore_ascii_case(b"https"));
        format!("{}://{host}", if is_https { "https" } else { "http" })
    }

    /// Reads a document of the API.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiRefusal> {
        self.send(Method::GET, path, None, None).await?.read()
    }

    /// The same with its tag, by which a change says what it was made from.
    pub(crate) async fn get_tagged<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<(T, Option<HeaderValue>), ApiRefusal> {
        let answer = self.send(Method::GET, path, None, None).await?;
        Ok((answer.read()?, answer.etag))
    }

    /// Sends a request without a body.
    pub(crate) async fn call<T: DeserializeOwned>(&self, method: Method, path: &str) -> Result<T, ApiRefusal> {
        self.send(method, path, None, None).await?.read()
    }

    /// Sends a request with a body.
    pub(crate) async fn call_with<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ApiRefusal> {
        self.send(method, path, Some(json_of(body)?), None).await?.read()
    }

    /// Replaces what a tag names, unless it has changed since.
    pub(crate) async fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        tag: Option<HeaderValue>,
    ) -> Result<T, ApiRefusal> {
        self.send(Method::PUT, path, Some(json_of(body)?), tag).await?.read()
    }

    /// Deletes what a tag names, unless it has changed since.
    pub(crate) async fn delete(&self, path: &str, tag: Option<HeaderValue>) -> Result<(), ApiRefusal> {
        self.send(Method::DELETE, path, None, tag).await?.read()
    }

    /// Sends a request whose answer sets a cookie, and is a `T`.
    pub(crate) async fn set_cookie<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<HeaderValue, ApiRefusal> {
        let answer = self.send(method, path, body.map(json_of).transpose()?, None).await?;
        answer.read::<T>()?;
        answer.cookie.ok_or_else(|| defect("an answer of the API sets no cookie"))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        json: Option<Vec<u8>>,
        tag: Option<HeaderValue>,
    ) -> Result<ApiAnswer, ApiRefusal> {
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().map_err(|error| defect(&format!("the path {path:?}: {error}")))?;
        *request.headers_mut() = self.headers.clone();
        *request.extensions_mut() = self.extensions.clone();
        if let Some(json) = json {
            request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            *request.body_mut() = Body::from(json);
        }
        if let Some(tag) = tag {
            request.headers_mut().insert(header::IF_MATCH, tag);
        }
        let Ok(response) = TowerToHyperService::new(self.service.clone()).call(request).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| defect(&format!("an answer broke off: {error}")))?.to_bytes();
        if parts.status.is_success() {
            let header = |name| parts.headers.get(name).cloned();
            return Ok(ApiAnswer { etag: header(header::ETAG), cookie: header(header::SET_COOKIE), body });
        }
        let problem = serde_json::from_slice(&body).map_err(|error| defect(&format!("{}: {error}", parts.status)))?;
        Err(ApiRefusal { status: parts.status, problem })
    }
}

impl ApiAnswer {
    fn read<T: DeserializeOwned>(&self) -> Result<T, ApiRefusal> {
        // What is gone has no document.
        let body = if self.body.is_empty() { b"null".as_slice() } else { &self.body };
        serde_json::from_slice(body).map_err(|error| defect(&format!("an answer of the API: {error}")))
    }
}

impl From<Problem> for ApiRefusal {
    fn from(problem: Problem) -> Self {
        Self { status: problem.code().status(), problem: Box::new(problem.into()) }
    }
}

fn json_of(body: &impl Serialize) -> Result<Vec<u8>, ApiRefusal> {
    serde_json::to_vec(body).map_err(|error| defect(&error.to_string()))
}

fn defect(what: &str) -> ApiRefusal {
    Problem::new(Code::Internal, what).into()
}

/// A query of a page as a `T`. Fields of forms that were left empty count as absent.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Router> for Query<T> {
    type Rejection = ApiRefusal;

    async fn from_request_parts(parts: &mut Parts, _: &Router) -> Result<Self, ApiRefusal> {
        read_pairs(parts.uri.query().unwrap_or_default().as_bytes()).map(Self)
    }
}

/// A form that was sent to a page, as a `T`. Fields that were left empty count as absent.
pub(crate) struct Form<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Router> for Form<T> {
    type Rejection = ApiRefusal;

    async fn from_request(request: Request, _: &Router) -> Result<Self, ApiRefusal> {
        let body = read_form(request.into_body()).await?;
        read_pairs(&body).map(Self)
    }
}

/// The bytes of a form, which are there: the manager reads them before a page does.
pub(crate) async fn read_form(body: Body) -> Result<Bytes, ApiRefusal> {
    Ok(body.collect().await.map_err(|error| defect(&error.to_string()))?.to_bytes())
}

/// The fields of a form or a query.
pub(crate) fn pairs(text: &[u8]) -> Result<Vec<(String, String)>, ApiRefusal> {
    let refused = |detail: String| ApiRefusal::from(Problem::new(Code::InvalidParameter, detail));
    // Counted before they are read: two bytes may be a field.
    if text.iter().filter(|byte| **byte == b'&').count() >= MAX_FIELDS {
        return Err(refused(format!("a form has at most {MAX_FIELDS} fields")));
    }
    serde_html_form::from_bytes(text).map_err(|error| refused(error.to_string()))
}

fn read_pairs<T: DeserializeOwned>(text: &[u8]) -> Result<T, ApiRefusal> {
    let refused =
        |error: &dyn std::fmt::Display| ApiRefusal::from(Problem::new(Code::InvalidParameter, error.to_string()));
    let is_said = |(name, value): &(String, String)| !value.trim().is_empty() && name != TOKEN_FIELD;
    let said: Vec<(String, String)> = pairs(text)?.into_iter().filter(is_said).collect();
    let said = serde_html_form::to_string(said).map_err(|error| refused(&error))?;
    serde_html_form::from_str(&said).map_err(|error| refused(&error))
}
