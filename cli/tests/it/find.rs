//! Tasks found by what they carry, followed, and sent again; and what can be run.

use serde_json::Value;

use crate::jobbers::Up;

#[test]
fn a_list_shows_parameters_and_errors_and_finds_tasks_by_them() {
    let up = Up::start();
    up.jobbers(&["submit", "echo", "customer=42", "--delay", "1h", "--id", "first"]).ok();
    up.jobbers(&["submit", "echo", "customer=7", "--delay", "1h", "--id", "second"]).ok();
    up.jobbers(&["submit", "fail", "kind=fatal", "message=no such host", "--id", "broken", "--wait"]).ends_with(1);
    let listed = up.jobbers(&["list"]).ok().out;
    let line = |id: &str| listed.lines().find(|line| line.starts_with(id)).unwrap_or_else(|| panic!("{listed}"));
    assert!(line("ID").contains("PARAMETERS") && line("ID").contains("ERROR") && line("ID").contains("AGE"));
    assert!(line("first").contains(r#"{"customer":42}"#) && line("broken").contains("fatal: no such host"), "{listed}");
    let found = |arguments: &[&str]| -> Vec<String> {
        let listed = up.jobbers(&[&["list"][..], arguments].concat()).ok().out;
        listed.lines().skip(1).map(|line| line.split(' ').next().unwrap().to_owned()).collect()
    };
    assert_eq!(found(&["--where", "customer=42"]), ["first"]);
    assert_eq!(found(&["--where", "message=no such host", "--status", "failed"]), ["broken"]);
    assert!(found(&["--where", "customer=42", "--where", "customer=7"]).is_empty());
    assert_eq!(found(&["--error", "NO SUCH HOST"]), ["broken"]);
    assert_eq!(found(&["--finished-after", "2001-01-01", "--finished-before", "3001-01-01"]), ["broken"]);
    assert!(found(&["--error", "no such host", "--finished-before", "2001-01-01"]).is_empty());
    let page = up.jobbers(&["list", "--where", "customer=7", "--json"]).ok().json();
    assert_eq!((&page["tasks"][0]["id"], &page["tasks"][0]["parameters"]["customer"]), (&"second".into(), &7.into()));
    up.jobbers(&["list", "--where", "customer"]).fails(1, "write PATH=VALUE");
    up.jobbers(&["submit", "echo", "customer=9", "--id", "done", "--wait"]).ok();
    assert_eq!(found(&["--where", "customer=9", "--status", "completed"]), ["done"]);
    up.jobbers(&["cancel", "--where", "customer=7", "--yes"]).ok();
    assert_eq!(found(&["--status", "cancelled"]), ["second"]);
}

#[test]
fn a_search_that_gives_up_says_how_to_go_on() {
    let up = Up::start();
    up.jobbers(&["queues", "create", "many", "--paused"]).ok();
    let documents: String = (0..10_050).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    up.jobbers_fed(&["submit", "echo", "-", "--queue", "many"], &documents).ok();
    let given_up = up.jobbers(&["list", "--where", "n=10049"]).ok();
    assert!(given_up.out.is_empty() && given_up.err.contains("and stopped; go on with --cursor '"), "{given_up:?}");
    let cursor = given_up.err.split('\'').nth(1).unwrap();
    let found = up.jobbers(&["list", "--where", "n=10049", "--cursor", cursor, "--all"]).ok();
    assert!(found.out.contains(r#"{"n":10049}"#), "{found:?}");
    let all = up.jobbers(&["list", "--where", "n=10049", "--all"]).ok();
    assert_eq!(all.out.lines().count(), 2, "{all:?}");
}

#[test]
fn a_task_that_is_over_is_sent_again_kept_or_not() {
    let up = Up::start();
    let fail = ["submit", "fail", "kind=fatal", "message=boom", "--wait"];
    up.jobbers(&[&fail[..], &["--id", "kept"]].concat()).ends_with(1);
    up.jobbers(&[&fail[..], &["--id", "unkept", "--dead-letter", "none"]].concat()).ends_with(1);
    up.jobbers(&["queues", "create", "slow", "--paused"]).ok();
    let refused = up.jobbers(&["dlq", "resubmit", "unkept"]).ends_with(1);
    assert!(refused.err.contains("jobbers resubmit unkept"), "it gives a way out: {refused:?}");
    let sent = up.jobbers(&["resubmit", "kept", "unkept", "--to-queue", "slow"]).ok();
    assert_eq!(sent.out, "kept sent again\nunkept sent again\n");
    for id in ["kept", "unkept"] {
        let task = up.jobbers(&["status", id, "--json"]).ok().json();
        assert_eq!(
            (&task["status"], &task["queue"], &task["attempt"]),
            (&"submitted".into(), &"slow".into(), &0.into())
        );
    }
    up.jobbers(&["cancel", "kept"]).ok();
    let mixed = up.jobbers(&["resubmit", "unkept", "kept", "nobody"]).ends_with(1);
    assert_eq!(mixed.out, "kept sent again\n");
    assert!(mixed.err.contains("task_live") && mixed.err.contains("unknown_task"), "{mixed:?}");
    up.jobbers(&["resubmit", "nobody"]).fails(1, "unknown_task");
    up.jobbers(&["resubmit", "kept", "--to-queue", "nowhere"]).ends_with(1);
    up.jobbers(&["resubmit"]).ends_with(2);
}

#[test]
fn tasks_that_match_are_sent_again_and_deleted() {
    let up = Up::start();
    for id in ["first", "second"] {
        up.jobbers(&["submit", "fail", "kind=fatal", "message=no such host", "--id", id, "--wait"]).ends_with(1);
    }
    up.jobbers(&["submit", "fail", "kind=fatal", "message=other", "--id", "third", "--wait"]).ends_with(1);
    up.jobbers(&["queues", "create", "slow", "--paused"]).ok();
    for command in ["resubmit", "delete"] {
        let asked = up.jobbers(&[command, "--error", "no such"]).ends_with(2);
        assert!(asked.err.contains("2 tasks") && asked.err.contains("--yes"), "it shows them and asks: {asked:?}");
        let none = up.jobbers(&[command, "--error", "nothing like it"]).ends_with(1);
        assert!(none.err.contains("matches"), "{none:?}");
        assert!(up.jobbers(&[command, "first", "--error", "no such"]).ends_with(2).err.contains("not by both"));
        up.jobbers(&[command, "--error", ""]).ends_with(2);
    }
    up.jobbers(&["resubmit", "--status", "completed", "--yes"]).ends_with(2);
    up.jobbers(&["delete", "--status", "started", "--yes"]).ends_with(2);
    let sent = up.jobbers(&["resubmit", "--error", "NO SUCH", "--to-queue", "slow", "--yes"]).ok();
    assert_eq!(sent.out, "2 tasks sent again\n");
    assert_eq!(up.jobbers(&["list", "--queue", "slow"]).ok().out.lines().count(), 3);
    assert_eq!(up.jobbers(&["delete", "--queue", "slow", "--yes"]).ok().out, "2 tasks deleted\n");
    assert_eq!(up.jobbers(&["delete", "--error", "other", "--yes"]).ok().out, "1 task deleted\n");
    assert!(up.jobbers(&["list"]).ok().out.is_empty());
}

#[test]
fn scheduled_tasks_run_now_or_at_another_time() {
    let up = Up::start();
    up.jobbers(&["queues", "create", "slow", "--paused"]).ok();
    for id in ["first", "second", "third"] {
        up.jobbers(&["submit", "echo", "--id", id, "--queue", "slow", "--delay", "1h"]).ok();
    }
    assert_eq!(up.jobbers(&["reschedule", "first", "--delay", "2h"]).ok().out, "first is scheduled\n");
    assert_eq!(up.jobbers(&["reschedule", "first"]).ok().out, "first is submitted\n");
    let mixed = up.jobbers(&["reschedule", "first", "nobody", "second"]).ends_with(1);
    assert_eq!(mixed.out, "first is submitted, and not scheduled\nnobody does not exist\nsecond is submitted\n");
    for id in ["fourth", "fifth"] {
        up.jobbers(&["submit", "echo", "--id", id, "--queue", "slow", "--delay", "1h"]).ok();
    }
    let asked = up.jobbers(&["reschedule", "--queue", "slow"]).ends_with(2);
    assert!(asked.err.contains("Run 3 tasks now?"), "{asked:?}");
    // Tasks that get a later time come again in a walk by their times, which ends all the same.
    let later = up.jobbers(&["reschedule", "--queue", "slow", "--delay", "5h", "--yes"]).ok();
    assert!(later.out.ends_with("tasks rescheduled\n"), "{later:?}");
    let scheduled = up.jobbers(&["scheduled", "--queue", "slow"]).ok().out;
    assert!(scheduled.lines().count() == 4 && scheduled.contains("in 4h"), "{scheduled}");
    let now = up.jobbers(&["reschedule", "--queue", "slow", "--yes"]).ok();
    assert_eq!(now.out, "3 tasks rescheduled\n");
    assert_eq!(up.jobbers(&["list", "--queue", "slow", "--status", "submitted"]).ok().out.lines().count(), 6);
    for wrong in [
        &["reschedule"][..],
        &["reschedule", "first", "--queue", "slow"],
        &["reschedule", "first", "--delay", "soon"],
        &["reschedule", "first", "--delay", "1h", "--run-at", "2030-01-01T00:00:00Z"],
        &["reschedule", "--status", "submitted", "--yes"],
    ] {
        up.jobbers(wrong).ends_with(2);
    }
}

#[test]
fn a_task_is_made_to_wait_for_further_tasks() {
    let up = Up::start();
    for id in ["first", "second", "third"] {
        up.jobbers(&["submit", "echo", "--id", id, "--delay", "1h"]).ok();
    }
    let depend = ["depend", "third", "--on", "first", "--on", "second=run_with_failures"];
    assert_eq!(up.jobbers(&depend).ok().out, "third waits for 2 further tasks\n");
    assert_eq!(up.jobbers(&depend).ok().out, "third waits for 0 further tasks, and for 2 as before\n");
    assert_eq!(up.jobbers(&["status", "third", "--json"]).ok().json()["status"], "waiting");
    up.jobbers(&["depend", "first", "--on", "third"]).fails(1, "first -> third -> first");
    up.jobbers(&["depend", "first", "--on", "nobody"]).fails(1, "unknown_predecessor");
    up.jobbers(&["depend", "first"]).ends_with(2);
    up.jobbers(&["cancel", "first"]).ok();
    assert_eq!(up.jobbers(&["status", "third", "--json"]).ok().json()["status"], "aborted");
}

#[test]
fn a_task_waits_for_a_signal() {
    let up = Up::start();
    up.jobbers(&["submit", "echo", "--id", "gate", "--signal", "approved=1h,run", "--signal", "tested"]).ok();
    let explained = up.jobbers(&["explain", "gate"]).ok().out;
    assert!(explained.contains("signals from outside: approved, tested"), "{explained}");
    assert_eq!(up.jobbers(&["signal", "gate", "tested"]).ok().out, "gate is waiting\n");
    assert_eq!(up.jobbers(&["signal", "gate", "tested"]).ok().out, "gate had that signal before\n");
    up.jobbers(&["signal", "gate", "approved"]).ok();
    let status = up.jobbers(&["status", "gate", "--wait"]).ok().out;
    assert!(status.contains("signal approved") && status.contains("received, "), "{status}");
    up.jobbers(&["signal", "gate", "other"]).fails(1, "unknown_signal");
    up.jobbers(&["signal", "later", "tested"]).fails(1, "unknown_task");
    let kept = up.jobbers(&["signal", "later", "tested", "--keep-for", "1h"]).ok().out;
    assert!(kept.contains("later does not exist yet: the signal is kept until "), "{kept}");
    up.jobbers(&["submit", "echo", "--id", "later", "--signal", "tested", "--wait"]).ok();
    up.jobbers(&["signal", "other", "tested", "--keep-for", "2d"]).fails(1, "invalid_request");
    up.jobbers(&["submit", "echo", "--signal", "s=never"]).ends_with(2);
    up.jobbers(&["submit", "echo", "--signal", "s=1h,fly"]).ends_with(2);
}

#[test]
fn what_can_be_run_is_listed_and_shown_with_its_parameters() {
    let up = Up::start();
    let listed = up.jobbers(&["registry"]).ok().out;
    let line = listed.lines().find(|line| line.starts_with("text.wordcount")).unwrap_or_else(|| panic!("{listed}"));
    assert!(line.contains("default") && line.contains("path"), "{line}");
    let shown = up.jobbers(&["registry", "sleep"]).ok().out;
    assert!(shown.contains("sleep v1") && shown.contains("\"seconds\""), "{shown}");
    let tasks: Value = up.jobbers(&["registry", "sleep", "--json"]).ok().json();
    assert_eq!((tasks["tasks"].as_array().unwrap().len(), &tasks["tasks"][0]["name"]), (1, &"sleep".into()));
    assert!(up.jobbers(&["registry", "--json"]).ok().json()["tasks"].as_array().unwrap().len() > 3);
    for flags in [&["registry", "nobody"][..], &["registry", "nobody", "--json"]] {
        up.jobbers(flags).fails(1, "no live worker can run nobody");
    }
}

#[test]
fn a_task_is_followed_until_it_is_over() {
    let up = Up::start();
    up.jobbers(&["submit", "fail", "times=1", "--id", "twice", "--delay", "200ms", "--retry-delay", "50ms"]).ok();
    let followed = up.jobbers(&["status", "twice", "--watch"]).ok().out;
    let first = followed.lines().next().unwrap();
    assert!(first.contains("Z  "), "a time and what is so: {followed}");
    assert!(followed.contains("  completed, attempt 2 of 4, ran "), "{followed}");
    assert!(followed.contains("\nstatus "), "in the end all that is known: {followed}");
    let lines = up.jobbers(&["status", "twice", "--watch", "--json"]).ok();
    assert_eq!(lines.json()["status"], "completed", "one line, since it is over");
    up.jobbers(&["submit", "fail", "kind=fatal", "--id", "broken"]).ok();
    up.jobbers(&["status", "broken", "--watch"]).ends_with(1);
    up.jobbers(&["status", "nobody", "--watch"]).fails(1, "unknown_task");
    up.jobbers(&["status", "twice", "--watch", "--wait"]).ends_with(2);
}

#[test]
fn the_first_submission_after_the_start_is_not_warned() {
    let up = Up::start();
    let submitted = up.jobbers(&["submit", "echo"]).ok();
    assert!(!submitted.err.contains("warning"), "{submitted:?}");
    assert!(up.jobbers(&["submit", "nobody"]).ok().err.contains("can run nobody@1"));
}

#[test]
fn a_list_that_is_cut_says_how_many_tasks_match_where_that_is_counted() {
    let up = Up::in_folder(tempfile::tempdir().unwrap(), &["--no-worker"]);
    for id in ["a", "b", "c"] {
        up.jobbers(&["submit", "echo", "--id", id]).ok();
    }
    let counted = up.jobbers(&["list", "--limit", "2"]).ok();
    assert!(counted.err.contains("the first 2 of 3: --limit N or --all"), "{counted:?}");
    let uncounted = up.jobbers(&["list", "--limit", "2", "--name", "echo"]).ok();
    assert!(uncounted.err.contains("the first 2; more may follow: --limit N or --all"), "{uncounted:?}");
    assert!(!up.jobbers(&["list", "--limit", "3"]).ok().err.contains("the first"));
}
