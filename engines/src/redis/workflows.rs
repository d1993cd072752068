//! Runs of workflows: compare-and-set on a revision; and where their tasks stand.

use jobbers_common::{
    engine::{
        DueRuns, Error, PutRun, Result, RunCounts, RunQuery, StoredRun, TaskTimes,
        reads::validate_limit,
        workflows::{decode_run, encode_run, validate_definition, validate_ids},
    },
    lifecycle::Status,
    limits::MAX_RUNS,
    name::{TaskId, WorkflowId},
    time::Timestamp,
    workflow::{Run, RunState},
};
use redis::{Cmd, Value};

use super::{
    kernel::{
        keys,
        layout::{REVISION_DIGITS, RUN, STAMP_BYTES},
        record::some_stamp,
        reply::{array, bytes, digits, number, text},
        script,
        values::{status_of, time},
    },
    server::{failure::malformed, pressure, store::Store},
};

/// A revision as the scripts compare it.
fn written(revision: u64) -> String {
    format!("{revision:0REVISION_DIGITS$}")
}

fn created(at: Timestamp) -> String {
    format!("{:016}", at.as_micros().max(0))
}

fn next(words: &mut std::vec::IntoIter<Value>) -> Value {
    words.next().unwrap_or(Value::Nil)
}

/// A run on its way into the store, in the scripts' format.
pub(super) struct EncodedRun {
    id: WorkflowId,
    expected: String,
    next_at: String,
    state: RunState,
    created_at: String,
    stored: String,
    definition: String,
}

impl EncodedRun {
    /// How many arguments [`EncodedRun::write`] adds.
    pub(super) const ARGUMENTS: usize = 8;

    /// Checks a run and encodes it.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub(super) fn of(run: &Run, put: PutRun) -> Result<Self> {
        let (expected, definition) = match put {
            PutRun::Create(definition) => {
                validate_definition(&definition)?;
                (String::new(), definition)
            }
            PutRun::Replace(revision) => (written(revision), String::new()),
        };
        Ok(Self {
            id: run.id.clone(),
            expected,
            next_at: run.next_at.map(|at| at.as_micros().to_string()).unwrap_or_default(),
            state: run.state,
            created_at: created(run.created_at),
            stored: encode_run(run)?,
            definition,
        })
    }

    /// Adds the arguments that `put_workflow.lua` takes from 2 on.
    pub(super) fn write(&self, command: &mut Cmd) {
        command.arg(self.id.as_str()).arg(&self.expected).arg(&self.next_at).arg(self.state.code());
        command.arg(&self.created_at).arg(&self.stored).arg(MAX_RUNS).arg(&self.definition);
    }

    /// About how many bytes it adds.
    pub(super) const fn bytes(&self) -> usize {
        self.stored.len() + self.definition.len()
    }

    /// Reads the result: the run's new revision.
    ///
    /// # Errors
    /// Those of a put.
    pub(super) fn read(&self, answer: Value) -> Result<u64> {
        let (mut words, id) = (array(answer)?.into_iter(), &self.id);
        match text(next(&mut words))?.as_str() {
            "done" => digits(&bytes(next(&mut words))?),
            "exists" => Err(Error::Exists(format!("workflow {id}"))),
            "unknown" => Err(Error::UnknownWorkflow(id.clone())),
            "changed" => Err(Error::Changed(format!("workflow {id}"))),
            "many" => Err(Error::Invalid(format!("a store holds at most {MAX_RUNS} workflows"))),
            _ => Err(malformed("expected the result for a workflow")),
        }
    }
}

/// Creates or replaces a run.
pub(super) async fn put(store: &Store, run: &Run, put: PutRun) -> Result<u64> {
    let put = EncodedRun::of(run, put)?;
    let build = |_| {
        let mut command = store.command(&script::PUT_WORKFLOW);
        put.write(&mut command);
        command
    };
    put.read(pressure::call(store, &script::PUT_WORKFLOW, put.bytes(), &build).await?)
}

fn read(stored: &str) -> Result<StoredRun> {
    let corrupt = || Error::Corrupt("a run of a workflow can't be read".to_owned());
    let (fixed, run) = stored.split_at_checked(RUN.len()).ok_or_else(corrupt)?;
    let revision = digits(&fixed.as_bytes()[const { RUN.range("revision") }])?;
    Ok(StoredRun { run: decode_run(run)?, revision })
}

/// Reads runs; one that was deleted from under its index is left out.
fn read_all(found: impl Iterator<Item = Value>) -> Result<Vec<StoredRun>> {
    found.filter(|found| *found != Value::Nil).map(|found| read(&text(found)?)).collect()
}

/// A run.
pub(super) async fn find(store: &Store, id: &WorkflowId) -> Result<Option<StoredRun>> {
    let add = |command: &mut Cmd| {
        command.arg(id.as_str());
    };
    match store.run(&store.bulk, &script::WORKFLOW, add).await? {
        Value::Nil => Ok(None),
        found => read(&text(found)?).map(Some),
    }
}

/// The definition of a run.
pub(super) async fn definition(store: &Store, id: &WorkflowId) -> Result<Option<String>> {
    let build = |_| {
        let mut command = redis::cmd("HGET");
        command.arg(keys::definitions(&store.shard)).arg(id.as_str());
        command
    };
    match store.bulk.call(None, &build).await? {
        Value::Nil => Ok(None),
        found => text(found).map(Some),
    }
}

/// Runs by the time of their creation.
pub(super) async fn list(store: &Store, query: &RunQuery) -> Result<Vec<StoredRun>> {
    query.validate()?;
    let after = query.after.as_ref().map(|(at, id)| format!("({}{id}", created(*at)));
    let (command_name, from, to) = match query.oldest_first {
        true => ("ZRANGEBYLEX", after.as_deref().unwrap_or("-"), "+"),
        false => ("ZREVRANGEBYLEX", after.as_deref().unwrap_or("+"), "-"),
    };
    let state = query.state.map(|state| state.code().to_string()).unwrap_or_default();
    let add = |command: &mut Cmd| {
        command.arg(&state).arg(command_name).arg(from).arg(to).arg(query.limit);
    };
    read_all(array(store.run(&store.bulk, &script::LIST_WORKFLOWS, add).await?)?.into_iter())
}

/// Deletes a run with its definition.
pub(super) async fn delete(store: &Store, id: &WorkflowId, revision: u64) -> Result<()> {
    let add = |command: &mut Cmd| {
        command.arg(id.as_str()).arg(written(revision));
    };
    match text(store.run(&store.bulk, &script::DELETE_WORKFLOW, add).await?)?.as_str() {
        "done" => Ok(()),
        "unknown" => Err(Error::UnknownWorkflow(id.clone())),
        "changed" => Err(Error::Changed(format!("workflow {id}"))),
        _ => Err(malformed("expected what became of a workflow")),
    }
}

/// The runs that are due, and when the next one is.
pub(super) async fn due(store: &Store, limit: usize) -> Result<DueRuns> {
    validate_limit(limit)?;
    let add = |command: &mut Cmd| {
        command.arg(limit);
    };
    let mut words = array(store.run(&store.bulk, &script::DUE_WORKFLOWS, add).await?)?.into_iter();
    let now = time(&bytes(next(&mut words))?)?;
    let next_at = bytes(next(&mut words))?;
    let next_at = if next_at.is_empty() { None } else { Some(digits(&next_at)?) };
    let next_at = next_at.map(|at| Timestamp::from_micros(i64::try_from(at).unwrap_or(i64::MAX)));
    Ok(DueRuns { now, due: read_all(words)?, next_at })
}

/// How many runs there are by state.
pub(super) async fn count(store: &Store) -> Result<RunCounts> {
    let add = |command: &mut Cmd| {
        command.arg(RunState::ALL.len());
    };
    let found = array(store.run(&store.bulk, &script::COUNT_WORKFLOWS, add).await?)?;
    let mut counts = RunCounts::default();
    for (count, found) in counts.iter_mut().zip(found) {
        *count = number(found)?;
    }
    Ok(counts)
}

/// When tasks last started and when they were over.
pub(super) async fn times(store: &Store, ids: &[TaskId]) -> Result<Vec<TaskTimes>> {
    validate_ids(ids)?;
    let add = |command: &mut Cmd| {
        ids.iter().for_each(|id| {
            command.arg(id.as_str());
        });
    };
    let stamps = bytes(store.run(&store.bulk, &script::TIMES, add).await?)?;
    let times = stamps.chunks_exact(2 * STAMP_BYTES).map(|both| {
        let (started_at, finished_at) = both.split_at(STAMP_BYTES);
        TaskTimes { started_at: some_stamp(started_at), finished_at: some_stamp(finished_at) }
    });
    let times: Vec<TaskTimes> = times.collect();
    if times.len() == ids.len() { Ok(times) } else { Err(malformed("expected two stamps per task")) }
}

/// Where tasks stand.
pub(super) async fn statuses(store: &Store, ids: &[TaskId]) -> Result<Vec<Option<Status>>> {
    validate_ids(ids)?;
    let add = |command: &mut Cmd| {
        ids.iter().for_each(|id| {
            command.arg(id.as_str());
        });
    };
    let letters = bytes(store.run(&store.bulk, &script::STATUSES, add).await?)?;
    if letters.len() != ids.len() {
        return Err(malformed("expected a letter per task"));
    }
    letters.chunks(1).map(|letter| if letter == b"-" { Ok(None) } else { status_of(letter).map(Some) }).collect()
}
