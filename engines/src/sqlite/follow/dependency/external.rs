//! Signals from outside. Only tasks that were submitted with some reach this module, and each tick once.

use std::time::Duration;

use jobbers_common::{
    dependency::{
        Dependencies, consequence,
        signal::{ExternalSignal, OnTimeout, SignalState, Signalled},
    },
    engine::Result,
    lifecycle::{Move, Status},
    limits::{MAX_SIGNALS, MAX_SIGNALS_KEPT, TIMEOUTS_A_TICK},
    name::{SignalName, TaskId},
    task::NewTask,
    time::{Timestamp, micros},
};
use rusqlite::OptionalExtension;

use super::{ends::count_ends, leave};
use crate::sqlite::{
    follow::tombstones,
    kernel::{find::find, row::Columns, step::Step, view::View},
    sql,
    store::error::{OrStore, corrupt},
};

fn on_timeout(code: u8) -> Result<OnTimeout> {
    OnTimeout::from_code(code).ok_or_else(|| corrupt("the rule of a signal", code))
}

fn state(code: u8) -> Result<SignalState> {
    SignalState::from_code(code).ok_or_else(|| corrupt("the state of a signal", code))
}

/// Stores the signals of a new or restored task.
pub(super) fn put(step: &Step<'_>, task: i64, signals: &[ExternalSignal]) -> Result<()> {
    for ExternalSignal { name, state, timeout, due, on_timeout, at } in signals {
        let [due, at] = [due, at].map(|at| at.map(Timestamp::as_micros));
        let (timeout, rule) = (timeout.map(micros), on_timeout.code());
        step.prepare(sql::INSERT_SIGNAL)?
            .execute((task, name.as_str(), rule, timeout, due, state.code(), at))
            .or_store()?;
    }
    Ok(())
}

/// About how many bytes a kept signal adds.
pub(crate) const KEPT_BYTES: u64 = 200;

/// The signals of a new task: those that are kept for it have come.
pub(super) fn of_new(step: &Step<'_>, task: &NewTask) -> Result<Vec<ExternalSignal>> {
    let mut signals: Vec<ExternalSignal> = task.signals.iter().map(ExternalSignal::of).collect();
    for signal in &mut signals {
        let mut take = step.prepare(sql::TAKE_KEPT_SIGNAL)?;
        let until = take.query_row((task.id.as_str(), signal.name.as_str()), |row| row.get(0)).optional().or_store()?;
        if until.is_some_and(|until: i64| until > step.now_micros()) {
            (signal.state, signal.at) = (SignalState::Received, Some(step.now));
        }
    }
    Ok(signals)
}

/// Begins the timeouts of a task's signals, if it waits for no other task; `left`: how much it waits for at most.
pub(super) fn begin_timeouts(step: &Step<'_>, task: i64, left: u32) -> Result<()> {
    if left as usize <= MAX_SIGNALS {
        step.prepare(sql::BEGIN_TIMEOUTS)?.execute((task, step.now_micros())).or_store()?;
    }
    Ok(())
}

/// Sends a signal to a task.
pub(crate) fn signal(step: &mut Step<'_>, id: &TaskId, name: &SignalName) -> Result<Signalled> {
    let Some(found) = find(step, id)? else { return Ok(Signalled::UnknownTask) };
    let read = |row: &rusqlite::Row<'_>| Ok((row.get("state")?, row.get("on_timeout")?));
    let stored = step.prepare(sql::FIND_SIGNAL)?.query_row((found.key, name.as_str()), read).optional().or_store()?;
    let Some((code, rule)) = stored else { return Ok(Signalled::UnknownSignal) };
    match state(code)? {
        SignalState::Waiting => {
            end(step, found.key, name.as_str(), on_timeout(rule)?, SignalState::Received)?;
            Ok(Signalled::Done(find(step, id)?.map_or(Status::Waiting, |found| found.status)))
        }
        SignalState::Received => Ok(Signalled::Already),
        late => Ok(Signalled::Late(late)),
    }
}

/// Sends a signal to a task, or keeps it for one that does not exist yet.
pub(crate) fn signal_or_keep(step: &mut Step<'_>, id: &TaskId, name: &SignalName, keep: Duration) -> Result<Signalled> {
    let signalled = signal(step, id, name)?;
    if signalled != Signalled::UnknownTask || tombstones::find(step.conn, id, step.now)?.is_some() {
        return Ok(signalled);
    }
    let (until, most) = (step.now.after(keep).as_micros(), sql::count(MAX_SIGNALS_KEPT));
    let mut keep = step.prepare(sql::KEEP_SIGNAL)?;
    let kept = keep.query_row((id.as_str(), name.as_str(), until, most), |row| row.get(0)).optional().or_store()?;
    Ok(kept.map_or(Signalled::TooManyKept, |until| Signalled::Kept(Timestamp::from_micros(until))))
}

/// Times out signals that have not come in time: a bounded number. Forgets those that were kept in vain.
pub(crate) fn time_out(step: &mut Step<'_>) -> Result<()> {
    step.prepare(sql::FORGET_KEPT_SIGNALS)?.execute([step.now_micros()]).or_store()?;
    let mut late = Vec::<(i64, String, OnTimeout)>::new();
    let mut statement = step.prepare(sql::LATE_SIGNALS)?;
    let mut rows = statement.query((step.now_micros(), sql::count(TIMEOUTS_A_TICK))).or_store()?;
    while let Some(row) = rows.next().or_store()? {
        let mut columns = Columns::of(row);
        late.push((columns.take("task")?, columns.take("name")?, on_timeout(columns.take("on_timeout")?)?));
    }
    drop(rows);
    for (task, name, rule) in late {
        end(step, task, &name, rule, SignalState::TimedOut)?;
    }
    Ok(())
}

/// Ends an open signal of a task, which may move then.
fn end(step: &mut Step<'_>, task: i64, name: &str, rule: OnTimeout, state: SignalState) -> Result<()> {
    let now = step.now_micros();
    if step.prepare(sql::END_SIGNAL)?.execute((task, name, state.code(), now)).or_store()? == 0 {
        // Another signal of this step has ended the task.
        return Ok(());
    }
    let left = count_ends(step, task, 1, 0)?;
    match consequence(rule.policy(), state.end(), left.unwrap_or(0)) {
        Some(Move::Abort) => leave::abort(step, task, None),
        Some(_) => leave::release(step, task),
        None => Ok(()),
    }
}

/// Adds the signals of a task.
pub(super) fn show(view: &View<'_>, task: i64, dependencies: &mut Dependencies) -> Result<()> {
    let mut statement = view.prepare(sql::SIGNALS_OF_TASK)?;
    let mut rows = statement.query([task]).or_store()?;
    while let Some(row) = rows.next().or_store()? {
        let mut columns = Columns::of(row);
        let (name, state) = (columns.name("name", SignalName::new)?, state(columns.take("state")?)?);
        let timeout =
            columns.take::<Option<i64>>("timeout")?.map(|micros| Duration::from_micros(micros.unsigned_abs()));
        let due = columns.take::<Option<i64>>("due")?.map(Timestamp::from_micros);
        let on_timeout = on_timeout(columns.take("on_timeout")?)?;
        let at = columns.take::<Option<i64>>("at")?.map(Timestamp::from_micros);
        dependencies.external.push(ExternalSignal { name, state, timeout, due, on_timeout, at });
    }
    Ok(())
}
