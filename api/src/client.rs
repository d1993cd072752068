//! A client of the API: it builds requests, sends them, and reads problems.
//!
//! It sends each request once, because only the caller knows whether it may be repeated. Answers stay bytes until they are
//! read, so that a program can pass on exactly what the manager sent.

mod connector;
mod key;
mod tls_files;

use std::{error::Error as _, fmt::Display, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use jobbers_common::name::TaskId;
use reqwest::{Request, RequestBuilder, Response, Url};
use serde::{Serialize, de::DeserializeOwned};

use self::{connector::HttpClients, tls_files::TlsFiles};
pub use self::{
    connector::{http_client, http_client_for},
    key::{ClientKey, ClientKeyError},
};
use crate::problem::ProblemBody;
pub use crate::wire::path::path;

/// How long it may take to answer, beyond what the request itself asks it to wait.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a request brought no answer to read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The address is none of a manager.
    #[error("{address:?} is not a manager's address: {problem}")]
    Address {
        /// The address.
        address: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The manager does not answer.
    #[error("the manager at {url} does not answer: {reason}")]
    Unreachable {
        /// Where it was asked.
        url: String,
        /// What happened.
        reason: String,
    },
    /// The answer is not a manager's, or one of another version.
    #[error("{url} answers, but not as a manager does: {reason}")]
    Foreign {
        /// Where it was asked.
        url: String,
        /// The HTTP status, if it is not a success.
        status: Option<StatusCode>,
        /// What is strange.
        reason: String,
    },
    /// The manager refuses.
    #[error("the manager at {url} refuses ({status}): {detail}")]
    Refused {
        /// Where it was asked.
        url: String,
        /// The HTTP status.
        status: StatusCode,
        /// The stable word for the problem.
        code: String,
        /// The problem in a sentence.
        detail: String,
        /// How long to wait before the next attempt, if the manager reports it.
        retry_after: Option<Duration>,
        /// The task that holds the unique key, if that is why.
        holder: Option<TaskId>,
    },
}

/// A client of one manager.
#[derive(Debug, Clone)]
pub struct Client {
    http: HttpClients,
    /// With a login, if it has one.
    address: String,
    /// Without.
    base: String,
    key: Option<ClientKey>,
}

impl Client {
    /// A client for the manager at `address`: `http://HOST:PORT`, `HOST:PORT`, or `https://…`, which may name files in PEM:
    /// `?ca=FILE`, the authorities to trust in place of the system's, and `cert=FILE&key=FILE`, the client's certificate.
    /// `agent` is its `User-Agent`.
    ///
    /// # Errors
    /// [`Error::Address`].
    pub fn new(address: &str, agent: &str) -> Result<Self, Error> {
        // The text before an `@` may be a login.
        let place = address.rsplit_once('@').map_or(address, |(_, place)| place);
        let wrong = |problem: &dyn Display| Error::Address { address: place.to_owned(), problem: problem.to_string() };
        let url = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
        let mut parsed = Url::parse(&url).map_err(|error| wrong(&format_args!("{error}; write http://HOST:PORT")))?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(wrong(&"write http://HOST:PORT or https://HOST:PORT"));
        }
        if parsed.scheme() == "https" && !cfg!(feature = "https") {
            return Err(wrong(&"this program is built without TLS, the feature `https` of jobbers-api"));
        }
        let files = TlsFiles::take(&mut parsed).map_err(|problem| wrong(&problem))?;
        let url = parsed.to_string();
        let http = HttpClients::new(agent, files).map_err(|problem| wrong(&problem))?;
        http.client_of(&parsed).map_err(|problem| wrong(&problem))?;
        let mut shown = parsed;
        // Refused only by a URL without a host, which can't have them.
        let _ = shown.set_password(None);
        let _ = shown.set_username("");
        let [address, base] = [url.as_str(), shown.as_str()].map(|url| url.trim_end_matches('/').to_owned());
        Ok(Self { http, address, base, key: None })
    }

    /// The same client, which signs in with this key if there is one. A login in the address, which is sent in the same
    /// header, is then left out.
    #[must_use]
    pub fn with_key(mut self, key: Option<ClientKey>) -> Self {
        if key.is_some() {
            self.address.clone_from(&self.base);
        }
        self.key = key;
        self
    }

    /// The manager's address, without a login.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// A request to the manager, not sent yet. `path` begins with `/`.
    #[must_use]
    pub fn call(&self, method: Method, path: &str) -> Call<'_> {
        let mut request = self.http.plain.request(method, format!("{}{path}", self.address)).timeout(PATIENCE);
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, key.header().clone());
        }
        Call { client: self, request }
    }

    /// `GET`.
    #[must_use]
    pub fn get(&self, path: &str) -> Call<'_> {
        self.call(Method::GET, path)
    }

    /// `POST`.
    #[must_use]
    pub fn post(&self, path: &str) -> Call<'_> {
        self.call(Method::POST, path)
    }

    async fn execute(&self, request: Request) -> Result<Response, Error> {
        let http = self.http.client_of(request.url()).map_err(|reason| self.unreachable_because(reason))?;
        http.execute(request).await.map_err(|error| self.unreachable(&error))
    }

    fn foreign(&self, status: Option<StatusCode>, reason: &str) -> Error {
        Error::Foreign { url: self.base.clone(), status, reason: reason.to_owned() }
    }

    fn unreachable(&self, error: &reqwest::Error) -> Error {
        // The outermost error only repeats the URL; the innermost says what happened.
        let mut cause = error.source();
        let mut reason = error.to_string();
        while let Some(inner) = cause {
            reason = inner.to_string();
            cause = inner.source();
        }
        if error.is_timeout() {
            reason = "it took too long to answer".to_owned();
        }
        self.unreachable_because(reason)
    }

    fn unreachable_because(&self, reason: String) -> Error {
        Error::Unreachable { url: self.base.clone(), reason }
    }

    async fn refusal(&self, response: Response) -> Error {
        let status = response.status();
        let retry_after = response.headers().get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok()).map(Duration::from_secs);
        let problem = response.bytes().await.ok().and_then(|body| serde_json::from_slice::<ProblemBody>(&body).ok());
        let Some(ProblemBody { code, title, detail, holder, .. }) = problem else {
            return self.foreign(Some(status), &format!("it answers {status} without a problem"));
        };
        let said = [detail, title.into_owned()].into_iter().find(|text| !text.is_empty());
        let detail = said.unwrap_or_else(|| status.to_string());
        Error::Refused { url: self.base.clone(), status, code: code.into_owned(), detail, retry_after, holder }
    }
}

/// A request that is not sent yet.
#[derive(Debug)]
pub struct Call<'a> {
    client: &'a Client,
    request: RequestBuilder,
}

impl Call<'_> {
    /// With these parameters.
    #[must_use]
    pub fn query(self, query: &(impl Serialize + ?Sized)) -> Self {
        Self { request: self.request.query(query), ..self }
    }

    /// With this body, as JSON.
    #[must_use]
    pub fn json(self, body: &(impl Serialize + ?Sized)) -> Self {
        Self { request: self.request.json(body), ..self }
    }

    /// With this header. A value that no header can have makes [`Call::send`] fail before anything is sent.
    #[must_use]
    pub fn header(self, name: header::HeaderName, value: &str) -> Self {
        Self { request: self.request.header(name, value), ..self }
    }

    /// With these headers, in place of those of the same names.
    #[must_use]
    pub fn headers(self, headers: HeaderMap) -> Self {
        Self { request: self.request.headers(headers), ..self }
    }

    /// With these bytes as its body.
    #[must_use]
    pub fn body(self, body: Bytes) -> Self {
        Self { request: self.request.body(body), ..self }
    }

    /// For a request that asks the manager to wait so long before it answers.
    #[must_use]
    pub fn waiting(self, wait: Duration) -> Self {
        Self { request: self.request.timeout(PATIENCE + wait), ..self }
    }

    /// The same request once more, to repeat it. Its body is shared, not copied.
    #[must_use]
    pub fn again(&self) -> Option<Self> {
        Some(Self { client: self.client, request: self.request.try_clone()? })
    }

    /// Sends it.
    ///
    /// # Errors
    /// [`Error`] without an answer, with one that is not a manager's, or with a refusal.
    pub async fn send(self) -> Result<Answer, Error> {
        let request = self.request.build().map_err(|error| self.client.unreachable(&error))?;
        let response = self.client.execute(request).await?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.client.refusal(response).await);
        }
        let etag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let body = response.bytes().await.map_err(|error| self.client.unreachable(&error))?;
        Ok(Answer { status, etag, body, base: self.client.base.clone() })
    }

    /// Sends it, and returns the answer as it comes, whatever its status: its body is not read yet.
    ///
    /// # Errors
    /// [`Error::Unreachable`] without an answer.
    pub async fn exchange(self) -> Result<Response, Error> {
        let request = self.request.build().map_err(|error| self.client.unreachable(&error))?;
        self.client.execute(request).await
    }
}

/// What the manager answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status, one of the 2xx.
    pub status: StatusCode,
    /// The tag of what was read, where it has one.
    pub etag: Option<String>,
    /// The document.
    pub body: Bytes,
    base: String,
}

impl Answer {
    /// Reads it.
    ///
    /// # Errors
    /// [`Error::Foreign`] when it is not what was expected.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| Error::Foreign {
            url: self.base.clone(),
            status: None,
            reason: error.to_string(),
        })
    }
}

/// A page of a list that may be longer than one answer.
pub trait Page: DeserializeOwned {
    /// What is listed.
    type Item;

    /// Its items, and where the next page begins.
    fn into_parts(self) -> (Vec<Self::Item>, Option<String>);
}

macro_rules! pages {
    ($($page:ty, $items:ident: $item:ty;)+) => {
        $(impl Page for $page {
            type Item = $item;

            fn into_parts(self) -> (Vec<$item>, Option<String>) {
                (self.$items, self.next_cursor)
            }
        })+
    };
}

pages! {
    crate::access::audit_log::AuditPageView, changes: crate::access::audit_log::AuditEntryView;
    crate::board::BoardListView, boards: crate::board::BoardView;
    crate::board::GroupListView, groups: crate::board::GroupView;
    crate::board::BoardTaskListView, tasks: crate::board::BoardTaskView;
    crate::dead_letter::LetterPageView, dead_letters: crate::dead_letter::LetterView;
    crate::dead_letter::operation::OperationPageView, operations: crate::dead_letter::operation::OperationView;
    crate::task::parents::ParentsView, predecessors: crate::task::parents::ParentView;
    crate::queue::QueueListView, queues: crate::queue::QueueView;
    crate::schedule::view::ScheduleListView, schedules: crate::schedule::view::ScheduleView;
    crate::workflow::WorkflowListView, workflows: crate::workflow::WorkflowView;
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    #[test]
    fn an_address_needs_no_scheme_and_may_have_a_path() {
        for (address, base) in [
            ("localhost:8000", "http://localhost:8000"),
            ("http://localhost:8000/", "http://localhost:8000"),
            ("http://ops.example/jobbers/", "http://ops.example/jobbers"),
            ("http://user:secret@ops.example", "http://ops.example"),
        ] {
            assert_eq!(Client::new(address, "test").unwrap().base(), base);
        }
        for address in ["", "ftp://user:secret@localhost", "http://user:secret@", "a b"] {
            let error = Client::new(address, "test").unwrap_err();
            assert!(matches!(error, Error::Address { .. }) && !error.to_string().contains("secret"), "{error}");
        }
        let has_tls = Client::new("https://ops.example", "test").is_ok();
        assert_eq!(has_tls, cfg!(feature = "https"), "it is refused at once where no request could be sent");
    }

    #[tokio::test]
    async fn a_request_whose_header_can_t_be_written_is_not_sent_without_it() {
        let manager = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = Client::new(&manager.local_addr().unwrap().to_string(), "test").unwrap();
        let call = client.call(Method::PUT, "/queues/q").header(header::IF_MATCH, "a\nb");
        assert!(matches!(call.send().await, Err(Error::Unreachable { .. })));
        let connected = tokio::time::timeout(Duration::ZERO, manager.accept()).await;
        assert!(connected.is_err(), "nothing was sent");
    }

    /// Answers one request and returns its head.
    async fn answer_once(listener: TcpListener, answer: String) -> String {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(connection.read_u8().await.unwrap());
        }
        connection.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(head).unwrap().to_lowercase()
    }

    #[tokio::test]
    async fn no_answer_leads_a_client_to_another_address() {
        let [first, other] =
            [TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap()];
        let (asked, named) = (first.local_addr().unwrap(), other.local_addr().unwrap());
        let redirect = format!("HTTP/1.1 307 X\r\nlocation: http://{named}/tasks\r\ncontent-length: 0\r\n\r\n");
        let first = tokio::spawn(answer_once(first, redirect));
        let client = Client::new(&format!("http://user:secret@{asked}"), "test").unwrap();
        let error = client.get("/tasks").send().await.unwrap_err();
        assert!(matches!(error, Error::Foreign { status: Some(StatusCode::TEMPORARY_REDIRECT), .. }), "{error}");
        assert!(first.await.unwrap().contains("authorization: basic"));
        let connected = tokio::time::timeout(Duration::ZERO, other.accept()).await;
        assert!(connected.is_err(), "the login went nowhere else");
    }

    #[tokio::test]
    async fn a_key_is_sent_in_place_of_a_login() {
        let manager = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let asked = manager.local_addr().unwrap();
        let manager = tokio::spawn(answer_once(manager, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".to_owned()));
        let text = format!("jb_0123456789_{}", "0".repeat(56));
        let client = Client::new(&format!("http://user:secret@{asked}"), "test").unwrap();
        client.with_key(Some(ClientKey::new(&text).unwrap())).get("/tasks").send().await.unwrap();
        let head = manager.await.unwrap();
        assert!(head.contains(&format!("authorization: bearer {text}\r\n")) && !head.contains("basic"), "{head}");
    }

    #[test]
    fn segments_of_a_path_are_encoded() {
        assert_eq!(path(["tasks", "a/b:c d"]), "/tasks/a%2Fb%3Ac%20d");
    }
}
