//! Schedules: compare-and-set on a revision, and the step that fires a slot once.

pub mod schedules_of_workflows;
pub mod workflows;

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;

use jobbers_common::{
    engine::{
        Error, Fire, Fired, IfBusy, Launch, Previous, PruneRequest, PruneScope, PutMode, PutSchedule, StoredSchedule,
        SubmittedHow,
    },
    lifecycle::Status,
    limits::{MAX_BATCH, MAX_SCHEDULE_BYTES},
    name::{ScheduleName, TaskId, TaskName},
    policy::PolicyOverrides,
    queue::{Config, QueueConfig, Retention, gate::ConcurrencyKey, routing::Turns},
    schedule::{CatchUp, Overlap, RunId, Schedule, Target, Timing, entry::ScheduleEntry},
    submission::{draft::TaskDraft, template::TaskTemplate},
    task::{NewTask, Priority, Start, metadata::Metadata},
    time::Timestamp,
};

use super::{DONE, Fixture, audit::assert_sound, id, ids, queue, retry, seconds};

fn template() -> TaskTemplate {
    TaskTemplate {
        default_queue: Some(queue("mail")),
        name: TaskName::new("echo").unwrap(),
        version: 1,
        queue: Some(queue("default")),
        priority: Priority::DEFAULT,
        parameters: RawValue::from_string(r#"{"n": 1.0}"#.to_owned()).unwrap().into(),
        concurrency_key: Some(ConcurrencyKey::new("k").unwrap()),
        metadata: Metadata::default(),
        signals: Vec::new(),
        is_spontaneous: false,
        overrides: PolicyOverrides { max_retries: Some(2), ..PolicyOverrides::default() },
    }
}

/// A schedule of a task, each minute.
pub(super) fn named(name: &str) -> Schedule {
    Schedule {
        name: ScheduleName::new(name).unwrap(),
        timing: Timing::Every(seconds(60)),
        target: Target::Task(template()),
        overlap: Overlap::Allow,
        catch_up: CatchUp::All(100),
        jitter: Duration::ZERO,
        paused: false,
    }
}

pub(super) async fn now(f: &Fixture) -> Timestamp {
    f.engine.health().await.unwrap().now
}

pub(super) async fn create(f: &Fixture, schedule: Schedule) -> StoredSchedule {
    let entry = ScheduleEntry::new(schedule, now(f).await).unwrap();
    let revision = f.engine.put_schedule(entry.clone(), PutSchedule::Create).await.unwrap();
    StoredSchedule { entry, revision }
}

pub(super) async fn stored(f: &Fixture, name: &str) -> StoredSchedule {
    f.engine.schedule(&ScheduleName::new(name).unwrap()).await.unwrap().unwrap()
}

fn task_of(entry: &ScheduleEntry, slot: Timestamp) -> NewTask {
    let draft = TaskDraft::of_template(&template(), id(&entry.schedule.slot_id(slot)), Start::Now);
    draft.into_task(&Config::initial(), &Turns::default(), || 0)
}

/// The step for the next slot of a schedule, as a manager makes it.
fn step(stored: &StoredSchedule) -> (Fire, TaskId) {
    let entry = &stored.entry;
    let slot = entry.state.buffered.or(entry.next_at).unwrap();
    let task = task_of(entry, slot);
    let task_id = task.id.clone();
    let if_busy = match entry.schedule.overlap {
        Overlap::Allow => IfBusy::Start,
        Overlap::CancelPrevious => IfBusy::Cancel,
        Overlap::Skip | Overlap::BufferOne => IfBusy::Hold(Box::new(entry.held_back(slot, slot))),
    };
    let previous = entry.state.last_run.as_ref().map(|run| match &run.id {
        RunId::Task(id) => Previous::Task(id.clone()),
        RunId::Workflow(id) => panic!("{id} is a workflow"),
    });
    let launch = Launch::Task(Box::new(task));
    let entry = entry.fired(slot, launch.id(), slot);
    let fire = Fire { revision: stored.revision, entry, launch: Some(launch), previous, if_busy };
    (fire, task_id)
}

async fn fire(f: &Fixture, name: &str) -> (Fired, TaskId) {
    let (fire, task) = step(&stored(f, name).await);
    (f.engine.fire_schedule(fire).await.unwrap(), task)
}

async fn status(f: &Fixture, id: &TaskId) -> Option<Status> {
    f.engine.get(id).await.unwrap().map(|task| task.status)
}

pub async fn a_schedule_is_kept_as_it_was_put(f: Fixture) {
    let created = create(&f, named("a/b")).await;
    assert_eq!(stored(&f, "a/b").await, created);
    let paused = Schedule { paused: true, ..named("a/b") };
    let entry = created.entry.clone().with(paused, now(&f).await).unwrap();
    let revision = f.engine.put_schedule(entry.clone(), PutSchedule::Replace(created.revision)).await.unwrap();
    assert!(revision > created.revision);
    assert_eq!(stored(&f, "a/b").await, StoredSchedule { entry, revision });
    let none = f.engine.schedule(&ScheduleName::new("none").unwrap()).await;
    assert_eq!(none, Ok(None));
    assert_sound(&f, MAX_BATCH, false).await;
}

pub async fn a_schedule_that_changed_meanwhile_stays(f: Fixture) {
    let created = create(&f, named("a")).await;
    let again = f.engine.put_schedule(created.entry.clone(), PutSchedule::Create).await;
    assert_eq!(again, Err(Error::Exists("schedule a".to_owned())));
    let revision = f.engine.put_schedule(created.entry.clone(), PutSchedule::Replace(created.revision)).await.unwrap();
    let changed = Err(Error::Changed("schedule a".to_owned()));
    let late = f.engine.put_schedule(created.entry.clone(), PutSchedule::Replace(created.revision)).await;
    assert_eq!(late, changed);
    let name = &created.entry.schedule.name;
    assert_eq!(f.engine.delete_schedule(name, Some(created.revision)).await.map(|()| 0), changed);
    f.engine.delete_schedule(name, Some(revision)).await.unwrap();
    let unknown = Err(Error::UnknownSchedule(name.clone()));
    assert_eq!(f.engine.delete_schedule(name, None).await, unknown);
    let gone = f.engine.put_schedule(created.entry.clone(), PutSchedule::Replace(revision)).await;
    assert_eq!(gone.map(drop), unknown);
    assert!(create(&f, named("a")).await.revision > revision, "a revision is never given again");
}

pub async fn schedules_are_listed_page_by_page(f: Fixture) {
    for name in ["b", "a", "d", "c", "B"] {
        create(&f, named(name)).await;
    }
    let (mut after, mut names) = (None, Vec::new());
    loop {
        let page = f.engine.list_schedules(after.as_ref(), 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.entry.schedule.name.clone());
        names.extend(page.iter().map(|stored| stored.entry.schedule.name.to_string()));
    }
    assert_eq!(names, ["B", "a", "b", "c", "d"]);
    for limit in [0, MAX_BATCH + 1] {
        assert!(matches!(f.engine.list_schedules(None, limit).await, Err(Error::Invalid(_))));
        assert!(matches!(f.engine.due_schedules(limit).await, Err(Error::Invalid(_))));
    }
}

pub async fn a_schedule_past_its_bounds_is_refused(f: Fixture) {
    let entry = ScheduleEntry::new(named("a"), now(&f).await).unwrap();
    let large = RawValue::from_string(format!("\"{}\"", "x".repeat(MAX_SCHEDULE_BYTES))).unwrap();
    let mut heavy = entry.clone();
    heavy.schedule.target = Target::Task(TaskTemplate { parameters: large.into(), ..template() });
    let mut never = entry.clone();
    never.schedule.timing = Timing::Cron { expression: "0 0 30 2 *".to_owned(), time_zone: "UTC".to_owned() };
    for bad in [heavy, never] {
        assert!(matches!(f.engine.put_schedule(bad, PutSchedule::Create).await, Err(Error::Invalid(_))));
    }
    assert_eq!(f.engine.list_schedules(None, 10).await, Ok(Vec::new()), "nothing is stored");
}

pub async fn due_schedules_come_in_their_order_and_the_next_one_is_told(f: Fixture) {
    let none = f.engine.due_schedules(10).await.unwrap();
    assert_eq!((none.due, none.next_at), (Vec::new(), None));
    let every = |name, every| Schedule { timing: Timing::Every(seconds(every)), ..named(name) };
    for schedule in [every("slow", 7_200), every("b", 60), every("a", 60), every("quick", 30)] {
        create(&f, schedule).await;
    }
    create(&f, Schedule { paused: true, ..every("paused", 1) }).await;
    let first = f.engine.due_schedules(10).await.unwrap();
    assert!(
        first.due.is_empty() && first.next_at > Some(first.now) && first.next_at <= Some(first.now.after(seconds(30)))
    );
    f.advance(seconds(60));
    let due = f.engine.due_schedules(10).await.unwrap();
    let names: Vec<&str> = due.due.iter().map(|stored| stored.entry.schedule.name.as_str()).collect();
    assert_eq!(names.len(), 3);
    assert!(names.contains(&"quick") && names.contains(&"a") && names.contains(&"b"));
    assert!(due.due.windows(2).all(|pair| pair[0].entry.next_at <= pair[1].entry.next_at));
    assert_eq!(due.next_at, stored(&f, "slow").await.entry.next_at);
    let one = f.engine.due_schedules(1).await.unwrap();
    assert_eq!((one.due.len(), one.next_at), (1, due.due[1].entry.next_at), "the next one may be due too");
}

pub async fn a_slot_is_fired_with_its_task(f: Fixture) {
    let created = create(&f, named("a")).await;
    f.advance(seconds(60));
    let (fired, task) = fire(&f, "a").await;
    let Fired::Done { revision, submitted: Some(submitted) } = fired else { panic!("{fired:?}") };
    assert_eq!(
        (submitted.id.clone(), submitted.how, submitted.status),
        (task.clone(), SubmittedHow::Created, Status::Submitted)
    );
    let after = stored(&f, "a").await;
    assert!(after.revision == revision && revision > created.revision);
    assert_eq!((after.entry.state.fired, after.entry.state.last_slot), (1, created.entry.next_at));
    let claimed = f.claim(1).await;
    assert_eq!(ids(&claimed), [task.as_str()]);
    assert_eq!(claimed[0].parameters.bytes, &br#"{"n": 1.0}"#[..], "as they were given");
    assert_eq!(claimed[0].overrides.max_retries, Some(2));
    f.assert_conserved().await;
    assert_sound(&f, MAX_BATCH, false).await;
}

pub async fn a_slot_is_fired_once_whoever_repeats_it(f: Fixture) {
    create(&f, named("a")).await;
    f.advance(seconds(60));
    let (first, task) = step(&stored(&f, "a").await);
    assert!(matches!(f.engine.fire_schedule(first.clone()).await, Ok(Fired::Done { .. })));
    assert_eq!(f.engine.fire_schedule(first.clone()).await, Ok(Fired::Changed));
    let claimed = f.claim(1).await;
    f.settle(&claimed[0], DONE).await;
    let retention = Retention { count: 0, ..Retention::default() };
    f.engine.put_queue(QueueConfig { retention, ..QueueConfig::new(queue("default")) }, PutMode::Upsert).await.unwrap();
    let request = PruneRequest { scope: PruneScope::Retention, limit: MAX_BATCH, dry_run: false, cursor: None };
    assert_eq!(f.engine.prune(request).await.unwrap().removed, 1);
    f.advance(seconds(400_000));
    assert_eq!(f.engine.tombstone(&task).await, Ok(None), "nothing remembers the task");
    assert_eq!(f.engine.fire_schedule(first).await, Ok(Fired::Changed), "and still its slot is not fired again");
    assert_eq!(f.stats("default").await.accepted, 1);
}

pub async fn of_many_that_fire_a_slot_at_once_one_does(f: Fixture) {
    create(&f, named("a")).await;
    f.advance(seconds(60));
    let (fire, _) = step(&stored(&f, "a").await);
    let calls = (0..20).map(|_| {
        let (engine, fire) = (Arc::clone(&f.engine), fire.clone());
        tokio::spawn(async move { engine.fire_schedule(fire).await.unwrap() })
    });
    let calls: Vec<_> = calls.collect();
    let mut done = 0;
    for call in calls {
        done += usize::from(matches!(call.await.unwrap(), Fired::Done { .. }));
    }
    assert_eq!((done, f.stats("default").await.accepted), (1, 1));
}

pub async fn a_step_for_another_revision_changes_nothing(f: Fixture) {
    let created = create(&f, named("a")).await;
    let (late, task) = step(&created);
    f.engine.delete_schedule(&created.entry.schedule.name, None).await.unwrap();
    assert_eq!(f.engine.fire_schedule(late.clone()).await, Ok(Fired::Changed), "it is gone");
    create(&f, named("a")).await;
    assert_eq!(f.engine.fire_schedule(late).await, Ok(Fired::Changed), "it was made again");
    assert_eq!(status(&f, &task).await, None);
}

pub async fn a_refused_task_leaves_its_schedule_as_it_was(f: Fixture) {
    let before = create(&f, named("a")).await;
    let limited = QueueConfig { max_length: Some(1), ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(limited, PutMode::Replace).await.unwrap();
    f.submit_ids(&["first"]).await;
    let (fire, task) = step(&before);
    assert!(matches!(f.engine.fire_schedule(fire.clone()).await, Err(Error::QueueFull { .. })));
    let elsewhere = NewTask { queue: queue("none"), ..task_of(&before.entry, before.entry.next_at.unwrap()) };
    let elsewhere = Fire { launch: Some(Launch::Task(Box::new(elsewhere))), ..fire.clone() };
    let unknown = f.engine.fire_schedule(elsewhere).await;
    assert_eq!(unknown, Err(Error::UnknownQueue(queue("none"))));
    assert_eq!(stored(&f, "a").await, before);
    assert_eq!(status(&f, &task).await, None);
    f.engine.cancel(&[id("first")]).await.unwrap();
    assert!(matches!(f.engine.fire_schedule(fire).await, Ok(Fired::Done { .. })), "then it goes in");
    assert_sound(&f, MAX_BATCH, false).await;
}

pub async fn a_slot_may_be_noted_and_nothing_started(f: Fixture) {
    let before = create(&f, named("a")).await;
    let entry = before.entry.missed(1, before.entry.next_at.unwrap());
    let note =
        Fire { revision: before.revision, entry: entry.clone(), launch: None, previous: None, if_busy: IfBusy::Start };
    let fired = f.engine.fire_schedule(note).await.unwrap();
    let Fired::Done { revision, submitted: None } = fired else { panic!("{fired:?}") };
    assert_eq!(stored(&f, "a").await, StoredSchedule { entry, revision });
    assert_eq!(f.stats("default").await.accepted, 0);
}

pub async fn overlapping_slots_are_submitted_where_that_is_allowed(f: Fixture) {
    create(&f, named("a")).await;
    for _ in 0..3 {
        assert!(matches!(fire(&f, "a").await.0, Fired::Done { .. }));
    }
    assert_eq!(f.claim(10).await.len(), 3);
}

pub async fn a_slot_is_skipped_while_the_latest_run_is_not_over(f: Fixture) {
    create(&f, Schedule { overlap: Overlap::Skip, ..named("a") }).await;
    let (_, first) = fire(&f, "a").await;
    assert!(matches!(fire(&f, "a").await.0, Fired::Held { .. }), "it is submitted");
    let claimed = f.claim(1).await;
    assert!(matches!(fire(&f, "a").await.0, Fired::Held { .. }), "it runs");
    f.settle(&claimed[0], retry(seconds(60))).await;
    assert!(matches!(fire(&f, "a").await.0, Fired::Held { .. }), "it waits for its retry");
    assert_eq!(stored(&f, "a").await.entry.state.skipped, 3);
    f.engine.cancel(std::slice::from_ref(&first)).await.unwrap();
    let (fired, second) = fire(&f, "a").await;
    assert!(matches!(fired, Fired::Done { .. }), "it ended, however it did");
    assert_eq!(status(&f, &second).await, Some(Status::Submitted));
    assert_eq!(stored(&f, "a").await.entry.state.fired, 2);
    assert_sound(&f, MAX_BATCH, false).await;
}

pub async fn one_slot_waits_for_the_end_of_the_latest_run(f: Fixture) {
    create(&f, Schedule { overlap: Overlap::BufferOne, ..named("a") }).await;
    fire(&f, "a").await;
    let (held, buffered) = fire(&f, "a").await;
    assert!(matches!(held, Fired::Held { .. }));
    assert_eq!(fire(&f, "a").await.1, buffered, "it is asked for again");
    assert_eq!(status(&f, &buffered).await, None);
    let claimed = f.claim(1).await;
    f.settle(&claimed[0], DONE).await;
    let (fired, task) = fire(&f, "a").await;
    assert!(matches!(fired, Fired::Done { .. }));
    assert_eq!((task, status(&f, &buffered).await), (buffered, Some(Status::Submitted)));
    let state = stored(&f, "a").await.entry.state;
    assert_eq!((state.fired, state.skipped, state.buffered), (2, 0, None));
}

pub async fn the_latest_run_is_cancelled_where_that_is_asked_for(f: Fixture) {
    create(&f, Schedule { overlap: Overlap::CancelPrevious, ..named("a") }).await;
    let (_, first) = fire(&f, "a").await;
    let (_, second) = fire(&f, "a").await;
    assert_eq!(status(&f, &first).await, Some(Status::Cancelled));
    let claimed = f.claim(1).await;
    assert_eq!(ids(&claimed), [second.as_str()]);
    let (_, third) = fire(&f, "a").await;
    let running = f.engine.get(&second).await.unwrap().unwrap();
    assert!(running.status == Status::Started && running.cancel_requested);
    assert_eq!(status(&f, &third).await, Some(Status::Submitted));
    f.settle(&claimed[0], DONE).await;
    assert_eq!(status(&f, &second).await, Some(Status::Cancelled));
    f.assert_conserved().await;
    assert_sound(&f, MAX_BATCH, false).await;
}

pub async fn a_refused_task_cancels_nothing(f: Fixture) {
    create(&f, Schedule { overlap: Overlap::CancelPrevious, ..named("a") }).await;
    let (_, first) = fire(&f, "a").await;
    let limited = QueueConfig { max_length: Some(1), ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(limited, PutMode::Replace).await.unwrap();
    let (late, _) = step(&stored(&f, "a").await);
    assert!(matches!(f.engine.fire_schedule(late).await, Err(Error::QueueFull { .. })));
    assert_eq!(status(&f, &first).await, Some(Status::Submitted));
}
