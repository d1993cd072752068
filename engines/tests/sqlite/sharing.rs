//! Several engines on one file, as several processes have them.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use jobbers_common::{
    engine::{
        Cancelled, ClaimRequest, Claims, Cycle, CycleReply, OnConflict, PutMode, QueueClaim, Queues, Settings,
        Settlement, Submit, Tasks, Waiting,
    },
    lifecycle::Status,
    queue::QueueConfig,
};
use jobbers_engines::{
    OpenOptions,
    sqlite::{SqliteEngine, StepCounter},
};
use jobbers_law::conformance::{DONE, LEASE, id, queue, task, worker};
use tempfile::TempDir;

use super::url;

/// Longer than anything here takes, and shorter than a test may hang.
const LONG: Duration = Duration::from_secs(20);

async fn two() -> (Arc<SqliteEngine>, Arc<SqliteEngine>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let url = url(&folder.path().join("store.db"));
    let one = SqliteEngine::open(&url, OpenOptions::default()).await.unwrap();
    let other = SqliteEngine::open(&url, OpenOptions::default()).await.unwrap();
    (Arc::new(one), Arc::new(other), folder)
}

async fn submit(engine: &SqliteEngine, ids: impl IntoIterator<Item = String>) {
    let tasks = ids.into_iter().map(|id| task(&id)).collect();
    engine.submit(Submit { tasks, on_conflict: OnConflict::Fail }).await.unwrap();
}

async fn cycle(engine: &SqliteEngine, name: &str, limit: usize, settlements: Vec<Settlement>) -> CycleReply {
    let queues = vec![QueueClaim { queue: queue("default"), limit }];
    let claim = Some(ClaimRequest { queues, limit, refused: Vec::new(), lease: LEASE });
    engine.cycle(Cycle { worker: worker(name), settlements, claim }).await.unwrap()
}

/// Waits as worker `w` does until it is notified; `false` if that takes too long. A wait may end early for
/// no reason, so it looks each time.
async fn hears(engine: &SqliteEngine, of: impl AsyncFn(&SqliteEngine) -> bool) -> bool {
    let hearing = async {
        while !of(engine).await {
            engine.wait(&worker("w"), LONG).await;
        }
    };
    tokio::time::timeout(LONG / 2, hearing).await.is_ok()
}

#[tokio::test]
async fn a_task_of_another_process_wakes_a_waiting_worker() {
    let (here, there, _folder) = two().await;
    let of_a_task = async |engine: &SqliteEngine| !cycle(engine, "w", 1, Vec::new()).await.claimed.is_empty();
    let (heard, ()) = tokio::join!(hears(&here, of_a_task), submit(&there, ["a".to_owned()]));
    assert!(heard);
}

#[tokio::test]
async fn a_cancel_of_another_process_wakes_the_worker_that_runs_the_task() {
    let (here, there, _folder) = two().await;
    submit(&here, ["a".to_owned()]).await;
    assert_eq!(cycle(&here, "w", 1, Vec::new()).await.claimed.len(), 1);
    let of_the_cancel = async |engine: &SqliteEngine| {
        let nothing = Cycle { worker: worker("w"), settlements: Vec::new(), claim: None };
        engine.cycle(nothing).await.unwrap().cancel_requested == [id("a")]
    };
    let a = [id("a")];
    let (heard, cancelled) = tokio::join!(hears(&here, of_the_cancel), there.cancel(&a));
    assert_eq!(cancelled.unwrap(), [Cancelled::Requested]);
    assert!(heard);
}

#[tokio::test]
async fn a_configuration_of_another_process_is_seen_at_once_and_wakes_workers() {
    let (here, there, _folder) = two().await;
    let version = here.config().await.unwrap().version;
    let of_it = async |engine: &SqliteEngine| cycle(engine, "w", 1, Vec::new()).await.config_version > version;
    let put = async {
        there.put_queue(QueueConfig::new(queue("mail")), PutMode::Create).await.unwrap();
        assert!(here.config().await.unwrap().queues.contains_key(&queue("mail")));
    };
    let (heard, ()) = tokio::join!(hears(&here, of_it), put);
    assert!(heard);
}

#[tokio::test]
async fn the_end_of_a_task_in_another_process_ends_its_awaiting() {
    let (here, there, _folder) = two().await;
    submit(&here, ["a".to_owned()]).await;
    let finish = async {
        let claimed = cycle(&there, "w", 1, Vec::new()).await.claimed.remove(0);
        let done = Settlement::new(claimed.id, claimed.fence, DONE);
        cycle(&there, "w", 1, vec![done]).await;
    };
    let a = id("a");
    let awaiting = tokio::time::timeout(LONG / 2, here.await_finished(&a, LONG));
    let (task, ()) = tokio::join!(awaiting, finish);
    assert_eq!(task.unwrap().unwrap().unwrap().status, Status::Completed);
}

#[tokio::test]
async fn the_ends_of_many_tasks_in_another_process_end_their_awaiting() {
    let (here, there, _folder) = two().await;
    submit(&here, (0..300).map(|n| format!("t{n}"))).await;
    let claimed = cycle(&there, "w", 300, Vec::new()).await.claimed;
    let awaiting = join_all(claimed.iter().map(|task| here.await_finished(&task.id, LONG)));
    let finish = async {
        for some in claimed.chunks(30) {
            let done = some.iter().map(|task| Settlement::new(task.id.clone(), task.fence, DONE)).collect();
            cycle(&there, "w", 1, done).await;
        }
    };
    let (tasks, ()) = tokio::time::timeout(LONG / 2, async { tokio::join!(awaiting, finish) }).await.unwrap();
    assert!(tasks.into_iter().all(|task| task.unwrap().unwrap().status == Status::Completed));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_the_work_and_each_task_is_claimed_once() {
    let (here, there, _folder) = two().await;
    let both = [&here, &there];
    join_all((0..20).map(|batch| submit(both[batch % 2], (0..25).map(move |n| format!("t{batch}-{n}"))))).await;
    let drain = async |engine: Arc<SqliteEngine>, name: &'static str| {
        let mut claimed = Vec::new();
        loop {
            let tasks = cycle(&engine, name, 7, Vec::new()).await.claimed;
            if tasks.is_empty() {
                return claimed;
            }
            claimed.extend(tasks.into_iter().map(|task| (task.id, task.fence)));
        }
    };
    let (mut all, others) = tokio::join!(drain(here, "w1"), drain(there, "w2"));
    all.extend(others);
    assert_eq!(all.len(), 500);
    let distinct = |count: usize| assert_eq!(count, 500);
    distinct(all.iter().map(|(id, _)| id).collect::<std::collections::HashSet<_>>().len());
    distinct(all.iter().map(|(_, fence)| fence).collect::<std::collections::HashSet<_>>().len());
}

#[tokio::test]
async fn a_process_that_only_reads_reads_the_configuration_once() {
    let (here, _there, folder) = two().await;
    for n in 0..300 {
        here.put_queue(QueueConfig::new(queue(&format!("q{n}"))), PutMode::Create).await.unwrap();
    }
    let counter = Arc::new(StepCounter::default());
    let options = OpenOptions { steps: Some(Arc::clone(&counter)), ..OpenOptions::default() };
    let reader = SqliteEngine::open(&url(&folder.path().join("store.db")), options).await.unwrap();
    let cost = async || {
        counter.reset();
        reader.queue_stats(&queue("q7")).await.unwrap();
        counter.most()
    };
    let (first, second) = (cost().await, cost().await);
    assert!(first > 5, "{first} hundred steps for the configuration of 300 queues");
    assert!(second < 2, "{second} hundred steps for one queue");
    here.put_queue(QueueConfig::new(queue("new")), PutMode::Create).await.unwrap();
    assert!(cost().await > 5 && cost().await < 2, "a change is seen");
    assert!(reader.config().await.unwrap().queues.contains_key(&queue("new")));
}
