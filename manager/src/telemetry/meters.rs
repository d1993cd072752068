//! What a manager counts and times: submissions, requests, chores. On OpenTelemetry's global meter.
//!
//! What the store knows (depths, ages, workers) is read off it by the tick; see [`crate::telemetry::gauges`].

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use axum::{extract::MatchedPath, http::Method, response::Response};
use jobbers_api::problem::Code;
use jobbers_common::{
    audit_log::ChangeResult,
    engine::{LostTask, Reclaimed, Submitted, SubmittedHow},
    metrics::{
        attribute::{MOST_NAMES, OTHER},
        catalogue::{
            AUDIT_CHANGES, AUDIT_REFUSED, CHORE_DURATION, CHORE_TASKS, HTTP_REQUEST_DURATION, HTTP_REQUESTS_ACTIVE,
            KEYS_REFUSED, PAYLOAD_SIZE, SCHEDULE_DELAY, SCHEDULE_SLOTS, SUBMISSIONS_REFUSED, SUBMIT_BATCH_SIZE,
            TASKS_SUBMITTED,
        },
        ends::EndCounters,
    },
    name::{QueueName, TaskName},
    task::NewTask,
};
use opentelemetry::{
    KeyValue,
    metrics::{BoundCounter, BoundHistogram, Counter, Histogram, Meter, UpDownCounter},
};
use parking_lot::Mutex;

use self::workflows::WorkflowMeters;

mod workflows;

/// The instruments.
#[derive(Debug)]
pub(crate) struct Meters {
    submitted: Counter<u64>,
    refused: Counter<u64>,
    keys_refused: Counter<u64>,
    batch_size: Histogram<f64>,
    payload_size: Histogram<f64>,
    request_duration: Histogram<f64>,
    requests_active: UpDownCounter<i64>,
    chore_duration: Histogram<f64>,
    chore_tasks: Counter<u64>,
    ends: EndCounters,
    slots: Counter<u64>,
    slot_delay: Histogram<f64>,
    changes: Counter<u64>,
    unlogged: Counter<u64>,
    pub(crate) workflows: WorkflowMeters,
    flows: Mutex<Flows>,
    others: OnceLock<Arc<TaskFlow>>,
    /// The durations of requests by route; then by method and status. A manager has few of either.
    durations: ArcSwap<HashMap<String, Vec<Timed>>>,
}

/// By queue and task, and how many there are.
#[derive(Debug, Default)]
struct Flows {
    by_queue: HashMap<QueueName, HashMap<TaskName, Arc<TaskFlow>>>,
    count: usize,
}

/// The duration of requests by one method that were answered with one status.
#[derive(Debug, Clone)]
struct Timed {
    method: &'static str,
    status: u16,
    duration: Arc<BoundHistogram<f64>>,
}

/// What is measured of one task in one queue, with the attributes looked up once.
#[derive(Debug)]
struct TaskFlow {
    attributes: [KeyValue; 2],
    /// By outcome, as [`outcome`] numbers them; each from when it is first met.
    submitted: [OnceLock<BoundCounter<u64>>; OUTCOMES.len()],
    /// The version of which it was last ensured that the counters of bad ends have started.
    begun: AtomicU32,
    payload_size: BoundHistogram<f64>,
}

/// No task has this version.
const NONE_BEGUN: u32 = u32::MAX;

/// The outcomes of slots.
const FIRED: &str = "fired";
const MISSED: &str = "missed";
const REFUSED: &str = "refused";
const LIMITED: &str = "limited";
const SKIPPED: &str = "skipped";

const OUTCOMES: [&str; 4] = ["created", "existing", "replaced", "updated"];

const fn outcome(how: SubmittedHow) -> usize {
    match how {
        SubmittedHow::Created => 0,
        SubmittedHow::Existing => 1,
        SubmittedHow::Replaced => 2,
        SubmittedHow::Updated => 3,
    }
}

/// What is remembered of a task on its way into the store.
#[derive(Debug)]
pub(crate) struct Sent {
    name: TaskName,
    version: u32,
    bytes: usize,
}

impl From<&NewTask> for Sent {
    fn from(task: &NewTask) -> Self {
        Self { name: task.name.clone(), version: task.version, bytes: task.parameters.len() }
    }
}

impl Meters {
    pub(crate) fn new(meter: &Meter) -> Self {
        let slots = SCHEDULE_SLOTS.counter(meter);
        for outcome in [FIRED, MISSED, REFUSED, SKIPPED] {
            slots.add(0, &[KeyValue::new("outcome", outcome)]);
        }
        let keys_refused = KEYS_REFUSED.counter(meter);
        for outcome in [REFUSED, LIMITED] {
            keys_refused.add(0, &[KeyValue::new("outcome", outcome)]);
        }
        let unlogged = AUDIT_REFUSED.counter(meter);
        unlogged.add(0, &[]);
        Self {
            submitted: TASKS_SUBMITTED.counter(meter),
            refused: SUBMISSIONS_REFUSED.counter(meter),
            keys_refused,
            batch_size: SUBMIT_BATCH_SIZE.histogram(meter),
            payload_size: PAYLOAD_SIZE.histogram(meter),
            request_duration: HTTP_REQUEST_DURATION.histogram(meter),
            requests_active: HTTP_REQUESTS_ACTIVE.up_down(meter),
            chore_duration: CHORE_DURATION.histogram(meter),
            chore_tasks: CHORE_TASKS.counter(meter),
            ends: EndCounters::new(meter),
            slots,
            slot_delay: SCHEDULE_DELAY.histogram(meter),
            changes: AUDIT_CHANGES.counter(meter),
            unlogged,
            workflows: WorkflowMeters::new(meter),
            flows: Mutex::default(),
            others: OnceLock::new(),
            durations: ArcSwap::default(),
        }
    }

    /// A submission was accepted. Neighbours of one queue, kind and outcome are counted together.
    pub(crate) fn submitted(&self, sent: &[Sent], submitted: &[Submitted]) {
        self.batch_size.record(sent.len() as f64, &[]);
        let same = |a: &(&Sent, &Submitted), b: &(&Sent, &Submitted)| {
            (a.1.how, &a.1.queue, &a.0.name, a.0.version) == (b.1.how, &b.1.queue, &b.0.name, b.0.version)
        };
        let tasks: Vec<(&Sent, &Submitted)> = sent.iter().zip(submitted).collect();
        for group in tasks.chunk_by(same) {
            let Some((first, stored)) = group.first() else { continue };
            let flow = self.flow(&stored.queue, &first.name);
            self.submitted_to(&flow, stored.how).add(group.len() as u64);
            if flow.begun.swap(first.version, Ordering::Relaxed) != first.version {
                self.ends.begin(&stored.queue, &first.name, first.version);
            }
            for (sent, _) in group {
                flow.payload_size.record(sent.bytes as f64);
            }
        }
    }

    /// Clients make up names; past the bound they are all one.
    fn flow(&self, queue: &QueueName, task: &TaskName) -> Arc<TaskFlow> {
        let mut flows = self.flows.lock();
        if let Some(flow) = flows.by_queue.get(queue).and_then(|tasks| tasks.get(task)) {
            return Arc::clone(flow);
        }
        if flows.count < MOST_NAMES {
            flows.count += 1;
            let flow = Arc::new(self.bind(queue.as_str(), task.as_str()));
            flows.by_queue.entry(queue.clone()).or_default().insert(task.clone(), Arc::clone(&flow));
            return flow;
        }
        drop(flows);
        Arc::clone(self.others.get_or_init(|| Arc::new(self.bind(OTHER, OTHER))))
    }

    fn bind(&self, queue: &str, task: &str) -> TaskFlow {
        let attributes = [KeyValue::new("queue", queue.to_owned()), KeyValue::new("task", task.to_owned())];
        let payload_size = self.payload_size.bind(&attributes[..1]);
        TaskFlow { attributes, submitted: Default::default(), begun: AtomicU32::new(NONE_BEGUN), payload_size }
    }

    fn submitted_to<'a>(&self, flow: &'a TaskFlow, how: SubmittedHow) -> &'a BoundCounter<u64> {
        let outcome = outcome(how);
        flow.submitted[outcome].get_or_init(|| {
            let [queue, task] = flow.attributes.clone();
            self.submitted.bind(&[queue, task, KeyValue::new("outcome", OUTCOMES[outcome])])
        })
    }

    /// A chore ended; `tasks` is how many it moved, `None` that it failed.
    pub(crate) fn chore(&self, chore: &'static str, took: Duration, tasks: Option<u64>) {
        let outcome = KeyValue::new("outcome", if tasks.is_some() { "done" } else { "error" });
        self.chore_duration.record(took.as_secs_f64(), &[KeyValue::new("chore", chore), outcome]);
        self.chore_tasks.add(tasks.unwrap_or(0), &[KeyValue::new("chore", chore)]);
    }

    /// The outcome of a change was logged.
    pub(crate) fn change_logged(&self, result: ChangeResult) {
        self.changes.add(1, &[KeyValue::new("outcome", result.as_str())]);
    }

    /// A change was refused, because it could not be logged.
    pub(crate) fn change_refused(&self) {
        self.unlogged.add(1, &[]);
    }

    /// Expired leases were taken back.
    pub(crate) fn reclaimed(&self, reclaimed: &Reclaimed) {
        self.ends.reclaimed(reclaimed);
    }

    /// Counts tasks that a claim found expired and dropped.
    pub(crate) fn expired(&self, expired: &[LostTask]) {
        self.ends.expired(expired);
    }

    /// A slot of a schedule was fired, so long after its time.
    pub(crate) fn slot_fired(&self, delay: Duration) {
        self.count_slots(FIRED, 1);
        self.slot_delay.record(delay.as_secs_f64(), &[]);
    }

    /// Slots were not fired in time, and the catch-up policy leaves them out.
    pub(crate) fn slots_missed(&self, slots: u64) {
        self.count_slots(MISSED, slots);
    }

    /// The key of a request was not valid; `is_limited` if its address had sent too many.
    pub(crate) fn key_refused(&self, is_limited: bool) {
        let outcome = if is_limited { LIMITED } else { REFUSED };
        self.keys_refused.add(1, &[KeyValue::new("outcome", outcome)]);
    }

    /// The task of a slot was refused for good.
    pub(crate) fn slot_refused(&self) {
        self.count_slots(REFUSED, 1);
    }

    /// Slots were left out by the overlap policy.
    pub(crate) fn slots_skipped(&self, slots: u64) {
        self.count_slots(SKIPPED, slots);
    }

    fn count_slots(&self, outcome: &'static str, slots: u64) {
        self.slots.add(slots, &[KeyValue::new("outcome", outcome)]);
    }

    /// The histogram of one kind of requests, whose attributes are looked up once.
    fn duration_of(&self, method: &'static str, route: &str, status: u16) -> Arc<BoundHistogram<f64>> {
        let is_meant = |timed: &&Timed| (timed.method, timed.status) == (method, status);
        let known = self.durations.load();
        if let Some(timed) = known.get(route).and_then(|timed| timed.iter().find(is_meant)) {
            return Arc::clone(&timed.duration);
        }
        drop(known);
        let duration = Arc::new(self.request_duration.bind(&[
            KeyValue::new("method", method),
            KeyValue::new("route", route.to_owned()),
            KeyValue::new("status_code", i64::from(status)),
        ]));
        self.durations.rcu(|known| {
            let mut known = HashMap::clone(known);
            let timed = Timed { method, status, duration: Arc::clone(&duration) };
            known.entry(route.to_owned()).or_default().push(timed);
            known
        });
        duration
    }

    /// A request is under way, until what is answered here is dropped: also when its client goes away.
    pub(crate) fn request(&self, method: &Method, route: Option<MatchedPath>) -> Underway<'_> {
        self.requests_active.add(1, &[]);
        Underway { meters: self, began: Instant::now(), method: heard_of(method), route }
    }
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct Underway<'a> {
    meters: &'a Meters,
    began: Instant,
    method: &'static str,
    route: Option<MatchedPath>,
}

impl Underway<'_> {
    /// It was answered; says how long that took.
    pub(crate) fn answered(self, response: &Response) -> Duration {
        let took = self.began.elapsed();
        let route = self.route.as_ref().map_or("unmatched", MatchedPath::as_str);
        if let Some(code) = response.extensions().get::<Code>()
            && (self.method, route) == ("POST", "/tasks")
        {
            self.meters.refused.add(1, &[KeyValue::new("code", code.as_str())]);
        }
        self.meters.duration_of(self.method, route, response.status().as_u16()).record(took.as_secs_f64());
        took
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.meters.requests_active.add(-1, &[]);
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
