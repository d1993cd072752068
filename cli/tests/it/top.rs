//! `jobbers top` in a pipe.

use crate::jobbers::{Up, run, run_in};

#[test]
fn one_picture_shows_queues_workers_and_failures() {
    let up = Up::start();
    up.jobbers(&["queues", "create", "later", "--paused"]).ok();
    up.jobbers(&["submit", "echo", "--queue", "later"]).ok();
    up.jobbers(&["submit", "fail", "kind=fatal", "message=boom", "--id", "broken/1", "--wait"]).ends_with(1);
    up.jobbers(&["schedules", "put", "nightly", "--every", "1d", "echo"]).ok();
    up.jobbers(&["schedules", "run", "nightly"]).ok();
    let picture = up.jobbers(&["top", "--once", "--every", "200ms"]).ok().out;
    let line = |words: &str| picture.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{picture}"));
    assert!(line("jobbers http://").contains("1 ready"), "{picture}");
    assert!(line("later").trim_end().ends_with("paused"), "{picture}");
    assert!(line("broken/1").contains("boom"), "{picture}");
    assert!(line("dead letters").starts_with("dead letters ") && line("workflows").contains("0 running"), "{picture}");
    assert!(line("schedules").contains("nightly in ") && line("schedules").contains("(last "), "{picture}");
    assert!(line("WORKER").contains("SLOTS") && picture.contains("0/"), "{picture}");
    assert!(!picture.contains('\x1b'), "a pipe gets no colours: {picture}");
}

#[test]
fn it_finds_the_manager_of_its_folder() {
    let up = Up::start();
    let picture = run_in(up.folder.path(), &["top", "--once", "--every", "100ms"]).ok().out;
    assert!(picture.contains(&up.url), "{picture}");
}

#[test]
fn without_a_terminal_it_asks_for_once() {
    run(&["top"]).fails(2, "--once");
    run(&["top", "--once", "--manager", "http://127.0.0.1:1"]).fails(69, "start one with `jobbers up`");
    run(&["top", "--every", "0s"]).fails(2, "100ms");
}
