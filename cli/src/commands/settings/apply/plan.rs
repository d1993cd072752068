//! The difference between what a file wants and what is: the steps that make it so, each as a call of the API.
//!
//! Both sides are compared as the API would answer them, so `60s` and `1m` are the same, and an absent setting is its default.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};

use jobbers_api::{
    problem::Problem,
    queue::{
        QueueListView, QueueRequest, QueueView,
        role::{RoleListView, RoleRequest, RoleView},
        route::{Rule, RuleListView},
    },
    schedule::{
        SETTINGS, ScheduleRequest, template,
        view::{ScheduleListView, ScheduleView},
    },
};
use jobbers_common::{
    engine::{QueueStats, StoredSchedule},
    name::{QueueName, RoleName, ScheduleName},
    queue::{Config, routing::Versions},
    schedule::{ScheduleState, Target, WorkflowTemplate, entry::ScheduleEntry},
    time::Timestamp,
    workflow::Workflow,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::file::{Settings, Wanted};
use crate::{
    client::{self, ManagerClient},
    commands::settings::routes::RuleRange,
    failure::Failure,
};

/// The queue and the role that each store begins with.
const DEFAULT: &str = "default";
/// Entries of one page.
const PAGE: &str = "1000";

/// The settings of a queue and of a schedule; the rest of their views are numbers.
const OF_QUEUE: [&str; 16] = [
    "paused",
    "max_per_worker",
    "max_concurrent",
    "rate_limit",
    "submit_rate_limit",
    "max_length",
    "key_parameter",
    "max_concurrent_per_key",
    "rate_limit_per_key",
    "task_limits",
    "max_bytes",
    "retention",
    "keep_parameters",
    "patience",
    "strict",
    "name",
];
const OF_ROLE: [&str; 4] = ["name", "queues", "order", "weights"];

/// What kind of entry a step is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Queue,
    Role,
    Route,
    Schedule,
}

impl Kind {
    /// Where an entry is created; routes are only put.
    const fn collection(self) -> Option<&'static str> {
        match self {
            Self::Queue => Some("/queues"),
            Self::Role => Some("/roles"),
            Self::Schedule => Some("/schedules"),
            Self::Route => None,
        }
    }
}

/// One change.
#[derive(Debug, Serialize)]
pub(super) struct PlanStep {
    kind: Kind,
    name: String,
    change: &'static str,
    /// What differs: how it is, and how it shall be.
    #[serde(skip_serializing_if = "Map::is_empty")]
    before: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    after: Map<String, Value>,
    #[serde(skip)]
    call: ApiCall,
}

/// The call of the API that makes it.
#[derive(Debug)]
enum ApiCall {
    /// Of an entry that does not exist: one that came meanwhile is not replaced.
    Create {
        path: &'static str,
        body: Value,
    },
    Put {
        path: String,
        body: Value,
        tag: Option<String>,
    },
    Delete {
        path: String,
    },
    DeleteRoute(Box<Rule>),
}

impl PlanStep {
    pub(super) const fn is_deletion(&self) -> bool {
        matches!(self.call, ApiCall::Delete { .. } | ApiCall::DeleteRoute(_))
    }

    /// What it changes, for people: a line, and one for each setting.
    pub(super) fn lines(&self) -> Vec<String> {
        let kind = match self.kind {
            Kind::Queue => "queue",
            Kind::Role => "role",
            Kind::Route => "route",
            Kind::Schedule => "schedule",
        };
        let mut lines = vec![format!("{} {kind} {}", self.change, self.name)];
        let shown = |value: Option<&Value>| value.map_or_else(|| "-".to_owned(), Value::to_string);
        let names: BTreeSet<&String> =
            self.before.keys().chain(self.after.keys()).filter(|name| *name != "name").collect();
        lines.extend(names.into_iter().map(|name| match self.call {
            ApiCall::Create { .. } | ApiCall::Put { .. } if self.change == "create" => {
                format!("    {name} {}", shown(self.after.get(name)))
            }
            _ => format!("    {name} {} -> {}", shown(self.before.get(name)), shown(self.after.get(name))),
        }));
        lines
    }

    /// Makes the change.
    ///
    /// # Errors
    /// Those of the manager; `changed` if another change came between.
    pub(super) async fn carry_out(&self, client: &ManagerClient) -> Result<(), Failure> {
        match &self.call {
            ApiCall::Create { path, body } => client.post(path, Some(body)).await.map(drop),
            ApiCall::Put { path, body, tag } => client.put_if(path, body, tag.as_deref()).await.map(drop),
            ApiCall::Delete { path } => client.delete(path).await.map(drop),
            ApiCall::DeleteRoute(rule) => {
                client.delete_where("/routing", &RuleRange::of(&rule.name, rule.version)).await.map(drop)
            }
        }
    }
}

/// The steps, in an order in which each can be made: what others name first, and deleted last.
///
/// # Errors
/// When the file makes no sense, or the manager can't be asked.
pub(super) async fn plan(client: &ManagerClient, wanted: &Wanted, prune: bool) -> Result<Vec<PlanStep>, Failure> {
    let (mut puts, mut deletions) = (Vec::new(), Vec::new());
    if let Some(queues) = &wanted.queues {
        for (name, settings) in queues {
            puts.extend(queue(client, name, settings).await?);
        }
        if prune {
            let all = names(client, "/queues", |page: QueueListView| {
                (page.queues.into_iter().map(|queue| queue.name.to_string()).collect(), page.next_cursor)
            });
            let kept: BTreeSet<&str> = queues.keys().map(QueueName::as_str).chain([DEFAULT]).collect();
            deletions.push(deleted(Kind::Queue, all.await?, &kept, client::queue_path));
        }
    }
    if let Some(roles) = &wanted.roles {
        for (name, settings) in roles {
            puts.extend(role(client, name, settings).await?);
        }
        if prune {
            let RoleListView { roles: all } = client.get("/roles", client::NOTHING).await?.read()?;
            let all = all.into_iter().map(|role| role.name.to_string()).collect();
            let kept: BTreeSet<&str> = roles.keys().map(RoleName::as_str).chain([DEFAULT]).collect();
            deletions.push(deleted(Kind::Role, all, &kept, |name| jobbers_api::wire::path::path(["roles", name])));
        }
    }
    if let Some(routes) = &wanted.routes {
        let (put, gone) = rules(client, routes).await?;
        puts.extend(put);
        deletions.push(if prune { gone } else { Vec::new() });
    }
    if let Some(schedules) = &wanted.schedules {
        for (name, settings) in schedules {
            puts.extend(schedule(client, name, settings).await?);
        }
        if prune {
            let all = names(client, "/schedules", |page: ScheduleListView| {
                (page.schedules.into_iter().map(|one| one.name.to_string()).collect(), page.next_cursor)
            });
            let kept: BTreeSet<&str> = schedules.keys().map(ScheduleName::as_str).collect();
            deletions.push(deleted(Kind::Schedule, all.await?, &kept, |name| {
                jobbers_api::wire::path::path(["schedules", name])
            }));
        }
    }
    puts.extend(deletions.into_iter().rev().flatten());
    Ok(puts)
}

async fn queue(client: &ManagerClient, name: &QueueName, settings: &Settings) -> Result<Option<PlanStep>, Failure> {
    let (path, title) = (client::queue_path(name.as_str()), format!("queues.{name}"));
    let (stored, tag) = stored::<QueueView>(client, &path, "unknown_queue").await?;
    let settings = with_pause(settings, stored.as_ref().map(|stored| stored.paused));
    let request: QueueRequest = read(&title, &settings)?;
    let config = request.config(Some(name.clone())).map_err(|problem| senseless(&title, &problem))?;
    let view = QueueView::new(&config, &no_stats(name), Timestamp::default());
    let (before, after) = (stored.map(|stored| chosen(&stored, &OF_QUEUE)), chosen(&view, &OF_QUEUE));
    Ok(put(Kind::Queue, name, before, after, ApiCall::Put { path, body: Value::Object(settings), tag }))
}

/// The numbers of a queue do not count here.
fn no_stats(name: &QueueName) -> QueueStats {
    QueueStats {
        queue: name.clone(),
        tasks: BTreeMap::new(),
        suspects: 0,
        oldest_ready_at: None,
        accepted: 0,
        removed: 0,
        waiting_bytes: None,
    }
}

async fn role(client: &ManagerClient, name: &RoleName, settings: &Settings) -> Result<Option<PlanStep>, Failure> {
    let (path, title) = (client::role_path(name), format!("roles.{name}"));
    let (stored, tag) = stored::<RoleView>(client, &path, "unknown_role").await?;
    let request: RoleRequest = read(&title, settings)?;
    let config = request.config(Some(name.clone())).map_err(|problem| senseless(&title, &problem))?;
    // What is written counts, not which queues it matches.
    let view = RoleView::new(&config, &Config::default());
    let (before, after) = (stored.map(|stored| chosen(&stored, &OF_ROLE)), chosen(&view, &OF_ROLE));
    Ok(put(Kind::Role, name, before, after, ApiCall::Put { path, body: Value::Object(settings.clone()), tag }))
}

/// The steps for routing rules, and the deletion of those that the file does not name.
async fn rules(client: &ManagerClient, wanted: &[Settings]) -> Result<(Vec<PlanStep>, Vec<PlanStep>), Failure> {
    let RuleListView { rules } = client.get("/routing", client::NOTHING).await?.read()?;
    let key = |rule: &Rule| format!("{}{}", rule.name, shown(&rule.version));
    let mut left: BTreeMap<String, Rule> = rules.into_iter().map(|rule| (key(&rule), rule)).collect();
    let mut puts = Vec::new();
    for (place, settings) in wanted.iter().enumerate() {
        let rule: Rule = read(&format!("routes[{place}]"), settings)?;
        let before = left.remove(&key(&rule)).map(|stored| all(&stored));
        let call = ApiCall::Put { path: "/routing".to_owned(), body: Value::Object(settings.clone()), tag: None };
        puts.extend(put(Kind::Route, &key(&rule), before, all(&rule), call));
    }
    let gone = left.into_iter().map(|(name, rule)| PlanStep {
        kind: Kind::Route,
        name,
        change: "delete",
        before: Map::new(),
        after: Map::new(),
        call: ApiCall::DeleteRoute(Box::new(rule)),
    });
    Ok((puts, gone.collect()))
}

async fn schedule(
    client: &ManagerClient,
    name: &ScheduleName,
    settings: &Settings,
) -> Result<Option<PlanStep>, Failure> {
    let (path, title) = (client::schedule_path(name, ""), format!("schedules.{name}"));
    let (stored, tag) = stored::<ScheduleView>(client, &path, "unknown_schedule").await?;
    let settings = with_pause(settings, stored.as_ref().map(|stored| stored.paused));
    let view = schedule_view(name, &settings).map_err(|problem| senseless(&title, &problem))?;
    let hides = stored.as_ref().is_some_and(ScheduleView::hides_parameters);
    let (mut before, mut after) = (stored.map(|stored| chosen(&stored, &SETTINGS)), chosen(&view, &SETTINGS));
    if let Some(before) = before.as_mut().filter(|_| hides) {
        // They can't be compared, so they are stored each time.
        before.insert("parameters".to_owned(), "hidden".into());
        after.insert("parameters".to_owned(), "as the file says".into());
    }
    Ok(put(Kind::Schedule, name, before, after, ApiCall::Put { path, body: Value::Object(settings), tag }))
}

/// A schedule as the API would answer it.
fn schedule_view(name: &ScheduleName, settings: &Settings) -> Result<ScheduleView, Problem> {
    let text = text_of(settings);
    let mut request: ScheduleRequest = jobbers_api::wire::json::decode(text.as_bytes())?;
    let target = match (request.task.take(), request.workflow.take()) {
        (Some(task), None) => Target::Task(template(task)?),
        (None, Some(mut workflow)) => {
            let name = workflow.name.take();
            let graph = Workflow::new(workflow.nodes()?.nodes);
            let graph = graph.map_err(|error| jobbers_api::problem::invalid("workflow", error))?;
            Target::Workflow(WorkflowTemplate { name, graph })
        }
        _ => return Err(jobbers_api::problem::invalid("task", "or workflow says what it starts: give one of them")),
    };
    let schedule = request.schedule(Some(name.clone()), target)?;
    let entry = ScheduleEntry { schedule, state: ScheduleState::default(), next_at: None };
    Ok(ScheduleView::from(&StoredSchedule { entry, revision: 0 }))
}

/// An entry that the store has, and its tag.
async fn stored<T: DeserializeOwned>(
    client: &ManagerClient,
    path: &str,
    unknown: &str,
) -> Result<(Option<T>, Option<String>), Failure> {
    match client.get(path, client::NOTHING).await {
        Ok(answer) => {
            let tag = answer.etag.clone();
            Ok((Some(answer.read()?), tag))
        }
        Err(Failure::Refused { code, .. }) if code == unknown => Ok((None, None)),
        Err(failure) => Err(failure),
    }
}

/// The names of all entries, page by page.
async fn names<T: DeserializeOwned>(
    client: &ManagerClient,
    path: &str,
    read: impl Fn(T) -> (Vec<String>, Option<String>),
) -> Result<Vec<String>, Failure> {
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mut query = vec![("limit", PAGE.to_owned())];
        query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let (names, next) = read(client.get(path, Some(&query)).await?.read()?);
        all.extend(names);
        match next {
            Some(next) => cursor = Some(next),
            None => return Ok(all),
        }
    }
}

fn deleted(kind: Kind, all: Vec<String>, kept: &BTreeSet<&str>, path: impl Fn(&str) -> String) -> Vec<PlanStep> {
    let gone = all.into_iter().filter(|name| !kept.contains(name.as_str()));
    let step = |name: String| PlanStep {
        kind,
        change: "delete",
        before: Map::new(),
        after: Map::new(),
        call: ApiCall::Delete { path: path(&name) },
        name,
    };
    gone.map(step).collect()
}

/// The step for an entry; `None` if it is as it shall be.
fn put(kind: Kind, name: &impl Display, before: Option<Settings>, after: Settings, call: ApiCall) -> Option<PlanStep> {
    let change = if before.is_some() { "change" } else { "create" };
    let (mut before, mut after) = (before.unwrap_or_default(), after);
    let same: Vec<String> =
        before.iter().filter(|(name, value)| after.get(*name) == Some(value)).map(|(name, _)| name.clone()).collect();
    for name in same {
        before.remove(&name);
        after.remove(&name);
    }
    let call = match (kind.collection(), call) {
        (Some(path), ApiCall::Put { body: Value::Object(mut body), .. }) if change == "create" => {
            body.insert("name".to_owned(), json!(name.to_string()));
            ApiCall::Create { path, body: Value::Object(body) }
        }
        (_, call) => call,
    };
    let differs = !(before.is_empty() && after.is_empty());
    differs.then(|| PlanStep { kind, name: name.to_string(), change, before, after, call })
}

/// Settings that keep what is paused as it is, unless they say.
fn with_pause(settings: &Settings, paused: Option<bool>) -> Settings {
    let mut settings = settings.clone();
    if let Some(paused) = paused {
        settings.entry("paused").or_insert(json!(paused));
    }
    settings
}

fn chosen(view: &impl Serialize, names: &[&str]) -> Settings {
    all(view).into_iter().filter(|(name, _)| names.contains(&name.as_str())).collect()
}

fn all(view: &impl Serialize) -> Settings {
    match serde_json::to_value(view) {
        Ok(Value::Object(fields)) => fields,
        _ => Settings::new(),
    }
}

fn text_of(settings: &Settings) -> String {
    Value::Object(settings.clone()).to_string()
}

fn read<T: DeserializeOwned>(title: &str, settings: &Settings) -> Result<T, Failure> {
    jobbers_api::wire::json::decode(text_of(settings).as_bytes()).map_err(|problem| senseless(title, &problem))
}

fn senseless(title: &str, problem: &Problem) -> Failure {
    // The place is one in JSON that was made from the file.
    let detail = problem.detail();
    let sentence = detail.split_once(" at line ").map_or(detail, |(sentence, _)| sentence);
    Failure::Config(format!("{title}: {sentence}"))
}

fn shown(versions: &Versions) -> String {
    if versions.is_all() { String::new() } else { format!("@{versions}") }
}
