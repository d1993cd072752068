//! Signals from outside.

use std::sync::Arc;

use tokio::task::JoinSet;

use jobbers_common::{
    dependency::{
        DependencyPolicy,
        signal::{AwaitedSignal, ExternalSignal, OnTimeout, SignalState, Signalled},
    },
    engine::{Error, OnConflict, Resubmit, Resubmitted, dependencies::NewDependency},
    lifecycle::Status,
    limits::{MAX_SIGNAL_KEPT, MAX_SIGNALS_KEPT},
    name::SignalName,
    task::{NewTask, Start},
};

use crate::conformance::{
    DONE, Fixture,
    audit::assert_sound,
    dependencies::{after, edge},
    failed, id, queue, seconds, task, task_in,
};

fn name(text: &str) -> SignalName {
    SignalName::new(text).unwrap()
}

/// A signal without end.
fn plain(text: &str) -> AwaitedSignal {
    AwaitedSignal { name: name(text), timeout: None, on_timeout: OnTimeout::Abort }
}

fn within(text: &str, after: u64, on_timeout: OnTimeout) -> AwaitedSignal {
    AwaitedSignal { name: name(text), timeout: Some(seconds(after)), on_timeout }
}

/// A task that waits for signals.
fn gated(text: &str, signals: Vec<AwaitedSignal>) -> NewTask {
    NewTask { signals, ..task(text) }
}

impl Fixture {
    async fn send(&self, text: &str, signal: &str) -> Signalled {
        self.engine.signal(&id(text), &name(signal), None).await.unwrap()
    }

    async fn tick(&self) -> u64 {
        self.engine.promote_due(1_000).await.unwrap()
    }

    async fn external(&self, text: &str) -> Vec<ExternalSignal> {
        self.get(text).await.dependencies.unwrap().external
    }

    async fn states(&self, text: &str) -> Vec<SignalState> {
        self.external(text).await.into_iter().map(|signal| signal.state).collect()
    }

    /// How many signals of tasks and from outside a task waits for, and has.
    async fn numbers(&self, text: &str) -> (u32, u32) {
        let dependencies = self.get(text).await.dependencies.unwrap();
        (dependencies.total, dependencies.signals)
    }

    async fn run_next(&self, text: &str) {
        let claimed = self.claim_one().await;
        assert_eq!(claimed.id, id(text));
        self.settle(&claimed, DONE).await;
    }
}

pub async fn a_task_waits_for_its_signals_and_each_counts_once(f: Fixture) {
    let submitted = f.submit(vec![gated("a", vec![plain("reviewed"), plain("approved")])]).await;
    assert_eq!(submitted[0].status, Status::Waiting);
    let signals = f.external("a").await;
    let names: Vec<&str> = signals.iter().map(|signal| signal.name.as_str()).collect();
    assert_eq!((names, f.numbers("a").await), (vec!["approved", "reviewed"], (2, 0)));
    assert_sound(&f, 7, false).await;
    assert_eq!(f.send("a", "reviewed").await, Signalled::Done(Status::Waiting));
    assert_eq!(f.send("a", "reviewed").await, Signalled::Already);
    assert_eq!(
        (f.states("a").await, f.numbers("a").await),
        (vec![SignalState::Waiting, SignalState::Received], (2, 1))
    );
    assert_sound(&f, 7, false).await;
    f.advance(seconds(5));
    assert_eq!(f.send("a", "approved").await, Signalled::Done(Status::Submitted));
    let task = f.get("a").await;
    assert_eq!(task.ready_at, task.submitted_at.after(seconds(5)));
    assert_eq!(f.external("a").await[0].at, Some(task.ready_at));
    f.run_next("a").await;
    assert_eq!(f.send("a", "approved").await, Signalled::Already, "also when the task is over");
    assert_eq!(f.states("a").await, [SignalState::Received; 2]);
    let listed = f.list(Default::default(), 10).await;
    assert_eq!(listed[0].dependencies.as_ref().map(|it| (it.total, it.external.len())), Some((2, 0)));
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_signal_that_the_task_does_not_wait_for_is_refused(f: Fixture) {
    f.submit(vec![gated("a", vec![plain("s")]), task("b")]).await;
    assert_eq!(f.send("ghost", "s").await, Signalled::UnknownTask);
    assert_eq!(f.send("b", "s").await, Signalled::UnknownSignal);
    assert_eq!(f.send("a", "other").await, Signalled::UnknownSignal);
    f.engine.cancel(&[id("a")]).await.unwrap();
    assert_eq!(
        (f.send("a", "s").await, f.status("a").await),
        (Signalled::Late(SignalState::Unneeded), Status::Cancelled)
    );
    assert_eq!(f.numbers("a").await, (1, 0));
    assert_sound(&f, 7, false).await;
}

pub async fn signals_and_tasks_are_waited_for_together(f: Fixture) {
    let both =
        NewTask { depends_on: vec![edge("a", DependencyPolicy::AbortSuccessors)], ..gated("b", vec![plain("s")]) };
    let done =
        NewTask { depends_on: vec![edge("a", DependencyPolicy::AbortSuccessors)], ..gated("c", vec![plain("s")]) };
    f.submit(vec![task("a"), both.clone(), done]).await;
    f.send("b", "s").await;
    assert_eq!((f.status("b").await, f.numbers("b").await), (Status::Waiting, (2, 1)));
    f.run_next("a").await;
    assert_eq!((f.status("b").await, f.status("c").await), (Status::Submitted, Status::Waiting));
    assert_eq!(f.send("c", "s").await, Signalled::Done(Status::Submitted));
    // A predecessor that was over is not waited for, the signal is.
    f.submit(vec![NewTask { id: id("d"), ..both.clone() }]).await;
    assert_eq!((f.status("d").await, f.numbers("d").await), (Status::Waiting, (2, 1)));
    f.send("d", "s").await;
    assert_eq!(f.submit(vec![both]).await[0].status, Status::Submitted, "the same submission is the stored task");
    for text in ["b", "c", "d"] {
        f.run_next(text).await;
    }
    assert_sound(&f, 7, false).await;
}

pub async fn a_failed_predecessor_aborts_whatever_signals_are_open(f: Fixture) {
    let both = NewTask {
        depends_on: vec![edge("a", DependencyPolicy::AbortSuccessors)],
        ..gated("b", vec![within("s", 5, OnTimeout::Run)])
    };
    f.submit(vec![task("a"), both]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, failed(false)).await;
    assert_eq!((f.status("b").await, f.states("b").await), (Status::Aborted, vec![SignalState::Unneeded]));
    f.advance(seconds(9));
    assert_eq!(f.tick().await, 0);
    assert_eq!(f.states("b").await, [SignalState::Unneeded]);
    assert_sound(&f, 7, false).await;
    // Sent again, it runs by itself.
    assert_eq!(f.engine.resubmit(vec![Resubmit::of_store(id("b"))]).await.unwrap(), [Resubmitted::Done]);
    assert_eq!(f.send("b", "s").await, Signalled::Late(SignalState::Unneeded));
    f.run_next("b").await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_signal_that_does_not_come_in_time_aborts_or_releases(f: Fixture) {
    f.submit(vec![
        gated("aborted", vec![within("s", 5, OnTimeout::Abort), plain("t")]),
        gated("run", vec![within("s", 5, OnTimeout::Run)]),
        gated("both", vec![within("s", 5, OnTimeout::Run), plain("t")]),
        gated("received", vec![within("s", 5, OnTimeout::Abort)]),
        after("next", &["aborted"]),
    ])
    .await;
    f.send("received", "s").await;
    f.advance(seconds(5).checked_sub(std::time::Duration::from_micros(1)).unwrap());
    f.tick().await;
    assert_eq!((f.status("aborted").await, f.status("run").await), (Status::Waiting, Status::Waiting));
    f.advance(std::time::Duration::from_micros(1));
    f.tick().await;
    let statuses = [f.status("aborted").await, f.status("next").await, f.status("run").await, f.status("both").await];
    assert_eq!(statuses, [Status::Aborted, Status::Aborted, Status::Submitted, Status::Waiting]);
    assert_eq!(f.states("aborted").await, [SignalState::TimedOut, SignalState::Unneeded]);
    assert_eq!(f.get("aborted").await.dependencies.unwrap().aborted_by, None);
    assert_eq!(
        (f.states("both").await, f.numbers("both").await),
        (vec![SignalState::TimedOut, SignalState::Waiting], (2, 1))
    );
    assert_eq!(f.send("run", "s").await, Signalled::Late(SignalState::TimedOut));
    let signal = &f.external("run").await[0];
    assert_eq!((signal.due, signal.at), (signal.at, Some(f.get("run").await.ready_at)));
    assert_eq!(signal.timeout, Some(seconds(5)));
    assert_eq!(f.send("both", "t").await, Signalled::Done(Status::Submitted));
    for text in ["received", "run", "both"] {
        f.run_next(text).await;
    }
    assert_sound(&f, 7, false).await;
}

pub async fn a_timeout_begins_when_the_task_waits_for_no_other_task(f: Fixture) {
    let both = |text: &str, on: &[&str]| {
        let depends_on = on.iter().map(|on| edge(on, DependencyPolicy::RunWithFailures)).collect();
        NewTask { depends_on, ..gated(text, vec![within("s", 5, OnTimeout::Abort), plain("t")]) }
    };
    f.create_queue("mail").await;
    f.submit(vec![task("a"), task_in("b", "mail"), both("run", &["a"]), both("purged", &["b", "a"])]).await;
    f.advance(seconds(60));
    f.tick().await;
    let due = async |text| f.external(text).await[0].due;
    assert_eq!((due("run").await, due("purged").await), (None, None));
    f.run_next("a").await;
    let begun = f.get("a").await.completed_at.unwrap();
    assert_eq!((due("run").await, due("purged").await), (Some(begun.after(seconds(5))), None));
    assert_sound(&f, 7, false).await;
    f.advance(seconds(4));
    f.engine.purge_queue(&queue("mail"), 10).await.unwrap();
    f.tick().await;
    assert_eq!(due("purged").await, Some(begun.after(seconds(9))));
    f.advance(seconds(1));
    f.tick().await;
    assert_eq!((f.status("run").await, f.status("purged").await), (Status::Aborted, Status::Waiting));
    // A predecessor that is over is not waited for.
    f.submit(vec![both("late", &["a"])]).await;
    assert_eq!(due("late").await, Some(begun.after(seconds(10))));
    f.advance(seconds(4));
    f.tick().await;
    assert_eq!((f.status("purged").await, f.status("late").await), (Status::Aborted, Status::Waiting));
    assert_sound(&f, 7, false).await;
}

pub async fn a_released_task_keeps_its_time(f: Fixture) {
    let later = NewTask { start: Start::After(seconds(10)), ..gated("a", vec![plain("s")]) };
    f.submit(vec![later]).await;
    assert_eq!(f.send("a", "s").await, Signalled::Done(Status::Scheduled));
    f.advance(seconds(10));
    f.run_next("a").await;
}

pub async fn callers_that_send_a_signal_together_send_it_once(f: Fixture) {
    f.submit(vec![gated("a", vec![plain("s")])]).await;
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let engine = Arc::clone(&f.engine);
        callers.spawn(async move { engine.signal(&id("a"), &name("s"), None).await.unwrap() });
    }
    let answers = callers.join_all().await;
    let first = answers.iter().filter(|answer| **answer == Signalled::Done(Status::Submitted)).count();
    let later = answers.iter().filter(|answer| **answer == Signalled::Already).count();
    assert_eq!((first, later, f.numbers("a").await), (1, 7, (1, 1)), "{answers:?}");
    f.run_next("a").await;
    f.assert_conserved().await;
}

pub async fn a_signal_that_races_its_timeout_is_received_or_times_out(f: Fixture) {
    let text = |n: usize| format!("g{n}");
    f.submit((0..20).map(|n| gated(&text(n), vec![within("s", 5, OnTimeout::Abort)])).collect()).await;
    f.advance(seconds(5));
    let mut senders = JoinSet::new();
    for n in 0..20 {
        let engine = Arc::clone(&f.engine);
        senders.spawn(async move { (n, engine.signal(&id(&text(n)), &name("s"), None).await.unwrap()) });
    }
    let (answers, _) = tokio::join!(senders.join_all(), f.tick());
    for (n, answer) in answers {
        let expected = match answer {
            Signalled::Done(Status::Submitted) => (Status::Submitted, vec![SignalState::Received]),
            Signalled::Late(SignalState::TimedOut) => (Status::Aborted, vec![SignalState::TimedOut]),
            other => panic!("{other:?}"),
        };
        assert_eq!((f.status(&text(n)).await, f.states(&text(n)).await), expected);
        assert_eq!(f.numbers(&text(n)).await, (1, 1));
    }
    f.tick().await;
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_signal_is_kept_for_a_task_that_is_submitted_later(f: Fixture) {
    let keep = async |text, n| f.engine.signal(&id(text), &name("s"), Some(seconds(n))).await.unwrap();
    let now = f.engine.health().await.unwrap().now;
    assert_eq!(keep("a", 10).await, Signalled::Kept(now.after(seconds(10))));
    assert_eq!(keep("a", 5).await, Signalled::Kept(now.after(seconds(10))), "the later time holds");
    assert_eq!(f.send("a", "s").await, Signalled::UnknownTask, "without a wish to keep it");
    keep("late", 10).await;
    f.advance(seconds(9));
    let both =
        NewTask { depends_on: vec![edge("first", DependencyPolicy::RunWithFailures)], ..gated("b", vec![plain("s")]) };
    keep("b", 10).await;
    f.submit(vec![gated("a", vec![plain("s")]), task("first"), both]).await;
    assert_eq!((f.status("a").await, f.states("a").await), (Status::Submitted, vec![SignalState::Received]));
    assert_eq!((f.status("b").await, f.numbers("b").await), (Status::Waiting, (2, 1)));
    f.advance(seconds(1));
    f.submit(vec![gated("late", vec![plain("s")])]).await;
    assert_eq!(f.states("late").await, [SignalState::Waiting], "it was kept no longer");
    assert_eq!(keep("late", 5).await, Signalled::Done(Status::Submitted));
    assert_eq!(keep("late", 5).await, Signalled::Already);
    for text in ["first", "a", "late", "b"] {
        f.run_next(text).await;
    }
    // A kept signal counts once, and another task of that id must be signalled again.
    let next = NewTask { version: 2, ..gated("a", vec![plain("s")]) };
    f.try_submit(vec![next], OnConflict::Replace).await.unwrap();
    assert_eq!(f.status("a").await, Status::Waiting);
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}

pub async fn as_many_signals_are_kept_as_may_be(f: Fixture) {
    let keep = async |text: String| f.engine.signal(&id(&text), &name("s"), Some(seconds(60))).await.unwrap();
    for first in (0..MAX_SIGNALS_KEPT).step_by(100) {
        let mut callers = JoinSet::new();
        for n in first..first + 100 {
            let engine = Arc::clone(&f.engine);
            callers.spawn(async move { engine.signal(&id(&format!("t{n}")), &name("s"), Some(seconds(60))).await });
        }
        let answers = callers.join_all().await;
        assert!(answers.iter().all(|answer| matches!(answer, Ok(Signalled::Kept(_)))), "{answers:?}");
    }
    assert_eq!(keep("more".to_owned()).await, Signalled::TooManyKept);
    assert!(matches!(keep("t7".to_owned()).await, Signalled::Kept(_)), "that one is kept already");
    f.advance(seconds(60));
    f.tick().await;
    assert!(matches!(keep("more".to_owned()).await, Signalled::Kept(_)), "the others were kept in vain");
    for keep in [seconds(0), MAX_SIGNAL_KEPT + seconds(1)] {
        let refused = f.engine.signal(&id("a"), &name("s"), Some(keep)).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
}

pub async fn many_signals_time_out_over_several_ticks(f: Fixture) {
    let many: Vec<NewTask> =
        (0..1_000).map(|n| gated(&format!("g{n:04}"), vec![within("s", 5, OnTimeout::Abort)])).collect();
    f.submit(many).await;
    f.advance(seconds(6));
    let mut ticks = 0;
    while f.count(Status::Waiting).await > 0 {
        f.tick().await;
        ticks += 1;
        assert!(ticks < 20, "each tick times some out");
    }
    assert_eq!(f.count(Status::Aborted).await, 1_000);
    f.assert_conserved().await;
    assert_sound(&f, 500, false).await;
}

pub async fn a_task_that_is_replaced_or_purged_takes_its_signals_along(f: Fixture) {
    f.create_queue("mail").await;
    let first = gated("a", vec![within("s", 5, OnTimeout::Run)]);
    f.submit(vec![first.clone(), NewTask { signals: vec![within("s", 5, OnTimeout::Run)], ..task_in("b", "mail") }])
        .await;
    f.engine.purge_queue(&queue("mail"), 10).await.unwrap();
    assert_eq!(f.send("b", "s").await, Signalled::UnknownTask);
    let next = NewTask { version: 2, signals: vec![within("s", 60, OnTimeout::Run)], ..first.clone() };
    f.try_submit(vec![next], OnConflict::Replace).await.unwrap();
    assert_sound(&f, 7, false).await;
    f.submit(vec![gated("b", vec![plain("s")])]).await;
    f.advance(seconds(6));
    f.tick().await;
    assert_eq!((f.status("a").await, f.status("b").await), (Status::Waiting, Status::Waiting), "other times hold");
    assert_sound(&f, 7, false).await;
    assert_eq!(f.send("a", "s").await, Signalled::Done(Status::Submitted));
    assert_eq!(f.send("b", "s").await, Signalled::Done(Status::Submitted));
    f.run_next("a").await;
    f.run_next("b").await;
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_task_with_signals_may_wait_for_further_tasks(f: Fixture) {
    f.submit(vec![task("a"), gated("b", vec![plain("s")])]).await;
    let add = NewDependency { run: id("b"), after: id("a"), policy: DependencyPolicy::RunWithFailures };
    assert_eq!(f.engine.add_dependencies(&[add]).await, Ok(vec![true]));
    assert_eq!((f.numbers("b").await, f.states("b").await), ((2, 0), vec![SignalState::Waiting]));
    f.run_next("a").await;
    assert_eq!((f.status("b").await, f.states("b").await), (Status::Waiting, vec![SignalState::Waiting]));
    assert_sound(&f, 7, false).await;
    assert_eq!(f.send("b", "s").await, Signalled::Done(Status::Submitted));
}

pub async fn signals_beyond_their_bounds_are_refused(f: Fixture) {
    for bad in [vec![plain("s"), plain("s")], (0..17).map(|n| plain(&format!("s{n}"))).collect()] {
        assert!(matches!(f.try_submit(vec![gated("a", bad)], OnConflict::Fail).await, Err(Error::Invalid(_))));
    }
    let changed = |timeout| vec![gated("a", vec![within("s", timeout, OnTimeout::Abort)])];
    f.submit(changed(5)).await;
    assert!(matches!(f.try_submit(changed(6), OnConflict::Fail).await, Err(Error::Conflict { .. })), "another body");
}
