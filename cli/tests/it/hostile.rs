//! Text of clients that a terminal would obey, in every place where a client can put text: no command and no log shows it
//! as it is.

use clap::CommandFactory;
use jobbers_cli::args::Cli;
use serde_json::{Value, json};

use crate::jobbers::{Said, Up};

/// All that a terminal obeys or that reorders text: C0 but tab and line feed, DEL, C1, the bidirectional controls, the
/// separators of lines and paragraphs; and a sequence that would set the clipboard.
fn hostile() -> String {
    let ranges = [0x01..=0x08, 0x0b..=0x1f, 0x7f..=0x9f, 0x200e..=0x200f, 0x2028..=0x202e, 0x2066..=0x2069];
    let all: String = ranges.into_iter().flatten().chain([0x61c]).filter_map(char::from_u32).collect();
    format!("\u{1b}]52;c;cm0gLXJm\u{7}{all}")
}

#[track_caller]
fn assert_harmless(what: &str, text: &str) {
    let is_obeyed = |c: char| hostile().contains(c) && !"]52;cm0gLXJf".contains(c);
    assert!(!text.contains(is_obeyed), "{what}: {text:?}");
}

/// The leaves of the command line: `queues`, `queues show`, ….
fn leaves(command: &clap::Command, path: &str) -> Vec<String> {
    let children: Vec<&clap::Command> = command.get_subcommands().filter(|child| !child.is_hide_set()).collect();
    let below = children.iter().flat_map(|child| leaves(child, format!("{path} {}", child.get_name()).trim()));
    let is_leaf = !command.is_subcommand_required_set() && !path.is_empty();
    is_leaf.then(|| path.to_owned()).into_iter().chain(below).collect()
}

/// Commands that show texts of clients, as this test calls them.
const SHOWING: &[&[&str]] = &[
    &["status", "failed"],
    &["status", "done"],
    &["explain", "waiting"],
    &["list"],
    &["list", "--status", "failed"],
    &["active"],
    &["scheduled"],
    &["dlq", "list"],
    &["dlq", "show", "failed"],
    &["dlq", "stats"],
    &["dlq", "operations"],
    &["audit"],
    &["queues"],
    &["queues", "show", "default"],
    &["queues", "explain", "default"],
    &["roles"],
    &["roles", "show", "default"],
    &["routes"],
    &["schedules"],
    &["schedules", "show", "nightly"],
    &["workflow", "list"],
    &["workflow", "show", "flow"],
    &["boards"],
    &["boards", "groups", "taskstore"],
    &["boards", "list", "taskstore", "GROUP"],
    &["boards", "show", "taskstore", "1"],
    &["registry"],
    &["keys"],
    &["apply", "--dry-run"],
    &["workers"],
    &["top", "--once", "--every", "100ms"],
    &["doctor"],
    &["ready"],
    // These say why they are refused.
    &["submit", "echo", "--parameters-that-do-not-exist"],
    &["cancel", "failed"],
    &["delete", "waiting"],
    &["resubmit", "failed"],
];

/// Commands that show no text of a client but names, which are of letters, and numbers.
const SILENT: &[&str] = &[
    "up",
    "manager",
    "worker",
    "cleaner",
    "demo",
    "bench",
    "completions",
    "man",
    "outbox",
    "signal",
    "depend",
    "reschedule",
    "export",
    "import",
];

/// Calls the API.
pub(crate) fn call(up: &Up, path: &str, body: &Value) -> Value {
    let sent = async {
        let client = jobbers_api::client::http_client().build().unwrap();
        let answer = client.post(format!("{}{path}", up.url)).json(body).send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status}: {text}");
        serde_json::from_str(&text).unwrap_or_default()
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(sent)
}

/// A system in which each place for a client's text holds the hostile one.
fn filled() -> Up {
    let (up, text) = (Up::start(), hostile());
    let parameters = json!({ "message": text, text.as_str(): text, "kind": "fatal" });
    let failing = json!({ "message": text, "kind": "fatal" });
    call(&up, "/tasks", &json!({"id": "failed", "name": "fail", "parameters": failing}));
    up.jobbers(&["status", "failed", "--wait"]).ends_with(1);
    // Labels are refused with control characters.
    let label: String = text.chars().filter(|c| !c.is_control()).collect();
    call(
        &up,
        "/tasks",
        &json!({"id": "done", "name": "echo", "parameters": parameters, "labels": {"customer": label}}),
    );
    up.jobbers(&["status", "done", "--wait"]).ok();
    call(&up, "/tasks", &json!({"id": "waiting", "name": "echo", "parameters": parameters, "delay": "1h"}));
    call(&up, "/tasks", &json!({"id": "held", "name": "foreign", "parameters": parameters, "queue": "default"}));
    let leased = call(
        &up,
        "/leases",
        &json!({
            "worker": "w", "queues": ["default"], "tasks": ["foreign@1"], "lease": "1m", "wait": "20s",
        }),
    );
    let lease = json!({
        "id": "held", "token": leased["leases"][0]["token"], "progress": {"fraction": 0.5, "message": text},
    });
    call(&up, "/leases/extend", &json!({"worker": "w", "lease": "1m", "leases": [lease]}));
    let node = json!({"id": "a", "name": "echo", "parameters": parameters});
    call(&up, "/workflows", &json!({"id": "flow", "nodes": [node]}));
    let pair = format!("a={}", text.replace('\0', ""));
    up.jobbers(&["schedules", "put", "nightly", "--cron", "0 2 * * *", "echo", &pair]).ok();
    let other = "[schedules.nightly]\ncron = \"0 3 * * *\"\ntask = { name = \"echo\" }\n";
    std::fs::write(up.folder.path().join("jobbers.toml"), other).unwrap();
    call(&up, "/taskstore/update", &json!({"clientid": 5, "adds": [{"group": text, "data": text}]}));
    up
}

#[test]
fn no_command_and_no_log_shows_what_a_terminal_obeys() {
    let (up, text) = (filled(), hostile());
    let shown = up.jobbers(&["status", "failed"]).ok().out;
    assert!(shown.contains(r"\u{1b}]52;c;cm0gLXJm\u{7}"), "it is shown, harmless: {shown}");
    for arguments in SHOWING {
        let arguments: Vec<&str> = arguments.iter().map(|it| if *it == "GROUP" { text.as_str() } else { it }).collect();
        for json in [false, true] {
            let given = [&arguments[..], if json { &["--json"] } else { &[] }].concat();
            let Said { out, err, code } = up.jobbers(&given);
            assert!(matches!(code, Some(0..=2)), "{given:?}: {code:?} {err}");
            assert_harmless(&format!("{given:?}"), &out);
            assert_harmless(&format!("{given:?}"), &err);
        }
    }
    let log = up.lines();
    assert!(log.iter().any(|line| line.contains("attempt failed") && line.contains(r"\u{1b}]52;c")), "{log:#?}");
    log.iter().for_each(|line| assert_harmless("the log", line));
}

#[test]
fn every_command_is_among_those_that_are_tried_or_says_why_not() {
    let begins = |leaf: &str, words: &[&str]| words.join(" ").starts_with(leaf);
    let missing: Vec<String> = leaves(&Cli::command(), "")
        .into_iter()
        .filter(|leaf| !SHOWING.iter().any(|words| begins(leaf, words)))
        .filter(|leaf| !SILENT.iter().any(|silent| leaf.starts_with(silent)))
        // Changes of one thing answer with its name.
        .filter(|leaf| !leaf.contains(' '))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}
