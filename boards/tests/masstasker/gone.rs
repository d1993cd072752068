//! Callers that go away: what they waited for, or had nearly taken, is left to others.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use jobbers_boards::masstasker::{
    Settings,
    proto::{QueryRequest, Task},
};
use jobbers_common::{
    engine::{
        Result,
        boards::{
            BoardCount, Boards, Commit, CommitAnswer, GroupCount, ListTasks, Take, TakeAnswer, TaskPage,
            task::BoardTask,
        },
    },
    name::BoardName,
};
use prost::Message;
use tokio::sync::{Semaphore, watch};
use tonic::Code;

use crate::{
    server::{Server, asked, in_future, seconds, task},
    stores::Kind,
};

/// Boards that report who waits, and whose answers to takes can be held back.
#[derive(Debug)]
pub(crate) struct Watched {
    boards: Arc<dyn Boards>,
    waiting: watch::Sender<usize>,
    /// Takes whose answer is ready.
    taken: watch::Sender<usize>,
    /// How many answers to takes may pass.
    pass: Semaphore,
    commits: AtomicUsize,
    committed: watch::Sender<usize>,
}

impl Watched {
    /// Holds nothing back.
    pub(crate) fn new(boards: Arc<dyn Boards>) -> Arc<Self> {
        Self::holding(boards, Semaphore::MAX_PERMITS)
    }

    /// Lets so many answers to takes pass.
    fn holding(boards: Arc<dyn Boards>, pass: usize) -> Arc<Self> {
        Arc::new(Self {
            boards,
            waiting: watch::channel(0).0,
            taken: watch::channel(0).0,
            pass: Semaphore::new(pass),
            commits: AtomicUsize::new(0),
            committed: watch::channel(0).0,
        })
    }

    /// Returns when so many calls wait.
    pub(crate) async fn waiting(&self, calls: usize) {
        self.waiting.subscribe().wait_for(|now| *now == calls).await.unwrap();
    }
}

/// Counts a call that waits, until it is dropped.
struct Counted<'a>(&'a watch::Sender<usize>);

impl<'a> Counted<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|now| *now += 1);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|now| *now -= 1);
    }
}

#[async_trait]
impl Boards for Watched {
    async fn commit(&self, commit: Commit) -> Result<CommitAnswer> {
        let answer = self.boards.commit(commit).await;
        self.committed.send_replace(self.commits.fetch_add(1, Ordering::Relaxed) + 1);
        answer
    }

    async fn take(&self, take: Take) -> Result<TakeAnswer> {
        let answer = self.boards.take(take).await;
        if answer.as_ref().is_ok_and(|answer| answer.task.is_some()) {
            self.taken.send_modify(|now| *now += 1);
            self.pass.acquire().await.unwrap().forget();
        }
        answer
    }

    async fn wait(&self, board: &BoardName, group: &str, seen: u64, timeout: Duration) {
        let _counted = Counted::new(&self.waiting);
        self.boards.wait(board, group, seen, timeout).await;
    }

    async fn get(&self, board: &BoardName, revisions: &[u64]) -> Result<Vec<Option<BoardTask>>> {
        self.boards.get(board, revisions).await
    }

    async fn list(&self, list: ListTasks) -> Result<TaskPage> {
        self.boards.list(list).await
    }

    async fn groups(&self, board: &BoardName, after: Option<&str>, limit: usize) -> Result<Vec<GroupCount>> {
        self.boards.groups(board, after, limit).await
    }

    async fn boards(&self, after: Option<&BoardName>, limit: usize) -> Result<Vec<BoardCount>> {
        self.boards.boards(after, limit).await
    }
}

fn waiting(group: &str) -> QueryRequest {
    QueryRequest { wait: true, own_for: seconds(3_600), ..asked(group) }
}

/// Calls Query with a deadline that only the server keeps, unlike a client of `tonic`, and returns its code.
async fn query_until(server: &Server, request: QueryRequest, deadline: &str) -> Code {
    let address = server.address.strip_prefix("http://").unwrap();
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let io = hyper_util::rt::TokioIo::new(stream);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(hyper_util::rt::TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let message = request.encode_to_vec();
    let mut body = vec![0];
    body.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    body.extend(message);
    let request = hyper::Request::post(format!("{}/masstasker.MassTasker/Query", server.address))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("grpc-timeout", deadline)
        .body(http_body_util::Full::new(bytes::Bytes::from(body)))
        .unwrap();
    let response = sender.send_request(request).await.unwrap();
    Code::from_bytes(response.headers()["grpc-status"].as_bytes())
}

async fn a_cancelled_call_takes_nothing(kind: Kind) {
    let (boards, _store) = kind.open().await;
    let watched = Watched::new(boards);
    let server = Server::over(watched.clone(), Settings::default()).await;
    let mut api = server.client().await;
    api.create(vec![Task { not_before: Some(in_future(Duration::from_secs(3_600))), ..task("a") }]).await;
    let mut other = server.client().await;
    let call = tokio::spawn(async move { other.query(waiting("a")).await });
    watched.waiting(1).await;
    call.abort();
    watched.waiting(0).await;
    let ids = api.create(vec![task("a")]).await;
    assert_eq!(api.peek("a").await.unwrap().id, ids[0]);
}

async fn a_call_past_its_deadline_takes_nothing(kind: Kind) {
    let (boards, _store) = kind.open().await;
    let watched = Watched::new(boards);
    let server = Server::over(watched.clone(), Settings::default()).await;
    let mut api = server.client().await;
    api.create(vec![Task { not_before: Some(in_future(Duration::from_secs(3_600))), ..task("a") }]).await;
    assert_eq!(query_until(&server, waiting("a"), "200m").await, Code::DeadlineExceeded);
    watched.waiting(0).await;
    let ids = api.create(vec![task("a")]).await;
    assert_eq!(api.peek("a").await.unwrap().id, ids[0]);
}

async fn a_task_that_was_taken_for_a_caller_that_has_gone_is_put_back(kind: Kind) {
    let (boards, _store) = kind.open().await;
    let watched = Watched::holding(Arc::clone(&boards), 0);
    let server = Server::over(watched.clone(), Settings::default()).await;
    let mut api = server.client().await;
    let ids = api.create(vec![task("a")]).await;
    // The store leases the task, and its answer is held back until the deadline of the call is over.
    assert_eq!(query_until(&server, waiting("a"), "200m").await, Code::DeadlineExceeded);
    watched.taken.subscribe().wait_for(|taken| *taken == 1).await.unwrap();
    let mut committed = watched.committed.subscribe();
    watched.pass.add_permits(1);
    committed.wait_for(|commits| *commits == 2).await.unwrap();
    watched.pass.add_permits(1);
    let back = api.peek("a").await.unwrap();
    assert!(back.id > ids[0] + 1, "it has a new id after that of the lease: {back:?}");
    assert_eq!(api.count("a").await, 1);
}

async fn a_task_whose_answer_was_delivered_stays_taken(kind: Kind) {
    let (boards, _store) = kind.open().await;
    let watched = Watched::new(boards);
    let mut server = Server::over(watched.clone(), Settings::default()).await;
    let mut api = server.client().await;
    api.create(vec![task("a")]).await;
    let owned = api.own("a").await.unwrap();
    // The server has finished all it does for calls when it has stopped.
    server.shutdown.drain.cancel();
    drop(api);
    (&mut server.serving).await.unwrap();
    let revisions = [owned.id];
    let kept = watched.get(&jobbers_boards::masstasker::board(), &revisions).await.unwrap();
    assert!(kept[0].is_some(), "it was put back although it was delivered");
    assert_eq!(watched.commits.load(Ordering::Relaxed), 1);
}

on_every_store!(
    a_cancelled_call_takes_nothing,
    a_call_past_its_deadline_takes_nothing,
    a_task_that_was_taken_for_a_caller_that_has_gone_is_put_back,
    a_task_whose_answer_was_delivered_stays_taken,
);
