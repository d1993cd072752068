//! Where a task's spans lead, and which log lines leave.

use std::time::Duration;

use jobbers_test_support::{
    collector::{Collector, Line, Span},
    wait::until,
};
use serde_json::json;

use crate::{
    engines::Kind as Engine,
    stack::{Manager, Stack},
    watching::telemetry::{end, worker},
};

on_both_engines!(a_task_is_traced_from_its_submission_through_its_retries, what_is_sent_again_links_to_its_former_life,);

async fn a_task_is_traced_from_its_submission_through_its_retries(kind: Engine) {
    let (stack, collector) = (Stack::on(kind).await, Collector::http().await);
    let endpoint = collector.endpoint();
    let otlp = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("OTEL_METRICS_EXPORTER", "none")];
    let mut manager = stack.manager_with(&otlp).await;
    let mut worker = worker(&stack, &otlp).await;
    let client = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let dropped = "00-5bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
    let task = json!({"id": "t", "name": "fail", "parameters": {"times": 1}});
    let post = reqwest::Method::POST;
    for (traceparent, task) in [(client, task), (dropped, json!({"id": "d", "name": "echo"}))] {
        let headers = [("traceparent", traceparent)];
        manager.api.send(post.clone(), "/tasks", &headers, Some(&task)).await.unwrap().ok();
    }
    for id in ["t", "d"] {
        assert_eq!(manager.api.finished(id).await["status"], "completed");
    }
    end(&mut worker).await;
    end(&mut manager.program).await;

    let (sent, processed) = (collector.spans("send default"), collector.spans("process default"));
    let [send] = sent.as_slice() else { panic!("one submission is kept: {sent:?}") };
    assert_eq!(hex(&send.trace), "4bf92f3577b34da6a3ce929d0e0e4736", "it belongs to its submitter's trace");
    assert_eq!(hex(&send.parent), "00f067aa0ba902b7");
    let attempt = |number: &str| {
        let of = |span: &&Span| span.attributes["jobbers.task.attempt"] == number;
        processed.iter().find(of).unwrap_or_else(|| panic!("no attempt {number} in {processed:?}"))
    };
    let (first, second) = (attempt("1"), attempt("2"));
    assert_eq!(processed.len(), 2, "the trace that its submitter dropped stays dropped: {processed:?}");
    assert_eq!((&first.trace, &first.parent), (&send.trace, &send.id), "the first attempt is a child of `send`");
    assert!(first.failed && !second.failed);
    assert_ne!(second.trace, send.trace, "a retry begins a trace of its own");
    let (from, before) = ((send.trace.clone(), send.id.clone()), (first.trace.clone(), first.id.clone()));
    assert_eq!(second.links, [from, before], "and links to where it comes from, and to what was before it");
    assert_eq!(second.attributes["messaging.message.id"], "t");
}

async fn what_is_sent_again_links_to_its_former_life(kind: Engine) {
    let (stack, collector) = (Stack::on(kind).await, Collector::http().await);
    let endpoint = collector.endpoint();
    let otlp = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("OTEL_METRICS_EXPORTER", "none")];
    let mut manager = stack.manager_with(&otlp).await;
    let mut worker = worker(&stack, &otlp).await;
    let task = json!({"id": "t", "name": "fail", "parameters": {"times": 2}, "max_retries": 1, "retry_delay": "10ms"});
    manager.api.submit(&task).await;
    assert_eq!(manager.api.finished("t").await["status"], "failed");
    until(Duration::from_secs(60), "it is archived", async || {
        // Refused until a manager keeps the archive; it has no total either.
        let letters = manager.api.get("/dead-letter-queue/stats").await.body;
        (letters["total"] == 1).then_some(())
    })
    .await;
    let again = json!({"task_ids": ["t"], "reset_retry_count": false});
    manager.api.post("/dead-letter-queue/resubmit", &again).await.ok();
    until(Duration::from_secs(60), "it is done at last", async || {
        (manager.api.finished("t").await["status"] == "completed").then_some(())
    })
    .await;
    end(&mut worker).await;
    end(&mut manager.program).await;

    let mut processed = collector.spans("process default");
    processed.sort_by_key(|span| span.attributes["jobbers.task.attempt"].clone());
    let [first, second, third] = processed.as_slice() else { panic!("three attempts: {processed:?}") };
    let [send] = &*collector.spans("send default") else { panic!("one submission") };
    let of = |span: &Span| (span.trace.clone(), span.id.clone());
    assert_eq!((&first.trace, first.links.as_slice()), (&send.trace, [].as_slice()));
    assert_eq!(second.links, [of(send), of(first)]);
    assert_eq!(third.links, [of(send), of(second)], "the last of its former life");
    assert!(!third.failed && [first, second].iter().all(|span| span.failed));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs a worker that fails a task and exports to `collector`; returns the lines that arrived by the worker's end.
async fn lines_sent_to(collector: &Collector, protocol: &str, more: &[(&str, &str)]) -> Vec<Line> {
    let stack = Stack::on(Engine::Sqlite).await;
    let endpoint = collector.endpoint();
    let mut otlp = vec![
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
        ("JOBBERS_LOG", "debug"),
    ];
    otlp.extend(more);
    let Manager { api, program: _manager, .. } = stack.manager().await;
    let mut worker = worker(&stack, &otlp).await;
    let task = json!({"id": "t", "name": "fail", "parameters": {"kind": "fatal"}});
    api.submit(&task).await;
    api.submit(&json!({"id": "e", "name": "echo", "parameters": {"password": "secret-17"}})).await;
    for id in ["t", "e"] {
        api.finished(id).await;
    }
    end(&mut worker).await;
    collector.lines()
}

#[tokio::test]
async fn log_lines_leave_when_they_are_asked_for() {
    let asked = [("OTEL_LOGS_EXPORTER", "otlp")];
    for (collector, protocol) in [(Collector::grpc().await, "grpc"), (Collector::http().await, "http/protobuf")] {
        let lines = lines_sent_to(&collector, protocol, &asked).await;
        assert!(lines.iter().all(|line| line.service == "jobbers-worker"), "{lines:?}");
        let of_task = |line: &&Line| line.attributes.get("id").is_some_and(|id| id == "t");
        let failed: Vec<&Line> = lines.iter().filter(of_task).collect();
        let [failed] = failed.as_slice() else { panic!("one attempt failed: {lines:?}") };
        assert_eq!((failed.level.as_str(), failed.attributes["kind"].as_str()), ("INFO", "fatal"));
        assert!(lines.iter().any(|line| line.message == "worker stopped"), "the last ones leave too: {lines:?}");
        let loud = ["Metrics", "Batch", "Export", "HttpClient", "Periodic"];
        let own = |line: &&Line| loud.iter().any(|word| line.message.contains(word));
        assert!(!lines.iter().any(|line| own(&line)), "no export is told of by the next: {lines:?}");
        assert!(!format!("{lines:?}").contains("secret-17"), "payloads stay: {lines:?}");
        assert!(lines.len() < 200, "{} lines", lines.len());
    }
}

#[tokio::test]
async fn log_lines_stay_unless_they_are_asked_for() {
    let collector = Collector::http().await;
    let lines = lines_sent_to(&collector, "http/protobuf", &[]).await;
    assert!(lines.is_empty(), "{lines:?}");
    assert!(!collector.spans("process").is_empty(), "the other signals leave");
}
