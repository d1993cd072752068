//! What a queue may be limited by, as flags.

use std::time::Duration;

use jobbers_common::{
    name::TaskName,
    queue::{gate::GateLimits, rate::RateLimit},
    values::duration,
};
use serde::{Serialize, Serializer};

/// A limit that can be taken away.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum LimitName {
    MaxPerWorker,
    MaxConcurrent,
    Rate,
    SubmitRate,
    MaxLength,
    MaxConcurrentPerKey,
    RatePerKey,
    KeyParameter,
    MaxBytes,
}

impl LimitName {
    /// Its field in the API.
    pub(super) const fn field(self) -> &'static str {
        match self {
            Self::MaxPerWorker => "max_per_worker",
            Self::MaxConcurrent => "max_concurrent",
            Self::Rate => "rate_limit",
            Self::SubmitRate => "submit_rate_limit",
            Self::MaxLength => "max_length",
            Self::MaxConcurrentPerKey => "max_concurrent_per_key",
            Self::RatePerKey => "rate_limit_per_key",
            Self::KeyParameter => "key_parameter",
            Self::MaxBytes => "max_bytes",
        }
    }
}

/// What a queue is limited by; what is not said stays as it is.
#[derive(Debug, clap::Args, Serialize)]
pub(super) struct Limits {
    /// At most this many of its tasks run in one worker at a time
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_per_worker: Option<u32>,
    /// At most this many of its tasks run at a time, in all workers together
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_concurrent: Option<u32>,
    /// How many of its tasks may start per period, e.g. 50/1s, or 50/1s/100 with bursts of 100
    #[arg(long = "rate", value_name = "TASKS/PERIOD[/BURST]", value_parser = parse_rate)]
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_limit: Option<RateLimit>,
    /// How many tasks it accepts per period; more are refused
    #[arg(long = "submit-rate", value_name = "TASKS/PERIOD[/BURST]", value_parser = parse_rate)]
    #[serde(skip_serializing_if = "Option::is_none")]
    submit_rate_limit: Option<RateLimit>,
    /// At most this many of its tasks wait, are scheduled or submitted; more are refused
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_length: Option<u64>,
    /// How many bytes of parameters may wait in it; more are refused
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_bytes: Option<u64>,
    /// Which parameter gives a task its concurrency key: a field's name, or a JSON pointer (/order/customer)
    #[arg(long, value_name = "PARAMETER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    key_parameter: Option<String>,
    /// At most this many of its tasks of one concurrency key run at a time
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_concurrent_per_key: Option<u32>,
    /// How many of its tasks of one concurrency key may start per period
    #[arg(long = "rate-per-key", value_name = "TASKS/PERIOD[/BURST]", value_parser = parse_rate)]
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_limit_per_key: Option<RateLimit>,
    /// How many tasks of this name may run, or start per period: email.send=3, email.send=50/1s, or both as
    /// email.send=3,50/1s; email.send=none takes its limits away. May be said several times
    #[arg(long = "task-limit", value_name = "TASK=LIMIT", value_parser = parse_task_limit)]
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_name")]
    task_limits: Vec<(TaskName, Option<GateLimits>)>,
}

/// Limits by the tasks' names; empty means none.
fn by_name<S: Serializer>(limits: &[(TaskName, Option<GateLimits>)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(limits.iter().map(|(name, limits)| (name, limits)))
}

/// `TASK=N`, `TASK=RATE`, `TASK=N,RATE` or `TASK=none`.
fn parse_task_limit(text: &str) -> Result<(TaskName, Option<GateLimits>), String> {
    let (name, said) = text.split_once('=').ok_or("a task's limit is written TASK=LIMIT, e.g. email.send=3,50/1s")?;
    let name = TaskName::new(name).map_err(|error| error.to_string())?;
    if said == "none" {
        return Ok((name, None));
    }
    let mut limits = GateLimits::default();
    for part in said.split(',') {
        if part.contains('/') {
            limits.rate_limit = Some(parse_rate(part)?);
        } else {
            let most = part.parse().map_err(|_| format!("{part:?} is no whole number and no rate"))?;
            limits.max_concurrent = Some(most);
        }
    }
    limits.validate().map(|()| (name, Some(limits)))
}

/// `TASKS/PERIOD` or `TASKS/PERIOD/BURST`.
fn parse_rate(text: &str) -> Result<RateLimit, String> {
    let mut parts = text.split('/');
    let (Some(tasks), Some(per)) = (parts.next(), parts.next()) else {
        return Err("a rate is written TASKS/PERIOD, e.g. 50/1s".to_owned());
    };
    let whole = |number: &str| number.parse::<u32>().map_err(|_| format!("{number:?} is no whole number"));
    let rate = RateLimit {
        tasks: whole(tasks)?,
        per: duration::parse(per).map_err(|error| error.to_string())?,
        burst: parts.next().map(whole).transpose()?,
    };
    if parts.next().is_some() {
        return Err("a rate is written TASKS/PERIOD/BURST".to_owned());
    }
    rate.validate().map(|()| rate)
}

/// How long and how many finished tasks are kept.
#[derive(Debug, clap::Args, Serialize)]
pub(super) struct RetentionArgs {
    /// Keep finished tasks this long [default: 1d]
    #[arg(long = "keep-for", value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    age: Option<Duration>,
    /// Keep at most this many finished tasks [default: 100000]
    #[arg(long = "keep-at-most", value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}
