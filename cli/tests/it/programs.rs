//! What other programs read of these programs: JSON logs, probes, metrics; and what an interrupted one leaves.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::Command,
};

use nix::{
    sys::signal::{self, Signal},
    unistd::Pid,
};
use serde_json::{Value, json};

use crate::{
    hostile::call,
    jobbers::{Service, Up, program, run, run_in},
};

/// A line of a JSON log.
#[track_caller]
fn line_of_log(line: &str) -> Value {
    let read: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let is_whole = read["timestamp"].is_string() && read["level"].is_string() && read["fields"]["message"].is_string();
    assert!(is_whole, "{line}");
    read
}

#[test]
fn with_json_every_line_is_an_object_also_of_a_panic_and_of_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let up = Up::in_folder(folder, &["--log-format", "json"]);
    up.jobbers(&["submit", "fail", "kind=panic", "message=boom", "--max-retries", "0", "--wait"]).ends_with(1);
    up.jobbers(&["submit", "fail", "times=1", "--retry-delay", "0", "--wait"]).ok();
    let lines: Vec<Value> = up.lines().iter().map(|line| line_of_log(line)).collect();
    let find = |words: &str| {
        let found = lines.iter().find(|line| line["fields"]["message"].as_str().unwrap().contains(words));
        found.unwrap_or_else(|| panic!("{words}: {lines:#?}")).clone()
    };
    assert!(find("jobbers is up at http://")["fields"]["message"].as_str().unwrap().contains("tasks are kept in"));
    let panic = find("panic: boom");
    assert_eq!((&panic["level"], &panic["task"]["name"]), (&json!("ERROR"), &json!("fail")), "{panic}");
    assert!(panic["fields"]["place"].as_str().unwrap().contains("fail.rs:"), "{panic}");
    let next: Vec<&str> = lines.iter().filter_map(|line| line["fields"]["next"].as_str()).collect();
    assert_eq!(next, ["none: the task failed and is a dead letter", "retry in 0s"], "{lines:#?}");
    // A second one is refused its address, in a line of JSON too.
    let address = up.url.trim_start_matches("http://");
    let second = run_in(up.folder.path(), &["up", "--listen", address, "--log-format", "json"]).ends_with(69);
    second.err.lines().for_each(|line| drop(line_of_log(line)));
    for program in ["worker", "cleaner", "manager"] {
        let engine = ["--engine-url", "redis://127.0.0.1:1", "--log-format", "json"];
        let more: &[&str] = if program == "cleaner" { &["--retention"] } else { &[] };
        let said = run_in(up.folder.path(), &[&[program][..], &engine, more].concat()).ends_with(69);
        assert!(!said.err.is_empty(), "{program}");
        said.err.lines().for_each(|line| drop(line_of_log(line)));
    }
}

/// The status and the text of an answer.
fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, text) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), text.to_owned())
}

#[test]
fn workers_and_cleaners_answer_probes() {
    let up = Up::start();
    let words = "serving /metrics address=";
    for arguments in [&["worker"][..], &["cleaner", "--retention", "--watch", "1s"]] {
        let arguments = [arguments, &["--metrics-listen", "127.0.0.1:0"]].concat();
        let mut child = program(up.folder.path(), &arguments).spawn().unwrap();
        let stream = child.stderr.take().unwrap();
        let (service, address) = Service::ready(arguments[0], child, stream, words);
        assert_eq!(get(&address, "/health/live"), (200, "live\n".to_owned()));
        let (mut status, mut text) = get(&address, "/health/ready");
        while status == 503 {
            assert!(text.starts_with("not ready: it"), "{text}");
            std::thread::yield_now();
            (status, text) = get(&address, "/health/ready");
        }
        assert_eq!((status, text.as_str()), (200, "ready\n"));
        let ready = up.jobbers(&["ready", "--manager", &address]).ok();
        assert_eq!(ready.out, format!("http://{address} is ready\n"));
        service.stops_in_good_order();
    }
}

#[test]
fn a_manager_is_ready_while_it_serves_and_the_command_says_so() {
    let up = Up::start();
    let ready = up.jobbers(&["ready"]).ok();
    assert!(ready.out.contains(" is ready, with the store sqlite:///"), "{ready:?}");
    assert_eq!(up.jobbers(&["ready", "--json"]).ok().json()["status"], "ready");
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), &["ready", "--manager", "http://127.0.0.1:1"]).fails(69, "no manager answers");
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), &["man", "man1"]).ok();
    let page = |name: &str| std::fs::read_to_string(folder.path().join("man1").join(name)).unwrap();
    assert!(page("jobbers.1").contains("jobbers\\-dlq(1)"));
    assert!(page("jobbers-dlq-resubmit.1").contains("\\-\\-dry\\-run"));
    std::fs::write(folder.path().join("file"), "").unwrap();
    run_in(folder.path(), &["man", "file"]).fails(69, "can't write to file");
}

#[test]
fn the_table_of_an_outbox_is_printed_for_each_database() {
    let print = |database: &str| run(&["outbox", "create", "--for", database]);
    for (database, place) in [
        ("postgres", "place bigint GENERATED ALWAYS AS IDENTITY"),
        ("mysql", "place bigint NOT NULL AUTO_INCREMENT"),
        ("sqlite", "place integer PRIMARY KEY AUTOINCREMENT"),
    ] {
        let printed = print(database).ok().out;
        assert!(printed.starts_with("CREATE TABLE jobbers_outbox (\n") && printed.contains(place), "{printed}");
        assert!(printed.ends_with(";\n") && !printed.ends_with("\n\n"), "{printed:?}");
    }
    print("oracle").fails(2, "possible values: postgres, mysql, sqlite");
}

#[test]
fn what_a_worker_over_http_does_is_counted() {
    let up = Up::start();
    let lease = |outcome: Value| {
        let task = json!({"name": "foreign", "queue": "default", "max_retries": 1, "retry_delay": "1h"});
        call(&up, "/tasks", &task);
        let wish = json!({
            "worker": "w", "queues": ["default"], "tasks": ["foreign@1"], "lease": "1m", "wait": "20s",
        });
        let leased = call(&up, "/leases", &wish)["leases"][0].clone();
        let mut end = outcome;
        end["id"] = leased["id"].clone();
        end["token"] = leased["token"].clone();
        let returned = json!({"worker": "w", "leases": [end]});
        // Sent again, as after a lost answer, it counts once.
        call(&up, "/leases/return", &returned);
        call(&up, "/leases/return", &returned);
    };
    lease(json!({"outcome": "completed", "result": 1}));
    lease(json!({"outcome": "failed", "error": {"message": "boom", "kind": "error"}}));
    let (status, metrics) = get(up.url.trim_start_matches("http://"), "/metrics");
    assert_eq!(status, 200);
    let value = |name: &str, attributes: &[&str]| {
        let is_it = |line: &&str| line.starts_with(name) && attributes.iter().all(|it| line.contains(it));
        let line = metrics.lines().find(is_it).unwrap_or_else(|| panic!("{name} {attributes:?}: {metrics}"));
        line.rsplit(' ').next().unwrap().to_owned()
    };
    let foreign = r#"task="foreign""#;
    assert_eq!(value("tasks_selected_total{", &[foreign, r#"role="http""#]), "2");
    assert_eq!(value("tasks_processed_total{", &[foreign, r#"status="completed""#]), "1");
    assert_eq!(value("jobbers_attempts_failed_total{", &[foreign, r#"next="retry""#]), "1");
    assert_eq!(value("tasks_retried_total{", &[foreign]), "1");
    assert_eq!(value("execution_time_milliseconds_count{", &[foreign, r#"status="completed""#]), "1");
}

#[test]
fn a_benchmark_shows_that_it_lives_and_leaves_nothing_behind_when_it_is_interrupted() {
    let (folder, places) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut command: Command = program(folder.path(), &["bench"]);
    let mut bench = command.env("TMPDIR", places.path()).spawn().unwrap();
    let mut lines = BufReader::new(bench.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut said = Vec::new();
    while !said.last().is_some_and(|line: &String| line.starts_with("round 1 of 3")) {
        said.push(lines.next().unwrap_or_else(|| panic!("it ended before the first round: {said:?}")));
    }
    assert!(places.path().read_dir().unwrap().next().is_some(), "it has a store");
    signal::kill(Pid::from_raw(i32::try_from(bench.id()).unwrap()), Signal::SIGINT).unwrap();
    said.extend(lines);
    let status = bench.wait().unwrap();
    assert!(!status.success() && said.iter().any(|line| line.contains("interrupted")), "{status}: {said:?}");
    let left: Vec<_> = places.path().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{status}: {said:?} left {left:?}");
}

/// Huge pages double and triple what a mostly idle process holds: the kernel fills what was advised so.
#[test]
fn no_program_asks_for_huge_pages() {
    let up = Up::start();
    up.jobbers(&["submit", "echo", "--wait"]).ok();
    let maps = std::fs::read_to_string(format!("/proc/{}/smaps", up.pid())).unwrap();
    let flags: Vec<&str> = maps.lines().filter_map(|line| line.strip_prefix("VmFlags:")).collect();
    assert!(flags.len() > 10, "{maps}");
    let advised = flags.iter().filter(|flags| flags.split_whitespace().any(|flag| flag == "hg"));
    assert_eq!(advised.count(), 0, "of {} mappings", flags.len());
}
