//! A client of TaskStore, in nanoseconds as its Go client.

use std::net::SocketAddr;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::{Client, Lost, Shown};

/// Longer than a test, in nanoseconds.
const HOUR: i64 = 3_600_000_000_000;

/// A client with a number of its own.
pub(super) struct TaskStore {
    http: reqwest::Client,
    base: String,
    number: i64,
}

impl TaskStore {
    async fn ask(&self, path: &str, body: &Value) -> Result<Vec<Shown>, Lost> {
        let asked = self.http.request(Method::POST, format!("{}{path}", self.base)).body(body.to_string()).send().await;
        let answer: Value = read(asked).await?;
        assert!(answer["Error"].is_null(), "{body}: {answer}");
        Ok(shown(&answer["Tasks"]))
    }
}

async fn read(asked: reqwest::Result<Response>) -> Result<Value, Lost> {
    let Ok(answer) = asked else { return Err(Lost) };
    assert!(answer.status().is_success(), "refused: {answer:?}");
    answer.json().await.map_err(|_| Lost)
}

fn shown(tasks: &Value) -> Vec<Shown> {
    let shown = |task: &Value| Shown {
        id: task["id"].as_i64().unwrap(),
        data: task["data"].as_str().unwrap_or_default().to_owned(),
    };
    tasks.as_array().map_or_else(Vec::new, |tasks| tasks.iter().map(shown).collect())
}

impl Client for TaskStore {
    const MANAGER: (&'static [&'static str], &'static str) = (&[], "listening");

    async fn connect(address: SocketAddr, client: i64) -> Result<Self, Lost> {
        let http = jobbers_api::client::http_client().build().unwrap();
        Ok(Self { http, base: format!("http://{address}/taskstore-ns"), number: client })
    }

    async fn add(&mut self, data: &str) -> Result<i64, Lost> {
        let body = json!({"clientid": self.number, "adds": [{"group": "work", "data": data}]});
        Ok(self.ask("/update", &body).await?.remove(0).id)
    }

    async fn claim(&mut self) -> Result<Option<Shown>, Lost> {
        let body = json!({"clientid": self.number, "group": "work", "duration": HOUR});
        Ok(self.ask("/claim", &body).await?.pop())
    }

    async fn delete(&mut self, id: i64) -> Result<(), Lost> {
        self.ask("/update", &json!({"clientid": self.number, "deletes": [id]})).await.map(drop)
    }

    async fn list(&mut self) -> Result<Vec<Shown>, Lost> {
        Ok(shown(&read(self.http.get(format!("{}/group/work?owned=1", self.base)).send().await).await?))
    }
}
