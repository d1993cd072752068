//! The manager's HTTP API from the terminal's side.
//!
//! It repeats only waiting calls by itself, because the caller knows whether a call may be sent again. Answers stay bytes
//! until they are read, so that `--json` shows exactly what the manager sent.

pub mod wire;

use std::{
    error::Error as _,
    path::Path,
    time::{Duration, Instant},
};

use clap::Args;
use jobbers_common::{
    duration,
    name::{BoardName, RoleName, ScheduleName, TaskId, WorkerId, WorkflowId},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, Response, StatusCode, Url, header, redirect};
use serde::{Serialize, de::DeserializeOwned};

use crate::{failure::Failure, output, site::Site};

/// Everything but what RFC 3986 leaves unreserved.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How long a waiting call endures an unreachable manager; one that restarts is back much sooner.
pub const AWAY: Duration = Duration::from_secs(60);
/// How long after a failure it is asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// How often managers may redirect us to each other: the keeper may change at that moment.
const MOST_HOPS: usize = 4;

/// How long the manager may take to begin its answer, beyond what a call itself asks it to wait.
const PATIENCE: Duration = Duration::from_secs(30);

/// The default address of a manager.
const DEFAULT_URL: &str = "http://127.0.0.1:8000";

/// Which manager to talk to, and how to print its answers.
#[derive(Debug, Clone, Args)]
pub struct ClientArgs {
    /// The manager's address [default: of the `jobbers up` that runs in this folder, else http://127.0.0.1:8000]
    #[arg(long, env = "JOBBERS_URL", hide_env_values = true, value_name = "URL")]
    pub manager: Option<String>,
    /// Print the manager's answer as it is, for programs
    #[arg(long)]
    pub json: bool,
}

impl ClientArgs {
    /// A client for it.
    ///
    /// # Errors
    /// [`Failure::Usage`] when the address makes no sense.
    pub fn client(&self) -> Result<Client, Failure> {
        // Empty, as a compose file gives a variable that is not set.
        match self.manager.as_deref().filter(|url| !url.is_empty()) {
            Some(url) => Client::new(url),
            None => {
                Client::new(&Site::find(Path::new(".")).map_or_else(|| DEFAULT_URL.to_owned(), |site| site.manager))
            }
        }
    }
}

/// The path of a queue in the API.
#[must_use]
pub fn queue_path(name: &str) -> String {
    format!("/queues/{}", utf8_percent_encode(name, SEGMENT))
}

/// The path of a role in the API.
#[must_use]
pub fn role_path(name: &RoleName) -> String {
    format!("/roles/{}", utf8_percent_encode(name.as_str(), SEGMENT))
}

/// The path of a worker's action in the API.
#[must_use]
pub fn worker_path(id: &WorkerId, verb: &str) -> String {
    format!("/workers/{}/{verb}", utf8_percent_encode(id.as_str(), SEGMENT))
}

/// Where a schedule is in the API, or what is asked of it: `/run`.
#[must_use]
pub fn schedule_path(name: &ScheduleName, verb: &str) -> String {
    format!("/schedules/{}{verb}", utf8_percent_encode(name.as_str(), SEGMENT))
}

/// The path of a workflow in the API, or of what is asked of it: `/cancel`.
#[must_use]
pub fn workflow_path(id: &WorkflowId, verb: &str) -> String {
    format!("/workflows/{}{verb}", utf8_percent_encode(id.as_str(), SEGMENT))
}

/// The path of a task in the API.
#[must_use]
pub fn task_path(id: &TaskId) -> String {
    format!("/tasks/{}", utf8_percent_encode(id.as_str(), SEGMENT))
}

/// The path of a task's dead letter in the API.
#[must_use]
pub fn dead_letter_path(id: &TaskId) -> String {
    format!("/dead-letter-queue/{}", utf8_percent_encode(id.as_str(), SEGMENT))
}

/// The path of an operation that sends dead letters again in the API.
#[must_use]
pub fn operation_path(id: &str) -> String {
    format!("/dead-letter-queue/operations/{}", utf8_percent_encode(id, SEGMENT))
}

/// The path of a board's part in the API: `groups`, `tasks`.
#[must_use]
pub fn board_path(board: &BoardName, part: &str) -> String {
    format!("/boards/{}/{part}", utf8_percent_encode(board.as_str(), SEGMENT))
}

/// A call without query or body.
pub const NOTHING: Option<&()> = None;

/// One manager.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
}

impl Client {
    /// A client for the manager at `url`.
    ///
    /// # Errors
    /// [`Failure::Usage`] when it is no `http` or `https` URL.
    pub fn new(url: &str) -> Result<Self, Failure> {
        // HOST:PORT, as a person types it.
        let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let parsed = Url::parse(&url).map_err(|error| {
            Failure::Usage(format!("{url:?} is not a manager's address: {error}; write http://HOST:PORT"))
        })?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(Failure::Usage(format!(
                "{url:?} is not a manager's address: write http://HOST:PORT, or https:// with the address of its proxy"
            )));
        }
        // A manager is asked directly: a proxy of the environment is for the world outside.
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(Duration::from_secs(5))
            .user_agent(concat!("jobbers-cli/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Failure::Unavailable(format!("can't make an HTTP client: {error}")))?;
        Ok(Self { http, base: url.trim_end_matches('/').to_owned() })
    }

    /// The manager's address.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Asks for something.
    ///
    /// # Errors
    /// [`Failure`] without an answer, with one that is not a manager's, or with a refusal.
    pub async fn get(&self, path: &str, query: Option<&(impl Serialize + ?Sized)>) -> Result<Answer, Failure> {
        self.call(Method::GET, path, query, NOTHING, PATIENCE).await
    }

    /// Asks for something the manager may wait for, at most `wait`.
    ///
    /// # Errors
    /// Like [`Client::get`].
    pub async fn get_waiting(
        &self,
        path: &str,
        query: &(impl Serialize + ?Sized),
        wait: Duration,
    ) -> Result<Answer, Failure> {
        self.call(Method::GET, path, Some(query), NOTHING, PATIENCE + wait).await
    }

    /// The same for a call that waits and should survive a restart of the manager: while no manager answers, or none that
    /// reaches its store, the request is repeated, for `patience` at most. The user is notified once.
    ///
    /// # Errors
    /// Like [`Client::get`].
    pub async fn get_patiently(
        &self,
        path: &str,
        query: &(impl Serialize + ?Sized),
        wait: Duration,
        patience: Duration,
    ) -> Result<Answer, Failure> {
        let mut away: Option<Instant> = None;
        loop {
            let failure = match self.get_waiting(path, query, wait).await {
                Err(failure) if failure.is_passing() => failure,
                answer => return answer,
            };
            let since = *away.get_or_insert_with(|| {
                let patience = duration::format(duration::rounded_up(patience));
                output::note(format_args!("{failure}; asking again for {patience}"));
                Instant::now()
            });
            if since.elapsed() >= patience {
                return Err(failure);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sends something.
    ///
    /// # Errors
    /// Like [`Client::get`].
    pub async fn post(&self, path: &str, body: Option<&(impl Serialize + ?Sized)>) -> Result<Answer, Failure> {
        self.call(Method::POST, path, NOTHING, body, PATIENCE).await
    }

    /// Creates or replaces something.
    ///
    /// # Errors
    /// Like [`Client::get`].
    pub async fn put(&self, path: &str, body: &(impl Serialize + ?Sized)) -> Result<Answer, Failure> {
        self.call(Method::PUT, path, NOTHING, Some(body), PATIENCE).await
    }

    /// Replaces something, with `tag` only if it is still what was read with it.
    ///
    /// # Errors
    /// Like [`Client::get`].
    pub async fn put_if(
        &self,
        path: &str,
        body: &(impl Serialize + ?Sized),
        tag: Option<&str>,
    ) -> Result<Answer, Failure> {
        let mut request = self.http.put(format!("{}{path}", self.base)).json(body);
        if let Some(tag) = tag {
            request = request.header(header::IF_MATCH, tag);
        }
        self.send(request.timeout(PATIENCE)).await
    }

    /// Deletes something.
    ///
    /// # Errors
    /// Like [`Client::get`].
    pub async fn delete(&self, path: &str) -> Result<Answer, Failure> {
        self.call(Method::DELETE, path, NOTHING, NOTHING, PATIENCE).await
    }

    /// Deletes what a query names.
    ///
    /// # Errors
    /// Like [`Client::get`].
    pub async fn delete_where(&self, path: &str, query: &(impl Serialize + ?Sized)) -> Result<Answer, Failure> {
        self.call(Method::DELETE, path, Some(query), NOTHING, PATIENCE).await
    }

    /// Deletes what a body names.
    ///
    /// # Errors
    /// Like [`Client::get`].
    pub async fn delete_with(&self, path: &str, body: &(impl Serialize + ?Sized)) -> Result<Answer, Failure> {
        self.call(Method::DELETE, path, NOTHING, Some(body), PATIENCE).await
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        query: Option<&(impl Serialize + ?Sized)>,
        body: Option<&(impl Serialize + ?Sized)>,
        timeout: Duration,
    ) -> Result<Answer, Failure> {
        let mut request = self.http.request(method, format!("{}{path}", self.base)).timeout(timeout);
        if let Some(query) = query {
            request = request.query(query);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        self.send(request).await
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<Answer, Failure> {
        let response = self.followed(request).await?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.refusal(response).await);
        }
        let etag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let body = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        Ok(Answer { status, etag, body: body.to_vec(), base: self.base.clone() })
    }

    /// Sends a request, and sends it again to wherever the manager says: to the one that keeps the dead letters. By hand,
    /// so that a failure tells which of them it was.
    async fn followed(&self, request: reqwest::RequestBuilder) -> Result<Response, Failure> {
        let mut request = request.build().map_err(|error| self.unreachable(&error))?;
        for _ in 0..=MOST_HOPS {
            let (again, url) = (request.try_clone(), request.url().clone());
            let response = self.http.execute(request).await.map_err(|error| self.unreachable(&error))?;
            if !matches!(response.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
                return Ok(response);
            }
            let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
            let next = location.and_then(|location| url.join(location).ok());
            let (Some(mut again), Some(next)) = (again, next) else {
                return Err(self.foreign("it sends us on, but not where to"));
            };
            *again.url_mut() = next;
            request = again;
        }
        Err(self.foreign("it sends us in a circle"))
    }

    fn foreign(&self, reason: &str) -> Failure {
        Failure::Foreign { url: self.base.clone(), reason: reason.to_owned() }
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
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
        // Another manager that this one sent us to, since that one keeps the dead letters.
        let elsewhere = error.url().filter(|url| !url.as_str().starts_with(&self.base));
        match elsewhere.map(|url| url.origin().ascii_serialization()) {
            Some(keeper) => Failure::Elsewhere { url: self.base.clone(), keeper, reason },
            None => Failure::Unreachable { url: self.base.clone(), reason },
        }
    }

    async fn refusal(&self, response: Response) -> Failure {
        let status = response.status();
        let retry_after =
            response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let problem = response.bytes().await.ok().and_then(|body| serde_json::from_slice::<wire::Problem>(&body).ok());
        let Some(problem) = problem else {
            return Failure::Foreign {
                url: self.base.clone(),
                reason: format!("it answers {status} without a problem"),
            };
        };
        let mut detail = problem.detail.or(problem.title).unwrap_or_else(|| status.to_string());
        if let Some(seconds) =
            retry_after.filter(|_| matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS))
        {
            detail = format!("{detail}; try again in {seconds} s");
        }
        Failure::Refused { status: status.as_u16(), code: problem.code, detail }
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
    pub body: Vec<u8>,
    base: String,
}

impl Answer {
    /// Reads it.
    ///
    /// # Errors
    /// [`Failure::Foreign`] when it is not what was expected.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body)
            .map_err(|error| Failure::Foreign { url: self.base.clone(), reason: error.to_string() })
    }
}
