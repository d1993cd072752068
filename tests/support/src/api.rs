//! A small client of the manager's HTTP API, for tests. It reads raw JSON and not the types of `jobbers-api`, because a test
//! judges what is on the wire and must not read it with the types that wrote it.

use std::{net::SocketAddr, time::Duration};

use jobbers_api::client::http_client;
use reqwest::{Client, Method, StatusCode};
use serde_json::Value;

use crate::wait::until;

/// The API of one manager.
#[derive(Debug, Clone)]
pub struct Api {
    client: Client,
    base: String,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The `Retry-After` header.
    pub retry_after: Option<String>,
    /// The body; `null` when it is not JSON.
    pub body: Value,
}

impl Answer {
    /// The body of a success.
    ///
    /// # Panics
    /// When it is none.
    pub fn ok(self) -> Value {
        assert!(self.status.is_success(), "{}: {}", self.status, self.body);
        self.body
    }

    /// The `code` of a problem; empty when there is none.
    #[must_use]
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

impl Api {
    /// The API at `address`. Each request is a connection of its own, so that a fault harms one request.
    ///
    /// # Panics
    /// If no HTTP client can be made.
    #[must_use]
    pub fn at(address: SocketAddr) -> Self {
        Self::at_within(address, Duration::from_secs(60))
    }

    /// The same for a client that waits for each answer at most so long.
    ///
    /// # Panics
    /// If no HTTP client can be made.
    #[must_use]
    pub fn at_within(address: SocketAddr, patience: Duration) -> Self {
        let client = http_client().pool_max_idle_per_host(0).timeout(patience);
        Self { client: client.build().expect("a client"), base: format!("http://{address}") }
    }

    /// Sends a request; an error is that of the connection.
    ///
    /// # Errors
    /// If no answer comes.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Answer, reqwest::Error> {
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await?;
        let status = response.status();
        let retry_after =
            response.headers().get("retry-after").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = serde_json::from_slice(&response.bytes().await?).unwrap_or_default();
        Ok(Answer { status, retry_after, body })
    }

    /// `GET`.
    ///
    /// # Panics
    /// If no answer comes.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], None).await.expect("an answer")
    }

    /// `POST` of a JSON body.
    ///
    /// # Panics
    /// If no answer comes.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, &[], Some(body)).await.expect("an answer")
    }

    /// `PUT` of a JSON body.
    ///
    /// # Panics
    /// If no answer comes.
    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, &[], Some(body)).await.expect("an answer")
    }

    /// Submits one task, which must be accepted, and answers its id.
    ///
    /// # Panics
    /// When it is not.
    pub async fn submit(&self, task: &Value) -> String {
        let body = self.post("/tasks", task).await.ok();
        body["id"].as_str().unwrap_or_else(|| panic!("no id in {body}")).to_owned()
    }

    /// A task's present state.
    pub async fn task(&self, id: &str) -> Value {
        self.get(&format!("/tasks/{id}")).await.ok()
    }

    /// A task when it is over.
    ///
    /// # Panics
    /// When it is not over after 60 s.
    pub async fn finished(&self, id: &str) -> Value {
        until(Duration::from_secs(60), &format!("task {id} is over"), async || {
            let task = self.get(&format!("/tasks/{id}?wait=20s")).await.ok();
            let live = ["waiting", "scheduled", "submitted", "started"];
            (!live.contains(&task["status"].as_str().unwrap_or_default())).then_some(task)
        })
        .await
    }

    /// A task as soon as it has `status`.
    ///
    /// # Panics
    /// When it does not within 30 s.
    pub async fn standing(&self, id: &str, status: &str) -> Value {
        until(Duration::from_secs(30), &format!("task {id} is {status}"), async || {
            let task = self.task(id).await;
            (task["status"] == status).then_some(task)
        })
        .await
    }
}
