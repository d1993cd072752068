//! What is due of a schedule, and how its state goes on: pure functions that every manager answers alike.

use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64;

use super::{
    CatchUp, LastRun, Overlap, RunId, Schedule, ScheduleError, ScheduleState, SlotRefusal, Slots, entry::ScheduleEntry,
};
use crate::{
    limits::MAX_CATCH_UP,
    task::Start,
    time::{Timestamp, micros},
};

/// A slot is on time for this long, and late afterwards.
pub const ON_TIME: Duration = Duration::from_secs(10);
/// How soon a slot that waits for the end of a run is looked at again.
pub const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What is due of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The slots to fire, in their order: at most [`MAX_CATCH_UP`] that are late, and those that are on time.
    pub slots: Vec<Timestamp>,
    /// How many earlier ones are missed, however long the outage was.
    pub missed: u64,
    /// Slots up to here are missed.
    pub missed_until: Timestamp,
}

impl Plan {
    /// What is due of a schedule by `now`, when slots up to `after` are decided.
    #[must_use]
    pub fn of(slots: &Slots, catch_up: CatchUp, after: Timestamp, now: Timestamp) -> Self {
        let on_time_since = now.before(ON_TIME);
        // `after` a microsecond earlier, so that a slot at the very limit is on time.
        let on_time_after = after.max(on_time_since.before(Duration::from_micros(1)));
        let on_time: Vec<Timestamp> =
            slots.preview(on_time_after, 1 + ON_TIME.as_secs() as usize).take_while(|slot| *slot <= now).collect();
        let kept = match catch_up {
            CatchUp::None => 0,
            CatchUp::Latest => u32::from(on_time.is_empty()),
            CatchUp::All(limit) => limit.min(MAX_CATCH_UP),
        };
        let caught_up = slots.latest_between(after, on_time_since, kept.into());
        let missed = slots.count_between(after, on_time_since) - caught_up.len() as u64;
        let due: Vec<Timestamp> = caught_up.into_iter().chain(on_time).collect();
        let missed_until = due.first().map_or(on_time_since, |first| *first).before(Duration::from_micros(1));
        Self { slots: due, missed, missed_until }
    }

    /// Whether nothing is due.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.missed == 0
    }
}

impl Schedule {
    /// When what a slot fires starts: with jitter, later by a share that the name and the slot decide.
    #[must_use]
    pub fn start_of(&self, slot: Timestamp) -> Start {
        let most = micros(self.jitter).unsigned_abs();
        if most == 0 {
            return Start::Now;
        }
        let drawn = xxh3_64(self.slot_id(slot).as_bytes()) % (most + 1);
        Start::At(slot.after(Duration::from_micros(drawn)))
    }
}

impl ScheduleEntry {
    /// A new schedule, with slots after `now`.
    ///
    /// # Errors
    /// [`Schedule::validate`]'s.
    pub fn new(schedule: Schedule, now: Timestamp) -> Result<Self, ScheduleError> {
        schedule.validate()?;
        let state = ScheduleState { created_at: now, after: now, ..ScheduleState::default() };
        Ok(Self { schedule, state, next_at: None }.planned())
    }

    /// The same with other settings. With another timing, or after a pause, slots begin after `now`.
    ///
    /// # Errors
    /// [`Schedule::validate`]'s.
    pub fn with(self, schedule: Schedule, now: Timestamp) -> Result<Self, ScheduleError> {
        schedule.validate()?;
        let mut state = self.state;
        if schedule.timing != self.schedule.timing || self.schedule.paused {
            state.after = state.after.max(now);
        }
        if schedule.overlap != Overlap::BufferOne || schedule.paused {
            state.buffered = None;
        }
        Ok(Self { schedule, state, next_at: None }.planned())
    }

    /// What is due of it by `now`.
    ///
    /// # Errors
    /// For a timing that this version can't read.
    pub fn plan(&self, now: Timestamp) -> Result<Plan, ScheduleError> {
        if self.schedule.paused {
            return Ok(Plan::default());
        }
        Ok(Plan::of(&Slots::of(&self.schedule.timing)?, self.schedule.catch_up, self.state.after, now))
    }

    /// After a slot was fired, and this started.
    #[must_use]
    pub fn fired(&self, slot: Timestamp, id: RunId, now: Timestamp) -> Self {
        let mut entry = self.clone();
        let state = &mut entry.state;
        if state.buffered == Some(slot) {
            state.buffered = None;
        }
        state.after = state.after.max(slot);
        (state.last_slot, state.refusal) = (Some(slot), None);
        state.note_run(LastRun { id, at: now });
        state.fired += 1;
        entry.planned_again(now)
    }

    /// After this was started by hand.
    #[must_use]
    pub fn run(&self, id: RunId, now: Timestamp) -> Self {
        let mut entry = self.clone();
        entry.state.note_run(LastRun { id, at: now });
        entry
    }

    /// After a slot came while the latest run was not over, and was not fired for that.
    #[must_use]
    pub fn held_back(&self, slot: Timestamp, now: Timestamp) -> Self {
        let mut entry = self.clone();
        let state = &mut entry.state;
        state.after = state.after.max(slot);
        match (entry.schedule.overlap, state.buffered) {
            (_, Some(waiting)) if waiting == slot => {}
            (Overlap::BufferOne, None) => state.buffered = Some(slot),
            _ => state.skipped += 1,
        }
        entry.planned_again(now)
    }

    /// After so many slots up to `until` were missed.
    #[must_use]
    pub fn missed(&self, count: u64, until: Timestamp) -> Self {
        let mut entry = self.clone();
        entry.state.after = entry.state.after.max(until);
        entry.state.missed += count;
        let entry = entry.planned();
        // A slot that waits for the end of a run is looked at when it was to be.
        let waits_until = self.next_at.filter(|_| entry.state.buffered.is_some());
        let next_at = entry.next_at.into_iter().chain(waits_until).min();
        Self { next_at, ..entry }
    }

    /// After a slot was refused: given up, or, when it may be taken in later, tried again after a pause.
    #[must_use]
    pub fn refused(&self, refusal: SlotRefusal, again_after: Option<Duration>) -> Self {
        let (at, slot) = (refusal.at, refusal.slot);
        let mut entry = if again_after.is_some() { self.clone() } else { self.missed(1, slot) };
        if again_after.is_none() && entry.state.buffered == Some(slot) {
            entry.state.buffered = None;
        }
        entry.state.refusal = Some(refusal);
        match again_after {
            Some(pause) => entry.next_at = Some(at.after(pause.max(LOOK_AGAIN))),
            None => entry = entry.planned_again(at),
        }
        entry
    }

    /// With the time at which it has something to do next.
    fn planned(mut self) -> Self {
        let slots = if self.schedule.paused { None } else { Slots::of(&self.schedule.timing).ok() };
        self.next_at = slots.and_then(|slots| slots.next_after(self.state.after));
        self
    }

    /// The same; a slot that waits for the end of a run is looked at again soon.
    fn planned_again(self, now: Timestamp) -> Self {
        let mut entry = self.planned();
        if entry.state.buffered.is_some() {
            let soon = now.after(LOOK_AGAIN);
            entry.next_at = Some(entry.next_at.map_or(soon, |slot| slot.min(soon)));
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::{
        limits::MAX_SCHEDULE_BYTES,
        name::{ScheduleName, TaskId, TaskName},
        schedule::{Target, Timing},
        submission::template::TaskTemplate,
    };

    const SECOND: i64 = 1_000_000;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * SECOND)
    }

    fn id(text: &str) -> TaskId {
        TaskId::new(text).unwrap()
    }

    fn schedule(every: u64) -> Schedule {
        Schedule {
            name: ScheduleName::new("s").unwrap(),
            timing: Timing::Every(Duration::from_secs(every)),
            target: Target::Task(TaskTemplate::new(
                TaskName::new("echo").unwrap(),
                RawValue::from_string("{}".to_owned()).unwrap(),
            )),
            overlap: Overlap::Allow,
            catch_up: CatchUp::Latest,
            jitter: Duration::ZERO,
            paused: false,
        }
    }

    fn entry(every: u64) -> ScheduleEntry {
        ScheduleEntry::new(schedule(every), at(0)).unwrap()
    }

    fn plan(every: u64, catch_up: CatchUp, now: i64) -> (Vec<i64>, u64) {
        let entry = ScheduleEntry::new(Schedule { catch_up, ..schedule(every) }, at(0)).unwrap();
        let plan = entry.plan(at(now)).unwrap();
        (plan.slots.iter().map(|slot| slot.as_micros() / SECOND).collect(), plan.missed)
    }

    #[test]
    fn slots_that_are_on_time_are_fired_whatever_the_catch_up() {
        for catch_up in [CatchUp::None, CatchUp::Latest, CatchUp::All(5)] {
            assert_eq!(plan(3, catch_up, 2), (vec![], 0));
            assert_eq!(plan(3, catch_up, 10), (vec![3, 6, 9], 0));
        }
    }

    #[test]
    fn late_slots_are_missed_or_caught_up_with() {
        assert_eq!(plan(60, CatchUp::None, 300), (vec![300], 4));
        assert_eq!(plan(60, CatchUp::None, 320), (vec![], 5));
        assert_eq!(plan(60, CatchUp::Latest, 300), (vec![300], 4), "a slot on time is enough");
        assert_eq!(plan(60, CatchUp::Latest, 320), (vec![300], 4));
        assert_eq!(plan(60, CatchUp::All(3), 320), (vec![180, 240, 300], 2));
        assert_eq!(plan(60, CatchUp::All(9), 320), (vec![60, 120, 180, 240, 300], 0));
    }

    #[test]
    fn a_long_outage_keeps_the_latest_slots_and_counts_all_others() {
        let (slots, missed) = plan(1, CatchUp::All(2), 1_000_000);
        assert_eq!(slots.len(), 2 + 11);
        assert_eq!((slots[0], slots[12], missed), (999_988, 1_000_000, 999_987));
        let (slots, missed) = plan(1, CatchUp::All(MAX_CATCH_UP), 1_000_000);
        assert_eq!((slots[0], slots.len(), missed), (998_990, 1_011, 998_989));
        assert_eq!(plan(60, CatchUp::All(MAX_CATCH_UP), 86_430).1, 440);
        assert_eq!(plan(60, CatchUp::None, 86_430), (vec![], 1_440));
    }

    #[test]
    fn a_plan_that_was_carried_out_leaves_nothing_due() {
        for now in [10, 320, 1_000_000] {
            let entry = entry(60);
            let plan = entry.plan(at(now)).unwrap();
            let mut after = entry.missed(plan.missed, plan.missed_until);
            for slot in plan.slots {
                after = after.fired(slot, RunId::Task(id(&after.schedule.slot_id(slot))), at(now));
            }
            assert!(after.plan(at(now)).unwrap().is_empty(), "{now}");
            assert!(after.next_at.unwrap() > at(now), "{now}");
        }
    }

    #[test]
    fn the_last_ten_runs_are_remembered_where_there_is_room() {
        let started = |entry: ScheduleEntry| {
            (1..=12).fold(entry, |entry, n| entry.run(RunId::Task(id(&format!("run-{n}"))), at(n)))
        };
        let state = started(entry(60)).state;
        let earlier: Vec<i64> = state.earlier_runs.iter().map(|run| run.at.as_micros() / SECOND).collect();
        assert_eq!((state.last_run.unwrap().at, earlier), (at(12), (3..=11).rev().collect()));

        let parameters = |bytes: usize| RawValue::from_string(format!("\"{}\"", "x".repeat(bytes))).unwrap();
        let large = |bytes| Schedule {
            target: Target::Task(TaskTemplate::new(TaskName::new("echo").unwrap(), parameters(bytes))),
            ..schedule(60)
        };
        let remembered = |bytes: usize| {
            let entry = started(ScheduleEntry::new(large(bytes), at(0)).unwrap());
            let stored = ScheduleEntry::decode(&entry.encode().unwrap()).unwrap();
            assert_eq!(stored.state.last_run, entry.state.last_run);
            stored.state.earlier_runs.len()
        };
        assert_eq!((remembered(1_000), remembered(MAX_SCHEDULE_BYTES - 600)), (9, 0));
    }

    #[test]
    fn a_buffer_holds_one_slot_and_skips_the_rest() {
        let settings = Schedule { overlap: Overlap::BufferOne, ..schedule(60) };
        let entry = ScheduleEntry::new(settings, at(0)).unwrap().held_back(at(60), at(61));
        assert_eq!((entry.state.buffered, entry.state.skipped, entry.next_at), (Some(at(60)), 0, Some(at(62))));
        let entry = entry.held_back(at(120), at(120)).held_back(at(60), at(121));
        assert_eq!((entry.state.buffered, entry.state.skipped, entry.next_at), (Some(at(60)), 1, Some(at(122))));
        let entry = entry.fired(at(60), RunId::Task(id("t")), at(130));
        assert_eq!((entry.state.buffered, entry.state.fired, entry.next_at), (None, 1, Some(at(180))));
        let skipping = Schedule { overlap: Overlap::Skip, ..schedule(60) };
        let entry = ScheduleEntry::new(skipping, at(0)).unwrap().held_back(at(60), at(61));
        assert_eq!((entry.state.buffered, entry.state.skipped, entry.next_at), (None, 1, Some(at(120))));
    }

    #[test]
    fn a_pause_and_another_timing_leave_past_slots_out() {
        let paused = entry(60).with(Schedule { paused: true, ..schedule(60) }, at(30)).unwrap();
        assert_eq!((paused.next_at, paused.plan(at(500)).unwrap()), (None, Plan::default()));
        let resumed = paused.with(schedule(60), at(500)).unwrap();
        assert_eq!((resumed.next_at, resumed.state.after), (Some(at(540)), at(500)));
        let changed = entry(60).with(schedule(7), at(500)).unwrap();
        assert_eq!(changed.next_at, Some(at(504)));
        let same = entry(60).with(Schedule { overlap: Overlap::Skip, ..schedule(60) }, at(500)).unwrap();
        assert_eq!(same.next_at, Some(at(60)), "slots that are due stay due");
    }

    #[test]
    fn a_refused_slot_is_tried_again_or_given_up() {
        let refusal = SlotRefusal { at: at(61), slot: at(60), reason: "full".to_owned() };
        let again = entry(60).refused(refusal.clone(), Some(Duration::from_secs(5)));
        assert_eq!((again.next_at, again.state.missed, again.state.after), (Some(at(66)), 0, at(0)));
        let given_up = entry(60).refused(refusal, None);
        assert_eq!((given_up.next_at, given_up.state.missed), (Some(at(120)), 1));
    }

    #[test]
    fn jitter_is_the_same_for_one_slot_and_within_its_bound() {
        let jittered = Schedule { jitter: Duration::from_secs(30), ..schedule(60) };
        let starts: Vec<Start> = (1..100).map(|n| jittered.start_of(at(60 * n))).collect();
        assert_eq!(starts, (1..100).map(|n| jittered.start_of(at(60 * n))).collect::<Vec<_>>());
        let late = |(n, start): (usize, &Start)| match start {
            Start::At(start) => start.as_micros() - 60 * SECOND * (n as i64 + 1),
            _ => panic!("a time was due"),
        };
        let lates: Vec<i64> = starts.iter().enumerate().map(late).collect();
        assert!(lates.iter().all(|late| (0..=30 * SECOND).contains(late)), "{lates:?}");
        assert!(lates.iter().any(|late| *late > 15 * SECOND) && lates.iter().any(|late| *late < 15 * SECOND));
    }

    #[test]
    fn bounds_are_checked_with_the_field_that_breaks_them() {
        let named = |name: String| Schedule { name: ScheduleName::new(name).unwrap(), ..schedule(60) };
        for (bad, field) in [
            (named("x".repeat(81)), "name"),
            (Schedule { catch_up: CatchUp::All(0), ..schedule(60) }, "catch_up_limit"),
            (Schedule { catch_up: CatchUp::All(1_001), ..schedule(60) }, "catch_up_limit"),
            (Schedule { jitter: Duration::from_secs(60), ..schedule(60) }, "jitter"),
            (Schedule { jitter: Duration::from_secs(90_000), ..schedule(200_000) }, "jitter"),
        ] {
            assert_eq!(bad.validate().unwrap_err().field, field);
        }
        assert_eq!(named("x".repeat(80)).validate(), Ok(()));
        assert_eq!(schedule(60).slot_id(at(60)), "schedule:s:1970-01-01T00:01:00Z");
    }
}
