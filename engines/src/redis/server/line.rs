//! A line in which callers share calls to the server.
//!
//! A server does the same work for a hundred requests in one call as for a dozen in calls of their own, so requests wait in
//! line while a few calls are under way, and then go together: with one caller nothing waits, not even for another task of
//! the runtime, and batches form by themselves under load.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};

/// Calls under way at a time. With two, one is prepared while the other runs.
const IN_FLIGHT: usize = 2;
/// Requests that wait in line before their callers do.
const LINE: usize = 1_024;
/// Requests of one call at most.
const MOST: usize = 1_000;

/// A request that can share a call with others.
pub(crate) trait Request: Sized + Send + 'static {
    /// What sends calls.
    type Sender: Send + Sync + 'static;

    /// How many requests from the front of the line go into one call, at least one.
    fn fitting(line: &[Self]) -> usize;

    /// Sends a call, and answers each of its requests.
    fn send(sender: &Self::Sender, call: Vec<Self>) -> impl Future<Output = ()> + Send;
}

/// A line of requests.
#[derive(Debug)]
pub(crate) struct Line<R: Request> {
    pub(crate) sender: Arc<R::Sender>,
    entrance: mpsc::Sender<R>,
    /// Fair: while the line waits for a permit, no request passes it.
    in_flight: Arc<Semaphore>,
}

impl<R: Request> Line<R> {
    /// Opens the line; it closes with this.
    pub(crate) fn start(sender: Arc<R::Sender>) -> Self {
        let (entrance, requests) = mpsc::channel(LINE);
        let in_flight = Arc::new(Semaphore::new(IN_FLIGHT));
        tokio::spawn(serve(Arc::clone(&sender), requests, Arc::clone(&in_flight)));
        Self { sender, entrance, in_flight }
    }

    /// Sends a request, alone if no others wait. It is dropped unanswered when the line is closed.
    pub(crate) async fn enter(&self, request: R) {
        match self.in_flight.try_acquire() {
            Ok(_permit) => R::send(&self.sender, vec![request]).await,
            Err(_) => drop(self.entrance.send(request).await),
        }
    }
}

async fn serve<R: Request>(sender: Arc<R::Sender>, mut requests: mpsc::Receiver<R>, in_flight: Arc<Semaphore>) {
    let mut line = Vec::new();
    loop {
        // Once a request waits, first the permission and then the rest of the line: what comes meanwhile goes along.
        if line.is_empty() && requests.recv_many(&mut line, MOST).await == 0 {
            return;
        }
        let Ok(permit) = Arc::clone(&in_flight).acquire_owned().await else { return };
        while line.len() < MOST
            && let Ok(request) = requests.try_recv()
        {
            line.push(request);
        }
        let rest = line.split_off(R::fitting(&line));
        let call = std::mem::replace(&mut line, rest);
        let sender = Arc::clone(&sender);
        tokio::spawn(async move {
            R::send(&sender, call).await;
            drop(permit);
        });
    }
}
