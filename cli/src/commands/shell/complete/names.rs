//! Names that the manager knows.

use std::time::Duration;

use jobbers_api::{
    board::BoardListView,
    dead_letter::LetterPageView,
    queue::{QueueListView, role::RoleListView},
    schedule::view::ScheduleListView,
    task::list::TaskPageView,
    worker::{WorkerListView, registry::RegistryView},
    workflow::WorkflowListView,
};
use jobbers_common::limits::MAX_BATCH;

use super::point::Kind;
use crate::{
    client::{self, ManagerArgs, ManagerClient},
    failure::Failure,
};

/// The longest that a user waits for completions.
const PATIENCE: Duration = Duration::from_secs(1);
/// As many ids are offered at most.
const MOST_IDS: &str = "100";

/// The names of a kind; none when the manager does not answer soon.
pub(crate) async fn of(kind: Kind, path: &[&str], words: &[String]) -> Vec<String> {
    let given = |flag| value_of(flag, words).map(str::to_owned);
    let manager = ManagerArgs::named(given("--manager"), given("--profile"));
    let asked = async {
        let client = manager.client()?;
        ask(&client, kind, path).await
    };
    tokio::time::timeout(PATIENCE, asked).await.ok().and_then(Result::ok).unwrap_or_default()
}

/// The value of `--flag VALUE` or `--flag=VALUE`. A shell may cut the latter into three words.
fn value_of<'a>(flag: &str, words: &'a [String]) -> Option<&'a str> {
    let mut words = words.iter().map(String::as_str);
    let found = words.find(|word| word.split('=').next() == Some(flag))?;
    match found.split_once('=') {
        Some((_, value)) => Some(value),
        None => words.find(|word| *word != "="),
    }
}

async fn ask(client: &ManagerClient, kind: Kind, path: &[&str]) -> Result<Vec<String>, Failure> {
    let most = [("limit", MAX_BATCH)];
    Ok(match kind {
        Kind::Board => {
            let BoardListView { boards, .. } = client.get("/boards", Some(&most)).await?.read()?;
            boards.into_iter().map(|board| board.name.to_string()).collect()
        }
        Kind::Queue => {
            let QueueListView { queues, .. } = client.get("/queues", Some(&most)).await?.read()?;
            queues.into_iter().map(|queue| queue.name.to_string()).collect()
        }
        Kind::Task => {
            let RegistryView { tasks } = client.get("/tasks/registry", client::NOTHING).await?.read()?;
            let mut names: Vec<String> = tasks.into_iter().map(|task| task.name.to_string()).collect();
            names.dedup();
            names
        }
        Kind::Role => {
            let RoleListView { roles } = client.get("/roles", client::NOTHING).await?.read()?;
            roles.into_iter().map(|role| role.name.to_string()).collect()
        }
        Kind::Schedule => {
            let ScheduleListView { schedules, .. } = client.get("/schedules", Some(&most)).await?.read()?;
            schedules.into_iter().map(|schedule| schedule.name.to_string()).collect()
        }
        Kind::Workflow => {
            let WorkflowListView { workflows, .. } = client.get("/workflows", Some(&most)).await?.read()?;
            workflows.into_iter().map(|run| run.id.to_string()).collect()
        }
        Kind::Worker => {
            let WorkerListView { workers } = client.get("/workers", client::NOTHING).await?.read()?;
            workers.into_iter().map(|worker| worker.id.to_string()).collect()
        }
        Kind::Id => ids(client, path).await?,
    })
}

/// Ids of tasks with which the command can do something.
async fn ids(client: &ManagerClient, path: &[&str]) -> Result<Vec<String>, Failure> {
    let mut query = vec![("limit", MOST_IDS)];
    match path {
        ["dlq", ..] => {
            let page: LetterPageView = client.get("/dead-letter-queue", Some(&query)).await?.read()?;
            return Ok(page.dead_letters.into_iter().map(|letter| letter.id.to_string()).collect());
        }
        ["resubmit"] => query.push(("status", "failed,stalled,dropped,aborted,cancelled")),
        ["depend"] => query.push(("status", "waiting,scheduled,submitted")),
        ["cancel"] => query.push(("status", "waiting,scheduled,submitted,started")),
        _ => {}
    }
    let TaskPageView { tasks, .. } = client.get("/tasks", Some(&query)).await?.read()?;
    Ok(tasks.into_iter().map(|task| task.id.to_string()).collect())
}
