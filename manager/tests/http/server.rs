//! A manager in this process, on a free port, and a client for it.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use jobbers_common::{
    engine::{ClaimRequest, Cycle, Engine, Outcome, QueueClaim, SettleAnswer, Settlement},
    name::WorkerId,
    task::ClaimedTask,
};
use jobbers_law::model::ModelEngine;
use jobbers_manager::Config;
use jobbers_process::shutdown::Shutdown;
use reqwest::{Method, StatusCode, header::HeaderMap, redirect::Policy};
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::described::contract;

pub(crate) struct Server {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) shutdown: Shutdown,
    pub(crate) address: SocketAddr,
    client: reqwest::Client,
    running: JoinHandle<()>,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The JSON of a success with this very status.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self.json()
    }

    /// The problem of a refusal with this very code.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) -> Value {
        let problem = self.json();
        assert_eq!((self.status.as_u16(), problem["code"].as_str()), (status, Some(code)), "{}", self.text);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("/problems/{code}"));
        assert!(!problem["title"].as_str().unwrap().is_empty() && !problem["detail"].as_str().unwrap().is_empty());
        problem
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(Arc::new(ModelEngine::with_system_clock()), Config::default()).await
    }

    /// Keeps no dead letters unless the configuration names a file for them.
    pub(crate) async fn with(engine: Arc<dyn Engine>, config: Config) -> Self {
        Self::at(SocketAddr::from(([127, 0, 0, 1], 0)), engine, config).await
    }

    /// The same at an address.
    pub(crate) async fn at(listen: SocketAddr, engine: Arc<dyn Engine>, mut config: Config) -> Self {
        if config.dlq_path.is_empty() {
            config.dlq_path = "none".to_owned();
        }
        let listener = TcpListener::bind(listen).await.unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], listener.local_addr().unwrap().port()));
        let shutdown = Shutdown::new();
        let running = tokio::spawn(jobbers_manager::run(config, Arc::clone(&engine), listener, shutdown.clone()));
        // No answer leads to another manager.
        let here = Policy::custom(move |attempt| match attempt.url().port() {
            Some(port) if port == address.port() => attempt.follow(),
            _ => attempt.stop(),
        });
        let client = jobbers_api::client::http_client().timeout(Duration::from_secs(60)).redirect(here);
        let client = client.build().unwrap();
        Self { engine, shutdown, address, client, running }
    }

    /// Sends a request; the answer is as its operation is described.
    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let (client, request) = request.build_split();
        let request = request.unwrap();
        let method = request.method().clone();
        let response = client.execute(request).await.unwrap();
        let (url, status, headers) = (response.url().clone(), response.status(), response.headers().clone());
        let answer = Answer { status, headers, text: response.text().await.unwrap() };
        contract::check(&method, &url, &answer);
        answer
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("http://{}{path}", self.address))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    /// A `GET` that does not borrow the server, for one that is stopped meanwhile.
    pub(crate) fn send_owned(&self, path: &str) -> impl Future<Output = (StatusCode, String)> + use<> {
        let request = self.request(Method::GET, path);
        async move {
            let response = request.send().await.unwrap();
            (response.status(), response.text().await.unwrap())
        }
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path)).await
    }

    pub(crate) async fn post(&self, path: &str, json: impl ToString) -> Answer {
        self.send(self.json(Method::POST, path, json)).await
    }

    pub(crate) async fn put(&self, path: &str, json: impl ToString) -> Answer {
        self.send(self.json(Method::PUT, path, json)).await
    }

    #[expect(clippy::needless_pass_by_value, reason = "so that a call reads like the request it makes")]
    pub(crate) fn json(&self, method: Method, path: &str, json: impl ToString) -> reqwest::RequestBuilder {
        self.request(method, path).header("content-type", "application/json").body(json.to_string())
    }

    /// Claims up to `limit` tasks of a queue, as a worker called `w`.
    pub(crate) async fn claim(&self, queue: &str, limit: usize) -> Vec<ClaimedTask> {
        let queues = vec![QueueClaim { queue: queue.parse().unwrap(), limit }];
        let claim = ClaimRequest { queues, limit, refused: Vec::new(), lease: Duration::from_secs(60) };
        let cycle = Cycle { worker: worker(), settlements: Vec::new(), claim: Some(claim) };
        self.engine.cycle(cycle).await.unwrap().claimed
    }

    /// Settles a claimed task.
    pub(crate) async fn settle(&self, task: &ClaimedTask, outcome: Outcome) {
        let settlement = Settlement::new(task.id.clone(), task.fence, outcome);
        let cycle = Cycle { worker: worker(), settlements: vec![settlement], claim: None };
        let settled = self.engine.cycle(cycle).await.unwrap().settled;
        assert!(matches!(settled.as_slice(), [SettleAnswer::Accepted(_)]), "{settled:?}");
    }

    /// Stops in good order, and waits until that is done.
    pub(crate) async fn stop(self) {
        self.shutdown.drain.cancel();
        self.running.await.unwrap();
    }
}

pub(crate) fn worker() -> WorkerId {
    WorkerId::new("w").unwrap()
}

/// Fails the test when what must happen does not.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what).await.expect("it happens within a minute")
}
