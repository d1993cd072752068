//! Edges between stored tasks, and signals from outside. Why no two calls together close a circle is in
//! `jobbers_common::engine::dependencies`.

use std::time::Duration;

use jobbers_common::{
    dependency::{
        DependencyPolicy,
        signal::{SignalState, Signalled, validate_keep},
    },
    engine::{
        Error, Result,
        dependencies::{AddRefusal, NewDependency, validate_new},
    },
    limits::{MAX_DEPENDENCIES, MAX_EDGES_CHECKED, MAX_SIGNALS_KEPT},
    name::{SignalName, TaskId},
};
use redis::{Cmd, Value};

use crate::redis::{
    kernel::{
        reply::{bytes, digits, number, text},
        script,
        values::{micros, status_of, time},
    },
    server::{failure::malformed, pressure, store::Store},
};

/// About how many bytes an edge adds, beside its two ids.
const EDGE_BYTES: usize = 200;

/// Stores edges that the step of a submission left. Returns how many pieces of them are left.
pub(crate) async fn link_pieces(store: &Store) -> Result<u64> {
    number(store.run(&store.work, &script::LINK_PIECES, |_: &mut Cmd| {}).await?)
}

/// Does some of what earlier steps left of edges. Returns how many entries are left on the due list.
pub(crate) async fn settle_some(store: &Store) -> Result<u64> {
    number(store.run(&store.bulk, &script::SETTLE_EDGES, |_: &mut Cmd| {}).await?)
}

/// Adds edges between stored tasks; returns for each whether it is new.
pub(crate) async fn add(store: &Store, edges: &[NewDependency]) -> Result<Vec<bool>> {
    validate_new(edges)?;
    let build = |_| {
        let mut command = store.command(&script::ADD_DEPENDENCIES);
        command.arg(MAX_EDGES_CHECKED).arg(MAX_DEPENDENCIES);
        for NewDependency { run, after, policy } in edges {
            command.arg(policy.code()).arg(run.as_str()).arg(after.as_str());
        }
        command
    };
    loop {
        match pressure::call(store, &script::ADD_DEPENDENCIES, EDGE_BYTES * edges.len(), &build).await? {
            Value::Array(refusal) => return Err(read_refusal(refusal, edges)?),
            Value::Int(_) => drop(link_pieces(store).await?),
            letters => return Ok(bytes(letters)?.into_iter().map(|letter| letter == b'n').collect()),
        }
    }
}

/// Sends a signal from outside to a task.
pub(crate) async fn signal(store: &Store, id: &TaskId, name: &SignalName, keep: Option<Duration>) -> Result<Signalled> {
    validate_keep(keep).map_err(Error::Invalid)?;
    let add = |command: &mut Cmd| {
        command.arg(id.as_str()).arg(name.as_str());
        if let Some(keep) = keep {
            command.arg(micros(keep)).arg(MAX_SIGNALS_KEPT);
        }
    };
    let script = if keep.is_some() { &script::KEEP_SIGNAL } else { &script::SIGNAL };
    match bytes(store.run(&store.work, script, add).await?)?.as_slice() {
        [b'd', status] => Ok(Signalled::Done(status_of(&[*status])?)),
        [b'l', state] => match SignalState::from_code(state.wrapping_sub(b'0')) {
            Some(SignalState::Received) => Ok(Signalled::Already),
            Some(late) => Ok(Signalled::Late(late)),
            None => Err(malformed("expected the state of a signal")),
        },
        b"n" => Ok(Signalled::UnknownSignal),
        b"u" => Ok(Signalled::UnknownTask),
        b"m" => Ok(Signalled::TooManyKept),
        [b'k', until @ ..] => Ok(Signalled::Kept(time(until)?)),
        _ => Err(malformed("expected what became of a signal")),
    }
}

fn read_refusal(words: Vec<Value>, edges: &[NewDependency]) -> Result<Error> {
    let mut words = words.into_iter();
    let mut next = || words.next().unwrap_or(Value::Nil);
    let place = usize::try_from(number(next())?).unwrap_or(usize::MAX);
    let edge = edges.get(place).ok_or_else(|| malformed("expected the place of an edge"))?;
    let (why, what) = (text(next())?, bytes(next())?);
    let why = match why.as_str() {
        "unknown_run" => AddRefusal::UnknownRun,
        "run_started" => AddRefusal::RunStarted(status_of(&what)?),
        "run_is_unique" => AddRefusal::RunIsUnique,
        "unknown_after" => AddRefusal::UnknownAfter,
        "after_over" => AddRefusal::AfterOver(status_of(&what)?),
        "other_policy" => {
            let policy = u8::try_from(digits(&what)?).ok().and_then(DependencyPolicy::from_code);
            AddRefusal::OtherPolicy(policy.ok_or_else(|| malformed("expected a policy"))?)
        }
        "too_many" => AddRefusal::TooMany,
        "too_many_to_check" => AddRefusal::TooManyToCheck,
        "circle" => {
            let rest = words.map(text).collect::<Result<Vec<String>>>()?;
            let first = String::from_utf8(what).map_err(|_| malformed("expected a task's id"))?;
            let ids = std::iter::once(first).chain(rest).map(TaskId::new);
            AddRefusal::Circle(ids.collect::<Result<_, _>>().map_err(|_| malformed("expected a task's id"))?)
        }
        _ => return Err(malformed("expected why an edge can't be added")),
    };
    Ok(edge.refused(why))
}
