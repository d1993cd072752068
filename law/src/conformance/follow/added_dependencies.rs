//! Edges that are added between stored tasks.

use std::{collections::BTreeSet, sync::Arc};

use jobbers_common::{
    dependency::{Dependencies, DependencyPolicy},
    engine::{
        Error, OnConflict, PruneRequest, PruneScope, PutMode, Resubmit, Resubmitted, Settlement, TaskFilter,
        dependencies::{AddRefusal, NewDependency},
    },
    lifecycle::Status,
    limits::{MAX_ADDED_DEPENDENCIES, MAX_BATCH, MAX_DEPENDENCIES, MAX_EDGES_CHECKED},
    queue::{QueueConfig, gate::ConcurrencyKey},
    task::{
        ClaimedTask, NewTask, Start,
        unique::{Unique, UniqueKey},
    },
};

use crate::conformance::{
    DONE, Fixture, LEASE,
    audit::assert_sound,
    dependencies::{after, edge},
    failed, id, ids, queue, seconds, task, task_in,
};

use DependencyPolicy::{AbortSuccessors, RunOnError, RunWithFailures};

fn by(run: &str, after: &str, policy: DependencyPolicy) -> NewDependency {
    NewDependency { run: id(run), after: id(after), policy }
}

fn new(run: &str, after: &str) -> NewDependency {
    by(run, after, AbortSuccessors)
}

impl Fixture {
    async fn add(&self, edges: &[NewDependency]) -> Result<Vec<bool>, Error> {
        self.engine.add_dependencies(edges).await
    }

    /// Adds edges that must be refused, and returns for which and why.
    async fn refuse(&self, edges: &[NewDependency]) -> (String, AddRefusal) {
        match self.add(edges).await {
            Err(Error::DependencyRefused(it)) => (format!("{} after {}", it.run, it.after), it.why),
            other => panic!("{edges:?}: {other:?}"),
        }
    }

    async fn counts(&self, text: &str) -> (u32, u32, Vec<String>) {
        let Dependencies { total, signals, waits_for, .. } = *self.get(text).await.dependencies.unwrap();
        (total, signals, waits_for.into_iter().map(|edge| edge.on.to_string()).collect())
    }

    /// Runs tasks one by one, which must come in this order.
    async fn run_in_order(&self, expected: &[&str]) {
        for text in expected {
            let claimed = self.claim_one().await;
            assert_eq!(claimed.id, id(text));
            self.settle(&claimed, DONE).await;
        }
        assert_eq!(self.claim(1).await, []);
    }
}

fn words(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

pub async fn a_ready_task_with_a_new_edge_waits_again(f: Fixture) {
    f.submit_ids(&["a", "b", "c"]).await;
    let before = f.get("a").await;
    f.advance(seconds(1));
    assert_eq!(f.add(&[new("a", "c"), new("a", "b")]).await, Ok(vec![true, true]));
    let waiting = f.get("a").await;
    assert!(waiting.revision > before.revision);
    assert_eq!((waiting.status, waiting.ready_at), (Status::Waiting, before.ready_at));
    assert_eq!(f.counts("a").await, (2, 0, words(&["b", "c"])));
    assert_sound(&f, 7, false).await;
    f.run_in_order(&["b", "c", "a"]).await;
    assert_eq!(f.counts("a").await, (2, 2, vec![]));
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_waiting_task_waits_for_the_new_edge_too(f: Fixture) {
    f.submit(vec![task("a"), task("b"), after("z", &["a"])]).await;
    let position = f.get("z").await.revision;
    assert_eq!(f.add(&[new("z", "b"), new("z", "a")]).await, Ok(vec![true, false]));
    assert_eq!(f.add(&[new("z", "b")]).await, Ok(vec![false]), "an edge that exists stays");
    assert_eq!((f.get("z").await.revision, f.counts("z").await), (position, (2, 0, words(&["a", "b"]))));
    let claimed = f.claim(2).await;
    f.settle(&claimed[0], DONE).await;
    assert_eq!((f.status("z").await, f.counts("z").await), (Status::Waiting, (2, 1, words(&["b"]))));
    f.settle(&claimed[1], DONE).await;
    f.run_in_order(&["z"]).await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_scheduled_task_keeps_its_time(f: Fixture) {
    let later = |text: &str| NewTask { start: Start::After(seconds(10)), ..task(text) };
    f.submit(vec![task("a"), later("early"), later("late")]).await;
    let due = f.get("early").await.ready_at;
    assert_eq!(f.add(&[new("early", "a"), new("late", "a")]).await, Ok(vec![true, true]));
    assert_eq!((f.status("early").await, f.get("early").await.ready_at), (Status::Waiting, due));
    assert_sound(&f, 7, false).await;
    f.run_in_order(&["a"]).await;
    assert_eq!((f.status("early").await, f.get("early").await.ready_at), (Status::Scheduled, due));
    f.advance(seconds(10));
    f.run_in_order(&["early", "late"]).await;
    assert_sound(&f, 7, false).await;
}

pub async fn one_edge_that_can_t_be_added_refuses_all(f: Fixture) {
    let unique = Unique::new(UniqueKey::new("k").unwrap());
    let over = NewTask { id_is_chosen: true, ..task("over") };
    f.submit(vec![over, task("running"), task("a"), task("b"), after("w", &["a"])]).await;
    f.submit(vec![NewTask { unique: Some(Box::new(unique)), ..task("unique") }]).await;
    let claimed = f.claim(2).await;
    f.settle(&claimed[0], DONE).await;
    for (bad, why) in [
        (new("ghost", "a"), AddRefusal::UnknownRun),
        (new("running", "a"), AddRefusal::RunStarted(Status::Started)),
        (new("over", "a"), AddRefusal::RunStarted(Status::Completed)),
        (new("unique", "a"), AddRefusal::RunIsUnique),
        (new("b", "ghost"), AddRefusal::UnknownAfter),
        (new("b", "over"), AddRefusal::AfterOver(Status::Completed)),
        (by("w", "a", RunOnError), AddRefusal::OtherPolicy(AbortSuccessors)),
    ] {
        let named = format!("{} after {}", bad.run, bad.after);
        assert_eq!(f.refuse(&[new("b", "a"), bad]).await, (named, why));
        assert_eq!((f.status("b").await, f.get("b").await.dependencies), (Status::Submitted, None));
    }
    for bad in [vec![], vec![new("b", "a"), by("b", "a", RunOnError)]] {
        assert!(matches!(f.add(&bad).await, Err(Error::Invalid(_))), "{bad:?}");
    }
    // A running task may be waited for, and a pruned one is known by its end.
    assert_eq!(f.add(&[new("b", "running")]).await, Ok(vec![true]));
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    f.engine.prune(PruneRequest { scope, limit: 100, dry_run: false, cursor: None }).await.unwrap();
    assert_eq!(f.refuse(&[new("b", "over")]).await.1, AddRefusal::AfterOver(Status::Completed));
    f.settle(&claimed[1], DONE).await;
    assert_eq!(f.status("b").await, Status::Submitted);
    assert_sound(&f, 7, false).await;
}

pub async fn a_task_has_no_more_edges_than_it_may(f: Fixture) {
    let names: Vec<String> = (0..MAX_DEPENDENCIES).map(|n| format!("p{n:04}")).collect();
    for names in names.chunks(MAX_BATCH) {
        f.submit(names.iter().map(|name| task(name)).collect()).await;
    }
    let (of_submission, rest) = names.split_at(MAX_DEPENDENCIES - 2 * MAX_ADDED_DEPENDENCIES);
    f.submit_ids(&["more"]).await;
    f.submit(vec![after("z", &of_submission.iter().map(String::as_str).collect::<Vec<_>>())]).await;
    for piece in rest.chunks(MAX_ADDED_DEPENDENCIES) {
        let edges: Vec<_> = piece.iter().map(|name| new("z", name)).collect();
        assert_eq!(f.add(&edges).await, Ok(vec![true; edges.len()]));
        assert_eq!(f.add(&edges).await, Ok(vec![false; edges.len()]), "they are there");
    }
    assert_eq!(f.refuse(&[new("z", "more")]).await, ("z after more".to_owned(), AddRefusal::TooMany));
    assert_sound(&f, 500, false).await;
    let many: Vec<_> = names[..=MAX_ADDED_DEPENDENCIES].iter().map(|name| new("more", name)).collect();
    assert!(matches!(f.add(&many).await, Err(Error::Invalid(_))));
}

/// A circle whose tasks wait each for the one before.
async fn assert_circle(f: &Fixture, edges: &[NewDependency], of: usize) {
    let (_, why) = f.refuse(edges).await;
    let AddRefusal::Circle(way) = why else { panic!("{why:?}") };
    let distinct: BTreeSet<_> = way.iter().collect();
    assert_eq!((way.len(), way.first(), distinct.len()), (of + 1, way.last(), of), "{way:?}");
    for pair in way.windows(2) {
        let is_new = edges.iter().any(|edge| edge.after == pair[0] && edge.run == pair[1]);
        let waits_for = f.get(pair[1].as_str()).await.dependencies.map(|it| it.waits_for).unwrap_or_default();
        assert!(is_new || waits_for.iter().any(|edge| edge.on == pair[0]), "{pair:?} of {way:?}");
    }
}

pub async fn a_circle_is_refused_and_named(f: Fixture) {
    f.submit(vec![task("a"), after("b", &["a"]), after("c", &["b"]), task("x"), task("y"), task("free")]).await;
    assert_eq!(f.refuse(&[new("a", "a")]).await.1, AddRefusal::Circle(vec![id("a"), id("a")]));
    assert_circle(&f, &[new("a", "b")], 2).await;
    assert_circle(&f, &[new("free", "x"), new("a", "c")], 3).await;
    assert_circle(&f, &[new("x", "y"), new("y", "x")], 2).await;
    assert_circle(&f, &[new("x", "c"), new("y", "x"), new("a", "y")], 5).await;
    assert_eq!((f.status("a").await, f.status("free").await), (Status::Submitted, Status::Submitted));
    // Ways that meet again are no circle. What has ended leads nowhere.
    assert_eq!(f.add(&[new("c", "a"), new("c", "x"), new("b", "x")]).await, Ok(vec![true; 3]));
    f.run_in_order(&["a", "x", "y", "free", "b", "c"]).await;
    assert_sound(&f, 7, false).await;
}

/// A chain of tasks, each after the one before it.
async fn submit_chain(f: &Fixture, prefix: &str, length: usize) {
    let name = |n: usize| format!("{prefix}{n:05}");
    let tasks: Vec<NewTask> =
        (0..length).map(|n| if n == 0 { task(&name(0)) } else { after(&name(n), &[&name(n - 1)]) }).collect();
    for piece in tasks.chunks(1_000) {
        f.submit(piece.to_vec()).await;
    }
}

pub async fn a_long_circle_is_found_or_the_check_is_refused(f: Fixture) {
    let last = |prefix: &str, length: usize| format!("{prefix}{:05}", length - 1);
    submit_chain(&f, "s", MAX_EDGES_CHECKED).await;
    assert_circle(&f, &[new("s00000", &last("s", MAX_EDGES_CHECKED))], MAX_EDGES_CHECKED).await;
    let long = 2 * MAX_EDGES_CHECKED;
    submit_chain(&f, "a", long).await;
    submit_chain(&f, "b", long).await;
    let refused = f.refuse(&[new("a00000", &last("b", long))]).await;
    assert_eq!(refused, (format!("a00000 after {}", last("b", long)), AddRefusal::TooManyToCheck));
    assert_eq!(f.status("a00000").await, Status::Submitted);
    // From one of its ends, the graph may have any size.
    f.submit_ids(&["free"]).await;
    assert_eq!(f.add(&[new("free", &last("b", long))]).await, Ok(vec![true]));
    assert_eq!(f.add(&[new("a00000", "b00000")]).await, Ok(vec![true]));
    assert_eq!(f.status("a00000").await, Status::Waiting);
}

pub async fn two_callers_do_not_close_a_circle_together(f: Fixture) {
    for round in 0..30 {
        let [a, b, c] = ["a", "b", "c"].map(|name| format!("{name}{round:02}"));
        f.submit(vec![task(&a), task(&b), after(&c, &[&b])]).await;
        let add = |run: String, after: String| {
            let engine = Arc::clone(&f.engine);
            tokio::spawn(async move { engine.add_dependencies(&[new(&run, &after)]).await })
        };
        let (one, other) = (add(a.clone(), c.clone()), add(b.clone(), a.clone()));
        let answers = [one.await.unwrap(), other.await.unwrap()];
        let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).map(Error::kind).collect();
        assert_eq!(refused, ["circular_dependency"], "one of them goes in: {answers:?}");
    }
    let mut ran = 0;
    loop {
        let claimed = f.claim(50).await;
        if claimed.is_empty() {
            break;
        }
        ran += claimed.len();
        f.cycle_as("w1", &["default"], 0, claimed.iter().map(done).collect()).await;
    }
    assert_eq!((ran, f.count(Status::Waiting).await), (90, 0));
    assert_sound(&f, 50, false).await;
}

fn done(task: &ClaimedTask) -> Settlement {
    Settlement::new(task.id.clone(), task.fence, DONE)
}

pub async fn a_new_edge_goes_by_its_policy(f: Fixture) {
    f.submit_ids(&["a", "b", "c", "d"]).await;
    let edges = [new("b", "a"), by("c", "a", RunOnError), by("d", "a", RunWithFailures), by("d", "b", RunWithFailures)];
    assert_eq!(f.add(&edges).await, Ok(vec![true; 4]));
    let claimed = f.claim_one().await;
    f.settle(&claimed, failed(false)).await;
    let statuses = [f.status("b").await, f.status("c").await, f.status("d").await];
    assert_eq!(statuses, [Status::Aborted, Status::Submitted, Status::Submitted]);
    assert_eq!(f.get("b").await.dependencies.unwrap().aborted_by.unwrap().id, id("a"));
    f.run_in_order(&["c", "d"]).await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_task_that_is_set_aside_may_wait_and_comes_back(f: Fixture) {
    let limited = QueueConfig { max_concurrent_per_key: Some(1), ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(limited, PutMode::Upsert).await.unwrap();
    let keyed = |text: &str| NewTask { concurrency_key: Some(ConcurrencyKey::new("k").unwrap()), ..task(text) };
    f.submit(vec![keyed("a"), keyed("b"), task("c")]).await;
    let claimed = f.claim(3).await;
    assert_eq!(ids(&claimed), ["a", "c"], "b is set aside");
    assert_eq!(f.add(&[new("b", "c")]).await, Ok(vec![true]));
    assert_sound(&f, 7, false).await;
    f.settle(&claimed[0], DONE).await;
    assert_eq!(f.claim(3).await, []);
    f.settle(&claimed[1], DONE).await;
    f.run_in_order(&["b"]).await;
    // A suspect comes back as one.
    f.submit_ids(&["s1", "s2", "free"]).await;
    for _ in 0..2 {
        f.claim(2).await;
        f.advance(LEASE);
        f.engine.reclaim_expired(10).await.unwrap();
    }
    assert_eq!(f.add(&[new("s1", "free")]).await, Ok(vec![true]));
    let free = f.claim(3).await.into_iter().find(|it| it.id == id("free")).unwrap();
    assert_sound(&f, 7, false).await;
    f.settle(&free, DONE).await;
    let back = f.get("s1").await;
    assert_eq!((back.status, back.crashes, back.suspicion.losses()), (Status::Submitted, 2, 2));
    assert_sound(&f, 7, false).await;
    let again = f.cycle_as("w2", &["default"], 3, Vec::new()).await.claimed;
    assert_eq!(ids(&again), ["s1"]);
    f.assert_conserved().await;
}

pub async fn a_task_sent_again_waits_for_what_is_added_alone(f: Fixture) {
    f.submit(vec![task("a"), task("b"), task("c"), after("z", &["a", "b", "c"])]).await;
    let claimed = f.claim(3).await;
    f.settle(&claimed[0], failed(false)).await;
    assert_eq!(f.status("z").await, Status::Aborted);
    assert_eq!(f.engine.resubmit(vec![Resubmit::of_store(id("z"))]).await.unwrap(), [Resubmitted::Done]);
    assert_eq!(f.add(&[new("z", "b")]).await, Ok(vec![true]));
    assert_eq!(f.counts("z").await, (2, 1, words(&["b"])));
    f.settle(&claimed[2], DONE).await;
    assert_eq!(f.status("z").await, Status::Waiting);
    assert_sound(&f, 7, false).await;
    f.settle(&claimed[1], DONE).await;
    assert_eq!((f.status("z").await, f.counts("z").await), (Status::Submitted, (2, 2, vec![])));
    assert_sound(&f, 7, false).await;
}

pub async fn an_end_that_is_still_to_be_signalled_is_not_that_of_a_new_edge(f: Fixture) {
    const WIDTH: usize = 400;
    f.submit_ids(&["a", "z"]).await;
    let wide: Vec<NewTask> = (0..WIDTH)
        .map(|n| NewTask { depends_on: vec![edge("a", RunWithFailures)], ..task_in(&format!("s{n:03}"), "default") })
        .collect();
    f.submit(wide).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, failed(false)).await;
    assert_eq!(f.engine.resubmit(vec![Resubmit::of_store(id("a"))]).await.unwrap(), [Resubmitted::Done]);
    assert_eq!(f.add(&[new("z", "a")]).await, Ok(vec![true]));
    for _ in 0..3 {
        f.engine.promote_due(1_000).await.unwrap();
    }
    assert_eq!((f.count(Status::Waiting).await, f.status("z").await), (1, Status::Waiting));
    assert_sound(&f, 100, false).await;
}

pub async fn a_task_with_a_new_edge_can_be_cancelled_replaced_and_purged(f: Fixture) {
    f.submit_ids(&["a", "b", "c", "d"]).await;
    assert_eq!(f.add(&[new("b", "a"), new("c", "a"), new("d", "a")]).await, Ok(vec![true; 3]));
    f.engine.cancel(&[id("b")]).await.unwrap();
    f.try_submit(vec![NewTask { version: 2, ..task("c") }], OnConflict::Replace).await.unwrap();
    assert_eq!((f.status("b").await, f.status("c").await), (Status::Cancelled, Status::Submitted));
    assert_sound(&f, 7, false).await;
    assert_eq!(f.engine.purge_queue(&queue("default"), 10).await, Ok(3));
    f.submit_ids(&["d"]).await;
    f.run_in_order(&["d"]).await;
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}
