//! Schedules: compare-and-set on a revision, and the step that fires.

use jobbers_common::{
    engine::{
        DueSchedules, Error, Fire, Fired, IfBusy, Launch, Previous, PutRun, PutSchedule, Result, StoredSchedule,
        Submitted, reads::validate_limit,
    },
    limits::MAX_SCHEDULES,
    name::{ScheduleName, TaskId},
    schedule::entry::ScheduleEntry,
    time::Timestamp,
};
use redis::{Cmd, Value};

use super::{
    kernel::{
        layout::{REVISION_DIGITS, SCHEDULE},
        reply::{array, bytes, digits, text},
        script,
        values::time,
    },
    server::{
        failure::malformed,
        pressure::{self, TASK_BYTES},
        store::Store,
    },
    verbs::submit::encoded::EncodedTask,
    workflows::EncodedRun,
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
    let answer = pressure::call(store, &script::PUT_SCHEDULE, stored.len(), &build).await?;
    let mut words = array(answer)?.into_iter();
    match text(next(&mut words))?.as_str() {
        "done" => digits(&bytes(next(&mut words))?),
        "exists" => Err(Error::Exists(format!("schedule {name}"))),
        "unknown" => Err(Error::UnknownSchedule(name.clone())),
        "changed" => Err(Error::Changed(format!("schedule {name}"))),
        "many" => Err(Error::Invalid(format!("a store holds at most {MAX_SCHEDULES} schedules"))),
        _ => Err(malformed("expected the result for a schedule")),
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
        _ => Err(malformed("expected the result for a schedule")),
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

/// What a step starts, in the scripts' format.
enum Launched {
    Task(Box<EncodedTask>),
    Workflow(EncodedRun),
}

impl Launched {
    fn of(launch: &Launch) -> Result<Self> {
        match launch {
            Launch::Task(task) => EncodedTask::of((**task).clone()).map(|task| Self::Task(Box::new(task))),
            Launch::Workflow(run, definition) => {
                EncodedRun::of(run, PutRun::Create(definition.clone())).map(Self::Workflow)
            }
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Task(task) => task.bytes() + TASK_BYTES,
            Self::Workflow(run) => run.bytes(),
        }
    }

    fn write(&self, command: &mut Cmd) {
        match self {
            Self::Task(task) => task.write(command.arg("t")),
            Self::Workflow(run) => run.write(command.arg("w")),
        }
    }

    /// Reads the answer of the script that started it: the task, if it is one.
    ///
    /// # Errors
    /// A refusal.
    fn read(self, answer: Value) -> Result<Option<Submitted>> {
        match self {
            Self::Task(task) => task.read(answer),
            Self::Workflow(run) => run.read(answer).map(|_| None),
        }
    }
}

/// The latest run, in the scripts' format.
enum LatestRun<'a> {
    None,
    Task(&'a TaskId),
    /// A run of a workflow as it becomes if it is cancelled.
    Workflow(EncodedRun),
}

impl<'a> LatestRun<'a> {
    fn of(previous: Option<&'a Previous>) -> Result<Self> {
        Ok(match previous {
            None => Self::None,
            Some(Previous::Task(id)) => Self::Task(id),
            Some(Previous::Workflow { cancelled, revision }) => {
                Self::Workflow(EncodedRun::of(cancelled, PutRun::Replace(*revision))?)
            }
        })
    }

    fn write(&self, command: &mut Cmd) {
        match self {
            Self::None => {
                command.arg("").arg(0);
            }
            Self::Task(id) => {
                command.arg("t").arg(1).arg(id.as_str());
            }
            Self::Workflow(cancelled) => cancelled.write(command.arg("w").arg(EncodedRun::ARGUMENTS)),
        }
    }
}

/// Carries out a step if the schedule has the expected revision.
pub(super) async fn fire(store: &Store, fire: Fire) -> Result<Fired> {
    fire.validate()?;
    let entry = fire.entry.encode()?;
    let (letter, held_at, held) = match &fire.if_busy {
        IfBusy::Start => ("s", String::new(), String::new()),
        IfBusy::Cancel => ("c", String::new(), String::new()),
        IfBusy::Hold(held) => ("h", due_at(held), held.encode()?),
    };
    let launched = fire.launch.as_ref().map(Launched::of).transpose()?;
    let latest = LatestRun::of(fire.previous.as_ref())?;
    let build = |_| {
        let mut command = store.command(&script::FIRE);
        command.arg(fire.name().as_str()).arg(written(fire.revision)).arg(letter);
        command.arg(due_at(&fire.entry)).arg(&entry).arg(&held_at).arg(&held);
        latest.write(&mut command);
        if let Some(launched) = &launched {
            launched.write(&mut command);
        }
        command
    };
    let growth = entry.len() + launched.as_ref().map_or(0, Launched::bytes);
    let mut words = array(pressure::call(store, &script::FIRE, growth, &build).await?)?.into_iter();
    let fate = text(next(&mut words))?;
    match (fate.as_str(), launched) {
        ("changed", _) => Ok(Fired::Changed),
        ("held", _) => Ok(Fired::Held { revision: digits(&bytes(next(&mut words))?)? }),
        ("done", launched) => {
            let revision = digits(&bytes(next(&mut words))?)?;
            let submitted = launched.map(|launched| launched.read(next(&mut words))).transpose()?.flatten();
            Ok(Fired::Done { revision, submitted })
        }
        ("refused", Some(launched)) => match launched.read(next(&mut words)) {
            Err(refusal) => Err(refusal),
            Ok(_) => Err(malformed("expected a refusal")),
        },
        _ => Err(malformed("expected the result for a schedule")),
    }
}
