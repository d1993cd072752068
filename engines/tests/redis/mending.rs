//! What an audit finds in a store changed by hand, and what a repair makes of it.

use std::collections::BTreeSet;

use jobbers_common::{
    engine::{AuditRequest, Cycle, Engine, Finding, Flaw, OnConflict, Outcome, ParentsRequest, PutMode, Settlement},
    lifecycle::Status,
    limits::KEPT_PARAMETER_BYTES,
    payload::Payload,
    queue::{QueueConfig, gate::ConcurrencyKey},
    task::{NewTask, Start},
};
use jobbers_law::conformance::{
    DONE, Fixture, dependencies::after, failure, id, ids, queue, retry, seconds, task, worker,
};
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};

use super::{connect, volume::calls};

/// Everything an audit finds, from end to end.
pub(super) async fn audit(engine: &dyn Engine, repair: bool) -> Vec<Finding> {
    audit_from(engine, AuditRequest { limit: 3, repair, cursor: None }).await
}

async fn audit_from(engine: &dyn Engine, mut request: AuditRequest) -> Vec<Finding> {
    let mut findings = Vec::new();
    loop {
        let audited = engine.audit(request.clone()).await.unwrap();
        findings.extend(audited.findings);
        request.cursor = audited.next;
        if request.cursor.is_none() {
            return findings;
        }
    }
}

/// From the first place of a queue on, as if something in a list had been doubtful.
fn searching() -> AuditRequest {
    AuditRequest { limit: 1000, repair: false, cursor: Some("r|default||doubt".to_owned()) }
}

fn counting() -> AuditRequest {
    AuditRequest { cursor: None, limit: 3, ..searching() }
}

/// What is found without a repair, which is then mended, so that nothing is left to find.
pub(super) async fn mended(f: &Fixture) -> Vec<(Flaw, String)> {
    let found = audit(&*f.engine, false).await;
    assert!(found.iter().all(|finding| !finding.repaired));
    let repaired = audit(&*f.engine, true).await;
    assert!(repaired.iter().all(|finding| finding.repaired), "{repaired:?}");
    assert_eq!(audit(&*f.engine, false).await, []);
    f.assert_conserved().await;
    let mut found: Vec<(Flaw, String)> = found.into_iter().map(|finding| (finding.flaw, finding.subject)).collect();
    found.sort();
    found
}

pub(super) fn flaw(flaw: Flaw, subject: &str) -> (Flaw, String) {
    (flaw, subject.to_owned())
}

async fn store() -> (RedisServer, Fixture) {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    (server, f)
}

fn tell(server: &RedisServer, words: &str, answer: &str) {
    assert_eq!(server.command(words), format!("{answer}\r\n"), "{words}");
}

#[tokio::test]
async fn a_task_that_fell_out_of_its_queue_is_put_back() {
    let (server, f) = store().await;
    f.submit_ids(&["a", "b", "c"]).await;
    let position = f.get("b").await.revision;
    tell(&server, &format!("LREM jobbers:{{0}}:q:default:q 1 {position:015}b"), ":1");
    assert_eq!(mended(&f).await, [flaw(Flaw::Unplaced, "b"), flaw(Flaw::Miscounted, "default")]);
    assert_eq!(ids(&f.claim(10).await), ["a", "b", "c"], "its record tells its place");
}

/// What one audit finds that relies on counts where it may, and another that searches for each task in its list.
async fn by_counts_and_by_search(f: &Fixture) -> [BTreeSet<(&'static str, String)>; 2] {
    let mut found = [const { BTreeSet::new() }; 2];
    for (found, request) in found.iter_mut().zip([counting(), searching()]) {
        let findings = audit_from(&*f.engine, request).await;
        found.extend(findings.into_iter().map(|it| (it.flaw.as_str(), it.subject)));
    }
    found
}

/// Ways to harm a store of `a` to `d` in the lane and `e` to `h` that completed, each in a queue that counts 8.
async fn harms(f: &Fixture) -> Vec<String> {
    let [a, b, e] = [f.get("a").await.revision, f.get("b").await.revision, f.get("e").await.revision];
    let mut harms = vec![
        format!("LREM {{q}}q 1 {a:015}a"),
        format!("LREM {{q}}q 1 {b:015}b"),
        format!("LINSERT {{q}}q AFTER {a:015}a {:015}stranger", a + 1),
        format!("LPUSH {{q}}q {:015}c", a - 1),
        format!("ZADD {{q}}r {b} b"),
        format!("ZADD {{q}}p {a} a"),
        "SET {q}x 1".to_owned(),
        format!("LTRIM {{q}}f 1 -1"),
        format!("LPUSH {{q}}f {:015}ch", e - 1),
        format!("LPUSH {{q}}f {:015}cstranger", e - 2),
    ];
    harms.extend(
        ["accepted 1", "accepted -1", "removed 1", "ghosts 1", "completed -1"].map(|by| format!("HINCRBY {{q}}n {by}")),
    );
    harms.extend(["c", "g"].map(|id| format!("HDEL jobbers:{{0}}:t {id}")));
    harms
}

#[tokio::test]
async fn an_audit_by_counts_finds_what_a_search_finds_whatever_two_harms_meet() {
    two_harms_meet(&[]).await;
}

#[tokio::test]
async fn an_audit_by_counts_finds_the_same_among_ghosts() {
    two_harms_meet(&["i", "j"]).await;
}

/// Harms a store in each pair of ways. The tasks named leave ghosts in the lane and among the finished.
async fn two_harms_meet(ghosts: &[&str]) {
    let (server, f) = store().await;
    let (mut pairs, mut found_by_search) = (0, BTreeSet::new());
    loop {
        let _ = server.command("FLUSHALL");
        // The first call notices, and creates the store again.
        f.try_submit(vec![task("e")], OnConflict::Fail).await.unwrap_err();
        f.submit_ids(&["e", "f", "g", "h"]).await;
        for claimed in f.claim(4).await {
            f.settle(&claimed, DONE).await;
        }
        f.submit_ids(&["a", "b", "c"]).await;
        f.submit_ids(ghosts).await;
        f.submit_ids(&["d"]).await;
        for ghost in ghosts {
            f.engine.cancel(&[id(ghost)]).await.unwrap();
            f.engine.delete_tasks(&[id(ghost)], false).await.unwrap();
        }
        let harms = harms(&f).await;
        let (first, second) = (pairs / harms.len(), pairs % harms.len());
        if first == harms.len() {
            break;
        }
        for harm in [&harms[first], &harms[second]] {
            let answer = server.command(&harm.replace("{q}", "jobbers:{0}:q:default:"));
            assert!(answer.starts_with([':', '+']), "{harm}: {answer}");
        }
        let [by_counts, by_search] = by_counts_and_by_search(&f).await;
        assert_eq!(by_counts, by_search, "{} and {}", harms[first], harms[second]);
        found_by_search.extend(by_search);
        pairs += 1;
    }
    assert!(pairs > 250 && found_by_search.len() > 6, "{pairs} pairs: {found_by_search:?}");
}

#[tokio::test]
async fn an_audit_of_a_sound_store_searches_for_no_task() {
    let (server, f) = store().await;
    let some = |from: usize| (from..from + 1000).map(|n| task(&format!("t{n}"))).collect();
    f.submit(some(0)).await;
    for claimed in f.claim(1000).await {
        f.settle(&claimed, DONE).await;
    }
    f.submit(some(1000)).await;
    let searches = || calls(&server, "lindex");
    let _ = server.command("CONFIG RESETSTAT");
    assert_eq!(audit_from(&*f.engine, AuditRequest { cursor: None, ..searching() }).await, []);
    let by_counts = searches();
    assert_eq!(audit_from(&*f.engine, searching()).await, []);
    let by_search = searches() - by_counts;
    // Where a list was left is looked for in each step.
    assert!(by_search > 2000 && by_counts * 10 < by_search, "{by_counts} and {by_search} searches for 2,000 tasks");
}

#[tokio::test]
async fn an_edge_that_no_end_would_signal_is_put_back() {
    let (server, f) = store().await;
    f.submit(vec![task("a"), after("b", &["a"])]).await;
    tell(&server, "DEL jobbers:{0}:g:out", ":1");
    tell(&server, "HSET jobbers:{0}:g ghost 000001000000", ":1");
    assert_eq!(mended(&f).await, [flaw(Flaw::Unplaced, "b"), flaw(Flaw::Orphan, "ghost")]);
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    assert_eq!(f.status("b").await, Status::Submitted);
    assert_eq!(mended(&f).await, []);
}

#[tokio::test]
async fn a_task_that_waits_for_none_any_more_is_released() {
    let (server, f) = store().await;
    f.submit(vec![task("a"), after("b", &["a"])]).await;
    tell(&server, "DEL jobbers:{0}:g:out jobbers:{0}:g:in", ":2");
    tell(&server, "HSET jobbers:{0}:g b 000001000001", ":0");
    assert_eq!(mended(&f).await, [flaw(Flaw::Unplaced, "b")]);
    assert_eq!(ids(&f.claim(10).await), ["a", "b"]);
}

#[tokio::test]
async fn a_spontaneous_task_that_waits_for_none_any_more_ends() {
    let (server, f) = store().await;
    f.submit(vec![task("a"), NewTask { is_spontaneous: true, ..after("b", &["a"]) }]).await;
    tell(&server, "DEL jobbers:{0}:g:out jobbers:{0}:g:in", ":2");
    tell(&server, "HSET jobbers:{0}:g b 000001000001", ":0");
    let repaired = audit(&*f.engine, true).await;
    let repaired: Vec<_> = repaired.into_iter().map(|it| (it.flaw, it.subject, it.repaired)).collect();
    assert_eq!(repaired, [(Flaw::Unplaced, "b".to_owned(), true)]);
    // The next step ends it.
    f.engine.promote_due(10).await.unwrap();
    assert_eq!(f.status("b").await, Status::Completed);
    assert_eq!(audit(&*f.engine, false).await, []);
}

/// A store in which `b` and `c` hold `a`, which completed and was deleted.
async fn held() -> (RedisServer, Fixture) {
    let (server, f) = store().await;
    f.submit(vec![task("a"), after("b", &["a"]), after("c", &["a"])]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, Outcome::Completed { result: Some(Payload::json("7")) }).await;
    f.engine.delete_tasks(&[id("a")], false).await.unwrap();
    assert_eq!(audit(&*f.engine, false).await, []);
    (server, f)
}

async fn result_read_by(f: &Fixture, task: &str) -> Option<Payload> {
    f.engine.parents(ParentsRequest::all(id(task), 10, 1_000)).await.unwrap().parents.remove(0).result
}

#[tokio::test]
async fn a_result_is_kept_for_all_that_hold_it_after_a_repair() {
    for (harm, answer) in [
        ("HSET jobbers:{0}:g:held a 1", ":0"),
        ("HSET jobbers:{0}:g:held a 17", ":0"),
        ("HSET jobbers:{0}:g:held a nonsense", ":0"),
    ] {
        let (server, f) = held().await;
        tell(&server, harm, answer);
        assert_eq!(mended(&f).await, [flaw(Flaw::Miscounted, "a")], "{harm}");
        for claimed in f.claim(2).await {
            assert_eq!(result_read_by(&f, claimed.id.as_str()).await, Some(Payload::json("7")), "{harm}");
            f.settle(&claimed, DONE).await;
        }
        assert_eq!(result_read_by(&f, "c").await, None, "{harm}: the last one that held it is over");
        tell(&server, "EXISTS jobbers:{0}:g:held jobbers:{0}:g:kept", ":0");
    }
}

#[tokio::test]
async fn what_tasks_hold_is_counted_again_when_the_counts_are_gone() {
    let (server, f) = held().await;
    tell(&server, "DEL jobbers:{0}:g:held", ":1");
    let expected = [flaw(Flaw::Orphan, "a"), flaw(Flaw::Miscounted, "a")];
    let mut found = audit(&*f.engine, false).await;
    found.sort_by_key(|finding| finding.flaw);
    assert_eq!(found.into_iter().map(|finding| (finding.flaw, finding.subject)).collect::<Vec<_>>(), expected);
    assert_eq!(audit(&*f.engine, true).await.len(), 1, "once it is counted again, what is kept is held");
    assert_eq!(result_read_by(&f, "b").await, Some(Payload::json("7")));
    assert_eq!(mended(&f).await, []);
}

#[tokio::test]
async fn what_no_task_holds_is_let_go() {
    let (server, f) = held().await;
    tell(&server, "HSET jobbers:{0}:g:kept ghost 4", ":1");
    tell(&server, "HSET jobbers:{0}:g:held gone 1", ":1");
    tell(&server, "HSET jobbers:{0}:g:from lost \"1a\\x00\"", ":1");
    // As if `b` had ended without letting go.
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    tell(&server, "HSET jobbers:{0}:g:from b \"1a\\x00\"", ":0");
    tell(&server, "HINCRBY jobbers:{0}:g:held a 2", ":3");
    let orphan = |name: &str| flaw(Flaw::Orphan, name);
    assert_eq!(mended(&f).await, [orphan("b"), orphan("ghost"), orphan("lost"), flaw(Flaw::Miscounted, "gone")]);
    assert_eq!(result_read_by(&f, "c").await, Some(Payload::json("7")));
}

#[tokio::test]
async fn a_kept_result_that_is_no_end_is_found_and_left() {
    let (server, f) = held().await;
    tell(&server, "HSET jobbers:{0}:g:kept a nonsense", ":0");
    let found = audit(&*f.engine, true).await;
    assert_eq!((found.len(), found[0].flaw, found[0].repaired), (1, Flaw::Unreadable, false), "{found:?}");
}

#[tokio::test]
async fn a_retry_that_fell_out_of_its_time_comes_due() {
    let (server, f) = store().await;
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, retry(seconds(3_600))).await;
    tell(&server, "ZREM jobbers:{0}:q:default:s a", ":1");
    assert_eq!(mended(&f).await, [flaw(Flaw::Unplaced, "a"), flaw(Flaw::Miscounted, "default")]);
    assert_eq!(f.status("a").await, Status::Scheduled);
}

#[tokio::test]
async fn a_queue_that_no_tick_would_look_at_is_noted_again() {
    let server = RedisServer::start(RedisOptions::default());
    let f = super::open_at(&server.url()).await;
    f.submit(vec![NewTask { start: Start::After(seconds(5)), ..task("later") }, task("runs")]).await;
    f.claim_one().await;
    tell(&server, "ZREM jobbers:{0}:due default", ":1");
    tell(&server, "ZADD jobbers:{0}:expiring 9000000000000000 default", ":0");
    f.advance(seconds(60));
    assert_eq!((f.engine.promote_due(10).await.unwrap(), f.engine.reclaim_expired(10).await.unwrap().total()), (0, 0));
    assert_eq!(mended(&f).await, [flaw(Flaw::Unplaced, "default"), flaw(Flaw::Unplaced, "default")]);
    assert_eq!((f.engine.promote_due(10).await.unwrap(), f.engine.reclaim_expired(10).await.unwrap().total()), (1, 1));
}

#[tokio::test]
async fn a_lease_that_is_listed_nowhere_ends_again() {
    let (server, f) = store().await;
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    tell(&server, "ZREM jobbers:{0}:q:default:l a", ":1");
    assert_eq!(mended(&f).await, [flaw(Flaw::Unplaced, "a"), flaw(Flaw::Miscounted, "default")]);
    assert!(f.get("a").await.lease.is_some());
    f.settle(&claimed, DONE).await;
    assert_eq!(f.status("a").await, Status::Completed);
}

#[tokio::test]
async fn a_finished_task_is_listed_again_in_its_place() {
    let (server, f) = store().await;
    for name in ["a", "b", "c"] {
        f.submit_ids(&[name]).await;
        let claimed = f.claim_one().await;
        f.settle(&claimed, DONE).await;
    }
    let revision = f.get("b").await.revision;
    tell(&server, &format!("LREM jobbers:{{0}}:q:default:f 1 {revision:015}4b"), ":1");
    assert_eq!(
        mended(&f).await,
        [flaw(Flaw::Unplaced, "b"), flaw(Flaw::Miscounted, "default"), flaw(Flaw::Miscounted, "default")]
    );
    let listed = f.list(Default::default(), 10).await;
    assert_eq!(listed.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["c", "b", "a"]);
}

#[tokio::test]
async fn a_task_in_two_places_keeps_the_one_its_record_tells_of() {
    let (server, f) = store().await;
    f.submit_ids(&["runs", "over"]).await;
    for claimed in f.claim(2).await {
        if claimed.id == id("over") {
            f.settle(&claimed, DONE).await;
        }
    }
    tell(&server, "ZADD jobbers:{0}:q:default:r 1 runs 2 over", ":2");
    tell(&server, "ZADD jobbers:{0}:q:default:l 1 over", ":1");
    let expected = [
        flaw(Flaw::Unplaced, "default"),
        flaw(Flaw::Misplaced, "over"),
        flaw(Flaw::Misplaced, "over"),
        flaw(Flaw::Misplaced, "runs"),
        flaw(Flaw::Miscounted, "default"),
    ];
    assert_eq!(mended(&f).await, expected);
    assert!(f.claim(10).await.is_empty());
}

#[tokio::test]
async fn what_is_left_of_a_task_without_a_record_is_cleared_away_and_counted_as_removed() {
    let (server, f) = store().await;
    let large = Payload::json(vec![b' '; KEPT_PARAMETER_BYTES + 1]);
    let names = ["ready", "later", "runs", "over"];
    for name in names {
        f.submit(vec![NewTask { parameters: large.clone(), ..task(name) }]).await;
    }
    for claimed in f.claim(10).await {
        match claimed.id.as_str() {
            "later" => drop(f.settle(&claimed, retry(seconds(3_600))).await),
            "ready" => drop(f.settle(&claimed, retry(seconds(0))).await),
            "over" => drop(f.settle(&claimed, Outcome::Failed { failure: failure("no"), dead_letter: true }).await),
            _ => {}
        }
    }
    tell(&server, "HSET jobbers:{0}:k taken ready", ":1");
    tell(&server, "HDEL jobbers:{0}:t ready later runs over", ":4");
    let found = mended(&f).await;
    for name in names {
        assert!(found.contains(&flaw(Flaw::Orphan, name)), "{name}: {found:?}");
        // The entry of a finished task without a record is a ghost, which is only counted.
        assert_eq!(found.contains(&flaw(Flaw::PlaceWithoutTask, name)), name != "over", "{name}: {found:?}");
    }
    assert!(found.contains(&flaw(Flaw::Miscounted, "default")), "{found:?}");
    assert_eq!(f.stats("default").await.removed, 4);
    assert_eq!(f.engine.dead_letters(0, 10).await.unwrap().copies.len(), 1, "a copy outlives its task");
}

/// A store in which one task of a key runs and two are set aside.
async fn gated() -> (RedisServer, Fixture) {
    let (server, f) = store().await;
    let limits = QueueConfig { max_concurrent_per_key: Some(1), ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(limits, PutMode::Replace).await.unwrap();
    let key = Some(ConcurrencyKey::new("acme").unwrap());
    f.submit(["a", "b", "c"].map(|name| NewTask { concurrency_key: key.clone(), ..task(name) }).into()).await;
    assert_eq!(ids(&f.claim(10).await), ["a"]);
    (server, f)
}

#[tokio::test]
async fn a_slot_that_nobody_holds_comes_free_and_one_that_is_not_noted_is_taken() {
    let (server, f) = gated().await;
    let entry = "jobbers:{0}:q:default:h";
    tell(&server, &format!("DEL {entry}"), ":1");
    tell(&server, &format!("ZADD {entry} 0 \"kacme\\x00ghost\" 0 \"kbolt\\x00ghost\""), ":2");
    let ghosts = || flaw(Flaw::PlaceWithoutTask, "ghost");
    assert_eq!(mended(&f).await, [flaw(Flaw::Unplaced, "a"), ghosts(), ghosts()]);
    assert!(f.claim(10).await.is_empty(), "a holds its slot");
}

#[tokio::test]
async fn a_task_that_stands_aside_behind_no_gate_is_put_back() {
    let (server, f) = gated().await;
    tell(&server, "DEL jobbers:{0}:q:default:y", ":1");
    assert_eq!(mended(&f).await, [flaw(Flaw::Misplaced, "b"), flaw(Flaw::Misplaced, "c")]);
    tell(&server, "ZREM jobbers:{0}:q:default:r b", ":1");
    assert!(f.claim(10).await.is_empty(), "c stands aside again");
    tell(&server, "ZREM jobbers:{0}:q:default:p c", ":1");
    let found = mended(&f).await;
    let expected = [
        flaw(Flaw::Unplaced, "b"),
        flaw(Flaw::Unplaced, "c"),
        flaw(Flaw::PlaceWithoutTask, "c"),
        flaw(Flaw::Miscounted, "default"),
    ];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_gate_that_nobody_would_look_at_is_looked_at_again() {
    let (server, f) = gated().await;
    let held = f.get("a").await;
    let claimed = held.lease.unwrap();
    let settlement = Settlement::new(id("a"), claimed.fence, DONE);
    let cycle = Cycle { worker: worker("w1"), settlements: vec![settlement], claim: None };
    f.engine.cycle(cycle).await.unwrap();
    assert_eq!(audit(&*f.engine, false).await, []);
    tell(&server, "DEL jobbers:{0}:q:default:e", ":1");
    assert!(f.claim(10).await.is_empty(), "nobody looks");
    assert_eq!(mended(&f).await, [flaw(Flaw::Misplaced, "b"), flaw(Flaw::Misplaced, "c")]);
    assert_eq!(ids(&f.claim(10).await), ["b"]);
}

#[tokio::test]
async fn a_dead_letter_out_of_order_is_found_again() {
    let (server, f) = store().await;
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, Outcome::Failed { failure: failure("no"), dead_letter: true }).await;
    tell(&server, "DEL jobbers:{0}:o:order", ":1");
    tell(&server, "ZADD jobbers:{0}:o:order 0 000000000000001gone", ":1");
    assert_eq!(mended(&f).await, [flaw(Flaw::Unplaced, "a"), flaw(Flaw::PlaceWithoutTask, "gone")]);
    assert_eq!(f.engine.dead_letters(0, 10).await.unwrap().copies.len(), 1);
}

#[tokio::test]
async fn what_can_t_be_mended_is_told_and_left() {
    let (server, f) = store().await;
    let large = Payload::json(vec![b' '; KEPT_PARAMETER_BYTES + 1]);
    f.submit(vec![NewTask { parameters: large, ..task("bare") }, task("lost")]).await;
    tell(&server, "HDEL jobbers:{0}:b bare", ":1");
    tell(&server, "HSET jobbers:{0}:t garbled nonsense", ":1");
    tell(&server, "ZREM jobbers:{0}:queues default", ":1");
    let found = audit(&*f.engine, true).await;
    let of = |wanted| found.iter().filter(|finding| finding.flaw == wanted && !finding.repaired).count();
    assert_eq!((of(Flaw::ParametersLost), of(Flaw::Unreadable), of(Flaw::QueueUnknown)), (1, 1, 2), "{found:?}");
}

#[tokio::test]
async fn bytes_that_are_off_are_counted_anew() {
    let (server, f) = store().await;
    let config = QueueConfig { max_bytes: Some(1_000_000), ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(config, PutMode::Upsert).await.unwrap();
    for name in ["a", "b", "c"] {
        f.submit(vec![NewTask { parameters: Payload::json(vec![b' '; KEPT_PARAMETER_BYTES + 1]), ..task(name) }]).await;
    }
    f.engine.promote_due(1).await.unwrap();
    let claimed = f.claim_one().await;
    let right = Some(2 * (KEPT_PARAMETER_BYTES as u64 + 1));
    let off = flaw(Flaw::Miscounted, "default");
    for (harm, answer, found) in [
        ("HINCRBY jobbers:{0}:sized default 5", ":2055", vec![off.clone()]),
        ("HDEL jobbers:{0}:q:default:z b", ":1", vec![off.clone(); 2]),
        ("HSET jobbers:{0}:q:default:z b 7", ":0", vec![off.clone(); 2]),
        ("HSET jobbers:{0}:q:default:z a 7", ":1", vec![off.clone(); 2]),
        ("HSET jobbers:{0}:q:default:z gone 7", ":1", vec![off.clone(); 2]),
    ] {
        tell(&server, harm, answer);
        assert_eq!(mended(&f).await, found, "{harm}");
        assert_eq!(f.stats("default").await.waiting_bytes, right, "{harm}");
    }
    f.settle(&claimed, retry(seconds(0))).await;
    assert_eq!(f.stats("default").await.waiting_bytes, Some(3 * (KEPT_PARAMETER_BYTES as u64 + 1)));
}
