//! Bridges on the reference engine, which die, stall and meet clients that change their minds.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use jobbers_common::{
    engine::{
        ClaimRequest, Claims, Cycle, ListRequest, Outcome, PruneRequest, PruneScope, PutMode, QueueClaim, Queues,
        Result, Settlement, TaskFilter, Tasks, Upkeep,
        boards::{
            BoardCount, Boards, Commit, CommitAnswer, Create, GroupCount, ListTasks, Selection, Take, TakeAnswer,
            TaskPage, Update,
            task::{BoardTask, When},
        },
    },
    lifecycle::Status,
    name::{QueueName, TaskName, WorkerId},
    payload::Payload,
    queue::{QueueConfig, Retention},
    task::{NewTask, Task},
    time::{ManualClock, Timestamp},
};
use jobbers_law::model::ModelEngine;
use jobbers_process::shutdown::Shutdown;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::*;
use crate::config::bridges::{FrontBoard, PayloadForm};

const LEASE: Duration = Duration::from_secs(10);

/// A bridge from `work` to `replies` of TaskStore's board.
pub(super) fn settings() -> BridgeSettings {
    BridgeSettings {
        board: FrontBoard::TaskStore,
        group: "work".to_owned(),
        task: None,
        version: 1,
        queue: None,
        reply_group: Some("replies".to_owned()),
        failed_group: None,
        payload: PayloadForm::Json,
        lease: LEASE,
        max_in_flight: 1_000,
    }
}

/// A native task that completed with this result.
pub(super) async fn over(result: Option<Payload>) -> Box<Task> {
    let bench = Bench::new();
    let id = TaskId::new("bridge:taskstore:42").unwrap();
    let task = NewTask::new(id.clone(), TaskName::new("t").unwrap(), queue(), Payload::json(&b"{}"[..]));
    let batch = jobbers_common::engine::Submit { tasks: vec![task], on_conflict: Default::default() };
    bench.engine.submit(batch).await.unwrap();
    bench.work(Outcome::Completed { result }).await;
    Box::new(Tasks::get(&*bench.engine, &id).await.unwrap().unwrap())
}

fn queue() -> QueueName {
    QueueName::new("default").unwrap()
}

fn done() -> Outcome {
    Outcome::Completed { result: Some(Payload::json(&b"7"[..])) }
}

/// A store with a client, a worker, and a clock that is moved by hand.
struct Bench {
    clock: Arc<ManualClock>,
    engine: Arc<ModelEngine>,
    board: BoardName,
}

impl Bench {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_000_000)));
        let engine = Arc::new(ModelEngine::new(clock.clone()));
        Self { clock, engine, board: FrontBoard::TaskStore.board() }
    }

    fn bridge_with(&self, settings: BridgeSettings, boards: Option<Arc<dyn Boards>>) -> Bridge {
        let config = crate::Config::default();
        let mut app = App::new(&config, self.engine.clone(), String::new(), &Shutdown::new());
        app.boards = boards.unwrap_or(app.boards);
        Bridge::new(Arc::new(app), "b".to_owned(), settings)
    }

    fn bridge(&self) -> Bridge {
        self.bridge_with(settings(), None)
    }

    fn client(&self) -> Commit {
        Commit::new(self.board.clone(), 7)
    }

    async fn commit(&self, commit: Commit) -> Vec<u64> {
        match self.engine.commit(commit).await.unwrap() {
            CommitAnswer::Done(done) => done.created.iter().map(|placed| placed.revision).collect(),
            refused => panic!("{refused:?}"),
        }
    }

    /// The client's tasks, one per text.
    async fn post(&self, texts: &[&str]) -> Vec<u64> {
        let create = |text: &&str| Create {
            group: "work".to_owned(),
            at: When::NOW,
            content: Content { data: text.as_bytes().to_vec().into(), ..Content::default() },
        };
        self.commit(Commit { create: texts.iter().map(create).collect(), ..self.client() }).await
    }

    async fn group(&self, group: &str) -> Vec<BoardTask> {
        let (board, group) = (self.board.clone(), group.to_owned());
        let list = ListTasks { board, group, visible_only: false, after: None, limit: 1_000 };
        Boards::list(&*self.engine, list).await.unwrap().tasks
    }

    async fn replies(&self) -> Vec<Value> {
        let replies = self.group("replies").await;
        replies.iter().map(|reply| serde_json::from_slice(&reply.content.data).unwrap()).collect()
    }

    async fn native(&self) -> Vec<(String, Status)> {
        let list = ListRequest { filter: TaskFilter::default(), limit: 1_000, cursor: None };
        let page = Tasks::list(&*self.engine, list).await.unwrap();
        let mut tasks: Vec<_> = page.tasks.into_iter().map(|task| (task.id.to_string(), task.status)).collect();
        tasks.sort();
        tasks
    }

    /// Runs what is submitted. Returns how many that were.
    async fn work(&self, outcome: Outcome) -> usize {
        let worker = WorkerId::new("w").unwrap();
        let queues = vec![QueueClaim { queue: queue(), limit: 1_000 }];
        let claim = ClaimRequest { queues, refused: Vec::new(), limit: 1_000, lease: Duration::from_secs(3_600) };
        let cycle = Cycle { worker: worker.clone(), settlements: Vec::new(), claim: Some(claim) };
        let claimed = self.engine.cycle(cycle).await.unwrap().claimed;
        let settle =
            |task: &jobbers_common::task::ClaimedTask| Settlement::new(task.id.clone(), task.fence, outcome.clone());
        let settlements = claimed.iter().map(settle).collect();
        self.engine.cycle(Cycle { worker, settlements, claim: None }).await.unwrap();
        claimed.len()
    }

    /// Lets a bridge and a worker work until there are so many replies.
    async fn until_answered(&self, bridge: &mut Bridge, replies: usize) {
        while self.replies().await.len() < replies {
            while bridge.round().await.unwrap() {}
            self.work(done()).await;
            if self.replies().await.len() < replies {
                bridge.rest(true).await;
            }
        }
    }
}

/// Boards on which a process dies at one of its calls: before or after that is carried out.
#[derive(Debug)]
struct Deadly {
    inner: Arc<ModelEngine>,
    calls: AtomicUsize,
    at: usize,
    before: bool,
    died: Notify,
}

impl Deadly {
    async fn call<T>(&self, carried_out: impl Future<Output = Result<T>>) -> Result<T> {
        if self.calls.fetch_add(1, Ordering::SeqCst) != self.at {
            return carried_out.await;
        }
        if !self.before {
            carried_out.await.ok();
        }
        self.died.notify_one();
        std::future::pending().await
    }
}

#[async_trait]
impl Boards for Deadly {
    async fn commit(&self, commit: Commit) -> Result<CommitAnswer> {
        self.call(self.inner.commit(commit)).await
    }
    async fn take(&self, take: Take) -> Result<TakeAnswer> {
        self.call(self.inner.take(take)).await
    }
    async fn wait(&self, board: &BoardName, group: &str, seen: u64, timeout: Duration) {
        Boards::wait(&*self.inner, board, group, seen, timeout).await;
    }
    async fn get(&self, board: &BoardName, revisions: &[u64]) -> Result<Vec<Option<BoardTask>>> {
        Boards::get(&*self.inner, board, revisions).await
    }
    async fn list(&self, list: ListTasks) -> Result<TaskPage> {
        self.call(Boards::list(&*self.inner, list)).await
    }
    async fn groups(&self, board: &BoardName, after: Option<&str>, limit: usize) -> Result<Vec<GroupCount>> {
        Boards::groups(&*self.inner, board, after, limit).await
    }
    async fn boards(&self, after: Option<&BoardName>, limit: usize) -> Result<Vec<BoardCount>> {
        Boards::boards(&*self.inner, after, limit).await
    }
}

/// How many calls a bridge makes for one task: look, list, take, look, answer, look.
const CALLS: usize = 6;

#[tokio::test]
async fn a_bridge_that_dies_between_any_two_steps_answers_once() {
    for (at, before) in (0..CALLS).flat_map(|at| [(at, true), (at, false)]) {
        let bench = Bench::new();
        let [id] = bench.post(&["{}"]).await[..] else { panic!() };
        let (inner, calls) = (bench.engine.clone(), AtomicUsize::new(0));
        let deadly = Arc::new(Deadly { inner, calls, at, before, died: Notify::new() });
        let dying = tokio::spawn(bench.bridge_with(settings(), Some(deadly.clone())).run());
        let died = deadly.died.notified();
        tokio::pin!(died);
        // A worker goes on meanwhile.
        while futures_util::poll!(died.as_mut()).is_pending() {
            bench.work(done()).await;
            tokio::task::yield_now().await;
        }
        dying.abort();
        assert!(dying.await.unwrap_err().is_cancelled());
        bench.clock.advance(LEASE);
        let mut next = bench.bridge();
        bench.until_answered(&mut next, 1).await;
        while next.round().await.unwrap() {}
        let native = format!("bridge:taskstore:{id}");
        let expected = json!({"task": id, "jobbers_task": native, "status": "completed", "result": 7});
        assert_eq!(bench.replies().await, [expected], "call {at}, before: {before}");
        assert_eq!(bench.native().await, [(native, Status::Completed)], "call {at}, before: {before}");
        assert_eq!((bench.group("work").await, next.held.len()), (Vec::new(), 0));
    }
}

#[tokio::test]
async fn many_bridges_answer_each_task_once() {
    let bench = Bench::new();
    let posted = bench.post(&["{}"; 250]).await;
    let mut bridges = [bench.bridge(), bench.bridge(), bench.bridge()];
    while bench.replies().await.len() < posted.len() {
        let [a, b, c] = &mut bridges;
        let rounds = tokio::join!(a.round(), b.round(), c.round());
        assert!(rounds.0.is_ok() && rounds.1.is_ok() && rounds.2.is_ok());
        bench.work(done()).await;
        tokio::task::yield_now().await;
    }
    let mut answered: Vec<u64> = bench.replies().await.iter().map(|reply| reply["task"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, posted);
    assert_eq!(bench.native().await.len(), posted.len());
}

#[tokio::test]
async fn what_can_never_be_submitted_is_answered_at_once() {
    let bench = Bench::new();
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(300_000));
    let posted = bench.post(&["[]", &large, "{}"]).await;
    let mut bridge = bench.bridge();
    bench.until_answered(&mut bridge, 3).await;
    let replies = bench.replies().await;
    let of = |id: u64| replies.iter().find(|reply| reply["task"] == id).unwrap();
    let error = |message: &str| json!({"kind": "refused", "message": message});
    assert_eq!(of(posted[0])["error"], error("the data must be a JSON object"));
    assert_eq!(of(posted[1])["error"], error("parameters: at most 262144 bytes, not 300008"));
    assert_eq!(of(posted[2])["status"], "completed");
    assert_eq!(bench.native().await.len(), 1);
}

#[tokio::test]
async fn a_task_that_fails_goes_where_failures_go() {
    let bench = Bench::new();
    bench.post(&["{}"]).await;
    let mut bridge = bench.bridge_with(BridgeSettings { failed_group: Some("dead".to_owned()), ..settings() }, None);
    while bridge.round().await.unwrap() {}
    let kind = jobbers_common::task::FailureKind::Fatal;
    let failure = jobbers_common::task::AttemptFailure::new(kind, "no user 17");
    bench.work(Outcome::Failed { failure, dead_letter: false }).await;
    bridge.rest(true).await;
    bridge.round().await.unwrap();
    let [dead] = &bench.group("dead").await[..] else { panic!() };
    let expected = Content { data: "{}".into(), error: "fatal: no user 17".to_owned(), ..Content::default() };
    assert_eq!((&dead.content, bench.replies().await), (&expected, Vec::new()));
}

/// Makes a bridge renew at its next round.
fn make_due(bridge: &mut Bridge) {
    bridge.held.values_mut().for_each(|held| held.renew_at = Instant::now());
}

#[tokio::test]
async fn a_task_that_its_client_deletes_is_cancelled_and_not_answered() {
    let bench = Bench::new();
    bench.post(&["{}", "{}"]).await;
    let mut bridge = bench.bridge();
    while bridge.round().await.unwrap() {}
    let held = bench.group("work").await;
    let delete = vec![Selection::Revision(held[0].revision)];
    bench.commit(Commit { delete, ..bench.client() }).await;
    make_due(&mut bridge);
    bridge.round().await.unwrap();
    let cancelled = bench.native().await.into_iter().filter(|(_, status)| *status == Status::Cancelled).count();
    assert_eq!((cancelled, bridge.held.len()), (1, 1));
    bench.until_answered(&mut bridge, 1).await;
    assert_eq!((bench.replies().await.len(), bench.group("work").await.len()), (1, 0));
}

#[tokio::test]
async fn a_task_that_its_client_changes_is_another_request() {
    let bench = Bench::new();
    let [first] = bench.post(&["{}"]).await[..] else { panic!() };
    let mut dead = bench.bridge();
    while dead.round().await.unwrap() {}
    drop(dead);
    // The client takes it out of the bridge's hands, and puts it back.
    let which = Selection::Group("work".to_owned());
    let update = vec![Update { which, group: None, at: Some(When::NOW), content: None }];
    bench.commit(Commit { update, ..bench.client() }).await;
    let again = bench.group("work").await[0].revision;
    let mut bridge = bench.bridge();
    bench.until_answered(&mut bridge, 1).await;
    assert_eq!(bench.replies().await[0]["task"], again);
    let id = |revision: u64| format!("bridge:taskstore:{revision}");
    assert_eq!(bench.native().await, [(id(first), Status::Cancelled), (id(again), Status::Completed)]);
}

#[tokio::test]
async fn a_bridge_that_stalled_lets_go_of_what_another_has() {
    let bench = Bench::new();
    bench.post(&["{}"]).await;
    let (mut stalled, mut next) = (bench.bridge(), bench.bridge());
    while stalled.round().await.unwrap() {}
    bench.clock.advance(LEASE);
    while next.round().await.unwrap() {}
    make_due(&mut stalled);
    stalled.round().await.unwrap();
    assert_eq!((stalled.held.len(), next.held.len()), (0, 1));
    assert_eq!(bench.native().await[0].1, Status::Submitted, "not cancelled");
    bench.until_answered(&mut next, 1).await;
}

#[tokio::test]
async fn leases_are_renewed_while_native_tasks_run() {
    let bench = Bench::new();
    bench.post(&["{}"]).await;
    let (mut bridge, mut other) = (bench.bridge(), bench.bridge());
    while bridge.round().await.unwrap() {}
    for _ in 0..4 {
        bench.clock.advance(LEASE / 2);
        make_due(&mut bridge);
        bridge.round().await.unwrap();
        assert!(!other.round().await.unwrap() && other.held.is_empty());
    }
    bench.until_answered(&mut bridge, 1).await;
}

#[tokio::test]
async fn a_full_queue_leaves_tasks_in_their_places() {
    let bench = Bench::new();
    let full = QueueConfig { max_length: Some(2), ..QueueConfig::new(queue()) };
    bench.engine.put_queue(full, PutMode::Upsert).await.unwrap();
    let posted = bench.post(&["{}"; 5]).await;
    let before: Vec<BoardTime> = bench.group("work").await.iter().map(|task| task.at).collect();
    let mut bridge = bench.bridge();
    assert_eq!(bridge.round().await, Ok(false));
    assert!(bridge.pace.left().is_some() && bridge.held.len() == 2 && bench.native().await.len() == 2);
    let now = BoardTime::from(bench.engine.health().await.unwrap().now);
    let waiting: Vec<BoardTime> =
        bench.group("work").await.iter().map(|task| task.at).filter(|at| *at <= now).collect();
    assert_eq!(waiting, before[2..], "visible, at their places");
    while bench.replies().await.len() < posted.len() {
        bench.work(done()).await;
        bridge.rest(true).await;
        bridge.round().await.unwrap();
    }
    assert_eq!(bench.native().await.len(), posted.len());
}

#[tokio::test]
async fn tasks_wait_until_their_queue_exists() {
    let bench = Bench::new();
    bench.post(&["{}"]).await;
    let other = QueueName::new("other").unwrap();
    let mut bridge = bench.bridge_with(BridgeSettings { queue: Some(other.clone()), ..settings() }, None);
    assert_eq!(bridge.round().await, Ok(false));
    assert!(bridge.pace.left().is_some() && bridge.held.is_empty() && bench.replies().await.is_empty());
    bench.engine.create_queues(&[other]).await.unwrap();
    bridge.rest(true).await;
    while bridge.round().await.unwrap() {}
    assert_eq!(bench.native().await.len(), 1);
}

#[tokio::test]
async fn a_pruned_task_is_answered_without_its_result() {
    let bench = Bench::new();
    let [id] = bench.post(&["{}"]).await[..] else { panic!() };
    let mut dead = bench.bridge();
    while dead.round().await.unwrap() {}
    drop(dead);
    bench.work(done()).await;
    let retention = Retention { count: 0, ..Retention::default() };
    bench.engine.put_queue(QueueConfig { retention, ..QueueConfig::new(queue()) }, PutMode::Upsert).await.unwrap();
    let prune = PruneRequest { scope: PruneScope::Retention, limit: 10, dry_run: false, cursor: None };
    assert_eq!(bench.engine.prune(prune).await.unwrap().removed, 1);
    bench.clock.advance(LEASE);
    let mut bridge = bench.bridge();
    bench.until_answered(&mut bridge, 1).await;
    let native = format!("bridge:taskstore:{id}");
    let expected = json!({"task": id, "jobbers_task": native, "status": "completed", "result_gone": true});
    assert_eq!((bench.replies().await, bench.native().await), (vec![expected], Vec::new()));
}

#[tokio::test]
async fn a_bridge_that_stops_leaves_its_tasks_to_others_at_once() {
    let bench = Bench::new();
    bench.post(&["{}"; 3]).await;
    let mut stopping = bench.bridge();
    while stopping.round().await.unwrap() {}
    bench.work(done()).await;
    bench.post(&["{}"]).await;
    while stopping.round().await.unwrap() {}
    stopping.leave().await;
    let mut next = bench.bridge();
    while next.round().await.unwrap() {}
    bench.until_answered(&mut next, 4).await;
    assert_eq!((bench.replies().await.len(), bench.native().await.len()), (4, 4));
}
