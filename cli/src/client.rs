//! The manager's HTTP API from the terminal's side.
//!
//! It repeats only waiting calls by itself, because the caller knows whether a call may be sent again. Answers stay bytes
//! until they are read, so that `--json` shows exactly what the manager sent.

use std::{
    env,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;
use http::{Method, header};
pub use jobbers_api::client::Answer;
use jobbers_api::client::{self as api, path};
use jobbers_common::{
    name::{BoardName, RoleName, ScheduleName, TaskId, WorkerId, WorkflowId},
    values::duration,
};
use jobbers_process::{client_key, site::Site};
use serde::Serialize;

use crate::{
    failure::Failure,
    profile::{self, Profile},
    terminal::output,
};

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
    pub fn client(&self) -> Result<ManagerClient, Failure> {
        self.manager.client()
    }
}

/// Which manager to talk to.
#[derive(Debug, Clone, Args)]
pub struct ManagerArgs {
    /// The manager's address [default: JOBBERS_URL, else of the `jobbers up` that runs in this folder, else
    /// http://127.0.0.1:8000]
    #[arg(long, value_name = "URL")]
    manager: Option<String>,
    /// A file with the access key to sign in with, in place of the variables JOBBERS_KEY and JOBBERS_KEY_FILE
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Take both from this profile of ~/.config/jobbers/profiles.toml [default: JOBBERS_PROFILE]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["manager", "key_file"])]
    profile: Option<String>,
}

impl ManagerArgs {
    /// The manager at this address, or of this profile, as flags name it.
    pub(crate) const fn named(manager: Option<String>, profile: Option<String>) -> Self {
        Self { manager, key_file: None, profile }
    }

    /// The manager at this address, with the key in a file, or both of a profile; `None` if nothing is given.
    pub(crate) fn given(
        manager: Option<&String>,
        key_file: Option<&PathBuf>,
        profile: Option<&String>,
    ) -> Option<Self> {
        let given = Self { manager: manager.cloned(), key_file: key_file.cloned(), profile: profile.cloned() };
        (given.manager.is_some() || given.profile.is_some()).then_some(given)
    }

    /// A client for it.
    ///
    /// # Errors
    /// [`Failure::Usage`] when the address makes no sense.
    pub fn client(&self) -> Result<ManagerClient, Failure> {
        Ok(self.client_at()?.0)
    }

    /// A client for it, and its address.
    pub(crate) fn client_at(&self) -> Result<(ManagerClient, String), Failure> {
        let (url, key) = self.found(|name| env::var(name).ok().filter(|value| !value.is_empty()))?;
        let url = url.unwrap_or_else(|| Site::here().map_or_else(|| DEFAULT_URL.to_owned(), |site| site.manager));
        let key = match key {
            KeySource::File(path) => client_key::of_file(&path).map(Some),
            KeySource::OfEnvironment => client_key::of_environment(),
            KeySource::None => Ok(None),
        };
        let key = key.map_err(Failure::Usage)?.map(|text| api::ClientKey::new(&text)).transpose();
        Ok((ManagerClient::new(&url)?.with_key(key.map_err(|error| Failure::Usage(error.to_string()))?), url))
    }

    /// The address and the key, by the flags, else by a profile, else by the environment. A key of the environment is sent to no
    /// profile's manager: it may be another one's.
    fn found(&self, variable: impl Fn(&str) -> Option<String>) -> Result<(Option<String>, KeySource), Failure> {
        let of_flag = self.manager.clone().filter(|url| !url.is_empty());
        let named = self.profile.clone().or_else(|| of_flag.is_none().then(|| variable(profile::PROFILE)).flatten());
        let of_file = self.key_file.clone().map(KeySource::File);
        match named {
            Some(name) => {
                let Profile { manager, key_file } = Profile::find(&name)?;
                Ok((Some(manager), of_file.or(key_file.map(KeySource::File)).unwrap_or(KeySource::None)))
            }
            None => Ok((of_flag.or_else(|| variable(URL)), of_file.unwrap_or(KeySource::OfEnvironment))),
        }
    }
}

/// The variable with a manager's address.
pub(crate) const URL: &str = "JOBBERS_URL";

/// Where a key comes from.
#[derive(Debug, PartialEq, Eq)]
enum KeySource {
    File(PathBuf),
    OfEnvironment,
    None,
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
pub struct ManagerClient(api::Client);

impl ManagerClient {
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
    /// Like [`ManagerClient::get`].
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
    /// Like [`ManagerClient::get`].
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
    /// Like [`ManagerClient::get`].
    pub async fn post(&self, path: &str, body: Option<&(impl Serialize + ?Sized)>) -> Result<Answer, Failure> {
        self.send(Method::POST, path, body).await
    }

    /// Creates or replaces something.
    ///
    /// # Errors
    /// Like [`ManagerClient::get`].
    pub async fn put(&self, path: &str, body: &(impl Serialize + ?Sized)) -> Result<Answer, Failure> {
        self.put_if(path, body, None).await
    }

    /// Replaces something, with `tag` only if it is still what was read with it.
    ///
    /// # Errors
    /// Like [`ManagerClient::get`].
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
    /// Like [`ManagerClient::get`].
    pub async fn delete(&self, path: &str) -> Result<Answer, Failure> {
        self.send(Method::DELETE, path, NOTHING).await
    }

    /// Deletes what a query names.
    ///
    /// # Errors
    /// Like [`ManagerClient::get`].
    pub async fn delete_where(&self, path: &str, query: &(impl Serialize + ?Sized)) -> Result<Answer, Failure> {
        Ok(self.0.call(Method::DELETE, path).query(query).send().await?)
    }

    /// Deletes what a body names.
    ///
    /// # Errors
    /// Like [`ManagerClient::get`].
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_rank_above_the_environment() {
        let found = |manager: Option<&str>, key_file: Option<&str>, pairs: &[(&str, &str)]| {
            let args = ManagerArgs {
                manager: manager.map(str::to_owned),
                key_file: key_file.map(PathBuf::from),
                profile: None,
            };
            args.found(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
                .unwrap()
        };
        let url = |text: &str| Some(text.to_owned());
        assert_eq!(found(None, None, &[]), (None, KeySource::OfEnvironment));
        assert_eq!(found(None, None, &[(URL, "http://b")]), (url("http://b"), KeySource::OfEnvironment));
        assert_eq!(
            found(Some(""), None, &[(URL, "http://b")]).0,
            url("http://b"),
            "as a compose file gives what is not set"
        );
        let both = found(Some("http://a"), Some("k"), &[(URL, "http://b"), (profile::PROFILE, "prod")]);
        assert_eq!(both, (url("http://a"), KeySource::File("k".into())));
    }
}
