//! A server of one test's own, and a client with short words for its calls.

use std::{any::Any, collections::BTreeMap, sync::Arc, time::Duration};

use jobbers_boards::masstasker::{
    Settings,
    proto::{
        BulkSetRequest, DebugRequest, DebugResponse, LabelSelector, QueryRequest, Task, TaskRef, Test, UpdateRequest,
        mass_tasker_client::MassTaskerClient, task_ref::Sel,
    },
    serve,
};
use jobbers_common::engine::boards::Boards;
use jobbers_process::shutdown::Shutdown;
use prost::Message;
use prost_types::{Any as Payload, Timestamp};
use tokio::{net::TcpListener, task::JoinHandle};
use tonic::{Code, Status, transport::Channel};

use crate::stores::Kind;

/// A client that has connected.
pub(crate) type Client = MassTaskerClient<Channel>;

/// A running server. It is stopped when this is dropped.
pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) shutdown: Shutdown,
    pub(crate) serving: JoinHandle<()>,
    store: Box<dyn Any + Send>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shutdown.now.cancel();
    }
}

impl Server {
    /// Starts one with the defaults.
    pub(crate) async fn start(kind: Kind) -> Self {
        Self::start_with(kind, Settings::default()).await
    }

    /// Starts one.
    pub(crate) async fn start_with(kind: Kind, settings: Settings) -> Self {
        let (boards, store) = kind.open().await;
        let mut server = Self::over(boards, settings).await;
        server.store = store;
        server
    }

    /// Starts one over boards that something else keeps.
    pub(crate) async fn over(boards: Arc<dyn Boards>, settings: Settings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let shutdown = Shutdown::new();
        let serving = tokio::spawn(serve(settings, boards, listener, shutdown.clone()));
        Self { address, shutdown, serving, store: Box::new(()) }
    }

    /// Connects to it.
    pub(crate) async fn client(&self) -> Api {
        Api(Client::new(self.channel().await).max_decoding_message_size(usize::MAX))
    }

    /// A connection for other services.
    pub(crate) async fn channel(&self) -> Channel {
        Channel::from_shared(self.address.clone()).unwrap().connect().await.unwrap()
    }
}

/// Starts a server on a store of the kind, and connects to it.
pub(crate) async fn connected(kind: Kind) -> (Server, Api) {
    let server = Server::start(kind).await;
    let api = server.client().await;
    (server, api)
}

/// A client with short words for its calls.
#[derive(Clone)]
pub(crate) struct Api(pub(crate) Client);

impl Api {
    pub(crate) async fn update(&mut self, request: UpdateRequest) -> Result<Vec<u64>, Status> {
        Ok(self.0.update(request).await?.into_inner().created_ids)
    }

    pub(crate) async fn create(&mut self, created: Vec<Task>) -> Vec<u64> {
        self.update(UpdateRequest { created, ..Default::default() }).await.unwrap()
    }

    pub(crate) async fn delete(&mut self, deleted: Vec<TaskRef>) -> Result<(), Status> {
        self.update(UpdateRequest { deleted, ..Default::default() }).await.map(drop)
    }

    /// Deletes a task, and creates others in its place.
    pub(crate) async fn replace(&mut self, id: u64, created: Vec<Task>) -> Result<Vec<u64>, Status> {
        self.update(UpdateRequest { created, deleted: vec![by_id(id)], predicates: Vec::new() }).await
    }

    pub(crate) async fn query(&mut self, request: QueryRequest) -> Result<Task, Status> {
        Ok(self.0.query(request).await?.into_inner().task.expect("an answer without an error has a task"))
    }

    /// Takes the first task of a group for an hour, without waiting.
    pub(crate) async fn own(&mut self, group: &str) -> Result<Task, Status> {
        self.query(QueryRequest { own_for: seconds(3_600), ..asked(group) }).await
    }

    /// Reads the first task of a group, without waiting.
    pub(crate) async fn peek(&mut self, group: &str) -> Result<Task, Status> {
        self.query(asked(group)).await
    }

    pub(crate) async fn bulk_set(&mut self, r#ref: Vec<TaskRef>, prototype: Task) -> Result<u64, Status> {
        let request = BulkSetRequest { r#ref, prototype: Some(prototype) };
        Ok(self.0.bulk_set(request).await?.into_inner().num_updated)
    }

    pub(crate) async fn debug(&mut self, group: &str, limit: u64) -> DebugResponse {
        self.0.debug(DebugRequest { group: group.to_owned(), limit }).await.unwrap().into_inner()
    }

    pub(crate) async fn count(&mut self, group: &str) -> u64 {
        self.debug(group, 1).await.num_tasks
    }

    pub(crate) async fn ids(&mut self, group: &str) -> Vec<u64> {
        self.debug(group, 0).await.tasks.iter().map(|task| task.id).collect()
    }
}

/// A request for a visible task of the group, that neither takes it nor waits.
pub(crate) fn asked(group: &str) -> QueryRequest {
    QueryRequest { group: group.to_owned(), ..Default::default() }
}

/// A task in a group, visible at once.
pub(crate) fn task(group: &str) -> Task {
    Task { group: group.to_owned(), ..Default::default() }
}

/// A task that says something.
pub(crate) fn saying(group: &str, text: &str) -> Task {
    Task { data: Some(payload(text)), ..task(group) }
}

/// A payload as clients pack it.
pub(crate) fn payload(text: &str) -> Payload {
    let value = Test { foo: text.to_owned() }.encode_to_vec();
    Payload { type_url: "type.googleapis.com/masstasker.Test".to_owned(), value }
}

/// What a task says.
pub(crate) fn said(task: &Task) -> String {
    task.data.as_ref().map_or_else(String::new, |data| Test::decode(&*data.value).unwrap().foo)
}

/// A task with labels.
pub(crate) fn labelled(group: &str, labels: &[(&str, &str)]) -> Task {
    Task { labels: pairs(labels), ..task(group) }
}

pub(crate) fn pairs(labels: &[(&str, &str)]) -> BTreeMap<String, String> {
    labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

pub(crate) fn by_id(id: u64) -> TaskRef {
    TaskRef { sel: Some(Sel::Id(id)) }
}

pub(crate) fn by_group(group: &str) -> TaskRef {
    TaskRef { sel: Some(Sel::Group(group.to_owned())) }
}

pub(crate) fn by_label(labels: &[(&str, &str)]) -> TaskRef {
    TaskRef { sel: Some(Sel::Selector(LabelSelector { labels: pairs(labels) })) }
}

/// A span for `own_for`.
#[expect(clippy::unnecessary_wraps, reason = "the field is optional")]
pub(crate) fn seconds(seconds: i64) -> Option<prost_types::Duration> {
    Some(prost_types::Duration { seconds, nanos: 0 })
}

/// A moment for `now` and `not_before`.
pub(crate) fn at(seconds: i64, nanos: i32) -> Timestamp {
    Timestamp { seconds, nanos }
}

/// The present of this machine, and a span.
pub(crate) fn in_future(span: Duration) -> Timestamp {
    let there = std::time::SystemTime::now() + span;
    let since = there.duration_since(std::time::UNIX_EPOCH).unwrap();
    at(i64::try_from(since.as_secs()).unwrap(), i32::try_from(since.subsec_nanos()).unwrap())
}

/// Asserts with which code a call was refused.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(answer: Result<T, Status>, code: Code) -> Status {
    let status = answer.expect_err("the call was to be refused");
    assert_eq!(status.code(), code, "{status:?}");
    status
}
