//! Fires schedules: submits the task of each slot when it comes.
//!
//! Every manager does so, and none is special: the store lets one step of a schedule through and tells the others that it
//! changed ([`Engine::fire_schedule`](jobbers_common::engine::Engine::fire_schedule)). What is due, and the next state,
//! [`jobbers_common::schedule::plan`] decides; this sleeps until the next slot, makes the task and carries the step out.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream};
use jobbers_common::{
    engine::{Error, Fire, Fired, IfBusy, Result, ScheduleEntry, StoredSchedule, Submitted},
    name::TaskId,
    routing::field_text,
    schedule::{Overlap, SlotRefusal},
    task::{NewTask, Start},
    template::TaskTemplate,
    time::Timestamp,
};

use crate::{app::App, meters::Sent, sends::Sends};

/// The most schedules that one look reads.
const READ_AT_ONCE: usize = 100;
/// The most schedules that are handled concurrently.
const AT_A_TIME: usize = 16;
/// The most looks without a pause.
const LOOKS: usize = 100;

/// Fires schedules until the manager stops. Looks at least once in `every`, for schedules that others changed.
pub(crate) async fn run(app: Arc<App>, every: Duration) {
    let mut trouble: Option<Error> = None;
    let firing = async {
        loop {
            let looked = fire_due(&app).await;
            let pause = match &looked {
                Ok(pause) => pause.map_or(every, |pause| pause.min(every)),
                Err(_) => every,
            };
            note_trouble(&mut trouble, looked.err());
            // A change made here is handled at once.
            tokio::time::timeout(pause, app.schedules_changed.notified()).await.ok();
        }
    };
    app.drain.run_until_cancelled(firing).await;
}

/// Logs what keeps schedules from being fired, once until it changes.
fn note_trouble(before: &mut Option<Error>, now: Option<Error>) {
    match (&now, &before) {
        (None, Some(_)) => tracing::info!("schedules are fired again"),
        (Some(error), before)
            if before.as_ref().is_none_or(|it| std::mem::discriminant(it) != std::mem::discriminant(error)) =>
        {
            tracing::warn!(%error, "schedules can't be fired");
        }
        _ => {}
    }
    *before = now;
}

/// Handles all due schedules. Returns how long it is until the next one is due.
async fn fire_due(app: &App) -> Result<Option<Duration>> {
    for _ in 0..LOOKS {
        let looked_at = Instant::now();
        let looked = app.engine.due_schedules(READ_AT_ONCE).await?;
        if looked.due.is_empty() {
            let until = looked.next_at.map(|at| at.since(looked.now).saturating_sub(looked_at.elapsed()));
            // Not too early: the store's clock decides what is due.
            return Ok(until.map(|until| until + Duration::from_millis(1)));
        }
        let now = looked.now;
        let attended = stream::iter(looked.due).map(|stored| attend(app, stored, now)).buffer_unordered(AT_A_TIME);
        let failed: Vec<Error> = attended.filter_map(|done| async { done.err() }).collect().await;
        if let Some(error) = failed.into_iter().next() {
            return Err(error);
        }
    }
    Ok(None)
}

/// Carries out everything due for a schedule, unless another manager changes it meanwhile.
async fn attend(app: &App, mut stored: StoredSchedule, now: Timestamp) -> Result<()> {
    if let Some(slot) = stored.entry.state.buffered {
        match fire_slot(app, stored, slot, now).await? {
            Some(next) => stored = next,
            None => return Ok(()),
        }
    }
    let plan = stored.entry.plan(now).map_err(|error| Error::Corrupt(format!("a schedule: {error}")))?;
    if plan.is_empty() && stored.entry.next_at.is_none_or(|at| at > now) {
        return Ok(());
    }
    stored.entry = stored.entry.missed(plan.missed, plan.missed_until);
    if plan.slots.is_empty() {
        return note(app, stored.revision, stored.entry, plan.missed).await.map(drop);
    }
    let name = stored.entry.schedule.name.clone();
    for (place, slot) in plan.slots.into_iter().enumerate() {
        let Some(next) = fire_slot(app, stored, slot, now).await? else { return Ok(()) };
        stored = next;
        if place == 0 && plan.missed > 0 {
            app.meters.slots_missed(plan.missed);
            tracing::warn!(schedule = %name, slots = plan.missed, "slots of a schedule were missed");
        }
    }
    Ok(())
}

/// Stores the outcome of slots without a task.
async fn note(app: &App, revision: u64, entry: ScheduleEntry, missed: u64) -> Result<Option<StoredSchedule>> {
    let name = entry.schedule.name.clone();
    let fire = Fire { revision, entry: entry.clone(), task: None, previous: None, if_busy: IfBusy::Submit };
    let Fired::Done { revision, .. } = app.engine.fire_schedule(fire).await? else { return Ok(None) };
    if missed > 0 {
        app.meters.slots_missed(missed);
        tracing::warn!(schedule = %name, slots = missed, "slots of a schedule were missed");
    }
    Ok(Some(StoredSchedule { entry, revision }))
}

/// Fires one slot. Returns the schedule's new state; `None` if another manager changed it, or the slot must be retried.
async fn fire_slot(
    app: &App,
    stored: StoredSchedule,
    slot: Timestamp,
    now: Timestamp,
) -> Result<Option<StoredSchedule>> {
    let StoredSchedule { entry, revision } = stored;
    let schedule = &entry.schedule;
    let mut task = make_task(app, &schedule.task, schedule.task_id(slot), schedule.start_of(slot)).await?;
    let (sent, sends) = (Sent::from(&task), Sends::begin(std::slice::from_mut(&mut task), None));
    let fired = entry.fired(slot, task.id.clone(), now);
    let held = entry.held_back(slot, now);
    let if_busy = match schedule.overlap {
        Overlap::Allow => IfBusy::Submit,
        Overlap::CancelPrevious => IfBusy::Cancel,
        Overlap::Skip | Overlap::BufferOne => IfBusy::Hold(Box::new(held.clone())),
    };
    let previous = entry.state.last_run.as_ref().map(|run| run.task.clone());
    let fire = Fire { revision, entry: fired.clone(), task: Some(task), previous, if_busy };
    let answer = app.engine.fire_schedule(fire).await;
    sends.end(answer.as_ref().err().map(Error::kind));
    match answer {
        Ok(Fired::Done { revision, submitted }) => {
            app.meters.submitted(std::slice::from_ref(&sent), submitted.as_slice());
            app.meters.slot_fired(now.since(slot));
            Ok(Some(StoredSchedule { entry: fired, revision }))
        }
        Ok(Fired::Held { revision }) => {
            app.meters.slots_skipped(held.state.skipped - entry.state.skipped);
            Ok(Some(StoredSchedule { entry: held, revision }))
        }
        Ok(Fired::Changed) => Ok(None),
        Err(error) if is_trouble(&error) => Err(error),
        Err(error) => {
            refuse(app, revision, &entry, SlotRefusal { at: now, slot, reason: error.to_string() }, &error).await
        }
    }
}

/// Notes that the task of a slot was refused: given up, or retried if it may be accepted later.
async fn refuse(
    app: &App,
    revision: u64,
    entry: &ScheduleEntry,
    refusal: SlotRefusal,
    error: &Error,
) -> Result<Option<StoredSchedule>> {
    let again_after = match error {
        Error::RateLimited { retry_after, .. } => Some(*retry_after),
        Error::QueueFull { .. } | Error::QueueBytesFull { .. } => Some(Duration::ZERO),
        _ => None,
    };
    if entry.state.refusal.as_ref().is_none_or(|before| before.slot != refusal.slot) {
        tracing::warn!(schedule = %entry.schedule.name, %error, again = again_after.is_some(), "a slot was refused");
    }
    let given_up = u64::from(again_after.is_none());
    let noted = note(app, revision, entry.refused(refusal, again_after), given_up).await?;
    Ok(noted.filter(|_| again_after.is_none()))
}

/// Whether the store, and not the task, is why a task could not be submitted.
pub(crate) const fn is_trouble(error: &Error) -> bool {
    matches!(
        error,
        Error::Unavailable { .. }
            | Error::Full(_)
            | Error::ReadOnly(_)
            | Error::Schema { .. }
            | Error::Corrupt(_)
            | Error::Defect(_)
            | Error::Config(_)
    )
}

/// Submits a schedule's task on request. Returns `None` if the schedule changed meanwhile.
pub(crate) async fn run_now(app: &App, stored: &StoredSchedule) -> Result<Option<Submitted>> {
    let schedule = &stored.entry.schedule;
    let id = format!("schedule:{}:run:{}", schedule.name, app.ids.next());
    let id = TaskId::new(id).map_err(|error| Error::Invalid(error.to_string()))?;
    let mut task = make_task(app, &schedule.task, id.clone(), Start::Now).await?;
    let (sent, sends) = (Sent::from(&task), Sends::begin(std::slice::from_mut(&mut task), None));
    let fire = Fire {
        revision: stored.revision,
        entry: stored.entry.run(id, app.engine.health().await?.now),
        task: Some(task),
        previous: None,
        if_busy: IfBusy::Submit,
    };
    let answer = app.engine.fire_schedule(fire).await;
    sends.end(answer.as_ref().err().map(Error::kind));
    let Fired::Done { submitted, .. } = answer? else { return Ok(None) };
    app.meters.submitted(std::slice::from_ref(&sent), submitted.as_slice());
    Ok(submitted)
}

/// The task of a template: routed, keyed and filled as a submission is.
pub(crate) async fn make_task(app: &App, template: &TaskTemplate, id: TaskId, start: Start) -> Result<NewTask> {
    let config = app.live.current().await?;
    let parameters = template.payload();
    let queue = template.queue.clone().unwrap_or_else(|| {
        app.live.route(&config, &template.name, template.version, |field| field_text(&parameters, field))
    });
    let key = template.concurrency_key.clone().or_else(|| config.key_of(&queue, &parameters));
    let mut task = template.new_task(id, queue, key, start);
    let known = app.known.current();
    if let Some(described) = known.as_ref().and_then(|known| known.find(&task.name, task.version)?.described.as_deref())
    {
        task.fill(described.spec.on_crash);
    }
    Ok(task)
}

#[cfg(test)]
mod tests {
    use jobbers_common::{
        engine::{Engine as _, PutMode, PutSchedule, model::ModelEngine},
        lifecycle::Status,
        name::{QueueName, ScheduleName, TaskName},
        policy::PolicyOverrides,
        queue::QueueConfig,
        schedule::{CatchUp, Schedule, Timing},
        task::Priority,
        time::ManualClock,
    };
    use serde_json::value::RawValue;
    use tokio_util::sync::CancellationToken;

    use super::*;

    struct Bench {
        app: App,
        engine: Arc<ModelEngine>,
        clock: Arc<ManualClock>,
    }

    fn schedule(overlap: Overlap, catch_up: CatchUp) -> Schedule {
        Schedule {
            name: ScheduleName::new("s").unwrap(),
            timing: Timing::Every(Duration::from_secs(60)),
            task: TaskTemplate {
                name: TaskName::new("echo").unwrap(),
                version: 1,
                queue: None,
                priority: Priority::DEFAULT,
                parameters: RawValue::from_string("{}".to_owned()).unwrap().into(),
                concurrency_key: None,
                overrides: PolicyOverrides::default(),
            },
            overlap,
            catch_up,
            jitter: Duration::ZERO,
            paused: false,
        }
    }

    impl Bench {
        /// A store whose clock is at the epoch, with one schedule, and a manager that does nothing by itself.
        async fn with(schedule: Schedule) -> Self {
            let clock = Arc::new(ManualClock::new(Timestamp::from_micros(0)));
            let engine = Arc::new(ModelEngine::new(clock.clone()));
            let entry = ScheduleEntry::new(schedule, Timestamp::from_micros(0)).unwrap();
            engine.put_schedule(entry, PutSchedule::Create).await.unwrap();
            let app = App::new(&crate::Config::default(), engine.clone(), String::new(), CancellationToken::new());
            Self { app, engine, clock }
        }

        async fn after(&self, seconds: u64) -> ScheduleEntry {
            self.clock.advance(Duration::from_secs(seconds));
            fire_due(&self.app).await.unwrap();
            self.engine.schedule(&ScheduleName::new("s").unwrap()).await.unwrap().unwrap().entry
        }

        async fn status(&self, slot: i64) -> Option<Status> {
            let id = schedule(Overlap::Allow, CatchUp::Latest).task_id(Timestamp::from_micros(slot * 1_000_000));
            self.engine.get(&id).await.unwrap().map(|task| task.status)
        }

        async fn cancel(&self, slot: i64) {
            let id = schedule(Overlap::Allow, CatchUp::Latest).task_id(Timestamp::from_micros(slot * 1_000_000));
            self.engine.cancel(&[id]).await.unwrap();
        }
    }

    #[tokio::test]
    async fn each_slot_is_fired_and_the_next_one_is_awaited() {
        let bench = Bench::with(schedule(Overlap::Allow, CatchUp::Latest)).await;
        assert_eq!(bench.after(59).await.state.fired, 0);
        let until = fire_due(&bench.app).await.unwrap().unwrap();
        assert!(until <= Duration::from_millis(1_001) && until > Duration::from_millis(500), "{until:?}");
        assert_eq!(bench.after(1).await.state.fired, 1);
        assert_eq!(bench.status(60).await, Some(Status::Submitted));
        assert_eq!(bench.after(0).await.state.fired, 1, "once");
    }

    #[tokio::test]
    async fn late_slots_are_caught_up_with_as_the_schedule_says() {
        for (catch_up, fired, missed) in
            [(CatchUp::None, 0, 5), (CatchUp::Latest, 1, 4), (CatchUp::All(3), 3, 2), (CatchUp::All(9), 5, 0)]
        {
            let bench = Bench::with(schedule(Overlap::Allow, catch_up)).await;
            let entry = bench.after(330).await;
            assert_eq!((entry.state.fired, entry.state.missed), (fired, missed), "{catch_up:?}");
            assert_eq!(entry.next_at, Some(Timestamp::from_micros(360_000_000)), "{catch_up:?}");
        }
    }

    #[tokio::test]
    async fn a_buffered_slot_is_fired_once_the_run_is_over() {
        let bench = Bench::with(schedule(Overlap::BufferOne, CatchUp::All(9))).await;
        let entry = bench.after(190).await;
        assert_eq!((entry.state.fired, entry.state.skipped), (1, 1));
        assert_eq!(entry.state.buffered, Some(Timestamp::from_micros(120_000_000)));
        assert_eq!(bench.after(2).await.state.fired, 1);
        bench.cancel(60).await;
        assert_eq!(bench.after(1).await.state.fired, 2);
        assert_eq!(bench.status(120).await, Some(Status::Submitted));
        assert_eq!(bench.status(180).await, None);
    }

    #[tokio::test]
    async fn a_slot_for_a_full_queue_goes_in_later() {
        let bench = Bench::with(schedule(Overlap::Allow, CatchUp::All(9))).await;
        let queue = QueueConfig::new(QueueName::new("default").unwrap());
        bench.engine.put_queue(QueueConfig { max_length: Some(1), ..queue }, PutMode::Replace).await.unwrap();
        bench.after(60).await;
        let entry = bench.after(60).await;
        assert_eq!((entry.state.fired, entry.state.missed), (1, 0));
        assert!(entry.state.refusal.unwrap().reason.contains("max_length"));
        bench.cancel(60).await;
        let entry = bench.after(2).await;
        assert_eq!((entry.state.fired, entry.state.refusal), (2, None));
    }

    #[tokio::test]
    async fn a_slot_for_a_queue_that_does_not_exist_is_given_up() {
        let mut elsewhere = schedule(Overlap::Allow, CatchUp::All(9));
        elsewhere.task.queue = Some(QueueName::new("none").unwrap());
        let bench = Bench::with(elsewhere).await;
        let entry = bench.after(120).await;
        assert_eq!((entry.state.fired, entry.state.missed), (0, 2));
        assert_eq!(entry.next_at, Some(Timestamp::from_micros(180_000_000)), "it goes on with the next slot");
        assert!(entry.state.refusal.unwrap().reason.contains("none"));
    }
}
