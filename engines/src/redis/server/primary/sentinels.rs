//! Asks Sentinels where the primary is.
//!
//! They may disagree while one of them is cut off. The answer with the highest epoch counts, as among Sentinels: each
//! failover raises it.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use futures_util::stream::{FuturesUnordered, StreamExt};
use jobbers_common::engine::{Error, Result};
use redis::{Client, Cmd, RedisError, RedisResult};
use tokio::time::timeout;

use super::{
    greeting::{Mode, greet},
    node::{ASK_WITHIN, ServerNode, client_at, connect},
};
use crate::redis::server::failure::translate;

/// How long to wait for further answers once half of the Sentinels have answered.
const FURTHER_ANSWERS: Duration = Duration::from_millis(50);

/// The Sentinels of one primary.
#[derive(Debug)]
pub(crate) struct Sentinels {
    nodes: Vec<ServerNode>,
    /// The primary's name among them.
    name: String,
    /// How to connect to a primary.
    like: Client,
    /// The highest epoch that was answered.
    epoch: AtomicU64,
}

/// What a Sentinel answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SentinelAnswer {
    epoch: u64,
    /// Host and port of the primary.
    pub(crate) place: (String, u16),
    /// Whether another server is about to take its place.
    pub(crate) is_replaced: bool,
}

impl Sentinels {
    /// Sentinels that call the primary `name`. `like` is a client whose login, database and certificates the primary
    /// takes.
    pub(crate) fn new(sentinels: Vec<Client>, name: String, like: Client) -> Self {
        Self { nodes: sentinels.into_iter().map(ServerNode::new).collect(), name, like, epoch: AtomicU64::new(0) }
    }

    /// The primary's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The Sentinels, each as `HOST:PORT`.
    pub(crate) fn places(&self) -> Vec<String> {
        self.nodes.iter().map(ServerNode::name).collect()
    }

    /// Finds the primary, and verifies that it is one.
    ///
    /// # Errors
    /// If no Sentinel answers, if they do not know the name, or if the server that they name is no primary now.
    pub(crate) async fn find(&self) -> Result<Client> {
        let (host, port) = self.named().await?.place;
        let client = client_at(&self.like, &host, port)?;
        let reached = async {
            let mut connection = connect(&client, ASK_WITHIN, ASK_WITHIN).await?;
            greet(&mut connection).await
        };
        let greeting = reached.await.map_err(|error| self.unreachable(&format!("{host}:{port}"), &error))?;
        greeting.expect(Mode::Single, &client)?;
        if greeting.is_replica() {
            return Err(Error::unavailable(format!(
                "the Sentinels name {host}:{port} as the primary {}, and it is a replica now",
                self.name
            )));
        }
        Ok(client)
    }

    /// The server that the Sentinels name. One of them knows first that it is replaced: the one that leads the failover.
    ///
    /// # Errors
    /// As [`Sentinels::find`].
    pub(crate) async fn named(&self) -> Result<SentinelAnswer> {
        let mut answers: FuturesUnordered<_> = self.nodes.iter().map(|sentinel| self.ask(sentinel)).collect();
        let (mut named, mut problem): (Vec<SentinelAnswer>, Option<Error>) = (Vec::new(), None);
        loop {
            let is_enough = named.len() >= self.nodes.len().div_ceil(2);
            // Each question has a bound of its own.
            let within = if is_enough { FURTHER_ANSWERS } else { 3 * ASK_WITHIN };
            match timeout(within, answers.next()).await {
                Ok(Some(Ok(answer))) => named.push(answer),
                Ok(Some(Err(error))) if matches!(error, Error::Config(_)) || problem.is_none() => problem = Some(error),
                Ok(Some(Err(_))) => {}
                Ok(None) | Err(_) => break,
            }
        }
        let have_all_answered = named.len() == self.nodes.len();
        let replaced: Vec<_> = named.iter().filter(|answer| answer.is_replaced).map(|it| it.place.clone()).collect();
        let Some(latest) = named.into_iter().max_by_key(|answer| answer.epoch) else {
            return Err(problem.unwrap_or_else(|| Error::unavailable("no Sentinel answers")));
        };
        // One that was cut off may still name a primary of the past. All of them may have been set up again.
        if latest.epoch < self.epoch.load(Ordering::SeqCst) && !have_all_answered {
            return Err(Error::unavailable("the Sentinels that answer have missed the last failover"));
        }
        self.epoch.store(latest.epoch, Ordering::SeqCst);
        Ok(SentinelAnswer { is_replaced: replaced.contains(&latest.place), ..latest })
    }

    async fn ask(&self, sentinel: &ServerNode) -> Result<SentinelAnswer> {
        let question = |verb: &str| -> Cmd {
            let mut question = redis::cmd("SENTINEL");
            question.arg(verb).arg(&self.name);
            question
        };
        let place: RedisResult<Option<(String, u16)>> = sentinel.ask(&question("GET-MASTER-ADDR-BY-NAME")).await;
        let Some(place) = place.map_err(|error| explain(sentinel, &error))? else {
            return Err(self.unknown_name(sentinel).await);
        };
        // A login without permission to ask for more still learns the primary.
        let fields: RedisResult<HashMap<String, String>> = sentinel.ask(&question("MASTER")).await;
        Ok(answer_of(place, &fields.unwrap_or_default()))
    }

    async fn unknown_name(&self, sentinel: &ServerNode) -> Error {
        let mut question = redis::cmd("SENTINEL");
        question.arg("MASTERS");
        let known: Vec<HashMap<String, String>> = sentinel.ask(&question).await.unwrap_or_default();
        let known: Vec<String> = known.into_iter().filter_map(|mut fields| fields.remove("name")).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let (place, name) = (sentinel.name(), &self.name);
        Error::Config(format!("the Sentinel {place} knows no primary {name}; those that it knows: {known}"))
    }

    fn unreachable(&self, place: &str, error: &RedisError) -> Error {
        match translate(error) {
            config @ Error::Config(_) => config,
            error => Error::unavailable(format!(
                "{place}, which the Sentinels name as the primary {}, can't be reached: {error}",
                self.name
            )),
        }
    }
}

/// The answer of a Sentinel on the server at a place, by its fields of the primary. Once that is the new one, the fields are still those
/// of the one before.
fn answer_of(place: (String, u16), fields: &HashMap<String, String>) -> SentinelAnswer {
    let field = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
    let is_replaced = field("flags").split(',').any(|flag| flag == "failover_in_progress")
        && field("ip") == place.0
        && field("port").parse() == Ok(place.1);
    SentinelAnswer { epoch: field("config-epoch").parse().unwrap_or_default(), place, is_replaced }
}

/// The error of a Sentinel.
fn explain(sentinel: &ServerNode, error: &RedisError) -> Error {
    let place = sentinel.name();
    let detail = error.detail().unwrap_or_default();
    match error.code().unwrap_or_default() {
        "NOAUTH" | "WRONGPASS" | "NOPERM" => Error::Config(format!(
            "the Sentinel {place} refuses the login: {detail}; its own login goes into the address as \
             ?sentinel_user=USER&sentinel_password=PASSWORD"
        )),
        "ERR" if detail.starts_with("unknown command") => {
            Error::Config(format!("{place} is no Sentinel: Sentinels mostly listen on port 26379, and servers on 6379"))
        }
        _ => match translate(error) {
            config @ Error::Config(_) => config,
            error => Error::unavailable(format!("the Sentinel {place} can't be asked: {error}")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_primary_is_replaced_until_another_one_is_named() {
        let fields = |flags: &str| {
            let fields = [("ip", "one"), ("port", "6379"), ("config-epoch", "4"), ("flags", flags)];
            fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
        };
        for (place, flags, is_replaced) in [
            ("one", "master", false),
            ("one", "master,failover_in_progress", true),
            ("one", "master,s_down,o_down,failover_in_progress", true),
            ("two", "master,failover_in_progress", false),
        ] {
            let place = (place.to_owned(), 6379);
            let expected = SentinelAnswer { epoch: 4, place: place.clone(), is_replaced };
            assert_eq!(answer_of(place, &fields(flags)), expected, "{flags}");
        }
        let unknown = SentinelAnswer { epoch: 0, place: ("one".to_owned(), 1), is_replaced: false };
        assert_eq!(answer_of(("one".to_owned(), 1), &HashMap::new()), unknown);
    }
}
