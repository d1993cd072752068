//! Names that the manager knows.

use std::time::Duration;

use jobbers_common::limits::MAX_BATCH;

use super::place::{Kind, Place};
use crate::{
    client::{
        self, Client, ClientArgs,
        wire::{Boards, DeadLetterPage, Queues, RegisteredTasks, Roles, Schedules, TaskPage, Workers, Workflows},
    },
    failure::Failure,
};

/// The longest that a user waits for completions.
const PATIENCE: Duration = Duration::from_secs(1);
/// As many ids are offered at most.
const MOST_IDS: &str = "100";

/// The names of a kind; none when the manager does not answer soon.
pub(super) async fn of(kind: Kind, place: &Place<'_>, words: &[String]) -> Vec<String> {
    // A manager is named behind the command, as `--manager URL`, or by the environment.
    let named = words.windows(2).find(|pair| pair[0] == "--manager").map(|pair| pair[1].clone());
    let manager = named.or_else(|| std::env::var("JOBBERS_URL").ok());
    let asked = async {
        let client = ClientArgs { manager, json: false }.client()?;
        ask(&client, kind, &place.path).await
    };
    tokio::time::timeout(PATIENCE, asked).await.ok().and_then(Result::ok).unwrap_or_default()
}

async fn ask(client: &Client, kind: Kind, path: &[&str]) -> Result<Vec<String>, Failure> {
    let most = [("limit", MAX_BATCH)];
    Ok(match kind {
        Kind::Board => {
            let Boards { boards, .. } = client.get("/boards", Some(&most)).await?.read()?;
            boards.into_iter().map(|board| board.name).collect()
        }
        Kind::Queue => {
            let Queues { queues, .. } = client.get("/queues", Some(&most)).await?.read()?;
            queues.into_iter().map(|queue| queue.name).collect()
        }
        Kind::Task => {
            let RegisteredTasks { tasks } = client.get("/tasks/registry", client::NOTHING).await?.read()?;
            let mut names: Vec<String> = tasks.into_iter().map(|task| task.name).collect();
            names.dedup();
            names
        }
        Kind::Role => {
            let Roles { roles } = client.get("/roles", client::NOTHING).await?.read()?;
            roles.into_iter().map(|role| role.name).collect()
        }
        Kind::Schedule => {
            let Schedules { schedules, .. } = client.get("/schedules", Some(&most)).await?.read()?;
            schedules.into_iter().map(|schedule| schedule.name).collect()
        }
        Kind::Workflow => {
            let Workflows { workflows, .. } = client.get("/workflows", Some(&most)).await?.read()?;
            workflows.into_iter().map(|run| run.id).collect()
        }
        Kind::Worker => {
            let Workers { workers } = client.get("/workers", client::NOTHING).await?.read()?;
            workers.into_iter().map(|worker| worker.id).collect()
        }
        Kind::Id => ids(client, path).await?,
    })
}

/// Ids of tasks with which the command can do something.
async fn ids(client: &Client, path: &[&str]) -> Result<Vec<String>, Failure> {
    let mut query = vec![("limit", MOST_IDS)];
    match path {
        ["dlq", ..] => {
            let page: DeadLetterPage = client.get("/dead-letter-queue", Some(&query)).await?.read()?;
            return Ok(page.dead_letters.into_iter().map(|letter| letter.id).collect());
        }
        ["resubmit"] => query.push(("status", "failed,stalled,dropped,aborted,cancelled")),
        ["depend"] => query.push(("status", "waiting,scheduled,submitted")),
        ["cancel"] => query.push(("status", "waiting,scheduled,submitted,started")),
        _ => {}
    }
    let TaskPage { tasks, .. } = client.get("/tasks", Some(&query)).await?.read()?;
    Ok(tasks.into_iter().map(|task| task.id).collect())
}
