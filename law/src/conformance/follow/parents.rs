//! Results of predecessors, which a task holds until it is over.

use jobbers_common::{
    dependency::{Dependency, DependencyPolicy},
    engine::{
        Error, OnConflict, Outcome, Parent, Parents, ParentsRequest, PruneRequest, PruneScope, PutMode, Resubmit,
        Resubmitted, TaskFilter, dependencies::NewDependency,
    },
    lifecycle::Status,
    limits::SIGNALS_A_STEP,
    payload::Payload,
    queue::{QueueConfig, Retention},
    task::{ClaimedTask, NewTask, Start},
};

use crate::conformance::{
    DONE, Fixture, audit::assert_sound, dependencies::after, failed, id, queue, seconds, task, task_in,
};

fn result(text: &str) -> Payload {
    Payload::json(format!("{text:?}"))
}

fn with(text: &str) -> Outcome {
    Outcome::Completed { result: Some(result(text)) }
}

/// A predecessor that completed with a result.
fn completed(text: &str, with: &str) -> Parent {
    Parent { id: id(text), status: Some(Status::Completed), result: Some(result(with)) }
}

fn without_result(text: &str, status: Option<Status>) -> Parent {
    Parent { id: id(text), status, result: None }
}

/// A task that runs however the others end.
fn after_any(text: &str, on: &[&str]) -> NewTask {
    let edge = |on: &&str| Dependency { on: id(on), policy: DependencyPolicy::RunWithFailures };
    NewTask { depends_on: on.iter().map(edge).collect(), ..task(text) }
}

impl Fixture {
    async fn parents(&self, of: &str) -> Parents {
        self.engine.parents(ParentsRequest::all(id(of), 1_000, usize::MAX >> 1)).await.unwrap()
    }

    /// Claims the next task, and completes it with a result.
    async fn complete(&self, text: &str) {
        let claimed = self.claim_one().await;
        assert_eq!(claimed.id, id(text));
        self.settle(&claimed, with(text)).await;
    }

    async fn prune_all(&self) -> u64 {
        let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
        let request = PruneRequest { scope, limit: 1_000, dry_run: false, cursor: None };
        self.engine.prune(request).await.unwrap().removed
    }
}

pub async fn a_task_reads_how_its_predecessors_ended(f: Fixture) {
    f.submit_ids(&["a", "b", "c"]).await;
    f.submit(vec![after_any("z", &["c", "a", "b"])]).await;
    let live = |text| without_result(text, Some(Status::Submitted));
    assert_eq!(f.parents("z").await, Parents { total: 3, parents: vec![live("c"), live("a"), live("b")] });
    f.complete("a").await;
    let b = f.claim_one().await;
    f.settle(&b, failed(false)).await;
    let c = f.claim_one().await;
    f.settle(&c, DONE).await;
    let expected = vec![
        without_result("c", Some(Status::Completed)),
        completed("a", "a"),
        without_result("b", Some(Status::Failed)),
    ];
    assert_eq!(f.parents("z").await.parents, expected);
    f.claim_one().await;
    assert_eq!(f.parents("z").await.parents, expected, "while it runs too");
    assert_eq!((f.parents("a").await, f.parents("nothing").await), (Parents::default(), Parents::default()));
}

pub async fn a_predecessor_that_is_added_later_is_shown_and_held(f: Fixture) {
    let after_a =
        |run: &str, on: &str| NewDependency { run: id(run), after: id(on), policy: DependencyPolicy::RunWithFailures };
    f.submit_ids(&["a", "b"]).await;
    f.submit(vec![after("z", &["b"]), NewTask { start: Start::After(seconds(60)), ..task("late") }]).await;
    f.submit_ids(&["y"]).await;
    let added = [after_a("z", "a"), after_a("y", "a"), after_a("y", "late")];
    assert_eq!(f.engine.add_dependencies(&added).await, Ok(vec![true; 3]));
    let ids = |parents: Parents| parents.parents.into_iter().map(|parent| parent.id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(f.parents("z").await), ["b", "a"]);
    assert_eq!(ids(f.parents("y").await), ["a", "late"]);
    f.complete("a").await;
    assert_eq!(f.prune_all().await, 1);
    assert_eq!(f.parents("y").await.parents[0], completed("a", "a"), "its result is kept");
    assert_sound(&f, 50, false).await;
    // Those of an earlier life of a task are forgotten when it waits again.
    f.engine.cancel(&[id("y")]).await.unwrap();
    assert_eq!(f.engine.resubmit(vec![Resubmit::of_store(id("y"))]).await.unwrap(), [Resubmitted::Done]);
    assert_eq!(f.engine.add_dependencies(&[after_a("y", "late")]).await, Ok(vec![true]));
    assert_eq!(ids(f.parents("y").await), ["late"]);
    assert_sound(&f, 50, false).await;
    f.complete("b").await;
    f.complete("z").await;
    f.advance(seconds(61));
    f.complete("late").await;
    f.complete("y").await;
    assert_sound(&f, 50, false).await;
}

pub async fn a_result_outlives_its_task_until_its_successor_is_over(f: Fixture) {
    f.submit(vec![task("a"), after("b", &["a"]), after("c", &["b"])]).await;
    f.complete("a").await;
    let config = QueueConfig::new(queue("default"));
    let config = QueueConfig { retention: Retention { count: 0, ..config.retention }, ..config };
    f.engine.put_queue(config, PutMode::Upsert).await.unwrap();
    let request = PruneRequest { scope: PruneScope::Retention, limit: 10, dry_run: false, cursor: None };
    f.engine.prune(request).await.unwrap();
    assert_eq!(f.engine.get(&id("a")).await.unwrap(), None);
    let b = f.claim_one().await;
    assert_eq!(f.parents("b").await, Parents { total: 1, parents: vec![completed("a", "a")] });
    f.advance(seconds(1));
    f.settle(&b, Outcome::Released { delay: seconds(0) }).await;
    assert_eq!(f.parents("b").await.parents, [completed("a", "a")], "a release is no end");
    let b = f.claim_one().await;
    f.settle(&b, with("b")).await;
    assert_eq!(f.parents("b").await.parents, [without_result("a", None)]);
    assert_eq!(f.parents("c").await.parents, [completed("b", "b")]);
}

pub async fn a_predecessor_that_was_over_is_held_too(f: Fixture) {
    f.submit_ids(&["a"]).await;
    f.complete("a").await;
    f.submit(vec![after("b", &["a"])]).await;
    assert_eq!(f.prune_all().await, 1);
    assert_eq!(f.parents("b").await.parents, [completed("a", "a")]);
    f.complete("b").await;
    assert_eq!(f.parents("b").await.parents, [without_result("a", None)]);
}

pub async fn a_result_is_kept_for_the_last_that_holds_it(f: Fixture) {
    f.create_queue("mail").await;
    let of_mail = |text: &str| NewTask { depends_on: after("x", &["a"]).depends_on, ..task_in(text, "mail") };
    f.submit(vec![task("a"), after("b", &["a"]), after("c", &["a"]), after("d", &["a"]), of_mail("e")]).await;
    f.complete("a").await;
    f.prune_all().await;
    let held = [completed("a", "a")];
    f.complete("b").await;
    assert_eq!(f.parents("c").await.parents, held);
    f.engine.cancel(&[id("c")]).await.unwrap();
    assert_eq!(f.parents("d").await.parents, held);
    f.try_submit(vec![NewTask { version: 2, ..task("d") }], OnConflict::Replace).await.unwrap();
    assert_eq!((f.parents("d").await, f.parents("e").await.parents), (Parents::default(), held.to_vec()));
    assert_eq!(f.engine.purge_queue(&queue("mail"), 10).await, Ok(1));
    f.submit_ids(&["a"]).await;
    f.submit(vec![after("g", &["a"])]).await;
    let live = without_result("a", Some(Status::Submitted));
    assert_eq!(f.parents("g").await.parents, [live], "nothing is left of its earlier life");
}

pub async fn one_predecessor_is_read_by_its_id(f: Fixture) {
    f.submit(vec![task("a"), task("b"), task("x"), after("c", &["a", "b"])]).await;
    f.complete("a").await;
    f.complete("b").await;
    let of_c = |parent: &str| f.engine.parents(ParentsRequest::one(id("c"), id(parent)));
    assert_eq!(of_c("b").await.unwrap(), Parents { total: 2, parents: vec![completed("b", "b")] });
    assert_eq!(of_c("x").await.unwrap(), Parents { total: 2, parents: vec![] });
}

pub async fn a_page_of_predecessors_is_bounded(f: Fixture) {
    let names: Vec<String> = (0..6).map(|n| format!("p{n}")).collect();
    f.submit(names.iter().map(|name| task(name)).collect()).await;
    f.submit(vec![after("z", &names.iter().map(String::as_str).collect::<Vec<_>>())]).await;
    for name in &names {
        f.complete(name).await;
    }
    // Each result is four bytes: two letters in quotes.
    for (from, limit, max_bytes, found) in
        [(0, 2, 100, 0..2), (2, 1_000, 8, 2..4), (4, 10, 11, 4..6), (1, 10, 0, 1..2), (5, 1, 3, 5..6), (6, 1, 1, 6..6)]
    {
        let request = ParentsRequest { of: id("z"), only: None, from, limit, max_bytes };
        let Parents { total, parents } = f.engine.parents(request).await.unwrap();
        let expected: Vec<Parent> = names[found].iter().map(|name| completed(name, name)).collect();
        assert_eq!((total, parents), (6, expected), "{from} {limit} {max_bytes}");
    }
    for limit in [0, 1_001] {
        let request = ParentsRequest { of: id("z"), only: None, from: 0, limit, max_bytes: 1 };
        assert!(matches!(f.engine.parents(request).await, Err(Error::Invalid(_))));
    }
}

pub async fn many_predecessors_are_let_go_in_pieces(f: Fixture) {
    let names: Vec<String> = (0..900).map(|n| format!("p{n:03}")).collect();
    let on: Vec<&str> = names.iter().map(String::as_str).collect();
    f.submit(names.iter().map(|name| task(name)).collect()).await;
    f.submit(["x", "y", "z"].map(|text| after(text, &on)).to_vec()).await;
    let claimed: Vec<ClaimedTask> = f.claim(1_000).await;
    let done =
        |task: &ClaimedTask| crate::conformance::Settlement::new(task.id.clone(), task.fence, with(task.id.as_str()));
    f.cycle_as("w1", &["default"], 0, claimed.iter().map(done).collect()).await;
    // What earlier steps left of the signals.
    for _ in 0..(3 * names.len()).div_ceil(SIGNALS_A_STEP) {
        f.engine.promote_due(10).await.unwrap();
    }
    assert_eq!(f.prune_all().await, 900);
    let last = f.claim(10).await;
    assert_eq!(crate::conformance::ids(&last), ["x", "y", "z"]);
    let held = f.parents("z").await;
    assert_eq!((held.total, &held.parents[899]), (900, &completed("p899", "p899")));
    f.cycle_as("w1", &["default"], 0, last.iter().map(done).collect()).await;
    for _ in 0..3 {
        f.engine.promote_due(10).await.unwrap();
    }
    let gone = f.parents("z").await.parents;
    assert!(gone.iter().all(|parent| *parent == without_result(parent.id.as_str(), None)), "{:?}", gone.first());
}
