//! The manager's HTTP API from the terminal's side.
//!
//! It repeats only waiting calls by itself, because the caller knows whether a call may be sent again. Answers stay bytes
//! until they are read, so that `--json` shows exactly what the manager sent.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;
use http::{Method, header};
pub use jobbers_api::client::Answer;
use jobbers_api::client::{self as api, path};
use jobbers_common::{
    duration,
    name::{BoardName, RoleName, ScheduleName, TaskId, WorkerId, WorkflowId},
};
use jobbers_process::{client_key, site::Site};
use serde::Serialize;

use crate::{failure::Failure, output};

/// How long a waiting call endures an unreachable manager; one that restarts is back much sooner.
pub const AWAY: Duration = Duration::from_secs(60);
/// How long after a failure it is asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// The default address of a manager.
pub const DEFAULT_URL: &str = "http://127.0.0.1:8000";

/// Which manager to talk to, and how to print its answers.
#[derive(Debug, Clone, Args)]
pub struct ClientArgs {
    #[command(flatten)]
    manager: ManagerArgs,
    /// Print the manager's answer as it is, for programs
    #[arg(long)]
    pub json: bool,
}

impl ClientArgs {
    /// A client for the manager.
    ///
    /// # Errors
    /// [`Failure::Usage`] when its address makes no sense.
    pub fn client(&self) -> Result<Client, Failure> {
        self.manager.client()
    }
}

/// Which manager to talk to.
#[derive(Debug, Clone, Args)]
pub struct ManagerArgs {
    /// The manager's address [default: of the `jobbers up` that runs in this folder, else http://127.0.0.1:8000]
    #[arg(long, env = "JOBBERS_URL", hide_env_values = true, value_name = "URL")]
    manager: Option<String>,
    /// A file with the access key to sign in with, in place of the variables JOBBERS_KEY and JOBBERS_KEY_FILE
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl ManagerArgs {
    /// The manager at this address, if there is one, as the flag names it.
    pub(crate) const fn named(manager: Option<String>) -> Self {
        Self { manager, key_file: None }
    }

    /// The manager at this address, with the key in a file, if there is one.
    pub(crate) const fn signed_in(manager: String, key_file: Option<PathBuf>) -> Self {
        Self { manager: Some(manager), key_file }
    }

    /// A client for it.
    ///
    /// # Errors
    /// [`Failure::Usage`] when the address makes no sense.
    pub fn client(&self) -> Result<Client, Failure> {
        // Empty, as a compose file gives a variable that is not set.
        let given = self.manager.clone().filter(|url| !url.is_empty());
        let url = given.unwrap_or_else(|| Site::here().map_or_else(|| DEFAULT_URL.to_owned(), |site| site.manager));
        let key = match &self.key_file {
            Some(path) => client_key::of_file(path).map(Some),
            None => client_key::of_environment(),
        };
        let key = key.map_err(Failure::Usage)?.map(|text| api::ClientKey::new(&text)).transpose();
        Ok(Client::new(&url)?.with_key(key.map_err(|error| Failure::Usage(error.to_string()))?))
    }
}

/// The path of a queue in the API.
#[must_use]
pub fn queue_path(name: &str) -> String {
    path(["queues", name])
}

/// The path of a role in the API.
#[must_use]
pub fn role_path(name: &RoleName) -> String {
    path(["roles", name.as_str()])
}

/// The path of a worker's action in the API.
#[must_use]
pub fn worker_path(id: &WorkerId, verb: &str) -> String {
    path(["workers", id.as_str(), verb])
}

/// Where a schedule is in the API, or what is asked of it: `/run`.
#[must_use]
pub fn schedule_path(name: &ScheduleName, verb: &str) -> String {
    path(["schedules", name.as_str()]) + verb
}

/// The path of a workflow in the API, or of what is asked of it: `/cancel`.
#[must_use]
pub fn workflow_path(id: &WorkflowId, verb: &str) -> String {
    path(["workflows", id.as_str()]) + verb
}

/// The path of a task in the API.
#[must_use]
pub fn task_path(id: &TaskId) -> String {
    path(["tasks", id.as_str()])
}

/// The path of a task's dead letter in the API.
#[must_use]
pub fn dead_letter_path(id: &TaskId) -> String {
    path(["dead-letter-queue", id.as_str()])
}

/// The path of an operation that sends dead letters again in the API.
#[must_use]
pub fn operation_path(id: &str) -> String {
    path(["dead-letter-queue", "operations", id])
}

/// The path of a board's part in the API: `groups`, `tasks`.
#[must_use]
pub fn board_path(board: &BoardName, part: &str) -> String {
    format!("{}/{part}", path(["boards", board.as_str()]))
}

/// A call without query or body.
pub const NOTHING: Option<&()> = None;

/// One manager.
#[derive(Debug, Clone)]
pub struct Client(api::Client);

impl Client {
    /// A client for the manager at `url`.
    ///
    /// # Errors
    /// [`Failure::Usage`] when it is no `http` or `https` URL.
    pub fn new(url: &str) -> Result<Self, Failure> {
        Ok(Self(api::Client::new(url, concat!("jobbers-cli/", env!("CARGO_PKG_VERSION")))?))
    }

    fn with_key(self, key: Option<api::ClientKey>) -> Self {
        Self(self.0.with_key(key))
    }

    /// The manager's address, without a login.
    #[must_use]
    pub fn base(&self) -> &str {
        self.0.base()
    }

    /// Asks for something.
    ///
    /// # Errors
    /// [`Failure`] without an answer, with one that is not a manager's, or with a refusal.
    pub async fn get(&self, path: &str, query: Option<&(impl Serialize + ?Sized)>) -> Result<Answer, Failure> {
        let call = self.0.get(path);
        let call = match query {
            Some(query) => call.query(query),
            None => call,
        };
        Ok(call.send().await?)
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
        Ok(self.0.get(path).query(query).waiting(wait).send().await?)
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
        self.send(Method::POST, path, body).await
    }

    /// Creates or replaces something.
    ///
    /// # Errors
    /// Like [`Client::get`].
    pub async fn put(&self, path: &str, body: &(impl Serialize + ?Sized)) -> Result<Answer, Failure> {
        self.put_if(path, body, None).await
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
        let call = self.0.call(Method::PUT, path).json(body);
        let call = match tag {
            Some(tag) => call.header(header::IF_MATCH, tag),
            None => call,
        };
        Ok(call.send().await?)
    }

    /// Deletes something.
    ///
    /// # Errors
    /// Like [`Client::get`].
    pub async fn delete(&self, path: &str) -> Result<Answer, Failure> {
        self.send(Method::DELETE, path, NOTHING).await
    }

    /// Deletes what a query names.
    ///
    /// # Errors
    /// Like [`Client::get`].
    pub async fn delete_where(&self, path: &str, query: &(impl Serialize + ?Sized)) -> Result<Answer, Failure> {
        Ok(self.0.call(Method::DELETE, path).query(query).send().await?)
    }

    /// Deletes what a body names.
    ///
    /// # Errors
    /// Like [`Client::get`].
    pub async fn delete_with(&self, path: &str, body: &(impl Serialize + ?Sized)) -> Result<Answer, Failure> {
        self.send(Method::DELETE, path, Some(body)).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&(impl Serialize + ?Sized)>,
    ) -> Result<Answer, Failure> {
        let call = self.0.call(method, path);
        let call = match body {
            Some(body) => call.json(body),
            None => call,
        };
        Ok(call.send().await?)
    }
}
