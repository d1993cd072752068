//! The client commands against a real system.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::Stdio,
    thread,
};

use crate::jobbers::{Up, run};

#[test]
fn a_task_is_submitted_waited_for_and_shown() {
    let up = Up::start();
    let task = up.jobbers(&["submit", "echo", "hello=world", "n=3", "--wait", "--json"]).ok().json();
    assert_eq!((&task["status"], &task["result"]["n"]), (&"completed".into(), &3.into()));
    let id = task["id"].as_str().unwrap();
    let shown = up.jobbers(&["status", "--wait", id]).ok();
    assert!(shown.out.contains("completed") && shown.out.contains(r#"{"hello":"world","n":3}"#), "{shown:?}");
    assert!(up.jobbers(&["list", "--name", "echo"]).ok().out.contains(id));
}

#[test]
fn numbers_beyond_2_to_the_53_come_back_digit_by_digit() {
    let up = Up::start();
    let said = up.jobbers(&["submit", "echo", "n=12345678901234567890123.10", "--wait", "--json"]).ok();
    assert!(said.out.contains(r#""result":{"n":12345678901234567890123.10}"#), "{said:?}");
}

#[test]
fn a_task_that_fails_is_exit_code_1_for_whoever_waits() {
    let up = Up::start();
    let said = up.jobbers(&["submit", "fail", "kind=fatal", "message=boom", "--wait"]).ends_with(1);
    assert!(said.out.contains("fatal: boom"), "{said:?}");
}

#[test]
fn the_stock_tasks_do_not_read_what_the_worker_knows() {
    let up = Up::start();
    for task in ["text.wordcount", "file.digest"] {
        let said = up.jobbers(&["submit", task, "path=/proc/self/environ", "--wait"]).ends_with(1);
        assert!(said.out.contains("--stock-root"), "{said:?}");
    }
}

#[test]
fn submitting_the_same_twice_is_one_task_and_another_body_is_refused() {
    let up = Up::start();
    for _ in 0..2 {
        assert_eq!(up.jobbers(&["submit", "echo", "a=1", "--id", "order/7"]).ok().out, "order/7\n");
    }
    up.jobbers(&["submit", "echo", "a=2", "--id", "order/7"]).fails(1, "task_exists");
    assert_eq!(up.jobbers(&["list", "--all"]).ok().out.lines().count(), 2, "a heading and one task");
}

#[test]
fn each_document_on_standard_input_is_a_task_in_batches() {
    let up = Up::start();
    up.jobbers(&["queues", "create", "bulk"]).ok();
    let documents: String = (0..2_345).map(|n| format!("{{\"n\": {n}}}\n")).collect();
    let said = up.jobbers_fed(&["submit", "echo", "-", "--queue", "bulk"], &documents).ok();
    assert_eq!(said.out.lines().count(), 2_345);
    let queue = up.jobbers(&["queues", "show", "bulk", "--json"]).ok().json();
    assert_eq!(queue["tasks"]["submitted"], 2_345);
}

#[test]
fn what_came_before_a_broken_document_is_submitted_and_said_to_be() {
    let up = Up::start();
    let said = up.jobbers_fed(&["submit", "echo", "-"], "{\"a\":1}\n{\"b\":2}\n{oops\n{\"c\":3}\n").ends_with(2);
    assert_eq!(said.out.lines().count(), 2);
    assert!(said.err.contains("2 tasks submitted before this") && said.err.contains("document 3"), "{said:?}");
}

#[test]
fn tasks_are_cancelled_by_id_and_by_filter() {
    let up = Up::start();
    let later = |id: &str| up.jobbers(&["submit", "echo", "--delay", "1h", "--id", id]).ok();
    for id in ["a", "b", "c"] {
        later(id);
    }
    let said = up.jobbers(&["cancel", "a", "none"]).ends_with(1);
    assert!(said.out.contains("cancelled") && said.out.contains("does not exist"), "{said:?}");
    up.jobbers(&["cancel", "--status", "scheduled"]).ends_with(2);
    assert_eq!(up.jobbers(&["list", "--status", "scheduled"]).ok().out.lines().count(), 3, "nobody said yes");
    assert!(up.jobbers(&["cancel", "--status", "scheduled", "--yes"]).ok().out.starts_with("2 tasks cancelled"));
    assert_eq!(up.jobbers(&["list", "--status", "cancelled"]).ok().out.lines().count(), 4);
}

#[test]
fn queues_are_created_paused_purged_and_deleted() {
    let up = Up::start();
    up.jobbers(&["queues", "create", "heavy", "--max-per-worker", "2", "--keep-for", "1h"]).ok();
    up.jobbers(&["queues", "create", "heavy"]).fails(1, "exists");
    up.jobbers(&["queues", "pause", "heavy"]).ok();
    let queue = up.jobbers(&["queues", "show", "heavy", "--json"]).ok().json();
    assert_eq!(
        (&queue["paused"], &queue["max_per_worker"], &queue["retention"]["age"]),
        (&true.into(), &2.into(), &"1h".into())
    );
    // What is not said stays as it is.
    up.jobbers(&["queues", "set", "heavy", "--strict", "--patience", "2h"]).ok();
    up.jobbers(&["queues", "set", "heavy", "--max-per-worker", "3"]).ok();
    let queue = up.jobbers(&["queues", "show", "heavy", "--json"]).ok().json();
    assert_eq!(
        (&queue["strict"], &queue["patience"], &queue["paused"], &queue["max_per_worker"]),
        (&true.into(), &"2h".into(), &true.into(), &3.into())
    );
    assert!(up.jobbers(&["queues", "show", "heavy"]).ok().out.contains("refuses what no live worker can run"));
    up.jobbers(&["queues", "set", "heavy", "--strict", "false"]).ok();
    up.jobbers(&["submit", "echo", "--queue", "heavy"]).ok();
    assert!(up.jobbers(&["queues"]).ok().out.contains("paused"));
    up.jobbers(&["queues", "delete", "heavy", "--yes"]).fails(1, "live task");
    assert_eq!(up.jobbers(&["queues", "purge", "heavy", "--yes"]).ok().out, "1 task deleted\n");
    up.jobbers(&["queues", "delete", "heavy", "--yes"]).ok();
    up.jobbers(&["queues", "show", "heavy"]).fails(1, "unknown_queue");
}

#[test]
fn a_sleep_that_is_no_duration_is_refused() {
    let up = Up::start();
    // Before it the manager may not know the worker's schemas.
    up.jobbers(&["submit", "echo", "--wait"]).ok();
    up.jobbers(&["submit", "sleep", "seconds=x"]).fails(1, "schema_mismatch");
    for fits in ["seconds=0.01", "seconds=10ms", "seconds=1 us"] {
        up.jobbers(&["submit", "sleep", fits, "--wait"]).ok();
    }
}

#[test]
fn what_runs_where_is_shown() {
    let up = Up::start();
    up.jobbers(&["submit", "sleep", "seconds=600", "--id", "long"]).ok();
    up.jobbers(&["submit", "echo", "--delay", "1h", "--id", "later"]).ok();
    // The worker's report comes with its first claim, which was answered before the task was started.
    let started = || up.jobbers(&["status", "long"]).ok().out.contains("started");
    while !started() {}
    assert!(up.jobbers(&["active"]).ok().out.contains("long"));
    let ignores = up.jobbers(&["active", "--cancel-requested", "--json"]).ok().json();
    assert_eq!(ignores["tasks"], serde_json::json!([]), "nobody asked for it to be cancelled");
    assert!(up.jobbers(&["scheduled"]).ok().out.contains("later"));
    let workers = up.jobbers(&["workers", "--json"]).ok().json();
    assert!(workers["workers"][0]["tasks"].to_string().contains("text.wordcount@1"), "{workers}");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let up = Up::start();
    let documents = "{}\n".repeat(3_000);
    up.jobbers_fed(&["submit", "echo", "-"], &documents).ok();
    let mut child = up.client(&["list", "--all", "--json"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn without_a_manager_every_command_says_how_to_get_one() {
    for command in [&["list"][..], &["submit", "echo"], &["status", "x"], &["cancel", "x"], &["queues"], &["workers"]] {
        run(&[command, &["--manager", "http://127.0.0.1:1"]].concat()).fails(69, "start one with `jobbers up`");
    }
    run(&["list", "--manager", "127.0.0.1:1"]).fails(69, "no manager answers at http://127.0.0.1:1");
}

#[test]
fn a_wait_that_ends_before_its_task_has_an_exit_code_of_its_own() {
    let up = Up::start();
    let said = up.jobbers(&["submit", "sleep", "seconds=600", "--id", "long", "--wait=1ms"]).ends_with(124);
    assert!(said.err.contains("not over yet: 1 task"), "{said:?}");
    up.jobbers(&["status", "long", "--wait=1ms"]).ends_with(124);
    up.jobbers(&["cancel", "long"]).ok();
    up.jobbers(&["status", "long", "--wait=30s"]).ends_with(1);
}

#[test]
fn a_command_line_that_makes_no_sense_is_exit_code_2() {
    for (line, words) in [
        (&["submit", "echo", "hello"][..], "key=value"),
        (&["submit", "two words"], "task name"),
        (&["cancel"], "by their ids, or by a filter"),
        (&["cancel", "--status", "completed"], "are over"),
        (&["list", "--status", "done"], "possible values: waiting, scheduled"),
        (&["list", "--manager", "ftp://localhost:8000"], "http://HOST:PORT"),
        (&["submit", "echo", "--delay", "soon"], "is not a duration"),
    ] {
        run(line).fails(2, words);
    }
}

#[test]
fn no_colours_leave_for_a_pipe() {
    let up = Up::start();
    up.jobbers(&["submit", "echo", "--wait"]).ok();
    assert!(!up.jobbers(&["list"]).ok().out.contains('\u{1b}'));
}

#[test]
fn a_dead_letter_is_listed_shown_sent_again_and_completes() {
    let up = Up::start();
    let failed = up.jobbers(&["submit", "fail", "kind=fatal", "message=no user 17", "--wait", "--json"]).ends_with(1);
    let id = failed.json()["id"].as_str().unwrap().to_owned();
    let listed = up.jobbers(&["dlq", "list"]).ok();
    assert!(listed.out.contains(&id), "at once: {listed:?}");
    assert!(listed.out.contains("no user 17") && listed.out.contains("dead"), "{listed:?}");
    let shown = up.jobbers(&["dlq", "show", &id]).ok();
    assert!(
        shown.out.contains("fatal") && shown.out.contains(r#"{"kind":"fatal","message":"no user 17"}"#),
        "{shown:?}"
    );
    assert!(up.jobbers(&["dlq", "stats"]).ok().out.contains("no user #"));
    let dry = up.jobbers(&["dlq", "resubmit", "--name", "fail", "--dry-run"]).ok();
    assert_eq!(dry.out, "1 dead letter matches; 1 would be changed\n");
    up.jobbers(&["dlq", "resubmit", "--name", "fail"]).fails(2, "say --yes");
    let sent = up.jobbers(&["dlq", "resubmit", &id, "--parameters", r#"{"times": 0}"#]).ok();
    let operation = sent.out.strip_prefix("1 task sent again (operation ").unwrap().trim_end().trim_end_matches(')');
    let listed = up.jobbers(&["dlq", "operations"]).ok();
    assert!(listed.out.contains(operation) && listed.out.contains("done"), "{listed:?}");
    assert_eq!(
        up.jobbers(&["dlq", "operations", "--state", "done", "--json"]).ok().json()["operations"][0]["id"],
        operation
    );
    assert_eq!(up.jobbers(&["dlq", "operations", "--state", "running"]).ok().out, "");
    assert!(up.jobbers(&["status", &id, "--wait"]).ok().out.contains("completed"));
    let again = up.jobbers(&["dlq", "resubmit", &id]).ends_with(1);
    assert!(again.out.contains("already resubmitted") && again.out.contains("0 tasks sent again"), "{again:?}");
    assert!(up.jobbers(&["dlq", "list", "--state", "resubmitted"]).ok().out.contains(&id));
    assert_eq!(up.jobbers(&["dlq", "delete", &id]).ok().out, "1 dead letter deleted\n");
    up.jobbers(&["dlq", "show", &id]).fails(1, "unknown_dead_letter");
}

#[test]
fn dead_letters_are_named_once() {
    let up = Up::start();
    up.jobbers(&["dlq", "resubmit"]).fails(2, "--all");
    up.jobbers(&["dlq", "delete", "a", "--queue", "default"]).fails(2, "not by both");
    up.jobbers(&["dlq", "resubmit", "--queue", "default", "--limit", "1001"]).fails(2, "1001");
    up.jobbers(&["dlq", "resubmit", "--all", "--rate", "0", "--yes"]).fails(1, "a rate is 0.001 to");
    up.jobbers(&["dlq", "cancel", "nothing"]).fails(1, "unknown_operation");
    up.jobbers(&["dlq", "resubmit", "a", "--parameters", "{"]).fails(2, "not JSON");
    assert!(up.jobbers(&["dlq", "list", "--queue", "default"]).ok().out.is_empty());
    up.jobbers(&["dlq", "list", "--state", "lost"]).fails(1, "invalid_parameter");
    up.jobbers(&["dlq", "operations", "--state", "lost"]).fails(1, "invalid_parameter");
}

/// A manager that gives these answers, one to each connection: a status line with headers, and a body. Nothing: it hangs up.
pub(crate) fn answering(answers: Vec<Option<(String, String)>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            if let Some((head, body)) = answer {
                let length = body.len();
                let head = format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
                stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
            }
        }
    });
    url
}

#[test]
fn who_waits_outlives_a_manager_that_is_started_anew() {
    let at = "2026-01-01T00:00:00Z";
    let task = |status: &str| {
        let task = serde_json::json!({
            "id": "x", "name": "t", "version": 1, "queue": "default", "priority": 5, "status": status, "revision": 1,
            "policy": {}, "attempt": 1, "crashes": 0, "blames": 0, "suspicion": 0, "submitted_at": at, "ready_at": at,
            "cancel_requested": false, "errors": [], "dead_letter": false,
        });
        Some(("200 OK".to_owned(), task.to_string()))
    };
    let refusal = r#"{"code": "shutting_down", "detail": "the manager is stopping"}"#;
    let refused = Some(("503 Service Unavailable".to_owned(), refusal.to_owned()));
    let url = answering(vec![task("started"), refused, None, task("started"), task("completed")]);
    let said = run(&["status", "x", "--wait", "--json", "--manager", &url]).ok();
    assert_eq!(said.json()["status"], "completed");
    assert_eq!(said.err.matches("asking again").count(), 1, "{said:?}");
}

#[test]
fn a_text_that_restricts_nothing_and_a_time_that_is_none_are_refused() {
    for flag in ["--error", "--fingerprint"] {
        assert!(run(&["dlq", "delete", flag, "", "--yes"]).ends_with(2).err.contains("a value is required"));
    }
    assert!(run(&["list", "--submitted-after", "noon"]).ends_with(2).err.contains("2026-01-01 for that day"));
    assert!(run(&["list", "--finished-before", "noon"]).ends_with(2).err.contains("2026-01-01 for that day"));
    assert!(run(&["cancel", "--finished-before", "2026-01-01"]).ends_with(2).err.contains("can't be cancelled"));
}

#[test]
fn deleting_what_is_not_there_is_exit_code_1() {
    let up = Up::start();
    assert!(up.jobbers(&["dlq", "delete", "nope"]).ends_with(1).out.contains("0 dead letters deleted"));
}

#[test]
fn an_answer_that_can_t_be_written_is_exit_code_74() {
    let up = Up::start();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = up.client(&["queues"]);
    assert_eq!(command.stdout(full).output().unwrap().status.code(), Some(74));
}
