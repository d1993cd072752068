//! What commands say so that a person knows what happens and what to do next: which task is waited for, how many tasks a
//! question is about, which name was meant, how to stop what goes on.

use std::{
    io::{BufRead, BufReader, Read},
    process::Stdio,
};

use nix::{
    sys::signal::{self, Signal},
    unistd::Pid,
};

use crate::jobbers::Up;

#[test]
fn who_waits_for_a_task_is_told_its_id_before_its_end() {
    let up = Up::start();
    let mut waiting = up.client(&["submit", "echo", "--delay", "1h", "--id", "mine", "--wait"]).spawn().unwrap();
    let mut lines = BufReader::new(waiting.stderr.take().unwrap()).lines().map_while(Result::ok);
    let first = lines.next().unwrap();
    assert!(first.contains("as mine in queue default") && first.ends_with("waiting for its end"), "{first}");
    waiting.kill().unwrap();
    waiting.wait().unwrap();
}

#[test]
fn a_question_says_how_many_tasks_it_is_about() {
    let up = Up::start();
    for (queue, count) in [("few", 3), ("many", 60)] {
        up.jobbers(&["queues", "create", queue, "--paused"]).ok();
        up.jobbers_fed(&["submit", "echo", "-", "--queue", queue], &"{}\n".repeat(count)).ok();
    }
    // Without a terminal to answer on, nothing is done.
    let asked = |arguments: &[&str], question: &str| {
        let said = up.jobbers(arguments).ends_with(2);
        assert!(said.err.contains(question), "{said:?}");
    };
    asked(&["cancel", "--queue", "few"], "Cancel 3 tasks?");
    asked(&["cancel", "--queue", "many"], "60 tasks match. Cancel them all?");
    asked(&["queues", "purge", "many"], "Delete 60 tasks of queue many");
    for _ in 0..3 {
        up.jobbers(&["submit", "fail", "kind=fatal", "--wait"]).ends_with(1);
    }
    asked(&["dlq", "resubmit", "--all"], "3 dead letters match.");
}

#[test]
fn a_mistyped_name_is_answered_with_the_one_that_was_meant() {
    let up = Up::start();
    up.jobbers(&["roles", "set", "mailer", "default"]).ok();
    up.jobbers(&["schedules", "put", "nightly", "--cron", "0 2 * * *", "echo"]).ok();
    for (arguments, meant) in [
        (&["queues", "show", "defualt"][..], "default"),
        (&["submit", "echo", "--queue", "defualt"], "default"),
        (&["submit", "ecko"], "echo"),
        (&["roles", "show", "mialer"], "mailer"),
        (&["schedules", "show", "nightyl"], "nightly"),
    ] {
        let said = up.jobbers(arguments);
        assert!(said.err.contains(&format!("did you mean {meant}?")), "{arguments:?}: {said:?}");
    }
    // One that nothing is near is answered alone.
    assert!(!up.jobbers(&["queues", "show", "elsewhere"]).ends_with(1).err.contains("did you mean"));
}

#[test]
fn one_and_many_are_the_same_command() {
    let up = Up::start();
    for (one, many) in [
        ("queue", "queues"),
        ("role", "roles"),
        ("route", "routes"),
        ("schedule", "schedules"),
        ("workflow", "workflows"),
        ("key", "keys"),
        ("board", "boards"),
    ] {
        let help = |name: &str| up.jobbers(&[name, "--help"]).ok().out;
        assert_eq!(help(one), help(many));
    }
}

#[test]
fn a_task_that_no_worker_knows_is_not_merely_delayed() {
    let up = Up::start();
    up.jobbers(&["submit", "nowhere.known", "--delay", "1h"]).ok();
    up.jobbers(&["submit", "echo", "--delay", "1h"]).ok();
    let listed = up.jobbers(&["scheduled"]).ok().out;
    let why = |name: &str| listed.lines().find(|line| line.contains(name)).unwrap();
    assert!(why("nowhere.known").contains("no worker knows it"), "{listed}");
    assert!(why("echo").contains("delayed"), "{listed}");
}

#[test]
fn a_file_that_is_missing_is_no_manager_that_is_away() {
    let up = Up::start();
    up.jobbers(&["workflow", "submit", "missing.mmd"]).fails(66, "can't read missing.mmd");
    up.jobbers(&["apply", "--file", "missing.toml"]).fails(66, "missing.toml");
    let imported = up.jobbers(&["import", "missing.jsonl"]).ends_with(66);
    assert!(imported.err.contains("can't read missing.jsonl"), "{imported:?}");
}

#[test]
fn an_interrupted_resubmission_goes_on_and_says_how_to_stop_it() {
    let up = Up::start();
    for n in 0..3 {
        let id = format!("failed-{n}");
        up.jobbers(&["submit", "fail", "kind=fatal", "--id", &id, "--wait"]).ends_with(1);
    }
    let mut command = up.client(&["dlq", "resubmit", "--all", "--yes", "--rate", "0.01"]);
    let mut sending = command.stdout(Stdio::null()).spawn().unwrap();
    let mut said = BufReader::new(sending.stderr.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();
    assert!(first.starts_with("operation ") && first.contains("3 tasks"), "{first}");
    signal::kill(Pid::from_raw(i32::try_from(sending.id()).unwrap()), Signal::SIGINT).unwrap();
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    sending.wait().unwrap();
    let stop = rest.split("stop it: jobbers ").nth(1).unwrap_or_else(|| panic!("{rest}")).trim_end();
    assert!(rest.contains("goes on"), "{rest}");
    up.jobbers(&stop.split(' ').collect::<Vec<_>>()).ok();
    let left = up.jobbers(&["dlq", "list", "--json"]).ok().json()["dead_letters"].as_array().unwrap().len();
    assert!(left >= 2, "{left} are still dead letters");
}
