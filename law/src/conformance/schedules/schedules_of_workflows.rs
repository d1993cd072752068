//! Schedules of workflows: the step that fires a slot creates a run, judges the latest one and cancels it.

use std::sync::Arc;

use jobbers_common::{
    engine::{
        Error, Fire, Fired, IfBusy, Launch, Previous, PutRun, StoredRun, StoredSchedule, workflows::encode_workflow,
    },
    limits::{MAX_BATCH, MAX_WORKFLOW_BYTES},
    name::WorkflowId,
    schedule::{Overlap, RunId, Schedule, Target, WorkflowTemplate},
    workflow::{Run, RunState},
};

use crate::conformance::{
    Fixture,
    audit::assert_sound,
    schedules::{create, named, now, stored},
    workflows::{graph, run_at, workflow_id},
};

fn of_workflow(overlap: Overlap) -> Schedule {
    let target = Target::Workflow(WorkflowTemplate { name: None, graph: graph() });
    Schedule { target, overlap, ..named("a") }
}

async fn run(f: &Fixture, id: &WorkflowId) -> Option<StoredRun> {
    f.engine.workflow(id).await.unwrap()
}

/// The latest run of a schedule, as a manager judges a slot by it.
async fn previous(f: &Fixture, stored: &StoredSchedule) -> Option<Previous> {
    let Some(RunId::Workflow(id)) = stored.entry.state.last_run.as_ref().map(|run| run.id.clone()) else { return None };
    let StoredRun { run, revision } = run(f, &id).await.filter(|stored| !stored.run.state.is_over())?;
    Some(Previous::Workflow { cancelled: Box::new(run.with_cancel(now(f).await)), revision })
}

/// The step for the next slot of the schedule, as a manager makes it.
async fn step(f: &Fixture) -> (Fire, WorkflowId) {
    let stored = stored(f, "a").await;
    let entry = &stored.entry;
    let slot = entry.state.buffered.or(entry.next_at).unwrap();
    let id = workflow_id(&entry.schedule.slot_id(slot));
    let run = Run::new(id.clone(), None, &graph(), 7, slot);
    let launch = Launch::Workflow(Box::new(run), encode_workflow(&graph()).unwrap());
    let if_busy = match entry.schedule.overlap {
        Overlap::Allow => IfBusy::Start,
        Overlap::CancelPrevious => IfBusy::Cancel,
        Overlap::Skip | Overlap::BufferOne => IfBusy::Hold(Box::new(entry.held_back(slot, slot))),
    };
    let previous = previous(f, &stored).await;
    let entry = entry.fired(slot, launch.id(), slot);
    (Fire { revision: stored.revision, entry, launch: Some(launch), previous, if_busy }, id)
}

async fn fire(f: &Fixture) -> (Fired, WorkflowId) {
    let (fire, id) = step(f).await;
    (f.engine.fire_schedule(fire).await.unwrap(), id)
}

/// Ends a run, as a manager does that saw the ends of its tasks.
async fn end(f: &Fixture, id: &WorkflowId) -> u64 {
    let StoredRun { run, revision } = run(f, id).await.unwrap();
    let now = now(f).await;
    let over = run.with_submitted(2, now).ended(RunState::Failed, now, crate::conformance::seconds(60));
    f.engine.put_workflow(over, PutRun::Replace(revision)).await.unwrap()
}

pub async fn a_schedule_of_a_workflow_is_kept_as_it_was_put(f: Fixture) {
    let created = create(&f, of_workflow(Overlap::Skip)).await;
    assert_eq!(stored(&f, "a").await, created);
    fire(&f).await;
    let Some(RunId::Workflow(_)) = stored(&f, "a").await.entry.state.last_run.map(|run| run.id) else {
        panic!("its latest run is a workflow");
    };
    assert_sound(&f, MAX_BATCH, false).await;
}

pub async fn a_slot_is_fired_with_its_workflow(f: Fixture) {
    let created = create(&f, of_workflow(Overlap::Allow)).await;
    let (step, id) = step(&f).await;
    let Some(Launch::Workflow(run_of_it, definition)) = step.launch.clone() else { panic!("{step:?}") };
    let fired = f.engine.fire_schedule(step).await.unwrap();
    let Fired::Done { revision, submitted: None } = fired else { panic!("{fired:?}") };
    let after = stored(&f, "a").await;
    assert!(after.revision == revision && revision > created.revision);
    assert_eq!((after.entry.state.fired, after.entry.state.last_slot), (1, created.entry.next_at));
    assert_eq!(run(&f, &id).await.unwrap().run, *run_of_it);
    assert_eq!(f.engine.workflow_definition(&id).await.unwrap(), Some(definition), "as it was given");
    f.clock.set(run_of_it.next_at.unwrap());
    let due = f.engine.due_workflows(10).await.unwrap().due;
    assert_eq!(due.len(), 1, "any manager goes on with it");
    assert_sound(&f, MAX_BATCH, false).await;
}

pub async fn a_slot_of_a_workflow_is_fired_once_whoever_repeats_it(f: Fixture) {
    create(&f, of_workflow(Overlap::Allow)).await;
    let (step, id) = step(&f).await;
    let calls = (0..20).map(|_| {
        let (engine, step) = (Arc::clone(&f.engine), step.clone());
        tokio::spawn(async move { engine.fire_schedule(step).await.unwrap() })
    });
    let calls: Vec<_> = calls.collect();
    let mut done = 0;
    for call in calls {
        done += usize::from(matches!(call.await.unwrap(), Fired::Done { .. }));
    }
    assert_eq!((done, f.engine.count_workflows().await.unwrap()), (1, [1, 0, 0, 0, 0]));
    let revision = end(&f, &id).await;
    f.engine.delete_workflow(&id, revision).await.unwrap();
    assert_eq!(f.engine.fire_schedule(step).await, Ok(Fired::Changed), "also when its run is gone");
    assert_eq!(run(&f, &id).await, None);
}

pub async fn a_refused_workflow_leaves_its_schedule_as_it_was(f: Fixture) {
    let before = create(&f, of_workflow(Overlap::Allow)).await;
    let (step, id) = step(&f).await;
    let Some(Launch::Workflow(run_of_it, _)) = step.launch.clone() else { panic!("{step:?}") };
    let heavy = Launch::Workflow(run_of_it, "x".repeat(MAX_WORKFLOW_BYTES + 1));
    let refused = f.engine.fire_schedule(Fire { launch: Some(heavy), ..step.clone() }).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    let taken = run_at(id.as_str(), 1_000);
    f.engine.put_workflow(taken.clone(), PutRun::Create("{}".to_owned())).await.unwrap();
    let refused = f.engine.fire_schedule(step).await;
    assert_eq!(refused, Err(Error::Exists(format!("workflow {id}"))));
    assert_eq!(stored(&f, "a").await, before);
    assert_eq!(run(&f, &id).await.unwrap().run, taken);
    assert_sound(&f, MAX_BATCH, false).await;
}

pub async fn a_slot_is_held_back_while_the_latest_workflow_is_not_over(f: Fixture) {
    for overlap in [Overlap::Skip, Overlap::BufferOne] {
        let schedule = create(&f, of_workflow(overlap)).await;
        let (_, first) = fire(&f).await;
        let (held, second) = fire(&f).await;
        assert!(matches!(held, Fired::Held { .. }), "{overlap:?}: {held:?}");
        assert_eq!(run(&f, &second).await, None, "{overlap:?}");
        let state = stored(&f, "a").await.entry.state;
        let buffered = usize::from(state.buffered.is_some());
        assert_eq!((state.fired, state.skipped + buffered as u64), (1, 1), "{overlap:?}");
        end(&f, &first).await;
        let (fired, third) = fire(&f).await;
        assert!(matches!(fired, Fired::Done { .. }), "{overlap:?}: it ended, however it did");
        assert_eq!(third == second, overlap == Overlap::BufferOne);
        f.engine.delete_schedule(&schedule.entry.schedule.name, None).await.unwrap();
        f.advance(crate::conformance::seconds(600));
    }
}

pub async fn the_latest_workflow_is_cancelled_where_that_is_asked_for(f: Fixture) {
    create(&f, of_workflow(Overlap::CancelPrevious)).await;
    let (_, first) = fire(&f).await;
    let before = run(&f, &first).await.unwrap();
    let (fired, second) = fire(&f).await;
    assert!(matches!(fired, Fired::Done { .. }));
    let cancelled = run(&f, &first).await.unwrap();
    assert_eq!(cancelled.run, before.run.with_cancel(now(&f).await));
    assert!(cancelled.revision > before.revision);
    assert!(!run(&f, &second).await.unwrap().run.cancel_requested);
    let due = f.engine.due_workflows(10).await.unwrap().due;
    assert_eq!(due, [cancelled], "any manager cancels its tasks");
    assert_sound(&f, MAX_BATCH, false).await;
}

pub async fn a_step_changes_nothing_if_the_latest_workflow_changed_meanwhile(f: Fixture) {
    for overlap in [Overlap::CancelPrevious, Overlap::Skip] {
        let schedule = create(&f, of_workflow(overlap)).await;
        let (_, first) = fire(&f).await;
        let ((late, second), before) = (step(&f).await, stored(&f, "a").await);
        let revision = end(&f, &first).await;
        assert_eq!(f.engine.fire_schedule(late.clone()).await, Ok(Fired::Changed), "{overlap:?}: it is over");
        assert_eq!((run(&f, &second).await, stored(&f, "a").await), (None, before.clone()));
        f.engine.delete_workflow(&first, revision).await.unwrap();
        assert_eq!(f.engine.fire_schedule(late).await, Ok(Fired::Changed), "{overlap:?}: it is gone");
        assert_eq!((run(&f, &second).await, stored(&f, "a").await), (None, before));
        assert!(matches!(fire(&f).await.0, Fired::Done { .. }));
        f.engine.delete_schedule(&schedule.entry.schedule.name, None).await.unwrap();
        f.advance(crate::conformance::seconds(600));
    }
}
