//! The README and the guides, followed as they are printed, so that neither they nor the program drifts from the other.

use std::fs;

use jobbers_test_support::collector::Collector;

use crate::documents::guide::{Session, first_id, workspace};

/// The documents whose commands are followed, each by a test below.
const FOLLOWED: [&str; 28] = [
    "README.md",
    "docs/guides/any-language.md",
    "docs/guides/audit.md",
    "docs/guides/backups.md",
    "docs/guides/bridge.md",
    "docs/guides/coming-from-celery.md",
    "docs/guides/coming-from-sidekiq.md",
    "docs/guides/dead-letters.md",
    "docs/guides/dependencies.md",
    "docs/guides/deploying.md",
    "docs/guides/encryption.md",
    "docs/guides/faq.md",
    "docs/guides/first-worker.md",
    "docs/guides/keys.md",
    "docs/guides/lakefs.md",
    "docs/guides/looking-after.md",
    "docs/guides/queues-and-roles.md",
    "docs/guides/redis.md",
    "docs/guides/retries-and-backoff.md",
    "docs/guides/schedules.md",
    "docs/guides/taskstore.md",
    "docs/guides/telemetry.md",
    "docs/guides/transactions.md",
    "docs/guides/unique-tasks.md",
    "docs/guides/workflows.md",
    "docs/reference/cli.md",
    "docs/reference/http-api.md",
    "docs/start.md",
];
/// Documents whose commands are not followed, and why.
const NOT_FOLLOWED: [(&str, &str); 7] = [
    ("CONTRIBUTING.md", "it checks the whole repository, and this test is a part of that"),
    (
        "docs/guides/monitoring.md",
        "it starts Docker and Grafana; `tests/system` reads the dashboards with a Prometheus",
    ),
    (
        "docs/guides/production.md",
        "it installs services as root, and builds an image; `tests/system` starts what these start, and `installation` sets \
         up all of it in ten commands",
    ),
    ("docs/guides/redis-cluster.md", "it starts six servers; `tests/system` follows such a Cluster through failovers"),
    ("docs/guides/redis-sentinel.md", "it starts three servers and three Sentinels; `tests/system` follows these too"),
    ("docs/guides/shop.md", "its commands are those of `worker/examples/README.md`, which `tests/system` follows"),
    ("docs/reference/reliability.md", "it soaks a system for an hour; `./check` does so for a minute"),
];

/// Follows a document on a system that is up, unless the document itself starts one.
fn follow(document: &str, others: &[(&str, i32)]) -> Session {
    let mut session = Session::new();
    follow_in(&mut session, document, others);
    session
}

/// The same in a session that is prepared.
fn follow_in(session: &mut Session, document: &str, others: &[(&str, i32)]) {
    assert!(FOLLOWED.contains(&document), "add {document} to those that are followed");
    let text = fs::read_to_string(workspace().join(document)).unwrap();
    if !text.lines().any(|line| line == "jobbers up" || line.starts_with("jobbers up ")) {
        session.type_in("jobbers up", &[]);
    }
    fs::copy(workspace().join("README.md"), session.folder.join("README.md")).unwrap();
    let before = session.count();
    session.follow(&text, others);
    assert!(session.count() > before, "{document} has no commands");
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
    let mut session = follow("docs/guides/first-worker.md", &[("jobbers submit greet name= ", 1)]);
    assert!(session.told("jobbers submit greet name=Ada --wait").contains("hello, Ada"), "{session:?}");
    let waited = session.told("curl -s 'http://127.0.0.1:8000/tasks/ID?wait=30s'");
    assert!(waited.contains(r#""result":"hello, Grace""#), "{waited}");
    assert!(session.told("jobbers dlq show ID").contains("the name is empty"));
    assert!(session.told("jobbers status ID --wait").contains("hello, Edsger"));

    // It has the feature `sqlite` alone, and names the feature that is missing.
    for (setting, part) in
        [("ENGINE_URL=redis://127.0.0.1:1", "Redis"), ("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTLP")]
    {
        let command = format!("{setting} cargo run --quiet 2>&1");
        session.type_in(&command, &[(setting, 64)]);
        let (feature, told) = (part.to_lowercase(), session.told(&command));
        assert!(told.contains(&format!("without {part}: build it with the feature `{feature}`")), "{told}");
    }
}

#[test]
fn a_manager_asks_for_keys_as_printed() {
    let session = follow("docs/guides/keys.md", &[]);
    assert!(session.told("jobbers queues --key-file").contains("default"), "{session:?}");
    assert!(session.told("curl -s -H").contains("default"));
    let listed = session.told("jobbers keys list");
    assert!(listed.contains("ops") && listed.contains("admin") && listed.contains("valid"), "{listed}");
    assert!(session.told("jobbers keys create ci").starts_with("jb_"));
}

#[test]
fn the_table_of_an_outbox_is_printed_as_the_guide_shows_it() {
    let session = follow("docs/guides/transactions.md", &[]);
    let (printed, guide) = (session.told("jobbers outbox create"), workspace().join("docs/guides/transactions.md"));
    assert!(printed.starts_with("CREATE TABLE") && fs::read_to_string(guide).unwrap().contains(printed), "{printed}");
}

#[test]
fn the_audit_log_is_read_as_printed() {
    let session = follow("docs/guides/audit.md", &[]);
    assert!(session.count() >= 4, "{session:?}");
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
fn the_guide_to_sensitive_tasks_works_as_printed() {
    let session = follow("docs/guides/encryption.md", &[]);
    assert!(session.told("jobbers submit echo card=4242 --sensitive").contains("hidden (sensitive)"), "{session:?}");
    assert!(session.told("jobbers status order-17 --reveal").contains("4242"), "{session:?}");
    assert!(session.told("jobbers audit --operation reveal_task").contains("order-17"), "{session:?}");
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
fn the_worker_in_python_runs_as_printed() {
    let session = follow("docs/guides/any-language.md", &[]);
    let counted = session.told("jobbers submit count_words path=README.md --wait");
    assert!(counted.contains("completed") && counted.contains("words"), "{counted}");
}

/// Has each of the ready tasks fail for good at a timeout, as a worker over HTTP.
const FAIL_ALL: &str = r#"
curl -s http://127.0.0.1:8000/leases -H 'content-type: application/json' \
     -d '{"worker": "w", "queues": ["default", "media"], "limit": 10}' > leased.json
python3 -c 'if True:
    import json
    error = {"kind": "timeout", "message": "over its timeout of 2m", "fatal": True}
    end = {"outcome": "failed", "error": error}
    leases = [{"id": task["id"], "token": task["token"], **end} for task in json.load(open("leased.json"))["leases"]]
    print(json.dumps({"worker": "w", "leases": leases}))' > failed.json
curl -s http://127.0.0.1:8000/leases/return -H 'content-type: application/json' -d @failed.json"#;

#[test]
fn the_guide_to_dead_letters_works_as_printed() {
    let mut session = Session::new();
    session.type_in("jobbers up --no-worker", &[]);
    // What an installation has: queues, and tasks that failed.
    let tasks = "for id in a b c; do jobbers submit resize path=$id.png --queue media --id $id; done; \
                 jobbers submit resize path=f.png --id f; for id in d e; do jobbers submit shrink path=$id.png --id $id; done";
    let kept = "until [ $(jobbers dlq list | grep -c timeout) = 6 ]; do sleep 0.1; done";
    for command in ["jobbers queues create media", "jobbers queues create slow", tasks, FAIL_ALL, kept] {
        session.type_in(command, &[]);
    }
    session.ids.extend(["a", "a", "b", "d", "e"].map(str::to_owned));
    // Without a terminal it can't ask.
    follow_in(
        &mut session,
        "docs/guides/dead-letters.md",
        &[("jobbers dlq resubmit --queue media --error timeout", 2)],
    );
    assert!(session.told("jobbers dlq stats").contains("timeout"), "{session:?}");
    assert!(session.told("jobbers dlq show ID").contains("over its timeout of 2m"));
    let sent = [
        ("jobbers dlq resubmit ID ID", 2),
        ("jobbers dlq resubmit --name resize", 2),
        ("jobbers dlq resubmit ID --to", 1),
    ];
    for (command, tasks) in sent {
        let told = session.told(command);
        assert!(told.starts_with(&format!("{tasks} task")) && told.contains("sent again"), "{command}: {told}");
    }
}

#[test]
fn the_guide_to_looking_after_a_store_works_as_printed() {
    let mut session = Session::new();
    // What an installation has: tasks, and a store on Redis.
    for command in [
        "redis-server --appendonly yes --appendfsync always --maxmemory-policy noeviction",
        "jobbers up",
        "jobbers submit resize path=a.png",
        "jobbers submit echo --wait",
        "jobbers export | jobbers import - --engine-url redis://db:6379/0",
    ] {
        session.type_in(command, &[]);
    }
    follow_in(&mut session, "docs/guides/looking-after.md", &[]);
    assert!(session.told("jobbers doctor").contains("1 live"), "{session:?}");
    let examined = session.told("jobbers doctor --engine-url redis://db:6379/0 --json");
    assert!(serde_json::from_str::<serde_json::Value>(examined).is_ok(), "{examined}");
}

#[test]
fn the_guide_to_redis_works_as_printed() {
    let session = follow("docs/guides/redis.md", &[]);
    let checked = session.told("redis-check-aof --fix");
    assert!(checked.contains("valid"), "{checked}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_to_telemetry_sends_it_as_printed() {
    let collector = Collector::grpc().await;
    let mut session = Session::new();
    session.place("http://127.0.0.1:4317", &collector.endpoint());
    tokio::task::block_in_place(|| follow_in(&mut session, "docs/guides/telemetry.md", &[]));
    assert!(!collector.names().is_empty(), "no metric came before the end");
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
