//! Fires schedules: starts the task or the workflow of each slot when it comes.
//!
//! Every manager does so, and none is special: the store lets one step of a schedule through and reports to the others that
//! it changed ([`Schedules::fire_schedule`](jobbers_common::engine::Schedules::fire_schedule)). What is due, and the next state,
//! [`jobbers_common::schedule::plan`] decides; this sleeps until the next slot, makes the task or the run and carries the
//! step out. The tasks of a run are submitted as those of every run are, by [`crate::ticks::workflows`].

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{
        Error, Fire, Fired, IfBusy, Launch, Previous, Result, StoredSchedule, Submitted, workflows::encode_workflow,
    },
    name::{NameError, ScheduleName, TaskId, WorkflowId},
    schedule::{Overlap, RunId, Schedule, SlotRefusal, Target, entry::ScheduleEntry},
    submission::draft::TaskDraft,
    task::Start,
    time::Timestamp,
    workflow::Run,
};

use crate::{
    app::App,
    background::ticker::{self, READ_AT_ONCE, is_trouble},
    submissions::{ids, sends::Sends},
    telemetry::meters::Sent,
    ticks::workflows,
};

/// The most schedules that are handled concurrently.
const AT_A_TIME: usize = 16;

/// Fires schedules until the manager stops. Looks at least once in `every`, for schedules that others changed.
pub(crate) async fn run(app: Arc<App>, every: Duration) {
    let firing = ticker::repeat(("schedules", "fired"), every, &app.schedules_changed, || fire_due(&app));
    app.drain.run_until_cancelled(firing).await;
}

/// Handles all due schedules. Returns how long it is until the next one is due.
async fn fire_due(app: &App) -> Result<Option<Duration>> {
    let look = || app.engine.due_schedules(READ_AT_ONCE);
    ticker::carry_out(look, AT_A_TIME, |stored, now| attend(app, stored, now)).await
}

/// Carries out everything due for a schedule, unless another manager changes it meanwhile.
async fn attend(app: &App, mut stored: StoredSchedule, now: Timestamp) -> Result<()> {
    if let Some(slot) = stored.entry.state.buffered {
        match fire_slot(app, stored, slot, now).await? {
            SlotOutcome::Next(next) => stored = *next,
            SlotOutcome::Later | SlotOutcome::Changed => return Ok(()),
        }
    }
    let plan = stored.entry.plan(now).map_err(|error| Error::Corrupt(format!("a schedule: {error}")))?;
    if plan.is_empty() && stored.entry.next_at.is_none_or(|at| at > now) {
        return Ok(());
    }
    stored.entry = stored.entry.missed(plan.missed, plan.missed_until);
    let name = stored.entry.schedule.name.clone();
    if plan.slots.is_empty() {
        if note(app, stored.revision, stored.entry).await?.is_some() {
            count_missed(app, &name, plan.missed);
        }
        return Ok(());
    }
    // The first step that is stored stores the missed slots with it.
    let mut missed = plan.missed;
    for slot in plan.slots {
        let step = fire_slot(app, stored, slot, now).await?;
        if !matches!(step, SlotOutcome::Changed) {
            count_missed(app, &name, std::mem::take(&mut missed));
        }
        match step {
            SlotOutcome::Next(next) => stored = *next,
            SlotOutcome::Later | SlotOutcome::Changed => return Ok(()),
        }
    }
    Ok(())
}

/// The outcome of one slot.
enum SlotOutcome {
    /// It is handled: the schedule's new state.
    Next(Box<StoredSchedule>),
    /// It was refused and is tried again later.
    Later,
    /// Another manager changed the schedule; nothing was stored.
    Changed,
}

/// Counts slots that were missed.
fn count_missed(app: &App, schedule: &ScheduleName, slots: u64) {
    if slots > 0 {
        app.meters.slots_missed(slots);
        tracing::warn!(%schedule, slots, "slots of a schedule were missed");
    }
}

/// Stores the outcome of slots that start nothing. Returns `None` if another manager changed the schedule.
async fn note(app: &App, revision: u64, entry: ScheduleEntry) -> Result<Option<StoredSchedule>> {
    let fire = Fire { revision, entry: entry.clone(), launch: None, previous: None, if_busy: IfBusy::Start };
    let Fired::Done { revision, .. } = app.engine.fire_schedule(fire).await? else { return Ok(None) };
    Ok(Some(StoredSchedule { entry, revision }))
}

/// Fires one slot.
async fn fire_slot(app: &App, stored: StoredSchedule, slot: Timestamp, now: Timestamp) -> Result<SlotOutcome> {
    let StoredSchedule { entry, revision } = stored;
    let schedule = &entry.schedule;
    let previous = latest_run(app, &entry, now).await?;
    let start = schedule.start_of(slot);
    let mut launch = make_launch(app, schedule, &schedule.slot_id(slot), start, now).await?;
    if let Launch::Task(task) = &mut launch {
        task.count_expiry_from(if let Start::At(at) = start { at } else { slot }, now);
    }
    let fired = entry.fired(slot, launch.id(), now);
    let held = entry.held_back(slot, now);
    let if_busy = match schedule.overlap {
        Overlap::Allow => IfBusy::Start,
        Overlap::CancelPrevious => IfBusy::Cancel,
        Overlap::Skip | Overlap::BufferOne => IfBusy::Hold(Box::new(held.clone())),
    };
    let fire = Fire { revision, entry: fired.clone(), launch: Some(launch), previous, if_busy };
    match carry_out(app, fire).await {
        Ok(Fired::Done { revision, .. }) => {
            app.meters.slot_fired(now.since(slot));
            Ok(SlotOutcome::Next(Box::new(StoredSchedule { entry: fired, revision })))
        }
        Ok(Fired::Held { revision }) => {
            app.meters.slots_skipped(held.state.skipped - entry.state.skipped);
            Ok(SlotOutcome::Next(Box::new(StoredSchedule { entry: held, revision })))
        }
        Ok(Fired::Changed) => Ok(SlotOutcome::Changed),
        Err(error) if is_trouble(&error) => Err(error),
        Err(error) => {
            refuse(app, revision, &entry, SlotRefusal { at: now, slot, reason: error.to_string() }, &error).await
        }
    }
}

/// The latest run of a schedule, if a slot is judged by it.
async fn latest_run(app: &App, entry: &ScheduleEntry, now: Timestamp) -> Result<Option<Previous>> {
    let judged = entry.state.last_run.as_ref().filter(|_| entry.schedule.overlap != Overlap::Allow);
    match judged.map(|run| &run.id) {
        None => Ok(None),
        Some(RunId::Task(id)) => Ok(Some(Previous::Task(id.clone()))),
        Some(RunId::Workflow(id)) => {
            let stored = workflows::current(app, id, now).await?.filter(|stored| !stored.run.state.is_over());
            Ok(stored.map(|stored| Previous::Workflow {
                cancelled: Box::new(stored.run.with_cancel(now)),
                revision: stored.revision,
            }))
        }
    }
}

/// What a schedule starts: its task, or a run of its workflow, with this id.
async fn make_launch(app: &App, schedule: &Schedule, id: &str, start: Start, now: Timestamp) -> Result<Launch> {
    let illegal = |error: NameError| Error::Invalid(error.to_string());
    match &schedule.target {
        Target::Task(template) => {
            let id = TaskId::new(id).map_err(illegal)?;
            let draft = TaskDraft::of_template(template, id, start);
            Ok(Launch::Task(Box::new(app.make_task(draft).await?)))
        }
        Target::Workflow(template) => {
            let definition = encode_workflow(&template.graph)?;
            let begins_at = if let Start::At(at) = start { at } else { now };
            let digest = ids::request_digest(definition.as_bytes());
            let run = template.run(WorkflowId::new(id).map_err(illegal)?, &schedule.name, digest, now, begins_at);
            Ok(Launch::Workflow(Box::new(run), definition))
        }
    }
}

/// Carries a step out. A task is counted as a submission is, and a workflow is attended to at once.
async fn carry_out(app: &App, mut fire: Fire) -> Result<Fired> {
    let Some(Launch::Task(task)) = &mut fire.launch else {
        let fired = app.engine.fire_schedule(fire).await?;
        app.workflows_changed.notify_one();
        return Ok(fired);
    };
    let (sent, sends) = (Sent::from(&**task), Sends::begin(std::slice::from_mut(&mut **task), None));
    let answer = app.engine.fire_schedule(fire).await;
    sends.end(answer.as_ref().err().map(Error::kind));
    if let Ok(Fired::Done { submitted, .. }) = &answer {
        app.meters.submitted(std::slice::from_ref(&sent), submitted.as_slice());
    }
    answer
}

/// Notes that a slot was refused: given up, or retried if it may be accepted later.
async fn refuse(
    app: &App,
    revision: u64,
    entry: &ScheduleEntry,
    refusal: SlotRefusal,
    error: &Error,
) -> Result<SlotOutcome> {
    let again_after = match error {
        Error::RateLimited { retry_after, .. } => Some(*retry_after),
        Error::QueueFull { .. } | Error::QueueBytesFull { .. } => Some(Duration::ZERO),
        _ => None,
    };
    if entry.state.refusal.as_ref().is_none_or(|before| before.slot != refusal.slot) {
        tracing::warn!(schedule = %entry.schedule.name, %error, again = again_after.is_some(), "a slot was refused");
    }
    let Some(next) = note(app, revision, entry.refused(refusal, again_after)).await? else {
        return Ok(SlotOutcome::Changed);
    };
    if again_after.is_some() {
        return Ok(SlotOutcome::Later);
    }
    app.meters.slot_refused();
    Ok(SlotOutcome::Next(Box::new(next)))
}

/// What was started on request.
pub(crate) enum Started {
    /// A task.
    Task(Submitted),
    /// A run of a workflow.
    Workflow(Run),
}

/// Starts a schedule's task or workflow on request. Returns `None` if the schedule changed meanwhile.
pub(crate) async fn run_now(app: &App, stored: &StoredSchedule) -> Result<Option<Started>> {
    let (schedule, now) = (&stored.entry.schedule, app.engine.health().await?.now);
    let launch = make_launch(app, schedule, &schedule.run_id(stored.revision), Start::Now, now).await?;
    let fire = Fire {
        revision: stored.revision,
        entry: stored.entry.run(launch.id(), now),
        launch: Some(launch.clone()),
        previous: None,
        if_busy: IfBusy::Start,
    };
    let Fired::Done { submitted, .. } = carry_out(app, fire).await? else { return Ok(None) };
    Ok(match launch {
        Launch::Task(_) => submitted.map(Started::Task),
        Launch::Workflow(run, _) => Some(Started::Workflow(*run)),
    })
}

#[cfg(test)]
mod tests;
