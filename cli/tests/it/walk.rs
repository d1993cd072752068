//! The README and the guides, followed as they are printed, so that neither they nor the program drifts from the other.

use std::fs;

use crate::guide::{Session, first_id, workspace};

/// The documents whose commands are followed, each by a test below.
const FOLLOWED: [&str; 19] = [
    "README.md",
    "docs/guides/backups.md",
    "docs/guides/bridge.md",
    "docs/guides/coming-from-celery.md",
    "docs/guides/coming-from-sidekiq.md",
    "docs/guides/dependencies.md",
    "docs/guides/deploying.md",
    "docs/guides/faq.md",
    "docs/guides/first-worker.md",
    "docs/guides/lakefs.md",
    "docs/guides/queues-and-roles.md",
    "docs/guides/retries-and-backoff.md",
    "docs/guides/schedules.md",
    "docs/guides/taskstore.md",
    "docs/guides/unique-tasks.md",
    "docs/guides/workflows.md",
    "docs/reference/cli.md",
    "docs/reference/http-api.md",
    "docs/start.md",
];
/// Documents whose commands are not followed, and why.
const NOT_FOLLOWED: [(&str, &str); 8] = [
    ("CONTRIBUTING.md", "it starts this test"),
    ("docs/guides/any-language.md", "`tests/system` runs its worker, and kills it"),
    (
        "docs/guides/dead-letters.md",
        "its letters are those of an installation; manager and client have tests of each command",
    ),
    (
        "docs/guides/looking-after.md",
        "its stores are those of an installation; doctor and cleaner have tests of each command",
    ),
    ("docs/guides/monitoring.md", "it starts Docker and Grafana; what they read is tested in `tests/system`"),
    ("docs/guides/production.md", "it installs services; `tests/system` starts what they start"),
    ("docs/guides/redis.md", "it starts a server on a port that is taken elsewhere"),
    ("docs/guides/telemetry.md", "it sends to a collector; `tests/system` has one"),
];

/// Follows a document on a system that is up, unless the document itself starts one.
fn follow(document: &str, others: &[(&str, i32)]) -> Session {
    assert!(FOLLOWED.contains(&document), "add {document} to those that are followed");
    let text = fs::read_to_string(workspace().join(document)).unwrap();
    let mut session = Session::new();
    if !text.lines().any(|line| line == "jobbers up" || line.starts_with("jobbers up ")) {
        session.start();
    }
    fs::copy(workspace().join("README.md"), session.folder.join("README.md")).unwrap();
    session.follow(&text, others);
    assert!(session.count() > 0, "{document} has no commands");
    session
}

#[test]
fn every_document_with_commands_is_followed_or_says_why_not() {
    let mut documents = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    for folder in ["docs", "docs/guides", "docs/reference"] {
        for entry in fs::read_dir(workspace().join(folder)).unwrap() {
            documents.push(format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap()));
        }
    }
    documents.retain(|it| it.ends_with(".md") && fs::read_to_string(workspace().join(it)).unwrap().contains("```sh\n"));
    documents.sort();
    let mut known: Vec<&str> = FOLLOWED.into_iter().chain(NOT_FOLLOWED.map(|(document, _)| document)).collect();
    known.sort_unstable();
    assert_eq!(documents, known);
}

#[test]
fn the_first_walk_of_the_readme_works_as_printed() {
    // It waits for a task that fails.
    let session = follow("README.md", &[("jobbers submit fail ", 1)]);
    assert!(session.count() >= 11, "{session:?}");
    let listed = session.told("jobbers list");
    assert!(listed.contains("echo") && listed.contains("text.wordcount"), "{listed}");
    assert!(session.told("jobbers status ID").contains("text.wordcount"));
    let slept = session.told("curl -s 'http://127.0.0.1:8000/tasks/ID?wait=30s'");
    assert!(slept.contains(r#""name":"sleep""#) && slept.contains(r#""status":"completed""#), "{slept}");

    // And from here over a task that fails, to its dead letter, and back.
    let failed = first_id(session.told("jobbers submit fail")).unwrap();
    let letters = session.told("jobbers dlq list");
    assert!(letters.contains(failed) && letters.contains("no user 17"), "{letters}");
    let letter = session.told("jobbers dlq show ID");
    assert!(letter.contains(failed) && letter.contains("fatal"), "{letter}");
    let sent = session.told("jobbers dlq resubmit ID");
    assert!(sent.starts_with("1 task sent again (operation "), "{sent}");
    let again = session.told("jobbers status ID --wait");
    assert!(again.contains(failed) && again.contains("completed"), "{again}");
}

#[test]
fn the_first_worker_of_a_reader_runs_as_printed() {
    let session = follow("docs/guides/first-worker.md", &[("jobbers submit greet name= ", 1)]);
    assert!(session.told("jobbers submit greet name=Ada --wait").contains("hello, Ada"), "{session:?}");
    let waited = session.told("curl -s 'http://127.0.0.1:8000/tasks/ID?wait=30s'");
    assert!(waited.contains(r#""result":"hello, Grace""#), "{waited}");
    assert!(session.told("jobbers dlq show ID").contains("the name is empty"));
    assert!(session.told("jobbers status ID --wait").contains("hello, Edsger"));
}

#[test]
fn a_store_is_exported_and_imported_as_printed() {
    let session = follow("docs/guides/backups.md", &[]);
    assert!(session.told("jobbers doctor").contains("1 live"), "{session:?}");
}

#[test]
fn start_here_works_as_printed() {
    let session = follow("docs/start.md", &[]);
    assert!(session.told("jobbers list").contains("echo"));
}

#[test]
fn who_comes_from_elsewhere_is_led_by_commands_that_work() {
    for document in ["docs/guides/coming-from-celery.md", "docs/guides/coming-from-sidekiq.md"] {
        let session = follow(document, &[]);
        let submitted = session.told("curl -s -X POST http://127.0.0.1:8000/tasks");
        assert!(submitted.contains(r#""status":"scheduled""#), "{document}: {submitted}");
    }
}

#[test]
fn the_answers_to_frequent_questions_work_as_printed() {
    follow("docs/guides/faq.md", &[]);
}

#[test]
fn the_guide_to_queues_works_as_printed() {
    let session = follow("docs/guides/queues-and-roles.md", &[]);
    let rules = session.told("jobbers routes");
    assert!(rules.contains("gpu") && rules.contains("canary"), "{rules}");
}

#[test]
fn the_guide_to_unique_tasks_works_as_printed() {
    let session = follow("docs/guides/unique-tasks.md", &[("jobbers submit sync customer=42 full=true", 1)]);
    assert!(session.count() >= 4, "{session:?}");
}

#[test]
fn the_guide_to_schedules_works_as_printed() {
    let session = follow("docs/guides/schedules.md", &[]);
    assert_eq!(session.told("jobbers schedules next nightly --count 3").lines().count(), 3);
    assert!(session.told("jobbers schedules run nightly").starts_with("schedule:nightly:run:"));
    let listed = session.told("jobbers schedules");
    assert!(listed.contains("0 2 * * * (Europe/Berlin)") && listed.contains("every 1h"), "{listed}");
    let shown = session.told("jobbers schedules show import");
    assert!(shown.contains("workflow of 4 tasks") && shown.contains("30 2 * * * (UTC)"), "{shown}");
    assert!(session.told("jobbers schedules run import").starts_with("schedule:import:run:"));
    assert!(session.told("jobbers workflow list --name import").contains("schedule:import:run:"));
}

#[test]
fn the_guide_to_workflows_works_as_printed() {
    let session = follow("docs/guides/workflows.md", &[("jobbers workflow submit import.mmd", 1)]);
    let drawn = session.told("jobbers workflow submit count.mmd --id count-1 --name count --wait");
    assert!(drawn.contains("completed, 6 of 6 nodes are over") && drawn.contains("skipped"), "{drawn}");
    assert!(session.told("jobbers workflow show count-1 --mermaid").contains("total -.-> alarm"));
    assert!(session.told("jobbers workflow submit import.mmd").contains("failed"));
}

#[test]
fn the_guide_to_retries_works_as_printed() {
    let session = follow("docs/guides/retries-and-backoff.md", &[]);
    session.told("jobbers submit echo --id once --max-tries 1 --wait");
}

#[test]
fn the_guide_for_those_who_come_from_lakefs_works_as_printed() {
    let session = follow("docs/guides/lakefs.md", &[]);
    let returned = session.told("curl -s -X POST http://127.0.0.1:8000/leases/return");
    assert!(returned.contains(r#""accepted":true"#) && returned.contains(r#""status":"submitted""#), "{returned}");
    let deleted = session.told("jobbers delete copy:main/a");
    assert_eq!(deleted, "copy:main/a deleted\ncopy:main/b deleted\n");
}

#[test]
fn the_guide_to_dependencies_works_as_printed() {
    let session = follow("docs/guides/dependencies.md", &[]);
    let aborted = session.told("jobbers status later/second");
    assert!(aborted.contains("aborted"), "{aborted}");
}

#[test]
fn the_guide_to_taskstore_works_as_printed() {
    let session = follow("docs/guides/taskstore.md", &[]);
    let claimed = session.told("curl -s http://127.0.0.1:8000/taskstore/claim");
    assert!(claimed.contains(r#""id":2"#) && claimed.contains("/path/to/file:0:1024"), "{claimed}");
    let deleted = session.told(r#"curl -s http://127.0.0.1:8000/taskstore/update -d '{"clientid": 1532"#);
    assert_eq!(deleted, r#"{"tasks":[],"error":null}"#);
    let counted = session.told("python3 wordcount.py");
    assert!(counted.ends_with(" distinct: right\n"), "{counted}");
    assert!(session.told("curl -s http://127.0.0.1:8000/health/ready").contains("synchronous=FULL"));
    assert!(session.told("jobbers boards list taskstore mail").contains("to: Ada"));
    assert_eq!(session.told("jobbers boards delete taskstore --group mail"), "1 task deleted\n");
}

#[test]
fn the_guide_to_bridges_works_as_printed() {
    let session = follow("docs/guides/bridge.md", &[]);
    let replies = session.told("until curl -s 'http://127.0.0.1:8000/taskstore/group/counted");
    assert!(replies.contains(r#"\"task\":1,\"jobbers_task\":\"bridge:taskstore:1\""#), "{replies}");
    assert!(session.told("jobbers status bridge:taskstore:1").contains("completed"));
}

#[test]
fn the_guide_to_deploys_works_as_printed() {
    // Here is no worker on such a host or of such a version.
    let others = [
        ("jobbers workers drain --host db-3", 1),
        ("jobbers workers drain --version 1.4.0", 1),
        ("jobbers workers resume --host db-3", 1),
    ];
    follow("docs/guides/deploying.md", &others);
}

#[test]
fn the_references_work_as_printed() {
    for document in ["docs/reference/cli.md", "docs/reference/http-api.md"] {
        follow(document, &[]);
    }
}
