//! `jobbers routes`: which queue a task goes to when its submission names none.

use std::{process::ExitCode, str::FromStr};

use jobbers_api::queue::route::{self, DeletedRuleView, Route, Rule, RuleListView};
use jobbers_common::{
    name::{QueueName, TaskName},
    queue::routing::{ExplicitQueue, Versions},
};
use jobbers_process::exit;
use serde::Serialize;

use super::roles::QueueShare;
use crate::{
    client::{self, ClientArgs},
    failure::Failure,
    terminal::output,
};

/// Flags of `jobbers routes`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Create a rule, or replace the one of the same task and versions
    Set(Set),
    /// Delete a rule; one that does not exist is no failure
    Delete(Delete),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Several queues share the tasks: by chance in proportion to their weights (gpu=9 canary=1; one \
                        without has 1), in turns with --round-robin, or by the value of a parameter with --by."
)]
struct Set {
    /// The tasks: resize, or resize@3, resize@2-5, resize@4- for some of their versions
    #[arg(value_name = "TASK[@VERSIONS]")]
    tasks: TaskPattern,
    /// Where they go
    #[arg(required = true, value_name = "QUEUE[=WEIGHT]")]
    queues: Vec<QueueShare>,
    /// To one queue after the other
    #[arg(long, conflicts_with = "by")]
    round_robin: bool,
    /// By this field of the parameters: equal values always meet in one queue
    #[arg(long, value_name = "PARAMETER")]
    by: Option<String>,
    /// Refuse submissions that name another queue themselves
    #[arg(long)]
    forbid_explicit: bool,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, clap::Args)]
struct Delete {
    /// The tasks, with exactly the versions of the rule
    #[arg(value_name = "TASK[@VERSIONS]")]
    tasks: TaskPattern,
    #[command(flatten)]
    client: ClientArgs,
}

/// Tasks of a name, of all versions or some.
#[derive(Debug, Clone)]
struct TaskPattern {
    name: TaskName,
    versions: Versions,
}

impl FromStr for TaskPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, versions) = text.split_once('@').unwrap_or((text, "*"));
        let name = TaskName::new(name).map_err(|error| error.to_string())?;
        Ok(Self { name, versions: versions.parse()? })
    }
}

/// What is put.
#[derive(Debug, Serialize)]
struct Settings<'a> {
    name: &'a TaskName,
    version: Versions,
    route: Route,
    explicit_queue: ExplicitQueue,
}

impl<'a> TryFrom<&'a Set> for Settings<'a> {
    type Error = Failure;

    fn try_from(set: &'a Set) -> Result<Self, Failure> {
        let is_weighed = set.queues.iter().any(|share| share.weight.is_some());
        if is_weighed && (set.round_robin || set.by.is_some()) {
            return Err(Failure::Usage("weights can't stand beside --round-robin or --by".to_owned()));
        }
        let queues = || -> Vec<QueueName> { set.queues.iter().map(|share| share.queue.clone()).collect() };
        let route = match (&set.by, set.queues.as_slice()) {
            (Some(parameter), _) => Route::Hash { parameter: parameter.clone(), queues: queues() },
            _ if set.round_robin => Route::RoundRobin { queues: queues() },
            (None, [one]) => Route::Single { queue: one.queue.clone() },
            (None, shares) => Route::Weighted { queues: shares.iter().map(share_of).collect() },
        };
        let explicit_queue = if set.forbid_explicit { ExplicitQueue::Forbid } else { ExplicitQueue::Allow };
        Ok(Self { name: &set.tasks.name, version: set.tasks.versions, route, explicit_queue })
    }
}

/// Which rule is deleted.
#[derive(Debug, Serialize)]
pub(in crate::commands) struct RuleRange<'a> {
    name: &'a TaskName,
    #[serde(skip_serializing_if = "Option::is_none")]
    version_from: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version_to: Option<u32>,
}

impl<'a> RuleRange<'a> {
    /// The one of these tasks.
    pub(in crate::commands) fn of(name: &'a TaskName, versions: Versions) -> Self {
        let (from, to) = versions.ends();
        Self { name, version_from: (from > 0).then_some(from), version_to: (to < u32::MAX).then_some(to) }
    }
}

/// Lists the rules, or changes one.
///
/// # Errors
/// When the manager can't be asked or refuses.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.action {
        None => list(&args.client).await?,
        Some(Action::Set(set)) => {
            let answer = set.client.client()?.put("/routing", &Settings::try_from(set)?).await?;
            let TaskPattern { name, versions } = &set.tasks;
            output::done(&answer.body, set.client.json, format_args!("rule of {name}@{versions} set"))?;
        }
        Some(Action::Delete(delete)) => {
            let rule = RuleRange::of(&delete.tasks.name, delete.tasks.versions);
            let answer = delete.client.client()?.delete_where("/routing", &rule).await?;
            let TaskPattern { name, versions } = &delete.tasks;
            let what = if answer.read::<DeletedRuleView>()?.deleted { "deleted" } else { "did not exist" };
            output::done(&answer.body, delete.client.json, format_args!("rule of {name}@{versions} {what}"))?;
        }
    }
    Ok(exit::OK)
}

async fn list(args: &ClientArgs) -> Result<(), Failure> {
    let answer = args.client()?.get("/routing", client::NOTHING).await?;
    if args.json {
        return output::document(&answer.body);
    }
    let RuleListView { rules } = answer.read()?;
    if rules.is_empty() {
        output::note("no rules: a task that names no queue goes to `default`");
        return Ok(());
    }
    let mut table = output::table_of(&["TASK", "VERSIONS", "GOES TO", "NAMED QUEUES"]);
    for Rule { name, version, route, explicit_queue } in &rules {
        table.add_row(vec![name.to_string(), version.to_string(), shown(route), explicit_queue.to_string()]);
    }
    output::table(&table)
}

/// A queue with its weight, as the API has it.
fn share_of(share: &QueueShare) -> route::Share {
    route::Share { queue: share.queue.clone(), weight: share.weight.unwrap_or(1) }
}

/// A route as a table shows it.
fn shown(route: &Route) -> String {
    let list = |queues: &[QueueName]| queues.iter().map(QueueName::as_str).collect::<Vec<_>>().join(", ");
    match route {
        Route::Single { queue } => queue.to_string(),
        Route::Weighted { queues } => {
            let shares: Vec<String> = queues.iter().map(|share| format!("{}={}", share.queue, share.weight)).collect();
            shares.join(", ")
        }
        Route::RoundRobin { queues } => format!("{} in turns", list(queues)),
        Route::Hash { parameter, queues } => format!("{} by {parameter}", list(queues)),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, Parser)]
    struct RuleLine {
        #[command(flatten)]
        set: Set,
    }

    fn put(line: &str) -> Result<Value, Failure> {
        let line = RuleLine::try_parse_from(["set"].into_iter().chain(line.split(' '))).unwrap();
        Settings::try_from(&line.set).map(|settings| serde_json::to_value(settings).unwrap())
    }

    #[test]
    fn each_kind_of_rule_is_put_as_the_manager_reads_it() {
        let one = put("resize gpu").unwrap();
        assert_eq!(one["route"], json!({"kind": "single", "queue": "gpu"}));
        assert_eq!((&one["version"], &one["explicit_queue"]), (&Value::Null, &json!("allow")));
        let shares = json!([{"queue": "gpu", "weight": 9}, {"queue": "canary", "weight": 1}]);
        let canary = put("resize@6 gpu=9 canary --forbid-explicit").unwrap();
        assert_eq!(canary["route"], json!({"kind": "weighted", "queues": shares}));
        assert_eq!((&canary["version"], &canary["explicit_queue"]), (&json!(6), &json!("forbid")));
        let turns = put("resize@4- a b --round-robin").unwrap();
        assert_eq!(turns["route"], json!({"kind": "round_robin", "queues": ["a", "b"]}));
        assert_eq!(turns["version"], json!({"from": 4}));
        let hash = put("resize@2-5 a b --by customer").unwrap();
        assert_eq!(hash["route"], json!({"kind": "hash", "parameter": "customer", "queues": ["a", "b"]}));
    }

    #[test]
    fn weights_do_not_go_with_turns() {
        assert!(matches!(put("resize a=2 b --round-robin"), Err(Failure::Usage(_))));
    }

    #[test]
    fn tasks_are_named_with_their_versions() {
        for bad in ["@3", "resize@", "resize@x", "resize@5-2", "resize@-", "resize@1@2", "re size"] {
            bad.parse::<TaskPattern>().unwrap_err();
        }
    }
}
