//! What a manager counts and times: submissions, requests, chores. On OpenTelemetry's global meter.
//!
//! What the store knows (depths, ages, workers) is read off it by the tick; see [`crate::gauges`].

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    extract::{MatchedPath, Request, State},
    http::Method,
    middleware::Next,
    response::Response,
};
use jobbers_common::{
    engine::{Reclaimed, Submitted, SubmittedHow},
    metrics::{
        attribute::{MOST_NAMES, OTHER},
        catalogue::{
            CHORE_DURATION, CHORE_TASKS, HTTP_REQUEST_DURATION, HTTP_REQUESTS_ACTIVE, LEASES_RECLAIMED, PAYLOAD_SIZE,
            SUBMISSIONS_REFUSED, SUBMIT_BATCH_SIZE, TASKS_SUBMITTED,
        },
    },
    name::{QueueName, TaskName},
    task::NewTask,
};
use opentelemetry::{
    KeyValue,
    metrics::{Counter, Histogram, Meter, UpDownCounter},
};
use parking_lot::Mutex;

use crate::{app::App, problem::Code};

/// The instruments.
#[derive(Debug)]
pub(crate) struct Meters {
    submitted: Counter<u64>,
    refused: Counter<u64>,
    batch_size: Histogram<f64>,
    payload_size: Histogram<f64>,
    request_duration: Histogram<f64>,
    requests_active: UpDownCounter<i64>,
    chore_duration: Histogram<f64>,
    chore_tasks: Counter<u64>,
    reclaimed: Counter<u64>,
    names: Mutex<HashSet<(QueueName, TaskName)>>,
}

/// What is remembered of a task on its way into the store.
#[derive(Debug)]
pub(crate) struct Sent {
    name: TaskName,
    bytes: usize,
}

impl From<&NewTask> for Sent {
    fn from(task: &NewTask) -> Self {
        Self { name: task.name.clone(), bytes: task.parameters.len() }
    }
}

impl Meters {
    pub(crate) fn new(meter: &Meter) -> Self {
        Self {
            submitted: TASKS_SUBMITTED.counter(meter),
            refused: SUBMISSIONS_REFUSED.counter(meter),
            batch_size: SUBMIT_BATCH_SIZE.histogram(meter),
            payload_size: PAYLOAD_SIZE.histogram(meter),
            request_duration: HTTP_REQUEST_DURATION.histogram(meter),
            requests_active: HTTP_REQUESTS_ACTIVE.up_down(meter),
            chore_duration: CHORE_DURATION.histogram(meter),
            chore_tasks: CHORE_TASKS.counter(meter),
            reclaimed: LEASES_RECLAIMED.counter(meter),
            names: Mutex::default(),
        }
    }

    /// A submission was taken in. Neighbours of one queue, name and outcome are counted together.
    pub(crate) fn submitted(&self, sent: &[Sent], submitted: &[Submitted]) {
        self.batch_size.record(sent.len() as f64, &[]);
        let same = |a: &(&Sent, &Submitted), b: &(&Sent, &Submitted)| {
            (&a.0.name, &a.1.queue, a.1.how) == (&b.0.name, &b.1.queue, b.1.how)
        };
        let tasks: Vec<(&Sent, &Submitted)> = sent.iter().zip(submitted).collect();
        for group in tasks.chunk_by(same) {
            let Some((first, stored)) = group.first() else { continue };
            let [queue, task] = self.names(&stored.queue, &first.name);
            let outcome = match stored.how {
                SubmittedHow::Created => "created",
                SubmittedHow::Existing => "existing",
                SubmittedHow::Replaced => "replaced",
                SubmittedHow::Updated => "updated",
            };
            let by_queue = [queue.clone()];
            self.submitted.add(group.len() as u64, &[queue, task, KeyValue::new("outcome", outcome)]);
            for (sent, _) in group {
                self.payload_size.record(sent.bytes as f64, &by_queue);
            }
        }
    }

    /// The attributes of a queue and a task's name. Clients make up names; past the bound they are all one.
    fn names(&self, queue: &QueueName, task: &TaskName) -> [KeyValue; 2] {
        let mut names = self.names.lock();
        let pair = (queue.clone(), task.clone());
        let known = names.contains(&pair) || names.len() < MOST_NAMES && names.insert(pair);
        let (queue, task) = if known { (queue.as_str(), task.as_str()) } else { (OTHER, OTHER) };
        [KeyValue::new("queue", queue.to_owned()), KeyValue::new("task", task.to_owned())]
    }

    /// A chore ended; `tasks` is how many it moved, `None` that it failed.
    pub(crate) fn chore(&self, chore: &'static str, took: Duration, tasks: Option<u64>) {
        let outcome = KeyValue::new("outcome", if tasks.is_some() { "done" } else { "error" });
        self.chore_duration.record(took.as_secs_f64(), &[KeyValue::new("chore", chore), outcome]);
        self.chore_tasks.add(tasks.unwrap_or(0), &[KeyValue::new("chore", chore)]);
    }

    /// Expired leases were taken back.
    pub(crate) fn reclaimed(&self, reclaimed: Reclaimed) {
        let by = [("requeued", reclaimed.requeued), ("failed", reclaimed.failed), ("cancelled", reclaimed.cancelled)];
        for (outcome, leases) in by {
            self.reclaimed.add(leases, &[KeyValue::new("outcome", outcome)]);
        }
    }

    fn answered(&self, method: &Method, route: Option<&MatchedPath>, response: &Response, took: Duration) {
        let path = route.map_or("unmatched", MatchedPath::as_str);
        if let Some(code) = response.extensions().get::<Code>()
            && (method, path) == (&Method::POST, "/tasks")
        {
            self.refused.add(1, &[KeyValue::new("code", code.as_str())]);
        }
        self.request_duration.record(
            took.as_secs_f64(),
            &[
                KeyValue::new("method", heard_of(method)),
                KeyValue::new("route", path.to_owned()),
                KeyValue::new("status_code", i64::from(response.status().as_u16())),
            ],
        );
    }
}

const fn heard_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::PATCH => "PATCH",
        _ => OTHER,
    }
}

/// Counts a request as active for as long as it is, even if its client goes away.
struct Active<'a>(&'a Meters);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.requests_active.add(-1, &[]);
    }
}

/// Measures a request.
pub(crate) async fn measure(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let (method, route) = (request.method().clone(), request.extensions().get::<MatchedPath>().cloned());
    app.meters.requests_active.add(1, &[]);
    let active = Active(&app.meters);
    let response = next.run(request).await;
    drop(active);
    app.meters.answered(&method, route.as_ref(), &response, began.elapsed());
    response
}
