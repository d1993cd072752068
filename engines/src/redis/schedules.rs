//! Schedules: compare-and-set on a revision, and the step that fires.

use jobbers_common::{
    engine::{
        DueSchedules, Error, Fire, Fired, IfBusy, PutSchedule, Result, ScheduleEntry, StoredSchedule,
        look::validate_limit,
    },
    limits::MAX_SCHEDULES,
    name::{ScheduleName, TaskId},
    time::Timestamp,
};
use redis::{Cmd, Value};

use super::{
    failure::malformed,
    layout::{REVISION_DIGITS, SCHEDULE},
    pressure::{self, TASK_BYTES},
    record::time,
    reply::{array, bytes, digits, text},
    script,
    store::Store,
    submit::one::One,
};

/// A revision as the scripts compare it.
fn written(revision: u64) -> String {
    format!("{revision:0REVISION_DIGITS$}")
}

/// When the schedule next has work, in the scripts' format.
fn due_at(entry: &ScheduleEntry) -> String {
    entry.next_at.map(|at| at.as_micros().to_string()).unwrap_or_default()
}

fn next(words: &mut std::vec::IntoIter<Value>) -> Value {
    words.next().unwrap_or(Value::Nil)
}

/// Creates or replaces a schedule.
pub(super) async fn put(store: &Store, entry: &ScheduleEntry, put: PutSchedule) -> Result<u64> {
    let (name, stored) = (&entry.schedule.name, entry.encode()?);
    let expected = match put {
        PutSchedule::Create => String::new(),
        PutSchedule::Replace(revision) => written(revision),
    };
    let build = |_| {
        let mut command = store.command(&script::PUT_SCHEDULE);
        command.arg(name.as_str()).arg(&expected).arg(due_at(entry)).arg(&stored).arg(MAX_SCHEDULES);
        command
    };
    let answer = pressure::call(store, &script::PUT_SCHEDULE, stored.len(), build).await?;
    let mut words = array(answer)?.into_iter();
    match text(next(&mut words))?.as_str() {
        "done" => digits(&bytes(next(&mut words))?),
        "exists" => Err(Error::Exists(format!("schedule {name}"))),
        "unknown" => Err(Error::UnknownSchedule(name.clone())),
        "changed" => Err(Error::Changed(format!("schedule {name}"))),
        "many" => Err(Error::Invalid(format!("a store holds at most {MAX_SCHEDULES} schedules"))),
        _ => Err(malformed("the result for a schedule was expected")),
    }
}

fn read(stored: &str) -> Result<StoredSchedule> {
    let corrupt = || Error::Corrupt("a schedule can't be read".to_owned());
    let (fixed, entry) = stored.split_at_checked(SCHEDULE.len()).ok_or_else(corrupt)?;
    let revision = digits(&fixed.as_bytes()[const { SCHEDULE.range("revision") }])?;
    Ok(StoredSchedule { entry: ScheduleEntry::decode(entry)?, revision })
}

/// Reads schedules; leaves out one that was deleted after the index was read.
fn read_all(found: impl Iterator<Item = Value>) -> Result<Vec<StoredSchedule>> {
    found.filter(|found| *found != Value::Nil).map(|found| read(&text(found)?)).collect()
}

/// A schedule.
pub(super) async fn find(store: &Store, name: &ScheduleName) -> Result<Option<StoredSchedule>> {
    let add = |command: &mut Cmd| {
        command.arg(name.as_str());
    };
    match store.run(&store.bulk, &script::SCHEDULE, add).await? {
        Value::Nil => Ok(None),
        found => read(&text(found)?).map(Some),
    }
}

/// Schedules in the order of their names.
pub(super) async fn list(store: &Store, after: Option<&ScheduleName>, limit: usize) -> Result<Vec<StoredSchedule>> {
    validate_limit(limit)?;
    let add = |command: &mut Cmd| {
        command.arg(after.map_or_else(|| "-".to_owned(), |name| format!("({name}"))).arg(limit);
    };
    read_all(array(store.run(&store.bulk, &script::LIST_SCHEDULES, add).await?)?.into_iter())
}

/// Deletes a schedule.
pub(super) async fn delete(store: &Store, name: &ScheduleName, revision: Option<u64>) -> Result<()> {
    let add = |command: &mut Cmd| {
        command.arg(name.as_str()).arg(revision.map(written).unwrap_or_default());
    };
    match text(store.run(&store.bulk, &script::DELETE_SCHEDULE, add).await?)?.as_str() {
        "done" => Ok(()),
        "unknown" => Err(Error::UnknownSchedule(name.clone())),
        "changed" => Err(Error::Changed(format!("schedule {name}"))),
        _ => Err(malformed("the result for a schedule was expected")),
    }
}

/// The schedules that are due, and when the next one is.
pub(super) async fn due(store: &Store, limit: usize) -> Result<DueSchedules> {
    validate_limit(limit)?;
    let add = |command: &mut Cmd| {
        command.arg(limit);
    };
    let mut words = array(store.run(&store.bulk, &script::DUE_SCHEDULES, add).await?)?.into_iter();
    let now = time(&bytes(next(&mut words))?)?;
    let next_at = bytes(next(&mut words))?;
    let next_at = if next_at.is_empty() { None } else { Some(digits(&next_at)?) };
    let next_at = next_at.map(|at| Timestamp::from_micros(i64::try_from(at).unwrap_or(i64::MAX)));
    Ok(DueSchedules { now, due: read_all(words)?, next_at })
}

/// Carries out a step if the schedule has the expected revision.
pub(super) async fn fire(store: &Store, fire: Fire) -> Result<Fired> {
    fire.validate()?;
    let entry = fire.entry.encode()?;
    let (letter, held_at, held) = match &fire.if_busy {
        IfBusy::Submit => ("s", String::new(), String::new()),
        IfBusy::Cancel => ("c", String::new(), String::new()),
        IfBusy::Hold(held) => ("h", due_at(held), held.encode()?),
    };
    let task = fire.task.clone().map(One::of).transpose()?;
    let build = |_| {
        let mut command = store.command(&script::FIRE);
        command.arg(fire.name().as_str()).arg(written(fire.revision));
        command.arg(fire.previous.as_ref().map_or("", TaskId::as_str)).arg(letter);
        command.arg(due_at(&fire.entry)).arg(&entry).arg(&held_at).arg(&held);
        if let Some(task) = &task {
            task.write(&mut command);
        }
        command
    };
    let growth = entry.len() + task.as_ref().map_or(0, |task| task.bytes() + TASK_BYTES);
    let mut words = array(pressure::call(store, &script::FIRE, growth, build).await?)?.into_iter();
    let fate = text(next(&mut words))?;
    match (fate.as_str(), task) {
        ("changed", _) => Ok(Fired::Changed),
        ("held", _) => Ok(Fired::Held { revision: digits(&bytes(next(&mut words))?)? }),
        ("done", task) => {
            let revision = digits(&bytes(next(&mut words))?)?;
            let submitted = task.map(|task| task.read(next(&mut words))).transpose()?.flatten();
            Ok(Fired::Done { revision, submitted })
        }
        ("refused", Some(task)) => match task.read(next(&mut words)) {
            Err(refusal) => Err(refusal),
            Ok(_) => Err(malformed("a refusal was due")),
        },
        _ => Err(malformed("the result for a schedule was expected")),
    }
}
