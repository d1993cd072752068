//! The configuration becomes what a file says.

use std::fs;

use serde_json::{Value, json};

use crate::jobbers::{Said, Up};

const FILE: &str = r#"
[queues.mail]
max_concurrent = 50
rate_limit = { tasks = 100, per = "60s" }
retention = { age = "2d" }

[queues.slow]

[roles.mailers]
queues = ["mail", "tenant-*", "default"]

[[routes]]
name = "send_mail"
route = { kind = "single", queue = "mail" }

[[routes]]
name = "resize"
version = { from = 2, to = 5 }
route = { kind = "weighted", queues = [{ queue = "slow", weight = 3 }, { queue = "default", weight = 1 }] }

[schedules.nightly]
cron = "0 2 * * *"
time_zone = "Europe/Berlin"
task = { name = "echo", parameters = { report = "daily" }, max_retries = 3 }

[schedules.flow]
every = "1h"
[schedules.flow.workflow]
nodes = [{ id = "a", name = "echo" }, { id = "b", name = "echo", depends_on = ["a"] }]
"#;

fn apply(up: &Up, text: &str, flags: &[&str]) -> Said {
    fs::write(up.folder.path().join("jobbers.toml"), text).unwrap();
    up.jobbers(&[&["apply"], flags].concat())
}

/// The changes, as `change kind name`.
fn changes(said: &Said) -> Vec<String> {
    let word = |change: &Value, name: &str| change[name].as_str().unwrap().to_owned();
    let line = |change: &Value| format!("{} {} {}", word(change, "change"), word(change, "kind"), word(change, "name"));
    said.json()["changes"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn a_file_is_applied_once_and_changes_nothing_again() {
    let up = Up::start();
    let shown = apply(&up, FILE, &["--dry-run"]).ends_with(1);
    assert!(shown.out.contains("create queue mail") && shown.out.contains("max_concurrent 50"), "{shown:?}");
    up.jobbers(&["queues", "show", "mail"]).fails(1, "unknown_queue");
    let made = apply(&up, FILE, &["--json"]).ok();
    assert_eq!(
        changes(&made),
        [
            "create queue mail",
            "create queue slow",
            "create role mailers",
            "create route send_mail",
            "create route resize@2-5",
            "create schedule flow",
            "create schedule nightly"
        ]
    );
    for flags in [&["--dry-run"][..], &[], &["--prune"]] {
        let again = apply(&up, FILE, flags).ok();
        assert!(again.out.is_empty() && again.err.contains("is what jobbers.toml says"), "{flags:?}: {again:?}");
    }
    // What its pattern matches is no difference to what is written.
    up.jobbers(&["queues", "create", "tenant-7"]).ok();
    apply(&up, FILE, &["--dry-run"]).ok();
    let other = apply(&up, &FILE.replace("tenant-*", "tenant-7"), &["--dry-run"]).ends_with(1);
    assert!(
        other.out.contains(r#"queues ["mail","tenant-*","default"] -> ["mail","tenant-7","default"]"#),
        "{other:?}"
    );
    // The same settings in other words.
    apply(&up, &FILE.replace("60s", "1m").replace("age = \"2d\"", "age = \"48h\""), &["--dry-run"]).ok();
    let nightly = up.jobbers(&["schedules", "show", "nightly", "--json"]).ok().json();
    assert_eq!(
        (&nightly["task"]["parameters"], &nightly["task"]["max_retries"]),
        (&json!({"report": "daily"}), &json!(3))
    );
}

#[test]
fn what_is_paused_stays_paused_and_what_is_not_named_is_deleted_on_request() {
    let up = Up::start();
    apply(&up, FILE, &[]).ok();
    up.jobbers(&["queues", "pause", "mail"]).ok();
    up.jobbers(&["schedules", "pause", "nightly"]).ok();
    let other = FILE.replace("max_concurrent = 50", "max_concurrent = 60").replace("0 2 * * *", "0 3 * * *");
    let changed = apply(&up, &other, &[]).ok();
    assert!(changed.out.contains("change queue mail\n    max_concurrent 50 -> 60\n"), "{changed:?}");
    assert_eq!(up.jobbers(&["queues", "show", "mail", "--json"]).ok().json()["paused"], true);
    assert_eq!(up.jobbers(&["schedules", "show", "nightly", "--json"]).ok().json()["paused"], true);
    apply(&up, &other.replace("max_concurrent = 60", "max_concurrent = 60\npaused = false"), &[]).ok();
    assert_eq!(up.jobbers(&["queues", "show", "mail", "--json"]).ok().json()["paused"], false);
    // Kinds that the file does not have are left alone.
    let less = "[queues.mail]\nmax_concurrent = 60\n[schedules]\n";
    let asked = apply(&up, less, &["--prune"]).ends_with(2);
    assert!(asked.err.contains("Make 3 deletions?") && asked.err.contains("--yes"), "{asked:?}");
    apply(&up, less, &[]).ok();
    assert!(up.jobbers(&["schedules", "show", "flow"]).ok().out.contains("flow"));
    let pruned = apply(&up, less, &["--prune", "--yes", "--json"]).ends_with(1);
    assert!(pruned.err.contains("queue_in_use") && pruned.err.contains("left: run it again"), "{pruned:?}");
    let whole = "[queues.mail]\nmax_concurrent = 60\n[roles]\n[schedules]\n";
    let whole = format!("routes = []\n{whole}");
    let pruned = apply(&up, &whole, &["--prune", "--yes", "--json"]).ok();
    assert_eq!(
        changes(&pruned),
        ["delete route resize@2-5", "delete route send_mail", "delete role mailers", "delete queue slow"]
    );
    let left = up.jobbers(&["queues", "--json"]).ok().json();
    let names: Vec<&str> =
        left["queues"].as_array().unwrap().iter().map(|queue| queue["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["default", "mail"]);
}

#[test]
fn a_file_that_makes_no_sense_changes_nothing() {
    let up = Up::start();
    for (text, words) in [
        ("[queue.mail]", "unknown field `queue`"),
        ("[queues.\"a b\"]", "a b"),
        ("[queues.mail]\nmax_concurent = 1", "queues.mail: unknown field `max_concurent`"),
        ("[queues.ok]\n[queues.mail]\nmax_concurrent = 0", "queues.mail"),
        ("[queues.ok]\n[roles.r]\nqueues = []\norder = \"best\"", "roles.r"),
        ("[queues.ok]\n[roles.r]\nqueues = [\"a**\"]", "roles.r: queue pattern"),
        ("[queues.ok]\n[[routes]]\nname = \"t\"", "routes[0]: missing field `route`"),
        ("[queues.ok]\n[schedules.s]\ncron = \"61 * * * *\"\ntask = { name = \"t\" }", "schedules.s"),
        ("[queues.ok]\n[schedules.s]\nevery = \"1h\"", "schedules.s: task or workflow"),
        ("[queues.ok", "jobbers.toml: "),
    ] {
        apply(&up, text, &[]).fails(64, words);
    }
    up.jobbers(&["queues", "show", "ok"]).fails(1, "unknown_queue");
    up.jobbers(&["apply", "-f", "none.toml"]).fails(66, "none.toml");
    let fed = up.jobbers_fed(&["apply", "-f", "-"], "[queues.fed]\n").ok();
    assert!(fed.out.contains("create queue fed"), "{fed:?}");
}

#[test]
fn what_a_sensitive_schedule_hides_is_stored_each_time_and_not_shown() {
    let up = Up::start();
    let file = |word: &str| {
        format!(
            "[schedules.secret]\nevery = \"1h\"\n\
             task = {{ name = \"echo\", sensitive = true, parameters = {{ card = \"{word}\" }} }}\n"
        )
    };
    assert_eq!(changes(&apply(&up, &file("marked-1"), &["--json"]).ok()), ["create schedule secret"]);
    let again = apply(&up, &file("marked-2"), &[]).ok();
    assert!(again.out.contains("parameters \"hidden\" -> \"as the file says\""), "{again:?}");
    assert!(!again.out.contains("marked"), "{again:?}");
    // What was stored is what runs.
    let id = up.jobbers(&["schedules", "run", "secret"]).ok().out.trim().to_owned();
    up.jobbers(&["status", &id, "--wait"]).ok();
    let revealed = up.jobbers(&["status", &id, "--reveal", "--json"]).ok();
    assert_eq!(revealed.json()["result"], json!({"card": "marked-2"}));
}
