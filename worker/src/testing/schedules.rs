//! The bench's clock, and the schedules that are fired as it moves.
//!
//! What is due of a schedule, and its next state, are decided where managers have it decided
//! ([`jobbers_common::schedule::plan`]). The clock stops at each slot, so a slot is fired at its time.

use std::time::Duration;

use jobbers_common::{
    engine::{Error, Fire, Fired, IfBusy, Launch, Previous, StoredSchedule},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::{ScheduleName, TaskId},
    schedule::{Overlap, RunId, Schedule, Slots, Target},
    submission::draft::TaskDraft,
    task::{NewTask, Start},
    time::Timestamp,
};

use super::{
    bench::{Drained, TestBench},
    error::{MOST_ATTEMPTS, TestError},
};
use crate::tasks::{
    schedules::{put, schedule_of},
    task_fn::{AnyTask, TaskFn},
};

impl TestBench {
    /// Moves the clock forward, and fires each schedule of the store at its slots, as managers do: those of tasks after
    /// [`Builder::schedules`](super::Builder::schedules), and any that the test has put there. Tasks run only when the
    /// bench is drained, so a run is never over before the next slot comes.
    ///
    /// # Errors
    /// [`TestError::Schedule`] for a schedule that starts a workflow; [`TestError::Endless`]; errors of the store, such as a
    /// slot that it refuses.
    pub async fn advance(&self, by: Duration) -> Result<(), TestError> {
        let until = self.now().after(by);
        let mut slots = 0;
        while let Some(slot) = self.next_slot().await?.filter(|slot| *slot <= until) {
            self.clock.advance(slot.since(self.now()));
            slots += self.fire_due().await?.max(1);
            if slots > MOST_ATTEMPTS {
                return Err(TestError::Endless);
            }
        }
        self.clock.advance(until.since(self.now()));
        Ok(())
    }

    /// Drains, moving the clock each time to when the next task is due or the lease of a dead worker ends, until neither is
    /// left. Schedules are fired as by [`TestBench::advance`], and their tasks run at their time.
    ///
    /// # Errors
    /// As [`TestBench::drain`] and [`TestBench::advance`].
    pub async fn drain_scheduled(&self) -> Result<Drained, TestError> {
        let mut all = Drained::default();
        loop {
            all.add(self.drain().await?);
            if all.attempts() > MOST_ATTEMPTS {
                return Err(TestError::Endless);
            }
            let pending = self.list_all(&[Status::Scheduled, Status::Started]).await?;
            let due =
                pending.iter().map(|task| task.lease.as_ref().map_or(task.ready_at, |lease| lease.expires_at)).min();
            let Some(due) = due else { return Ok(all) };
            let next = self.next_slot().await?.map_or(due, |slot| slot.min(due));
            self.advance(next.since(self.now())).await?;
        }
    }

    /// Starts the task of the schedule that a task declares (`#[task(cron = "…")]`) now, whatever the time is, as
    /// `jobbers schedules run` does. Returns the id of what it submitted.
    ///
    /// ```standalone_crate
    /// use jobbers_worker::{prelude::*, testing::TestBench};
    ///
    /// #[task(cron = "0 2 * * *", time_zone = "Europe/Berlin")]
    /// async fn nightly() -> Result<u32, TaskError> { Ok(7) }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bench = TestBench::builder().schedules().build().await?;
    /// let id = bench.fire(&nightly).await?;
    /// assert_eq!(bench.drain().await?.completed, 1);
    /// assert_eq!(bench.result::<u32>(&id).await?, 7);
    ///
    /// // And each night by itself.
    /// bench.advance(Duration::from_secs(2 * 86_400)).await?;
    /// assert_eq!(bench.drain().await?.completed, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`TestError::Schedule`] for a task without a schedule, and errors of the store.
    pub async fn fire<P, R>(&self, task: &'static TaskFn<P, R>) -> Result<TaskId, TestError>
    where
        TaskFn<P, R>: AnyTask,
    {
        let declared = schedule_of(task).map_err(|error| TestError::schedule(&task.name(), &error))?;
        let declared =
            declared.ok_or_else(|| TestError::schedule(&task.name(), &"the task declares none by `cron`"))?;
        // One that is declared only to be fired here has no slots of its own.
        self.declare(&Schedule { paused: !self.has_schedules, ..declared.clone() }).await?;
        self.fire_schedule(declared.name.as_str()).await
    }

    /// The same for any schedule of the store, by its name, such as one that the test has put there.
    ///
    /// # Errors
    /// [`TestError::Schedule`] if it does not exist or starts a workflow, and errors of the store.
    pub async fn fire_schedule(&self, name: &str) -> Result<TaskId, TestError> {
        let name = ScheduleName::new(name).map_err(|error| TestError::schedule(&name, &error))?;
        let stored = self.engine.schedule(&name).await?.ok_or_else(|| TestError::schedule(&name, &"does not exist"))?;
        let (schedule, now) = (&stored.entry.schedule, self.now());
        let task = self.task_of(schedule, &schedule.run_id(stored.revision), Start::Now).await?;
        let id = task.id.clone();
        let launch = Launch::Task(Box::new(task));
        let entry = stored.entry.run(launch.id(), now);
        let (revision, launch) = (stored.revision, Some(launch));
        self.engine.fire_schedule(Fire { revision, entry, launch, previous: None, if_busy: IfBusy::Start }).await?;
        Ok(id)
    }

    /// Creates a schedule that does not exist.
    pub(super) async fn declare(&self, schedule: &Schedule) -> Result<(), TestError> {
        Ok(put(&*self.engine, schedule).await?)
    }

    /// The time of the next slot of any schedule; it may be over.
    async fn next_slot(&self) -> Result<Option<Timestamp>, TestError> {
        let next = |stored: StoredSchedule| {
            let schedule = &stored.entry.schedule;
            let slots = Slots::of(&schedule.timing).ok().filter(|_| !schedule.paused)?;
            slots.next_after(stored.entry.state.after)
        };
        Ok(self.all_schedules().await?.into_iter().filter_map(next).min())
    }

    async fn all_schedules(&self) -> Result<Vec<StoredSchedule>, TestError> {
        let mut all: Vec<StoredSchedule> = Vec::new();
        loop {
            let after = all.last().map(|stored| stored.entry.schedule.name.clone());
            let page = self.engine.list_schedules(after.as_ref(), MAX_BATCH).await?;
            let is_last = page.len() < MAX_BATCH;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Fires all slots that are due, also those that waited for the end of a run. Returns how many tasks were started.
    pub(super) async fn fire_due(&self) -> Result<u64, TestError> {
        let mut started = 0;
        for mut stored in self.all_schedules().await? {
            if let Some(slot) = stored.entry.state.buffered {
                started += u64::from(self.fire_slot(&mut stored, slot).await?);
            }
            let name = stored.entry.schedule.name.clone();
            let plan = stored.entry.plan(self.now()).map_err(|error| TestError::schedule(&name, &error))?;
            stored.entry = stored.entry.missed(plan.missed, plan.missed_until);
            for slot in plan.slots {
                started += u64::from(self.fire_slot(&mut stored, slot).await?);
            }
        }
        Ok(started)
    }

    /// Fires one slot, unless the schedule's overlap policy holds it back. Returns whether it started a task.
    async fn fire_slot(&self, stored: &mut StoredSchedule, slot: Timestamp) -> Result<bool, TestError> {
        let (entry, now) = (&stored.entry, self.now());
        let schedule = &entry.schedule;
        let start = schedule.start_of(slot);
        let mut task = self.task_of(schedule, &schedule.slot_id(slot), start).await?;
        task.count_expiry_from(if let Start::At(at) = start { at } else { slot }, now);
        let launch = Launch::Task(Box::new(task));
        let (fired, held) = (entry.fired(slot, launch.id(), now), entry.held_back(slot, now));
        let if_busy = match schedule.overlap {
            Overlap::Allow => IfBusy::Start,
            Overlap::CancelPrevious => IfBusy::Cancel,
            Overlap::Skip | Overlap::BufferOne => IfBusy::Hold(Box::new(held.clone())),
        };
        let previous = match entry.state.last_run.as_ref().map(|run| &run.id) {
            Some(RunId::Task(id)) if schedule.overlap != Overlap::Allow => Some(Previous::Task(id.clone())),
            _ => None,
        };
        let fire = Fire { revision: stored.revision, entry: fired.clone(), launch: Some(launch), previous, if_busy };
        match self.engine.fire_schedule(fire).await? {
            Fired::Done { revision, .. } => {
                *stored = StoredSchedule { entry: fired, revision };
                Ok(true)
            }
            Fired::Held { revision } => {
                *stored = StoredSchedule { entry: held, revision };
                Ok(false)
            }
            Fired::Changed => Err(Error::Changed(schedule.name.to_string()).into()),
        }
    }

    /// What a schedule submits.
    async fn task_of(&self, schedule: &Schedule, id: &str, start: Start) -> Result<NewTask, TestError> {
        let Target::Task(template) = &schedule.target else {
            return Err(TestError::schedule(
                &schedule.name,
                &"starts a workflow, which a bench does not fire: start that one",
            ));
        };
        let id = TaskId::new(id).map_err(|error| TestError::schedule(&schedule.name, &error))?;
        let config = self.config.recent().await?;
        let on_crash = self.registry.find(template.name.as_str(), template.version).map(|task| task.policy().into());
        let draft = TaskDraft::of_template(template, id, start);
        Ok(self.config.make_task(&config, TaskDraft { on_crash: on_crash.unwrap_or_default(), ..draft }))
    }
}
