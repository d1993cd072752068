//! Measurements match what happened, and their readers can't block the system.

use std::time::{Duration, Instant};

use jobbers_common::metrics::{ALL, Kind};
use jobbers_test_support::{
    api::Api,
    authority::Authority,
    collector::{Collector, Distribution},
    program::Program,
    tls::front::TlsFront,
    wait::until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::{
    engines::Kind as Engine,
    stack::{Manager, Stack},
};

on_both_engines!(
    the_points_are_as_many_as_what_happened,
    what_poison_and_unknown_tasks_count_begins_at_0,
    a_collector_that_freezes_under_load_changes_no_result,
    a_collector_that_dies_under_load_changes_no_result,
    it_arrives_over_tls,
);

/// The deadline of the last flush, with room for a busy machine.
const FLUSH: Duration = Duration::from_secs(8);

/// The stock worker.
pub(crate) async fn worker(stack: &Stack, environment: &[(&str, &str)]) -> Program {
    let mut all = vec![("ENGINE_URL", stack.url())];
    all.extend(environment);
    let worker = Program::start::<&str>("worker", stack.folder(), &[], &all);
    worker.line("worker started").await;
    worker
}

/// Ends a program in good order, so that it sends what it has left.
pub(crate) async fn end(program: &mut Program) {
    program.signal(Signal::SIGTERM);
    assert!(program.exit().await.success());
}

fn batch(count: usize, task: &Value) -> Value {
    json!({"tasks": vec![task.clone(); count]})
}

/// So many tasks of each kind; answers their ids.
async fn submit_a_mixture(api: &Api) -> Vec<String> {
    let kinds = [
        (40, json!({"name": "echo", "parameters": {"a": 1}})),
        (10, json!({"name": "fail", "parameters": {"times": 1}})),
        (7, json!({"name": "fail", "parameters": {"kind": "fatal"}})),
        (3, json!({"name": "fail", "parameters": {"kind": "panic"}, "max_retries": 0})),
        (2, json!({"name": "sleep", "parameters": {"seconds": 60}, "timeout": "50ms", "max_retries": 1})),
        (5, json!({"name": "echo", "delay": "50ms"})),
        (1, json!({"name": "sleep", "parameters": {"seconds": 60}, "max_heartbeat_interval": "50ms"})),
    ];
    let mut ids = Vec::new();
    for (count, task) in kinds {
        let body = api.post("/tasks", &batch(count, &task)).await.ok();
        let tasks = body["tasks"].as_array().unwrap();
        ids.extend(tasks.iter().map(|task| task["id"].as_str().unwrap().to_owned()));
    }
    ids
}

/// Cancels a task that has begun, and answers its id. A worker counts a task when it begins, which may be later than its
/// claim: progress shows it.
async fn cancel_a_running_task(api: &Api) -> String {
    let id = api.submit(&json!({"name": "sleep", "parameters": {"seconds": 60, "heartbeat_every": 0.01}})).await;
    until(Duration::from_secs(30), "the task has begun", async || {
        (!api.task(&id).await["progress"].is_null()).then_some(())
    })
    .await;
    api.post(&format!("/tasks/{id}/cancel"), &json!({})).await.ok();
    id
}

async fn the_points_are_as_many_as_what_happened(kind: Engine) {
    let (stack, collector) = (Stack::on(kind).await, Collector::grpc().await);
    let endpoint = collector.endpoint();
    let otlp = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_TRACES_EXPORTER", "none"),
    ];
    let mut manager = stack.manager_with(&otlp).await;
    let mut worker = worker(&stack, &otlp).await;
    let ids = submit_a_mixture(&manager.api).await;
    let held = cancel_a_running_task(&manager.api).await;
    for id in ids.iter().chain([&held]) {
        manager.api.finished(id).await;
    }
    let refused = manager.api.post("/tasks", &json!({"name": "echo", "queue": "nowhere"})).await;
    assert_eq!(refused.code(), "unknown_queue");
    let counts = manager.api.get("/queues/default").await.ok()["tasks"].clone();
    assert_eq!(counts, json!({"cancelled": 1, "completed": 55, "failed": 12, "stalled": 1}));
    until(Duration::from_secs(20), "the manager has read the store", async || {
        let read = value(&scrape(manager.address).await, "jobbers_queue_accepted_total{queue=\"default\"}");
        (read == Some(69.0)).then_some(())
    })
    .await;
    end(&mut worker).await;
    end(&mut manager.program).await;

    let number = |metric: &str, attributes: &[(&str, &str)]| collector.number(metric, attributes);
    let count = |metric: &str, attributes: &[(&str, &str)]| collector.distribution(metric, attributes).count;
    assert_eq!(number("tasks_processed", &[("status", "completed")]), 55.0);
    assert_eq!(number("tasks_processed", &[("status", "failed")]), 12.0);
    assert_eq!(number("tasks_processed", &[("status", "stalled")]), 1.0);
    assert_eq!(number("tasks_processed", &[("status", "cancelled")]), 1.0);
    assert_eq!(number("tasks_processed", &[]), 69.0);
    assert_eq!(number("tasks_processed", &[("task", "fail"), ("status", "completed")]), 10.0);
    assert_eq!(number("tasks_retried", &[("task", "fail"), ("version", "1")]), 10.0);
    assert_eq!(number("tasks_retried", &[("task", "sleep")]), 2.0);
    // One for each attempt.
    assert_eq!(number("tasks_selected", &[("role", "default")]), 69.0 + 12.0);
    assert_eq!(count("time_in_queue", &[]), 69 + 12);
    assert_eq!(count("execution_time", &[]), 69 + 12);
    assert_eq!(count("execution_time", &[("status", "scheduled")]), 12);
    assert_eq!(count("end_to_end_latency", &[("status", "completed")]), 55);
    assert_eq!(count("end_to_end_latency", &[]), 69);
    let Distribution { sum, .. } = collector.distribution("execution_time", &[("task", "sleep")]);
    assert!(sum >= 4.0 * 50.0, "two tasks ran into their timeout of 50 ms twice: {sum} ms");
    // What fails for good or stalls is kept by default.
    assert_eq!(number("tasks_dead_lettered", &[("task", "fail"), ("version", "1")]), 10.0);
    assert_eq!(number("tasks_dead_lettered", &[]), 13.0);
    assert_eq!(number("jobbers.attempts.failed", &[("reason", "timeout"), ("next", "retry")]), 2.0);
    assert_eq!(number("jobbers.attempts.failed", &[("reason", "fatal"), ("next", "over")]), 7.0);
    assert_eq!(number("jobbers.attempts.failed", &[("reason", "panic")]), 3.0);
    assert_eq!(number("jobbers.attempts.failed", &[("reason", "stall"), ("next", "over")]), 1.0);
    assert_failures_begin_at_0(&collector);
    assert_eq!(number("jobbers.tasks.stalled", &[("action", "stall")]), 1.0);
    assert_eq!(count("jobbers.retry.delay", &[]), 12);
    assert_eq!(number("jobbers.leases.lost", &[]), 0.0);
    assert_eq!(number("jobbers.tasks.submitted", &[("outcome", "created")]), 69.0);
    assert_eq!(number("jobbers.submissions.refused", &[("code", "unknown_queue")]), 1.0);
    assert_eq!(collector.distribution("jobbers.submit.batch.size", &[]), Distribution { count: 8, sum: 69.0 });
    assert_eq!(count("jobbers.http.request.duration", &[("route", "/tasks"), ("status_code", "201")]), 8);
    assert_eq!(count("jobbers.worker.drain.duration", &[("outcome", "done")]), 1);
    assert_eq!(number("jobbers.queue.accepted", &[("queue", "default")]), 69.0);
    assert!(count("jobbers.engine.operation.duration", &[("operation", "cycle")]) > 0);
    for name in collector.names() {
        assert!(ALL.iter().any(|metric| metric.name == name), "{name} is not in the catalogue");
    }
    assert_attributes_are_the_catalogue_s(&collector);
}

/// A task that never failed has a series for each reason why it could.
fn assert_failures_begin_at_0(collector: &Collector) {
    let series = collector.series("jobbers.attempts.failed");
    for reason in ["error", "fatal", "timeout", "panic"] {
        let of_echo = [("task", "echo"), ("reason", reason), ("next", "over")];
        let is_there = series
            .iter()
            .any(|one| of_echo.iter().all(|(key, value)| one.get(*key).map(String::as_str) == Some(*value)));
        assert!(is_there, "{reason}: it begins at 0 before anything fails");
        assert_eq!(collector.number("jobbers.attempts.failed", &of_echo), 0.0);
    }
}

/// A lone task of a worker that dies fails as poison, and a task that no worker knows is dropped. Every process that may
/// count their ends has a series at 0 before: an alert sees the first of them.
async fn what_poison_and_unknown_tasks_count_begins_at_0(kind: Engine) {
    const PATIENCE: Duration = Duration::from_secs(30);
    const POISON: usize = 3;
    let stack = Stack::on(kind).await;
    let Manager { api, address, program: _manager } = stack.manager().await;
    let one_slot = [("WORKER_LEASE", "2s"), ("WORKER_CONCURRENT_TASKS", "1")];
    let mut doomed = Vec::new();
    let mut ids = Vec::new();
    for _ in 0..POISON {
        doomed.push(stack.worker_with(&one_slot).await);
        ids.push(api.submit(&json!({"name": "hold", "max_crashes": 1})).await);
        stack.effects.happened("started", ids.last().unwrap()).await;
    }
    let heir_program = stack.worker_with(&[("METRICS_LISTEN", "127.0.0.1:0")]).await;
    let heir = metrics_address(&heir_program).await;
    let manager = address.to_string();
    let bad_ends = |task: &str, status: &str| {
        [
            format!("tasks_processed_total{{queue=\"default\",status=\"{status}\",task=\"{task}\"}}"),
            format!("tasks_dead_lettered_total{{queue=\"default\",task=\"{task}\",version=\"1\"}}"),
        ]
    };
    let counted = async |series: &str| {
        let mut values = Vec::new();
        for process in [&heir, &manager] {
            values.push(value(&scrape(process).await, series));
        }
        values
    };
    let begin_at_0 = async |series: &str| {
        let what = format!("{series} is 0 in both");
        until(PATIENCE, &what, async || (counted(series).await == [Some(0.0), Some(0.0)]).then_some(())).await;
    };
    let add_up_to = async |series: &str, expected: usize| {
        let what = format!("{series} is {expected} in the sum");
        until(PATIENCE, &what, async || {
            let sum: f64 = counted(series).await.into_iter().flatten().sum();
            (sum == expected as f64).then_some(())
        })
        .await;
    };

    for series in
        bad_ends("hold", "failed").iter().chain(&["jobbers_leases_reclaimed_total{outcome=\"failed\"}".into()])
    {
        begin_at_0(series).await;
    }
    for worker in &mut doomed {
        worker.kill().await;
    }
    for id in &ids {
        assert_eq!(api.finished(id).await["status"], "failed");
    }
    for series in bad_ends("hold", "failed") {
        add_up_to(&series, POISON).await;
    }

    api.put("/queues/default", &json!({"patience": "1h"})).await.ok();
    let unknown = api.submit(&json!({"name": "nobody.knows"})).await;
    for series in bad_ends("nobody.knows", "dropped") {
        begin_at_0(&series).await;
    }
    api.put("/queues/default", &json!({"patience": "1s"})).await.ok();
    assert_eq!(api.finished(&unknown).await["status"], "dropped");
    for series in bad_ends("nobody.knows", "dropped") {
        add_up_to(&series, 1).await;
    }
}

fn assert_attributes_are_the_catalogue_s(collector: &Collector) {
    for metric in ALL {
        let mut expected: Vec<&str> = metric.attributes.iter().map(|attribute| attribute.key).collect();
        expected.sort_unstable();
        for series in collector.series(metric.name) {
            let keys: Vec<&str> = series.keys().map(String::as_str).collect();
            assert_eq!(keys, expected, "{}", metric.name);
        }
    }
}

/// Runs tasks while the collector at `endpoint` is no use, and ends the worker.
async fn work_and_end(endpoint: &str) {
    let stack = Stack::on(Engine::Sqlite).await;
    let otlp = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
        ("OTEL_METRIC_EXPORT_INTERVAL", "50"),
        ("OTEL_LOGS_EXPORTER", "otlp"),
        ("OTEL_BLRP_SCHEDULE_DELAY", "50"),
    ];
    let mut manager = stack.manager_with(&otlp).await;
    let mut worker = worker(&stack, &otlp).await;
    let body = manager.api.post("/tasks", &batch(500, &json!({"name": "echo"}))).await.ok();
    for task in body["tasks"].as_array().unwrap() {
        assert_eq!(manager.api.finished(task["id"].as_str().unwrap()).await["status"], "completed");
    }
    for program in [&mut worker, &mut manager.program] {
        let told = Instant::now();
        end(program).await;
        assert!(told.elapsed() < FLUSH, "it took {:?} to end", told.elapsed());
    }
}

#[tokio::test]
async fn a_collector_that_never_answers_costs_no_task_and_holds_nobody_up() {
    let collector = Collector::frozen().await;
    work_and_end(&collector.endpoint()).await;
    assert!(collector.connections() > 0, "somebody tried to send");
}

#[tokio::test]
async fn a_collector_that_fails_costs_no_task_and_holds_nobody_up() {
    let collector = Collector::failing().await;
    work_and_end(&collector.endpoint()).await;
    assert!(collector.connections() > 0, "somebody tried to send");
}

#[tokio::test]
async fn a_collector_that_is_not_there_costs_no_task_and_holds_nobody_up() {
    let gone = Collector::http().await.endpoint();
    work_and_end(&gone).await;
}

async fn a_collector_that_freezes_under_load_changes_no_result(kind: Engine) {
    under_load(kind, |collector| {
        collector.freeze();
        Some(collector)
    })
    .await;
}

async fn a_collector_that_dies_under_load_changes_no_result(kind: Engine) {
    under_load(kind, |collector| {
        drop(collector);
        None
    })
    .await;
}

/// Half of the tasks run with a collector that takes everything, half while it fails as `fail` has it.
async fn under_load(kind: Engine, fail: impl FnOnce(Collector) -> Option<Collector>) {
    let (stack, collector) = (Stack::on(kind).await, Collector::http().await);
    let endpoint = collector.endpoint();
    let otlp = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_METRIC_EXPORT_INTERVAL", "50"),
        ("METRICS_LISTEN", "127.0.0.1:0"),
    ];
    let mut manager = stack.manager_with(&otlp[..2]).await;
    let mut worker = worker(&stack, &otlp).await;
    let (echo, broken) = (json!({"name": "echo"}), json!({"name": "fail", "parameters": {"kind": "fatal"}}));
    let again = json!({"name": "fail", "parameters": {"times": 1}});
    let load = async || {
        for (count, task) in [(600, &echo), (100, &broken), (100, &again), (600, &echo)] {
            manager.api.post("/tasks", &batch(count, task)).await.ok();
        }
    };
    load().await;
    until(Duration::from_secs(60), "the collector is told of them", async || {
        (collector.number("tasks_processed", &[]) > 0.0).then_some(())
    })
    .await;
    let _frozen = fail(collector);
    load().await;
    let expected = json!({"completed": 2_600, "failed": 200});
    until(Duration::from_secs(120), "all tasks are over", async || {
        let tasks = manager.api.get("/queues/default").await.ok()["tasks"].clone();
        (tasks == expected).then_some(())
    })
    .await;
    let address = metrics_address(&worker).await;
    until(Duration::from_secs(60), "the worker has counted them all", async || {
        let lines = scrape(&address).await;
        let ended = lines.iter().filter(|line| line.starts_with("tasks_processed_total{"));
        let counted: f64 = ended.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum();
        (counted == 2_800.0).then_some(())
    })
    .await;
    for program in [&mut worker, &mut manager.program] {
        let told = Instant::now();
        end(program).await;
        assert!(told.elapsed() < FLUSH, "it took {:?} to end", told.elapsed());
    }
}

/// Reads `/metrics` and answers the lines that are no comments.
pub(crate) async fn scrape(address: impl std::fmt::Display) -> Vec<String> {
    let client = jobbers_api::client::http_client().build().unwrap();
    let response = client.get(format!("http://{address}/metrics")).send().await.unwrap();
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/plain; version=0.0.4"));
    response.text().await.unwrap().lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

/// The value of the one series that begins so.
pub(crate) fn value(lines: &[String], series: &str) -> Option<f64> {
    lines.iter().find(|line| line.starts_with(series)).and_then(|line| line.rsplit(' ').next()?.parse().ok())
}

fn assert_all_are_in_the_catalogue(lines: &[String]) {
    for line in lines.iter().filter(|line| !line.starts_with("target_info")) {
        let name = line.split(['{', ' ']).next().unwrap();
        let known = ALL.iter().any(|metric| match metric.kind {
            Kind::Histogram => ["_bucket", "_sum", "_count"]
                .iter()
                .any(|part| name.strip_suffix(part) == Some(metric.prometheus_name().as_str())),
            _ => name == metric.prometheus_name(),
        });
        assert!(known, "{line} is not in the catalogue");
    }
}

pub(crate) async fn metrics_address(program: &Program) -> String {
    let line = program.line("serving /metrics").await;
    line.split(|c: char| c.is_whitespace() || matches!(c, '=' | '"'))
        .find(|word| word.parse::<std::net::SocketAddr>().is_ok())
        .unwrap_or_else(|| panic!("no address in {line:?}"))
        .to_owned()
}

#[tokio::test]
async fn every_process_shows_its_metrics() {
    let stack = Stack::on(Engine::Sqlite).await;
    let Manager { api, address, program: _manager } = stack.manager().await;
    let worker = worker(&stack, &[("METRICS_LISTEN", "127.0.0.1:0")]).await;
    let cleaner = Program::start(
        "cleaner",
        stack.folder(),
        &["--engine-url", stack.url(), "--retention", "--watch", "--metrics-listen", "127.0.0.1:0"],
        &[],
    );
    let id = api.submit(&json!({"name": "echo"})).await;
    api.finished(&id).await;

    let manager = until(Duration::from_secs(20), "the manager has read the store", async || {
        let lines = scrape(address).await;
        let ran = "jobbers_queue_depth{queue=\"default\",status=\"submitted\"}";
        let alive = "jobbers_workers_alive{role=\"default\",state=\"running\"}";
        (value(&lines, ran).is_some() && value(&lines, alive) == Some(1.0)).then_some(lines)
    })
    .await;
    assert_all_are_in_the_catalogue(&manager);
    let submitted = "jobbers_tasks_submitted_total{outcome=\"created\",queue=\"default\",task=\"echo\"}";
    assert_eq!(value(&manager, submitted), Some(1.0), "{manager:#?}");
    assert_eq!(value(&manager, "jobbers_queue_oldest_age_seconds{queue=\"default\"}"), Some(0.0));
    assert!(value(&manager, "jobbers_process_memory_bytes{service=\"manager\"}").unwrap() > 1e6);

    let lines = scrape(metrics_address(&worker).await).await;
    assert_all_are_in_the_catalogue(&lines);
    let processed = "tasks_processed_total{queue=\"default\",status=\"completed\",task=\"echo\"}";
    assert_eq!(value(&lines, processed), Some(1.0), "{lines:#?}");
    let failed = "tasks_processed_total{queue=\"default\",status=\"failed\",task=\"echo\"}";
    assert_eq!(value(&lines, failed), Some(0.0), "the series is there before the first failure");
    assert_eq!(value(&lines, "jobbers_worker_slots_limit{role=\"default\"}"), Some(64.0));
    let count = "execution_time_milliseconds_count{queue=\"default\",status=\"completed\",task=\"echo\"}";
    assert_eq!(value(&lines, count), Some(1.0));

    let address = metrics_address(&cleaner).await;
    let done = "jobbers_cleaner_runs_total{outcome=\"done\",pass=\"prune_retention\"}";
    let lines = until(Duration::from_secs(20), "the cleaner has made its round", async || {
        let lines = scrape(&address).await;
        value(&lines, done).is_some_and(|runs| runs >= 1.0).then_some(lines)
    })
    .await;
    assert_all_are_in_the_catalogue(&lines);
    assert!(value(&lines, "jobbers_cleaner_last_success_timestamp_seconds").unwrap() > 1.7e9);
}

#[tokio::test]
async fn one_process_with_everything_shows_everything_at_one_address() {
    let stack = Stack::on(Engine::Sqlite).await;
    let up =
        Program::start("jobbers", stack.folder(), &["up", "--engine-url", stack.url(), "--listen", "127.0.0.1:0"], &[]);
    let Manager { api, address, program: _up } = Manager::ready(up).await;
    let id = api.submit(&json!({"name": "echo"})).await;
    api.finished(&id).await;
    let processed = "tasks_processed_total{queue=\"default\",status=\"completed\",task=\"echo\"}";
    // The store notifies waiting callers a moment before it answers the worker, which then counts.
    let lines = until(Duration::from_secs(10), "the worker has counted it", async || {
        let lines = scrape(address).await;
        (value(&lines, processed) == Some(1.0)).then_some(lines)
    })
    .await;
    assert_all_are_in_the_catalogue(&lines);
    let submitted = "jobbers_tasks_submitted_total{outcome=\"created\",queue=\"default\",task=\"echo\"}";
    assert_eq!(value(&lines, submitted), Some(1.0), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("jobbers_build_info{service=\"jobbers\"")), "{lines:#?}");
}

#[tokio::test]
async fn metrics_are_not_shown_to_strangers_unless_that_is_meant() {
    let stack = Stack::on(Engine::Sqlite).await;
    for (variables, code, words) in [
        ([("METRICS_LISTEN", "0.0.0.0:0"), ("WORKER_ROLE", "default")], 64, "is not a loopback address"),
        ([("OTEL_EXPORTER_OTLP_ENDPOINT", "nonsense"), ("WORKER_ROLE", "default")], 64, "must begin with http://"),
        ([("OTEL_TRACES_SAMPLER", "sometimes"), ("WORKER_ROLE", "default")], 64, "OTEL_TRACES_SAMPLER"),
    ] {
        let mut all = vec![("ENGINE_URL", stack.url())];
        all.extend(variables);
        let mut worker = Program::start::<&str>("worker", stack.folder(), &[], &all);
        assert_eq!(worker.exit().await.code(), Some(code));
        worker.line(words).await;
    }
}

/// What a manager sends over TLS to a collector of one protocol or the other.
async fn it_arrives_over_tls(kind: Engine) {
    let (stack, authority) = (Stack::on(kind).await, Authority::new());
    let trusted = authority.file("ca.pem");
    for (protocol, collector) in [("grpc", Collector::grpc().await), ("http/protobuf", Collector::http().await)] {
        let address = collector.endpoint().strip_prefix("http://").unwrap().parse().unwrap();
        let front = TlsFront::start(address, &authority).await;
        let endpoint = front.url();
        let otlp = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
            ("SSL_CERT_FILE", trusted.to_str().unwrap()),
        ];
        let mut manager = stack.manager_with(&otlp).await;
        manager.api.submit(&json!({"name": "echo"})).await;
        end(&mut manager.program).await;
        assert_eq!(collector.spans("send default").len(), 1, "{protocol}");
    }
}
