//! What the clients of a soak share: the managers' addresses, the ledger, and the end.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use jobbers_test_support::{
    api::{Answer, Api},
    wait::within,
};
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::{sync::watch, time::Interval};

use super::ledger::Ledger;

/// How long a client waits for an answer before it asks another manager.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it waits between two requests that are not answered.
const AGAIN: Duration = Duration::from_millis(50);
/// No manager answers for so long: the test is over.
const OUTAGE: Duration = Duration::from_secs(90);

/// What the clients share.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) ledger: Ledger,
    managers: Arc<[Api]>,
    over: watch::Receiver<bool>,
}

impl World {
    pub(crate) fn new(ledger: Ledger, doors: &[SocketAddr], over: watch::Receiver<bool>) -> Self {
        Self { ledger, managers: doors.iter().map(|door| Api::at_within(*door, PATIENCE)).collect(), over }
    }

    /// The ticks of a client's work, none after the end.
    pub(crate) fn pace(&self, period: Duration) -> Pace {
        Pace { interval: tokio::time::interval(period), over: self.over.clone() }
    }

    /// Sends a request once. No answer, and one that says that the request may have been carried out, are none.
    pub(crate) async fn once(&self, turn: usize, request: &Request<'_>) -> Option<Answer> {
        let api = &self.managers[turn % self.managers.len()];
        let answer = api.send(request.method.clone(), request.path, request.headers, request.body).await.ok()?;
        let says_nothing = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS].contains(&answer.status);
        (!says_nothing).then_some(answer)
    }

    /// Sends a request that may be repeated until a manager answers it.
    pub(crate) async fn send(&self, turn: usize, request: &Request<'_>) -> Answer {
        let answered = async {
            let mut again = tokio::time::interval(AGAIN);
            for next in turn.. {
                again.tick().await;
                if let Some(answer) = self.once(next, request).await {
                    return answer;
                }
            }
            unreachable!("turns do not end")
        };
        within(OUTAGE, &format!("a manager answers {} {}", request.method, request.path), answered).await
    }

    /// `POST` until a manager answers it.
    pub(crate) async fn post(&self, turn: usize, path: &str, body: &Value) -> Answer {
        self.send(turn, &Request { method: Method::POST, path, headers: &[], body: Some(body) }).await
    }
}

/// A request.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: Option<&'a Value>,
}

impl<'a> Request<'a> {
    pub(crate) const fn post(path: &'a str, body: &'a Value) -> Self {
        Self { method: Method::POST, path, headers: &[], body: Some(body) }
    }
}

/// A client's turns.
pub(crate) struct Pace {
    interval: Interval,
    over: watch::Receiver<bool>,
}

impl Pace {
    /// Waits for the next turn; false when there is none any more.
    pub(crate) async fn turn(&mut self) -> bool {
        if *self.over.borrow() {
            return false;
        }
        tokio::select! {
            _ = self.interval.tick() => !*self.over.borrow(),
            _ = self.over.changed() => false,
        }
    }
}
