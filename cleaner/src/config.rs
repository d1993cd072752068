//! The cleaner's configuration: flags over environment over file over `cleaner.default.toml`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::Parser;
use jobbers_common::{
    engine::TaskFilter,
    lifecycle::Status,
    name::{BoardName, QueueName, TaskName},
    task::label::{Label, Labels},
    time::Timestamp,
    values::duration,
};
use jobbers_process::{
    config as layers,
    engine_url::{EngineArgs, WaitArgs},
    listen,
    logging::LogArgs,
    telemetry::MetricsArgs,
    when,
};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{
    boards::{BoardRetention, BoardRule},
    clear::Clear,
    dead_letters::DeadLetters,
    pass::Pass,
    prune::{Criteria, Prune},
    repair::Repair,
};

const DEFAULTS: &str = include_str!("../cleaner.default.toml");

/// The shortest interval between two rounds, so that a mistyped one does not keep the store busy.
const SHORTEST_WATCH: Duration = Duration::from_secs(1);

const EXIT_CODES: &str = "\
Exit codes:
  0   all there was to do was done
  1   something was left undone: a pass failed, it was stopped before the end, or it found what it can't mend
  2   the command line makes no sense, or names nothing to do
  64  the configuration is invalid, or no store exists at the address
  69  the store can't be reached

Examples:
  cleaner --retention                                  apply each queue's own retention
  cleaner --older-than 7d --status failed --dry-run    count what would go
  cleaner --label customer=42 --older-than 1h          tasks of one customer
  cleaner --queue mail --status submitted,scheduled    cancel and delete what waits in a queue
  cleaner --larger-than 100000 --older-than 1h         large ones sooner than the others
  cleaner --board masstasker --group dead --older-than 7d   tasks of a board that became visible longer ago
  cleaner --dead-letters-older-than 90d                dead letters, through the manager that keeps them
  cleaner --repair                                     mend what does not agree; `jobbers doctor` only looks
  cleaner --retention --repair --watch 5m              for ever, every five minutes";

/// Deletes finished tasks, by their queue's retention or by all criteria given, tasks that have not begun, tasks of boards, and
/// old dead letters. Repairs inconsistencies of the store
#[derive(Debug, Clone, Parser, Serialize)]
#[command(name = "cleaner", version, after_help = EXIT_CODES)]
pub struct Args {
    /// A configuration file; see cleaner.default.toml
    #[arg(long, env = "CLEANER_CONFIG", value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// The store.
    #[command(flatten)]
    #[serde(flatten)]
    pub engine: EngineArgs,
    /// How it begins.
    #[command(flatten)]
    #[serde(flatten)]
    pub wait: WaitArgs,
    /// Prune what is past its queue's own retention
    #[arg(long, env = "CLEANER_RETENTION")]
    #[serde(skip_serializing_if = "is_false")]
    pub retention: bool,
    /// Only tasks that ended longer ago than this, e.g. 12h or 7d; of a live --status, that were submitted longer ago
    #[arg(long, env = "CLEANER_OLDER_THAN", value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    pub older_than: Option<Duration>,
    /// Only tasks of this name
    #[arg(long, env = "CLEANER_NAME", value_name = "TASK")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<TaskName>,
    /// Only tasks of this version
    #[arg(long, env = "CLEANER_TASK_VERSION", value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_version: Option<u32>,
    /// Only tasks of this version or a later one
    #[arg(long, env = "CLEANER_TASK_VERSION_FROM", value_name = "N", conflicts_with = "task_version")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_version_from: Option<u32>,
    /// Only tasks of this version or an earlier one
    #[arg(long, env = "CLEANER_TASK_VERSION_TO", value_name = "N", conflicts_with = "task_version")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_version_to: Option<u32>,
    /// Only tasks whose parameters and result take more than about this many bytes
    #[arg(long, env = "CLEANER_LARGER_THAN", value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub larger_than: Option<u64>,
    /// Only tasks in this queue
    #[arg(long, env = "CLEANER_QUEUE", value_name = "QUEUE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueName>,
    /// Only tasks with this label, e.g. team=billing; of several, all must match
    #[arg(long, env = "CLEANER_LABEL", value_name = "NAME=VALUE")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub label: Vec<Label>,
    /// Only tasks with this status; may be given several times. Those that are submitted, scheduled or waiting are cancelled and
    /// deleted; without this, only finished tasks are deleted
    #[arg(long, env = "CLEANER_STATUS", value_name = "STATUS", value_delimiter = ',', value_parser = not_running)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<Status>,
    /// Only tasks submitted at or after this time, e.g. 2026-01-01T00:00:00Z
    #[arg(long, env = "CLEANER_SUBMITTED_AFTER", value_name = "TIME", value_parser = when::parse)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submitted_after: Option<jiff::Timestamp>,
    /// Only tasks submitted before this time
    #[arg(long, env = "CLEANER_SUBMITTED_BEFORE", value_name = "TIME", value_parser = when::parse)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submitted_before: Option<jiff::Timestamp>,
    /// Delete visible tasks of this board, not finished tasks of queues: those that became visible before --older-than, and
    /// those over --max-tasks. Leased ones stay
    #[arg(long, env = "CLEANER_BOARD", value_name = "BOARD", conflicts_with_all = [
        "name", "task_version", "task_version_from", "task_version_to", "larger_than", "queue", "label", "status",
        "submitted_after", "submitted_before",
    ])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub board: Option<BoardName>,
    /// With --board: only of this group
    #[arg(long, env = "CLEANER_GROUP", value_name = "GROUP", requires = "board")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// With --board: keep the latest N tasks of each group
    #[arg(long, env = "CLEANER_MAX_TASKS", value_name = "N", requires = "board")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tasks: Option<u64>,
    /// Delete dead letters that failed longer ago than this, e.g. 90d; asks the manager
    #[arg(long, env = "CLEANER_DEAD_LETTERS_OLDER_THAN", value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    pub dead_letters_older_than: Option<Duration>,
    /// The manager to ask about dead letters [default: http://127.0.0.1:8000]
    #[arg(long, env = "JOBBERS_URL", hide_env_values = true, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manager: Option<String>,
    /// Check the whole store, and repair what is certain
    #[arg(long, env = "CLEANER_REPAIR")]
    #[serde(skip_serializing_if = "is_false")]
    pub repair: bool,
    /// Count what would be done, and change nothing
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub dry_run: bool,
    /// Run for ever, with this long between two rounds [default: 1m]
    #[arg(long, env = "CLEANER_WATCH", value_name = "INTERVAL", num_args = 0..=1, default_missing_value = "1m")]
    #[arg(value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    pub watch: Option<Duration>,
    /// Print reports as JSON, one object per round
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub json: bool,
    /// Metrics.
    #[command(flatten)]
    #[serde(flatten)]
    pub metrics: MetricsArgs,
    /// Logs.
    #[command(flatten)]
    #[serde(skip)]
    pub log: LogArgs,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn not_running(text: &str) -> Result<Status, String> {
    let status: Status = text.parse().map_err(|error: jobbers_common::lifecycle::UnknownStatus| error.to_string())?;
    if status == Status::Started { Err(RUNNING.to_owned()) } else { Ok(status) }
}

const RUNNING: &str =
    "the cleaner does not delete tasks that run; cancel them first, as with `jobbers cancel --status started`";

fn labels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Labels, D::Error> {
    let mut labels = Labels::default();
    for label in Vec::<Label>::deserialize(deserializer)? {
        labels.add(label).map_err(de::Error::custom)?;
    }
    Ok(labels)
}

/// The criteria for tasks that have not begun, and those for finished ones; none restricts nothing.
fn split(criteria: Criteria) -> (Option<Clear>, Option<Prune>) {
    let (live, over): (Vec<Status>, Vec<Status>) =
        criteria.filter.statuses.iter().partition(|status| !status.is_finished());
    let is_for_finished = criteria != Criteria::default() && (live.is_empty() || !over.is_empty());
    let filter = TaskFilter { statuses: live, ..criteria.filter.clone() };
    let clear = (!filter.statuses.is_empty()).then_some(Clear { filter, older_than: criteria.older_than });
    let filter = TaskFilter { statuses: over, ..criteria.filter };
    (clear, is_for_finished.then_some(Prune::Matching(Criteria { filter, ..criteria })))
}

/// The configuration with every layer applied.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The store.
    pub engine_url: String,
    /// How long it waits at its start for a store that can't be reached.
    #[serde(with = "duration::text")]
    pub wait_for_store: Duration,
    /// Whether each queue's retention is applied.
    pub retention: bool,
    /// See [`Criteria::older_than`].
    #[serde(default, with = "duration::text::option")]
    pub older_than: Option<Duration>,
    /// See [`TaskFilter::name`].
    #[serde(default)]
    pub name: Option<TaskName>,
    /// See [`TaskFilter::version`].
    #[serde(default)]
    pub task_version: Option<u32>,
    /// See [`TaskFilter::version_from`].
    #[serde(default)]
    pub task_version_from: Option<u32>,
    /// See [`TaskFilter::version_to`].
    #[serde(default)]
    pub task_version_to: Option<u32>,
    /// See [`Criteria::larger_than`].
    #[serde(default)]
    pub larger_than: Option<u64>,
    /// See [`TaskFilter::queue`].
    #[serde(default)]
    pub queue: Option<QueueName>,
    /// See [`TaskFilter::labels`]: a list of `NAME=VALUE`.
    #[serde(default, deserialize_with = "labels")]
    pub label: Labels,
    /// See [`TaskFilter::statuses`].
    #[serde(default)]
    pub status: Vec<Status>,
    /// See [`TaskFilter::submitted_after`].
    #[serde(default)]
    pub submitted_after: Option<jiff::Timestamp>,
    /// See [`TaskFilter::submitted_before`].
    #[serde(default)]
    pub submitted_before: Option<jiff::Timestamp>,
    /// The board that the command line or the environment names: `older_than` and `max_tasks` are then about it.
    #[serde(default)]
    pub board: Option<BoardName>,
    /// See [`BoardRule::group`].
    #[serde(default)]
    pub group: Option<String>,
    /// See [`BoardRule::max_tasks`].
    #[serde(default)]
    pub max_tasks: Option<u64>,
    /// The retention of boards.
    #[serde(default)]
    pub boards: Vec<BoardRule>,
    /// The age at which dead letters are deleted; `None` keeps them.
    #[serde(default, with = "duration::text::option")]
    pub dead_letters_older_than: Option<Duration>,
    /// The manager to ask about them.
    pub manager: String,
    /// Whether the store is checked and repaired.
    pub repair: bool,
    /// Count, and change nothing.
    pub dry_run: bool,
    /// How long a pruned task is remembered after its end, if its client chose its id.
    #[serde(with = "duration::text")]
    pub tombstone_age: Duration,
    /// How many such tasks are remembered at most.
    pub tombstone_count: u64,
    /// Reports as JSON.
    pub json: bool,
    /// The interval between two rounds; `None` for one round.
    #[serde(default, with = "duration::text::option")]
    pub watch: Option<Duration>,
    /// Where to serve `/metrics`.
    #[serde(default, deserialize_with = "listen::read_if_any")]
    pub metrics_listen: Option<SocketAddr>,
    /// Whether that address may be another than loopback.
    pub metrics_insecure: bool,
    /// The address file of the running system that named the store and the manager, if one did.
    #[serde(skip)]
    pub address_file: Option<PathBuf>,
}

/// Why the cleaner does not start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The layers can't be read.
    #[error(transparent)]
    Layers(#[from] layers::ConfigError),
    /// A value is invalid.
    #[error("configuration: {0}")]
    Value(String),
    /// The configuration does not name anything to prune.
    #[error(
        "nothing says what to do: give --retention, --repair, --dead-letters-older-than, or at least one of --older-than, --larger-than, --name, --task-version, --task-version-from, --task-version-to, --queue, --label, --status, --submitted-after, --submitted-before, or --board with --older-than or --max-tasks; --dry-run counts first"
    )]
    NoCriterion,
}

impl Config {
    /// Merges the layers.
    ///
    /// # Errors
    /// [`ConfigError`] for a file that can't be read and for invalid values.
    pub fn load(args: &Args) -> Result<Self, ConfigError> {
        let args = Args { engine: args.engine.resolved(), ..args.clone() };
        let keys = layers::SiteKeys::StoreAndManager;
        let (config, address_file) = layers::layered_on_site(DEFAULTS, keys, args.config.as_deref(), &args)?;
        let config = Self { address_file, ..config };
        if config.status.contains(&Status::Started) {
            return Err(ConfigError::Value(format!("status: {RUNNING}")));
        }
        if config.larger_than.is_some() && config.status.iter().any(|status| !status.is_finished()) {
            return Err(ConfigError::Value("larger_than is for tasks that are over".to_owned()));
        }
        if let Some(interval) = config.watch.filter(|interval| *interval < SHORTEST_WATCH) {
            let (given, least) = (duration::format(interval), duration::format(SHORTEST_WATCH));
            return Err(ConfigError::Value(format!("watch: {given} is too short, the least is {least}")));
        }
        if let (Some(from), Some(to)) = (config.task_version_from, config.task_version_to)
            && from > to
        {
            return Err(ConfigError::Value(format!("task_version_from {from} lies above task_version_to {to}")));
        }
        if config.board.is_none() && (config.group.is_some() || config.max_tasks.is_some()) {
            return Err(ConfigError::Value("group and max_tasks need a board".to_owned()));
        }
        let has_others = config.filter() != TaskFilter::default() || config.larger_than.is_some();
        if config.board.is_some() && has_others {
            return Err(ConfigError::Value(
                "a board's tasks are chosen by group, older_than and max_tasks only".to_owned(),
            ));
        }
        config.board_rules().iter().try_for_each(BoardRule::validate).map_err(ConfigError::Value)?;
        Ok(config)
    }

    /// The rules of boards, with the one of the command line first.
    fn board_rules(&self) -> Vec<BoardRule> {
        let named = self.board.clone().map(|board| BoardRule {
            board,
            group: self.group.clone(),
            max_age: self.older_than,
            max_tasks: self.max_tasks,
        });
        named.into_iter().chain(self.boards.iter().cloned()).collect()
    }

    /// The passes that the configuration requests.
    ///
    /// # Errors
    /// [`ConfigError::NoCriterion`] if it requests none; [`ConfigError::Value`] for an invalid manager address.
    pub fn passes(&self) -> Result<Vec<Box<dyn Pass>>, ConfigError> {
        // With a board, `older_than` is about that.
        let criteria = if self.board.is_some() { Criteria::default() } else { self.criteria() };
        let retention = self.retention.then_some(Prune::Retention);
        let (clear, matching) = split(criteria);
        let mut passes: Vec<Box<dyn Pass>> =
            retention.into_iter().chain(matching).map(|pass| Box::new(pass) as Box<dyn Pass>).collect();
        passes.extend(clear.map(|pass| Box::new(pass) as Box<dyn Pass>));
        let rules = self.board_rules();
        if !rules.is_empty() {
            // While it watches, a rule may be there before its board.
            let expected = self.board.clone().filter(|_| self.watch.is_none());
            passes.push(Box::new(BoardRetention::new(rules, expected)));
        }
        if let Some(age) = self.dead_letters_older_than {
            let pass = DeadLetters::new(&self.manager, age).map_err(|error| ConfigError::Value(error.to_string()))?;
            passes.push(Box::new(pass));
        }
        if self.repair {
            passes.push(Box::new(Repair));
        }
        if passes.is_empty() { Err(ConfigError::NoCriterion) } else { Ok(passes) }
    }

    fn criteria(&self) -> Criteria {
        Criteria { filter: self.filter(), older_than: self.older_than, larger_than: self.larger_than }
    }

    fn filter(&self) -> TaskFilter {
        let timestamp = |time: jiff::Timestamp| Timestamp::from_micros(time.as_microsecond());
        TaskFilter {
            statuses: self.status.clone(),
            queue: self.queue.clone(),
            name: self.name.clone(),
            version: self.task_version,
            version_from: self.task_version_from,
            version_to: self.task_version_to,
            labels: self.label.clone(),
            submitted_after: self.submitted_after.map(timestamp),
            submitted_before: self.submitted_before.map(timestamp),
            ..TaskFilter::default()
        }
    }
}
