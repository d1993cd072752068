//! A small installation with everything that watches it: each process is scraped by a Prometheus and sends OTLP to a
//! collector, both at once.

use std::{net::SocketAddr, path::PathBuf};

use jobbers_test_support::{
    api::Api, collector::Collector, effects::Effects, program::Program, prometheus::Prometheus, wait::until,
};
use serde_json::json;

use super::LAG;
use crate::stack::Stack;

/// The processes. They end with it.
pub(super) struct Site {
    pub(super) api: Api,
    pub(super) manager: Program,
    /// The workers of the role `default`, and the cleaner. Ended with the site.
    _programs: Vec<Program>,
    /// A worker of a role of its own with one slot, to be frozen or killed.
    pub(super) fragile: Program,
    /// The worker with the test tasks, some of which can't be stopped.
    pub(super) stubborn: Program,
    pub(super) prometheus: Prometheus,
    pub(super) collector: Collector,
    /// What the test tasks did.
    pub(super) effects: Effects,
}

/// What a site differs in.
pub(super) struct Plan {
    /// The rules that Prometheus evaluates.
    pub(super) rules: PathBuf,
    /// A file of the manager's.
    pub(super) manager_config: Option<PathBuf>,
}

/// Queues and roles: two that are served, one that the cleaner sweeps, one that no worker serves, one that is paused, and two for
/// workers that misbehave.
async fn arrange(api: &Api) {
    for queue in [
        json!({"name": "mail", "max_per_worker": 50, "max_bytes": 1_000_000_000}),
        json!({"name": "swept"}),
        json!({"name": "stuck"}),
        json!({"name": "off", "paused": true}),
        json!({"name": "fragile"}),
        json!({"name": "stubborn"}),
    ] {
        api.post("/queues", &queue).await.ok();
    }
    api.put("/roles/default", &json!({"queues": ["default", "mail", "swept"]})).await.ok();
    api.put("/roles/fragile", &json!({"queues": ["fragile"]})).await.ok();
    api.put("/roles/stubborn", &json!({"queues": ["stubborn"]})).await.ok();
}

impl Site {
    /// Starts a manager, four workers and a cleaner, and a Prometheus that has seen all of them.
    pub(super) async fn on(stack: &Stack, plan: &Plan) -> Self {
        let collector = Collector::grpc().await;
        let endpoint = collector.endpoint();
        let watched = [
            ("METRICS_LISTEN", "127.0.0.1:0"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1000"),
            ("OTEL_TRACES_EXPORTER", "none"),
        ];
        let mut environment = watched[1..].to_vec();
        let config = plan.manager_config.as_ref().map(|path| path.to_str().unwrap());
        environment.extend(config.map(|path| ("MANAGER_CONFIG", path)));
        let manager = stack.manager_with(&environment).await;
        arrange(&manager.api).await;
        let role = async |program: &str, role: &str, slots: &str| {
            let mut environment = vec![("WORKER_ROLE", role), ("WORKER_CONCURRENT_TASKS", slots)];
            environment.extend(watched);
            stack.worker_program(program, &environment).await
        };
        let (first, second) = (role("worker", "default", "64").await, role("worker", "default", "64").await);
        // Three more than threads: so many tasks ignore a cancel, hang beyond their timeout, or wait for a thread.
        let slots = (threads() + 3).to_string();
        let (fragile, stubborn) = (role("worker", "fragile", "1").await, role("test-worker", "stubborn", &slots).await);
        let chores = ["--engine-url", stack.url(), "--queue", "swept", "--older-than", "500ms", "--watch", "1s"];
        let cleaner = Program::start("cleaner", stack.folder(), &chores, &watched);
        let mut targets = vec![manager.address];
        for program in [&first, &second, &fragile, &stubborn, &cleaner] {
            targets.push(metrics_of(program).await);
        }
        let prometheus = Prometheus::start(&targets, &plan.rules).await;
        // Counters begin at 0: what is not seen there can't be seen to grow.
        until(LAG, "all processes are scraped", async || {
            (prometheus.number("sum(up)").await == Some(targets.len() as f64)).then_some(())
        })
        .await;
        let (api, manager, programs) = (manager.api, manager.program, vec![first, second, cleaner]);
        let effects = Effects::at(stack.effects.path());
        Self { api, manager, _programs: programs, fragile, stubborn, prometheus, collector, effects }
    }
}

/// How many threads for blocking tasks a worker has.
pub(super) fn threads() -> usize {
    std::thread::available_parallelism().unwrap().get()
}

/// Where a program serves `/metrics`.
async fn metrics_of(program: &Program) -> SocketAddr {
    let line = program.line("serving /metrics").await;
    let words = line.split(|c: char| c.is_whitespace() || matches!(c, '=' | '/' | '"'));
    words.filter_map(|word| word.parse().ok()).next().unwrap_or_else(|| panic!("no address in {line:?}"))
}
