//! What the commands print on a terminal of 80 columns.

use std::process::Command;

use serde_json::json;

use crate::{
    hostile::call,
    jobbers::{Up, without_settings},
};

/// The width of the terminal, as most begin.
const COLUMNS: usize = 80;

/// What a command prints on a terminal: lines, with the codes of colours taken out.
fn on_terminal(up: &Up, arguments: &str) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_jobbers");
    let typed = format!("stty cols {COLUMNS} rows 24; exec '{program}' {arguments} --manager {}", up.url);
    let mut command = Command::new("script");
    without_settings(&mut command);
    command.args(["--quiet", "--return", "--command", &typed, "/dev/null"]).env("TERM", "xterm");
    let said = command.output().expect("`script` of util-linux runs a command on a terminal: install bsdutils");
    assert!(said.status.success(), "{arguments}: {said:?}");
    let text = String::from_utf8(said.stdout).unwrap();
    text.lines().map(|line| without_colours(line.trim_end_matches('\r'))).collect()
}

fn without_colours(line: &str) -> String {
    let mut rest = line.split('\u{1b}');
    let first = rest.next().unwrap_or_default().to_owned();
    rest.fold(first, |shown, code| shown + code.split_once('m').map_or(code, |(_, text)| text))
}

#[test]
fn each_entry_of_a_list_is_one_line_of_80_columns() {
    let up = Up::start();
    let long = "the connection to db-17.eu-central.example.org was refused after several attempts\nand so on";
    for index in 0..3 {
        let parameters = json!({"kind": "fatal", "message": long});
        let failed = json!({"name": "fail", "parameters": parameters, "labels": {"customer": "a".repeat(60)}});
        let id = call(&up, "/tasks", &failed)["id"].as_str().unwrap().to_owned();
        up.jobbers(&["status", &id, "--wait"]).ends_with(1);
        let worker = format!("build-server-17.eu-central.example.org:4711:{index}");
        let task = json!({"name": "media.transcode_video", "queue": "default", "parameters": parameters});
        let held = call(&up, "/tasks", &task)["id"].as_str().unwrap().to_owned();
        let wish = json!({
            "worker": worker, "queues": ["default"], "tasks": ["media.transcode_video@1"], "lease": "1m", "wait": "20s",
        });
        let leased = call(&up, "/leases", &wish);
        let token = &leased["leases"][0]["token"];
        let lease = json!({"id": held, "token": token, "progress": {"fraction": 0.5, "message": long}});
        call(&up, "/leases/extend", &json!({"worker": worker, "lease": "1m", "leases": [lease]}));
        up.jobbers(&["submit", "echo", "--delay", "1h"]).ok();
        let name = format!("every-night-at-two-{index}");
        up.jobbers(&["schedules", "put", &name, "--cron", "0 2 * * *", "--time-zone", "Europe/Berlin", "echo"]).ok();
        call(&up, "/workflows", &json!({"nodes": [{"id": "a", "name": "echo"}]}));
    }
    up.jobbers(&["queues", "pause", "default"]).ok();
    for list in ["list", "active", "scheduled", "workers", "dlq list", "workflow list", "schedules", "queues", "audit"]
    {
        let lines = on_terminal(&up, list);
        let widest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= COLUMNS, "{list}: {lines:#?}");
        let entries = lines.len() - 1;
        let expected = match list {
            // The tasks of all kinds, and a worker of `up` itself; a worker over HTTP is registered with its first lease.
            "list" => 12,
            "workers" => 4,
            "queues" => 1,
            // The schedules that were put, and the queue that was paused.
            "audit" => 4,
            _ => 3,
        };
        assert_eq!(entries, expected, "{list}: {lines:#?}");
    }
}
