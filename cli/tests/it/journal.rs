//! `jobbers export` and `jobbers import`: from store to store, through damaged files, and after a kill.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use jobbers_archive::{Archive, Filter, ItemOutcome, LetterState, NewOperation, Options};
use jobbers_common::{
    audit_log::AuditEntry,
    dependency::{Dependency, DependencyPolicy},
    engine::{
        ClaimRequest, Cycle, DeadTask, Engine, OnConflict, Outcome, PutMode, QueueClaim, Resubmit, Settlement, Submit,
        backup::StoredTask,
        boards::{
            Commit, Create, Selection,
            task::{BoardTime, Content, When},
        },
    },
    lifecycle::Status,
    name::{BoardName, ChangeId, QueueName, RoleName, TaskId, TaskName, WorkerId},
    payload::Payload,
    policy::{DeadLetter, PolicyOverrides},
    queue::{QueueConfig, RoleConfig, gate::ConcurrencyKey},
    task::{
        AttemptFailure, FailureKind, NewTask, Priority, Start,
        unique::{Unique, UniqueKey},
    },
};
use jobbers_engines::OpenOptions;
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::jobbers::{Running, Said, Up, run, run_in};

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

fn queue(text: &str) -> QueueName {
    QueueName::new(text).unwrap()
}

fn task(text: &str) -> NewTask {
    let name = TaskName::new("echo").unwrap();
    NewTask::new(id(text), name, queue("default"), Payload::json(&b"{\"n\": 1.50, \"a\":[1]}"[..]))
}

fn after(text: &str, on: &[&str]) -> NewTask {
    let edge = |on: &&str| Dependency { on: id(on), policy: DependencyPolicy::RunWithFailures };
    NewTask { depends_on: on.iter().map(edge).collect(), ..task(text) }
}

async fn open(url: &str) -> Arc<dyn Engine> {
    jobbers_engines::open(url, OpenOptions::default()).await.unwrap()
}

async fn submit(engine: &dyn Engine, tasks: Vec<NewTask>) {
    engine.submit(Submit { tasks, on_conflict: OnConflict::Fail }).await.unwrap();
}

/// Claims all that is ready in `default`, and settles it by its id.
async fn settle_all(engine: &dyn Engine) {
    let worker = WorkerId::new("w1").unwrap();
    let claim = ClaimRequest {
        queues: vec![QueueClaim { queue: queue("default"), limit: 100 }],
        refused: Vec::new(),
        limit: 100,
        lease: std::time::Duration::from_secs(60),
    };
    let cycle = Cycle { worker: worker.clone(), settlements: Vec::new(), claim: Some(claim) };
    let claimed = engine.cycle(cycle).await.unwrap().claimed;
    let settle = |task: jobbers_common::task::ClaimedTask| {
        let failure = AttemptFailure::new(FailureKind::Error, "it broke");
        let outcome = match task.id.as_str() {
            "done" => Outcome::Completed { result: Some(Payload::json(&b"[1]"[..])) },
            "dead" | "dead-too" => Outcome::Failed { failure, dead_letter: true },
            "failed" => Outcome::Failed { failure, dead_letter: false },
            "retried" => Outcome::Retry { delay: std::time::Duration::from_secs(3_600), failure },
            _ => Outcome::Released { delay: std::time::Duration::ZERO },
        };
        Settlement::new(task.id, task.fence, outcome)
    };
    let settlements = claimed.into_iter().map(settle).collect();
    engine.cycle(Cycle { worker, settlements, claim: None }).await.unwrap();
}

/// A store with something of every kind, of which nothing runs.
async fn fill(engine: &dyn Engine) {
    let mail = QueueConfig { max_length: Some(3), max_concurrent: Some(2), ..QueueConfig::new(queue("mail")) };
    engine.put_queue(mail, PutMode::Create).await.unwrap();
    engine.create_queues(&[queue("plain")]).await.unwrap();
    let role = RoleConfig::new(RoleName::new("media").unwrap(), vec![queue("mail"), queue("default")]);
    engine.put_role(role, PutMode::Create).await.unwrap();
    for text in ["done", "failed", "retried", "released"] {
        submit(engine, vec![task(text)]).await;
    }
    settle_all(engine).await;
    submit(
        engine,
        vec![
            NewTask { priority: Priority::new(9).unwrap(), ..task("high") },
            NewTask { start: Start::After(std::time::Duration::from_secs(3_600)), ..task("later") },
            NewTask { queue: queue("mail"), queue_is_explicit: true, ..task("mailed") },
            NewTask {
                concurrency_key: Some(ConcurrencyKey::new("acme").unwrap()),
                parameters: Payload {
                    content_type: Some("text/plain".into()),
                    bytes: (0..=255).collect::<Vec<_>>().into(),
                },
                overrides: PolicyOverrides { dead_letter: Some(DeadLetter::Save), ..PolicyOverrides::default() },
                trace: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
                ..task("bytes")
            },
            NewTask { parameters: Payload::json(vec![b' '; 5_000]), ..task("large") },
        ],
    )
    .await;
    submit(engine, vec![NewTask { unique: Some(Box::new(Unique::new(UniqueKey::new("k").unwrap()))), ..task("only") }])
        .await;
    submit(engine, vec![after("last", &["next", "later", "done"]), after("next", &["high"])]).await;
}

/// Boards with tasks, one with a deleted one behind its last, and one that is empty.
async fn fill_boards(engine: &Arc<dyn Engine>) {
    let boards = Arc::clone(engine).boards();
    let create = |group: &str, data: &'static [u8]| Create {
        group: group.to_owned(),
        at: When::At(BoardTime(-5)),
        content: Content { data: data.into(), labels: [("k".to_owned(), "v".to_owned())].into(), ..Content::default() },
    };
    let name = |text: &str| BoardName::new(text).unwrap();
    for text in ["one", "two", "empty"] {
        let tasks = vec![create("a", b"{\"n\": 1.50}"), create("", b"\xff\x00"), create("b", b"")];
        let begin = Commit { create: tasks, once: Some("begun".to_owned()), ..Commit::new(name(text), i64::MIN) };
        boards.commit(begin).await.unwrap();
    }
    for (text, gone) in [("two", vec![3]), ("empty", vec![1, 2, 3])] {
        let delete = gone.into_iter().map(Selection::Revision).collect();
        boards.commit(Commit { delete, ..Commit::new(name(text), 0) }).await.unwrap();
    }
}

/// The lines of a journal between its first and its last, in an order of their own; without the imports, which are changes of
/// the store that they are made to.
fn entries(journal: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(journal).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let is_kept = |line: &&&str| !line.contains(r#""operation":"import""#);
    lines[1..lines.len() - 1].iter().filter(is_kept).map(|line| (*line).to_owned()).collect()
}

/// Writes a journal, in whose folder the archive of a Redis is.
fn export(url: &str, journal: &Path) -> Said {
    run_in(journal.parent().unwrap(), &["export", "--engine-url", url, "-o", journal.to_str().unwrap()])
}

fn import(url: &str, journal: &Path) -> Said {
    run_in(journal.parent().unwrap(), &["import", journal.to_str().unwrap(), "--engine-url", url])
}

fn sqlite_in(folder: &TempDir, name: &str) -> String {
    format!("sqlite://{}", folder.path().join(name).display())
}

#[tokio::test]
async fn a_store_goes_to_another_engine_and_back_and_runs_there() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (first, redis, third) =
        (sqlite_in(&folder, "first.db"), RedisServer::start(RedisOptions::default()), sqlite_in(&folder, "third.db"));
    fill(&*open(&first).await).await;
    fill_boards(&open(&first).await).await;
    export(&first, &at("1.journal")).ok();
    let told = import(&redis.url(), &at("1.journal")).ok();
    assert!(told.err.contains("12 tasks") && !told.out.contains("error"), "{told:?}");
    export(&redis.url(), &at("2.journal")).ok();
    assert_eq!(entries(&at("1.journal")), entries(&at("2.journal")));
    import(&third, &at("2.journal")).ok();
    export(&third, &at("3.journal")).ok();
    assert_eq!(entries(&at("1.journal")), entries(&at("3.journal")));
    for url in [&redis.url(), &third] {
        let again = import(url, &at("1.journal")).ok();
        assert!(again.out.contains("task"), "{again:?}");
        run(&["doctor", "--engine-url", url]).ends_with(i32::from(url.starts_with("redis")));
    }
    for url in [redis.url(), third] {
        let up = Running::start(folder.path(), &["--engine-url", &url]);
        let wait = |text: &str| run_in(folder.path(), &["status", text, "--wait=30s", "--manager", &up.url]);
        for text in ["next", "high", "large", "only", "released"] {
            wait(text).ok();
        }
        drop(up);
    }
}

#[tokio::test]
async fn what_runs_is_imported_as_ready_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let (url, journal) = (sqlite_in(&folder, "a.db"), folder.path().join("a.journal"));
    let engine = open(&url).await;
    submit(&*engine, vec![task("a"), task("b")]).await;
    let claim = ClaimRequest {
        queues: vec![QueueClaim { queue: queue("default"), limit: 1 }],
        refused: Vec::new(),
        limit: 1,
        lease: std::time::Duration::from_secs(60),
    };
    let worker = WorkerId::new("w1").unwrap();
    engine.cycle(Cycle { worker, settlements: Vec::new(), claim: Some(claim) }).await.unwrap();
    export(&url, &journal).ok();
    let into = sqlite_in(&folder, "b.db");
    import(&into, &journal).ok();
    let moved = Arc::clone(&open(&into).await).backup().dump(&[id("a"), id("b")]).await.unwrap();
    let [Some(a), Some(b)] = &moved[..] else { panic!("both are there") };
    let facts =
        |stored: &StoredTask| (stored.task.status, stored.task.attempt, stored.task.crashes, stored.task.blames);
    assert_eq!((facts(a), facts(b)), ((Status::Submitted, 0, 1, 0), (Status::Submitted, 0, 0, 0)));
    assert!(a.position < b.position);
}

/// A journal with this text as its lines, and a right end.
fn journal_of(folder: &TempDir, lines: &[&str]) -> PathBuf {
    let mut text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let digest: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    text += &format!("{{\"kind\":\"end\",\"counts\":{{}},\"digest\":\"{digest}\"}}\n");
    let path = folder.path().join("made.journal");
    fs::write(&path, text).unwrap();
    path
}

const HEADER: &str = r#"{"journal":1,"exported_at":"x","program":"x","engine":"sqlite"}"#;

#[tokio::test]
async fn a_damaged_journal_is_refused_before_anything_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let (url, journal) = (sqlite_in(&folder, "a.db"), folder.path().join("a.journal"));
    fill(&*open(&url).await).await;
    export(&url, &journal).ok();
    let whole = fs::read(&journal).unwrap();
    let into = sqlite_in(&folder, "none.db");
    let refused = |bytes: &[u8], words: &str| {
        let damaged = folder.path().join("damaged.journal");
        fs::write(&damaged, bytes).unwrap();
        import(&into, &damaged).fails(1, words);
    };
    let lines = whole.split_inclusive(|byte| *byte == b'\n').count();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    refused(&whole[..last], &format!("line {lines}: the journal ends without its last line"));
    refused(&whole[..whole.len() / 2], "the journal was cut short");
    refused(&[&whole[..], b"{}\n"].concat(), "goes on behind its last line");
    let text = String::from_utf8(whole.clone()).unwrap();
    refused(text.replacen("\"n\": 1.50", "\"n\": 1.51", 1).as_bytes(), "the digest or the counts are not those");
    let mut flipped = whole;
    flipped[last / 2] ^= 0x80;
    refused(&flipped, "damaged");
    refused(b"", "line 1: the file is empty");
    refused(b"{\"tasks\": []}\n", "line 1: it is not the first line of a journal");
    refused(b"\xff\xfe\n", "line 1: it is not UTF-8");
    refused(text.replacen("\"journal\":1", "\"journal\":2", 1).as_bytes(), "version 2; this program reads version 1");
    let made = |line: &str, words: &str| import(&into, &journal_of(&folder, &[HEADER, line])).fails(1, words);
    made(r#"{"kind":"spell","value":{}}"#, "line 2: \"spell\" is a kind that this program does not know");
    made(r#"{"kind":"task","value":{"stored":{}}}"#, "line 2: it is damaged");
    made(r#"{"kind":"queue","value":{"name":"a b"}}"#, "line 2: it is damaged");
    made("[]", "line 2: it is damaged");
    // A line without an end, longer than any.
    let long = fs::File::create(folder.path().join("damaged.journal")).unwrap();
    long.set_len(65 * 1024 * 1024).unwrap();
    import(&into, &folder.path().join("damaged.journal")).fails(1, "line 1: it is longer than");
    assert!(!folder.path().join("none.db").exists(), "nothing was stored");
    import(&into, &folder.path().join("missing.journal")).fails(66, "missing.journal");
    run(&["import", journal.to_str().unwrap()]).fails(2, "--engine-url");
}

#[tokio::test]
async fn a_journal_goes_through_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let url = sqlite_in(&folder, "a.db");
    fill(&*open(&url).await).await;
    let written = run(&["export", "--engine-url", &url]).ok().out;
    let up = Up::start();
    let into = sqlite_in(&folder, "b.db");
    up.jobbers_fed(&["import", "-", "--engine-url", &into], &written).ok();
    // The import is a change, which the audit log has.
    assert_eq!(run(&["export", "--engine-url", &into]).ok().out.lines().count(), written.lines().count() + 1);
    let cut = &written[..written.len() / 2];
    let none = sqlite_in(&folder, "c.db");
    up.jobbers_fed(&["import", "-", "--engine-url", &none], cut).fails(1, "cut short");
    assert!(!folder.path().join("c.db").exists());
}

#[tokio::test]
async fn what_differs_is_named_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (url, journal) = (sqlite_in(&folder, "a.db"), folder.path().join("a.journal"));
    fill(&*open(&url).await).await;
    export(&url, &journal).ok();
    let into = sqlite_in(&folder, "b.db");
    let engine = open(&into).await;
    let other = QueueConfig { max_length: Some(9), ..QueueConfig::new(queue("mail")) };
    engine.put_queue(other.clone(), PutMode::Create).await.unwrap();
    submit(&*engine, vec![NewTask { version: 2, ..task("high") }]).await;
    let told = import(&into, &journal).ends_with(1);
    for words in ["task high: another submission has this id", "queue mail has other settings"] {
        assert!(told.err.contains(words), "{words}: {told:?}");
    }
    assert_eq!(*engine.config().await.unwrap().queues[&queue("mail")], other);
    let kept = engine.get(&id("high")).await.unwrap().unwrap();
    assert_eq!((kept.version, engine.get(&id("mailed")).await.unwrap().is_some()), (2, true));
}

#[tokio::test]
async fn an_import_that_was_killed_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let (url, journal) = (sqlite_in(&folder, "a.db"), folder.path().join("a.journal"));
    let engine = open(&url).await;
    fill(&*engine).await;
    for batch in 0..10 {
        submit(&*engine, (0..500).map(|n| task(&format!("t{batch}-{n}"))).collect()).await;
    }
    export(&url, &journal).ok();
    let redis = RedisServer::start(RedisOptions::default());
    for into in [sqlite_in(&folder, "b.db"), redis.url()] {
        let target = open(&into).await;
        let mut importing = Command::new(env!("CARGO_BIN_EXE_jobbers"))
            .args(["import", journal.to_str().unwrap(), "--engine-url", &into])
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while target.queue_stats(&queue("default")).await.unwrap().accepted == 0 {}
        importing.kill().unwrap();
        importing.wait().unwrap();
        import(&into, &journal).ok();
        let copy = folder.path().join("copy.journal");
        export(&into, &copy).ok();
        // Beside a Redis, the file of the audit log is one in the folder of the command, which other tests use too.
        let without_changes =
            |journal| entries(journal).into_iter().filter(|line| !line.contains(r#""kind":"change""#));
        assert!(without_changes(&journal).eq(without_changes(&copy)), "{into}");
    }
}

#[test]
fn schedules_and_workflows_go_along() {
    let folder = tempfile::tempdir().unwrap();
    let up = Up::in_folder(tempfile::tempdir().unwrap(), &["--no-worker"]);
    up.jobbers(&["schedules", "put", "poll", "--every", "1h", "echo", "feed=news"]).ok();
    fs::write(up.folder.path().join("w.mmd"), "flowchart LR\n  a[\"echo\"] --> b[\"echo\"]\n").unwrap();
    up.jobbers(&["workflow", "submit", "w.mmd", "--id", "w"]).ok();
    while !up.jobbers(&["workflow", "show", "w"]).ok().out.contains("1 waiting, 1 submitted") {}
    up.jobbers(&["schedules", "put", "import", "--every", "1d", "--paused", "--workflow", "w.mmd"]).ok();
    let run = up.jobbers(&["schedules", "run", "import"]).ok().out;
    while !up.jobbers(&["workflow", "show", run.trim()]).ok().out.contains("1 waiting, 1 submitted") {}
    up.terminate();
    let (_, from) = up.ended();
    let (url, journal, copy) =
        (sqlite_in(&from, "jobbers.db"), folder.path().join("a.journal"), folder.path().join("b.journal"));
    let told = export(&url, &journal).ok();
    assert!(told.err.contains("2 schedules") && told.err.contains("2 workflows"), "{told:?}");
    let redis = RedisServer::start(RedisOptions::default());
    for _ in 0..2 {
        import(&redis.url(), &journal).ok();
        export(&redis.url(), &copy).ok();
        assert_eq!(entries(&journal), entries(&copy));
    }
}

/// A letter that is taken from the store's outbox into an archive.
async fn keep(engine: &dyn Engine, archive: &Archive) {
    let outbox = engine.dead_letters(0, 100).await.unwrap().copies;
    archive.put(&outbox).unwrap();
    let keys: Vec<_> = outbox.iter().map(DeadTask::key).collect();
    engine.forget_dead_letters(&keys).await.unwrap();
}

/// Two letters of one task, of which the first was sent again, in the archive beside the store, and one on the outbox.
async fn fill_letters(engine: &dyn Engine, archive: &Archive) {
    submit(engine, vec![task("dead")]).await;
    settle_all(engine).await;
    keep(engine, archive).await;
    let selection = jobbers_archive::Selection::Tasks(vec![id("dead")]);
    let operation = NewOperation { key: None, digest: 0, request: "{}".to_owned(), selection };
    let now = engine.health().await.unwrap().now;
    let begun = archive.begin(&operation, now).unwrap().id;
    let (place, copy) = archive.pending(&begun, 1).unwrap().remove(0);
    engine.resubmit(vec![Resubmit::of_archive(copy)]).await.unwrap();
    archive.settle(&begun, &[(place, ItemOutcome::Resubmitted, None)], now).unwrap();
    settle_all(engine).await;
    keep(engine, archive).await;
    submit(engine, vec![NewTask { parameters: Payload::json(&b"\xff"[..]), ..task("dead-too") }]).await;
    settle_all(engine).await;
}

fn run_with(command: &[&str], url: &str, archive: &Path) -> Said {
    run(&[command, &["--engine-url", url, "--archive", archive.to_str().unwrap()]].concat())
}

#[tokio::test]
async fn the_audit_log_goes_along_and_an_import_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (url, into) = (sqlite_in(&folder, "a.db"), sqlite_in(&folder, "b.db"));
    let engine = open(&url).await;
    let record = |operation: &str| format!(r#"{{"way":"api","operation":"{operation}","object":"mail"}}"#);
    for (change, operation) in [("c1", "pause_queue"), ("c2", "put_queue"), ("c3", "delete_queue")] {
        engine.log_change(&ChangeId::new(change).unwrap(), &record(operation)).await.unwrap();
    }
    for change in ["c1", "c2"] {
        engine.log_outcome(&ChangeId::new(change).unwrap(), r#"{"result":"done","status":200}"#).await.unwrap();
    }
    // One is in the archive, one waits for it, and one is under way.
    let kept = Archive::open(&at("a.dead-letters.db"), Options::default()).unwrap();
    let waiting = engine.logged_changes(0, 9).await.unwrap().changes;
    kept.put_changes(&[AuditEntry::of(&waiting[0]).unwrap()]).unwrap();
    engine.forget_logged_changes(&[waiting[0].key()]).await.unwrap();
    assert!(export(&url, &at("a.journal")).ok().err.contains("3 changes"));
    for _ in 0..2 {
        import(&into, &at("a.journal")).ok();
        export(&into, &at("b.journal")).ok();
        assert_eq!(entries(&at("a.journal")), entries(&at("b.journal")));
    }
    let imports = open(&into).await.logged_changes(0, 9).await.unwrap().changes;
    let imports: Vec<AuditEntry> = imports.iter().map(|change| AuditEntry::of(change).unwrap()).collect();
    assert_eq!(imports.len(), 2);
    let [first, second] = [0, 1].map(|n| imports[n].outcome.clone().unwrap().counts["change"]);
    assert_eq!((first, second, imports[0].record.operation.as_str()), (3, 0, "import"));
}

#[tokio::test]
async fn dead_letters_go_along_with_their_states() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = |name: &str| at(name).to_str().unwrap().to_owned();
    let (url, redis) = (sqlite_in(&folder, "a.db"), RedisServer::start(RedisOptions::default()));
    let engine = open(&url).await;
    // A manager has both open.
    let kept = Archive::open(&at("a.dead-letters.db"), Options::default()).unwrap();
    fill_letters(&*engine, &kept).await;
    let told = export(&url, &at("a.journal")).ok();
    assert!(told.err.contains("3 dead letters"), "{told:?}");
    assert_eq!(engine.health().await.unwrap().outbox, 1, "the outbox stays as it is");
    let import_into_redis = || run_with(&["import", &text("a.journal")], &redis.url(), &at("redis-letters.db")).ok();
    import_into_redis();
    run_with(&["export", "-o", &text("redis.journal")], &redis.url(), &at("redis-letters.db")).ok();
    assert_eq!(entries(&at("a.journal")), entries(&at("redis.journal")));
    let into = sqlite_in(&folder, "b.db");
    for _ in 0..2 {
        import(&into, &at("redis.journal")).ok();
        import_into_redis();
        export(&into, &at("b.journal")).ok();
        assert_eq!(entries(&at("a.journal")), entries(&at("b.journal")));
    }
    let moved = Archive::open(&at("b.dead-letters.db"), Options::default()).unwrap();
    let count = |state| moved.count(&Filter { state: Some(state), ..Filter::default() }).unwrap();
    assert_eq!([LetterState::Resubmitted, LetterState::Dead].map(count), [1, 2]);
    assert_eq!(moved.history(&id("dead")), kept.history(&id("dead")));
    keep(&*engine, &kept).await;
    export(&url, &at("kept.journal")).ok();
    assert_eq!(entries(&at("a.journal")), entries(&at("kept.journal")), "the archive was not harmed");
}

#[tokio::test]
async fn dead_letters_are_left_out_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (url, journal) = (sqlite_in(&folder, "a.db"), folder.path().join("a.journal"));
    let engine = open(&url).await;
    submit(&*engine, vec![task("dead")]).await;
    settle_all(&*engine).await;
    export(&url, &journal).ok();
    assert!(!folder.path().join("a.dead-letters.db").exists(), "an export creates no archive");
    let written = fs::read_to_string(&journal).unwrap();
    let line = written.lines().find(|line| line.contains("\"dead_letter\",")).unwrap().to_owned();
    let without = run_with(&["export"], &url, Path::new("none")).ok();
    assert!(without.err.contains("left out: 1 dead letter on the store's outbox"), "{without:?}");
    assert!(!without.out.contains("\"kind\":\"dead_letter\""));
    let into = sqlite_in(&folder, "b.db");
    for damaged in [
        line.replacen("\"state\":\"dead\"", "\"state\":\"undead\"", 1),
        line.replacen("\"status\":\"failed\"", "\"status\":\"cancelled\"", 1),
        line.replacen("\"parameters\":{\"as\"", "\"parameters\":{\"bs\"", 1),
    ] {
        assert_ne!(damaged, line);
        import(&into, &journal_of(&folder, &[HEADER, &damaged])).fails(1, "line 2: ");
    }
    assert!(!folder.path().join("b.db").exists() && !folder.path().join("b.dead-letters.db").exists());
    let told = run_with(&["import", journal.to_str().unwrap()], &into, Path::new("none")).ok();
    assert!(told.err.contains("left out: 1 dead letter") && !folder.path().join("b.dead-letters.db").exists());
}
