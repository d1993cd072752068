//! One task, lists, counts, health.

use std::{collections::HashMap, time::Duration};

use jobbers_common::{
    engine::{
        DeadTask, Error, Health, Probation, QueueListRequest, QueuePage, QueuePlace, QueueStats, Result, Trouble,
        look::validate_limit,
    },
    gate::{Gate, ShutGate},
    lifecycle::Status,
    name::{QueueName, TaskId},
    suspicion::Suspicion,
    task::Task,
    time::Timestamp,
};
use redis::{Cmd, FromRedisValue, Value};

use super::{
    dead,
    failure::malformed,
    keys,
    layout::FIRST_NUMBER_AT,
    queues::{self, From},
    record::{read_suspicion, time},
    reply::{array, bytes, digits, number, text, tuple},
    script,
    state::{read_task, status_of},
    store::Store,
    tombstones,
};

/// The number of queues that one script counts.
const QUEUES_A_PIECE: usize = 100;

/// The whole task.
pub(super) async fn get(store: &Store, id: &TaskId) -> Result<Option<Task>> {
    Ok(get_with_fingerprint(store, id).await?.map(|found| found.task))
}

/// The same, and the fingerprint of its submission.
pub(super) async fn get_with_fingerprint(store: &Store, id: &TaskId) -> Result<Option<DeadTask>> {
    let add = |command: &mut Cmd| {
        command.arg(id.as_str());
    };
    read_task(store.run(&store.work, &script::GET, add).await?)
}

/// The place of a ready task in its queue.
pub(super) async fn place(store: &Store, id: &TaskId) -> Result<Option<QueuePlace>> {
    let add = |command: &mut Cmd| {
        command.arg(id.as_str());
    };
    let answer = store.run(&store.work, &script::PLACE, add).await?;
    if answer == Value::Nil {
        return Ok(None);
    }
    let mut words = array(answer)?.into_iter();
    let ahead = number(words.next().unwrap_or(Value::Nil))?;
    let rate_wait = read_wait(words.next().as_ref())?;
    let now = time(&bytes(words.next().unwrap_or(Value::Nil))?)?;
    let running = array(words.next().unwrap_or(Value::Nil))?;
    let probations = Probation::named(read_running_suspects(running)?, now);
    let held_back = words.map(read_shut_gate).collect::<Result<_>>()?;
    Ok(Some(QueuePlace { ahead, rate_wait, held_back, probations }))
}

/// Of each its id, its byte of suspicion, and since when it runs.
fn read_running_suspects(words: Vec<Value>) -> Result<Vec<(TaskId, Suspicion, Timestamp)>> {
    let (mut words, mut suspects) = (words.into_iter(), Vec::new());
    while let (Some(id), Some(byte), Some(started_at)) = (words.next(), words.next(), words.next()) {
        let id = TaskId::new(text(id)?).map_err(|_| malformed("expected a task's id"))?;
        let byte = u8::try_from(number(byte)?).map_err(|_| malformed("expected a byte"))?;
        suspects.push((id, read_suspicion(byte), time(&bytes(started_at)?)?));
    }
    Ok(suspects)
}

/// Microseconds, or -1 for none.
fn read_wait(word: Option<&Value>) -> Result<Option<Duration>> {
    let Some(Value::Int(wait)) = word else { return Err(malformed("a number of microseconds was due")) };
    Ok(u64::try_from(*wait).ok().map(Duration::from_micros))
}

fn read_shut_gate(answer: Value) -> Result<ShutGate> {
    let mut words = array(answer)?.into_iter();
    let gate = Gate::parse(&text(words.next().unwrap_or(Value::Nil))?).ok_or_else(|| malformed("a gate was due"))?;
    let running = number(words.next().unwrap_or(Value::Nil))?;
    let rate_wait = read_wait(words.next().as_ref())?;
    let id = |word| TaskId::new(text(word)?).map_err(|_| malformed("expected a task's id"));
    Ok(ShutGate { gate, running, holders: words.map(id).collect::<Result<_>>()?, rate_wait })
}

/// Counts of one queue.
pub(super) async fn queue_stats(store: &Store, queue: &QueueName) -> Result<QueueStats> {
    let found = stats_of(store, std::slice::from_ref(queue)).await?.pop();
    found.ok_or_else(|| Error::UnknownQueue(queue.clone()))
}

/// Counts of a page of the queues, in the order of names.
pub(super) async fn list_queues(store: &Store, request: &QueueListRequest) -> Result<QueuePage> {
    validate_limit(request.limit)?;
    let walked = queues::walk(store, "", From::after(request.after.as_ref()), request.limit).await?;
    let mut stats = Vec::with_capacity(walked.names.len());
    for some in walked.names.chunks(QUEUES_A_PIECE) {
        stats.extend(stats_of(store, some).await?);
    }
    let last = walked.names.last().cloned();
    Ok(QueuePage { queues: stats, next: walked.next.and(last) })
}

/// Counts of those of some queues that exist.
async fn stats_of(store: &Store, queues: &[QueueName]) -> Result<Vec<QueueStats>> {
    let add = |command: &mut Cmd| {
        queues.iter().for_each(|queue| {
            command.arg(queue.as_str());
        });
    };
    let answers = array(store.run(&store.bulk, &script::STATS, add).await?)?;
    let read = queues.iter().zip(answers).map(|(name, answer)| read_stats(name, answer));
    Ok(read.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

fn read_stats(name: &QueueName, answer: Value) -> Result<Option<QueueStats>> {
    let [known, waiting, scheduled, submitted, started, oldest, counters, waiting_bytes, suspects] = tuple(answer)?;
    if number(known)? == 0 {
        return Ok(None);
    }
    let (oldest, waiting_bytes) = (bytes(oldest)?, bytes(waiting_bytes)?);
    let mut stats = QueueStats {
        queue: name.clone(),
        tasks: [
            (Status::Waiting, number(waiting)?),
            (Status::Scheduled, number(scheduled)?),
            (Status::Submitted, number(submitted)?),
            (Status::Started, number(started)?),
        ]
        .into(),
        suspects: number(suspects)?,
        oldest_ready_at: if oldest.is_empty() { None } else { Some(time(&oldest)?) },
        accepted: 0,
        removed: 0,
        waiting_bytes: if waiting_bytes.is_empty() { None } else { Some(digits(&waiting_bytes)?) },
    };
    let mut counters = array(counters)?.into_iter();
    while let (Some(name), Some(count)) = (counters.next(), counters.next()) {
        let count = number(count)?;
        match text(name)?.as_str() {
            "accepted" => stats.accepted = count,
            "removed" => stats.removed = count,
            "ghosts" => {}
            digit => drop(stats.tasks.insert(status_of(digit.as_bytes())?, count)),
        }
    }
    stats.tasks.retain(|_, count| *count > 0);
    Ok(Some(stats))
}

/// Describes the server and its durability.
pub(super) async fn health(store: &Store) -> Result<Health> {
    let (info, mut warnings): (String, _) = match ask(store, &["INFO", "persistence", "memory"]).await {
        Ok(info) => (info, Vec::new()),
        // This user has no permission.
        Err(Error::Config(why)) => (String::new(), vec![format!("what Redis keeps can't be found out: {why}")]),
        Err(error) => return Err(error),
    };
    let field =
        |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap_or_default();
    let durability = if info.is_empty() {
        "unknown".to_owned()
    } else if field("aof_enabled") == "1" {
        // A managed server may not answer this.
        let settings: HashMap<String, String> = ask(store, &["CONFIG", "GET", "appendfsync"]).await.unwrap_or_default();
        let appendfsync = settings.get("appendfsync").map_or("unknown", String::as_str);
        if appendfsync == "no" {
            warnings.push(
                "Redis writes its append-only file without ever syncing it: a crash of the machine loses acknowledged \
                 tasks; set appendfsync everysec or always"
                    .to_owned(),
            );
        }
        format!("appendonly, appendfsync {appendfsync}")
    } else {
        warnings.push(
            "Redis keeps no append-only file: a crash of the server loses acknowledged tasks; set appendonly yes"
                .to_owned(),
        );
        "no append-only file: what a snapshot holds survives".to_owned()
    };
    let policy = field("maxmemory_policy");
    if policy != "noeviction" && field("maxmemory") != "0" {
        warnings.push(format!("maxmemory-policy is {policy}: a full server deletes tasks; set it to noeviction"));
    }
    let number = |name: &str| field(name).parse::<u64>().unwrap_or_default();
    let (used, most) = (number("used_memory"), number("maxmemory"));
    let mut troubles = Vec::new();
    if most > 0 && used >= most {
        troubles.push(Trouble::Full);
    }
    if most > 0 && used.saturating_mul(10) >= most.saturating_mul(9) {
        let share = used.saturating_mul(100) / most;
        warnings.push(format!(
            "Redis uses {share} % of its maxmemory: when it is full, submissions are refused; settle or prune tasks, or \
             give it more"
        ));
    }
    for (name, what) in [("aof_last_write_status", "append-only file"), ("rdb_last_bgsave_status", "snapshot")] {
        if !matches!(field(name), "ok" | "") {
            warnings.push(format!("the last write of the {what} failed: see the server's log and disk"));
        }
    }
    let (now, outbox) = dead::outbox(store).await?;
    // A user without permission for this command gets no warning.
    let counter: Option<i64> = ask(store, &["GET", &format!("{}c", store.shard)]).await.unwrap_or_default();
    warnings.extend(counter.and_then(|counter| clock_warning(counter, now)));
    // A process that only looks finds the store gone as well, and notes nothing.
    let emptied: Option<i64> = ask(store, &["GET", &keys::emptied(&store.shard)]).await.unwrap_or_default();
    if let Some(at) = emptied {
        troubles.push(Trouble::CommitsMissing);
        warnings.push(emptied_warning(store, now.since(Timestamp::from_micros(at))));
    }
    let tombstones = tombstones::health(store).await?;
    Ok(Health {
        engine: "redis",
        store: store.address.clone(),
        durability,
        warnings,
        troubles,
        now,
        outbox,
        tombstones,
    })
}

/// The warning that the server has lost the store.
fn emptied_warning(store: &Store, ago: Duration) -> String {
    let minutes = ago.as_secs() / 60;
    format!(
        "the Redis server lost the whole store, found {minutes} minutes ago: its keys were deleted (FLUSHALL, FLUSHDB), it started \
         without what it had written, or the address leads to another server or database. Every task that was acknowledged \
         before is missing. Restore a backup, or accept it: redis-cli DEL '{}'",
        keys::emptied(&store.shard)
    )
}

/// The clock may be so far behind the counter without a warning.
const CLOCK_SLACK: Duration = Duration::from_secs(5);

/// The warning that the server's clock is behind what the store has written: the counter never is behind the clock.
fn clock_warning(counter: i64, now: Timestamp) -> Option<String> {
    let behind = Timestamp::from_micros(FIRST_NUMBER_AT.saturating_add(counter)).since(now);
    (behind > CLOCK_SLACK).then(|| {
        format!(
            "the clock of the Redis server is {} s behind what this store has written: it was set back. Until it has caught up, \
             the tasks of dead workers and delayed tasks wait longer by as much. Set it forward again, and have it slewed, \
             not set",
            behind.as_secs()
        )
    })
}

/// Sends a plain command and reads its answer.
async fn ask<T: FromRedisValue>(store: &Store, words: &[&str]) -> Result<T> {
    let build = |_| {
        let mut command = Cmd::new();
        words.iter().for_each(|word| {
            command.arg(*word);
        });
        command
    };
    let answer = store.work.call(None, &build).await?;
    redis::from_redis_value(answer).map_err(|error| malformed(&error.to_string()))
}
