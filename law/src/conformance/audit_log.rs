//! Changes that wait for the archive of the audit log.

use std::sync::Arc;

use jobbers_common::{
    engine::{Error, LoggedChange, LoggedChanges, LoggedKey},
    limits::{LOGGED_CHANGES_BYTES, MAX_BATCH, MAX_LOGGED_BYTES, MAX_LOGGED_CHANGES},
    name::ChangeId,
    time::Clock,
};
use tokio::task::JoinSet;

use super::{Fixture, seconds};

fn change(text: &str) -> ChangeId {
    ChangeId::new(text).unwrap()
}

async fn log(f: &Fixture, id: &str) {
    f.engine.log_change(&change(id), &format!("{{\"of\":\"{id}\"}}")).await.unwrap();
}

async fn logged(f: &Fixture) -> Vec<LoggedChange> {
    f.engine.logged_changes(0, MAX_BATCH).await.unwrap().changes
}

async fn ids(f: &Fixture) -> Vec<String> {
    logged(f).await.into_iter().map(|change| change.id.to_string()).collect()
}

pub async fn a_change_is_logged_and_then_its_outcome(f: Fixture) {
    let empty = |now| Ok(LoggedChanges { now, changes: vec![], total: 0 });
    let begun_at = f.clock.now();
    assert_eq!(f.engine.logged_changes(0, 1).await, empty(begun_at));
    let record = "{\"by\":\"ä «1»; \\n\"}";
    f.engine.log_change(&change("a"), record).await.unwrap();
    f.advance(seconds(3));
    let begun = logged(&f).await;
    let number = begun[0].number;
    let expected = LoggedChange { number, id: change("a"), begun_at, record: record.to_owned(), outcome: None };
    assert_eq!(begun, std::slice::from_ref(&expected));
    assert_eq!(f.engine.log_outcome(&change("a"), "{\"status\":200}").await, Ok(true));
    let ended = LoggedChange { outcome: Some("{\"status\":200}".to_owned()), ..expected };
    let now = f.clock.now();
    assert_eq!(f.engine.logged_changes(0, 9).await, Ok(LoggedChanges { now, changes: vec![ended.clone()], total: 1 }));
    f.engine.forget_logged_changes(&[ended.key()]).await.unwrap();
    assert_eq!(f.engine.logged_changes(0, 9).await, empty(now));
}

pub async fn logged_changes_are_read_in_their_order_in_pages(f: Fixture) {
    for id in ["c", "a", "d", "b"] {
        log(&f, id).await;
    }
    let first = f.engine.logged_changes(0, 3).await.unwrap();
    assert_eq!((first.total, first.changes.len()), (4, 3));
    let rest = f.engine.logged_changes(first.changes[2].number, 3).await.unwrap();
    assert_eq!((rest.total, rest.changes.len()), (4, 1));
    let after = f.engine.logged_changes(rest.changes[0].number, 3).await.unwrap();
    assert_eq!((after.total, after.changes), (4, vec![]));
    assert_eq!(ids(&f).await, ["c", "a", "d", "b"]);
    let key = |id: &str| LoggedKey { id: change(id), has_outcome: false };
    f.engine.forget_logged_changes(&[key("a"), key("b"), key("unknown")]).await.unwrap();
    f.engine.forget_logged_changes(&[key("a"), key("b")]).await.unwrap();
    log(&f, "a").await;
    assert_eq!(ids(&f).await, ["c", "d", "a"], "what is logged again is new");
}

pub async fn a_change_logged_twice_is_one(f: Fixture) {
    log(&f, "a").await;
    let once = logged(&f).await;
    f.advance(seconds(1));
    f.engine.log_change(&change("a"), "other").await.unwrap();
    assert_eq!(logged(&f).await, once);
}

pub async fn an_outcome_is_noted_once_and_only_for_a_change_that_is_logged(f: Fixture) {
    assert_eq!(f.engine.log_outcome(&change("a"), "1").await, Ok(false));
    assert_eq!(logged(&f).await, []);
    log(&f, "a").await;
    assert_eq!(f.engine.log_outcome(&change("a"), "1").await, Ok(true));
    assert_eq!(f.engine.log_outcome(&change("a"), "2").await, Ok(true));
    assert_eq!(logged(&f).await[0].outcome.as_deref(), Some("1"));
    f.engine.forget_logged_changes(&[LoggedKey { id: change("a"), has_outcome: true }]).await.unwrap();
    assert_eq!(f.engine.log_outcome(&change("a"), "3").await, Ok(false));
    log(&f, "a").await;
    assert_eq!(logged(&f).await[0].outcome, None, "no outcome is left of an earlier change");
}

pub async fn a_change_whose_outcome_came_late_is_not_forgotten(f: Fixture) {
    log(&f, "a").await;
    let read = logged(&f).await[0].key();
    f.engine.log_outcome(&change("a"), "1").await.unwrap();
    f.engine.forget_logged_changes(std::slice::from_ref(&read)).await.unwrap();
    assert_eq!(ids(&f).await, ["a"]);
    f.engine.forget_logged_changes(&[LoggedKey { has_outcome: true, ..read }]).await.unwrap();
    assert_eq!(ids(&f).await, [""; 0]);
}

pub async fn as_many_changes_are_logged_as_may_wait(f: Fixture) {
    let numbers: Vec<usize> = (0..MAX_LOGGED_CHANGES).collect();
    for some in numbers.chunks(500) {
        let mut calls = JoinSet::new();
        for n in some {
            let (engine, id) = (Arc::clone(&f.engine), change(&format!("c{n}")));
            calls.spawn(async move { engine.log_change(&id, "{}").await.unwrap() });
        }
        calls.join_all().await;
    }
    let full = Err(Error::AuditLogFull { max: MAX_LOGGED_CHANGES });
    assert_eq!(f.engine.log_change(&change("one-more"), "{}").await, full);
    log(&f, "c7").await;
    assert_eq!(f.engine.log_outcome(&change("c7"), "{}").await, Ok(true), "an outcome still finds its change");
    assert_eq!(f.engine.logged_changes(0, 1).await.unwrap().total, MAX_LOGGED_CHANGES as u64);
    f.engine.forget_logged_changes(&[LoggedKey { id: change("c7"), has_outcome: true }]).await.unwrap();
    assert_eq!(f.engine.log_change(&change("one-more"), "{}").await, Ok(()));
    assert_eq!(f.engine.log_change(&change("two-more"), "{}").await, full);
}

pub async fn a_page_of_large_changes_is_short(f: Fixture) {
    // A store keeps a few bytes with each.
    let large = "x".repeat(MAX_LOGGED_BYTES - 64);
    let count = LOGGED_CHANGES_BYTES / (2 * MAX_LOGGED_BYTES) + 3;
    for n in 0..count {
        f.engine.log_change(&change(&n.to_string()), &large).await.unwrap();
        f.engine.log_outcome(&change(&n.to_string()), &large).await.unwrap();
    }
    let first = f.engine.logged_changes(0, MAX_BATCH).await.unwrap().changes;
    assert_eq!(first.len(), count - 3);
    let rest = f.engine.logged_changes(first.last().unwrap().number, MAX_BATCH).await.unwrap().changes;
    assert_eq!(rest.len(), 3);
}

pub async fn many_changes_at_once_are_all_logged(f: Fixture) {
    let mut calls = JoinSet::new();
    for n in 0..64 {
        let (engine, id) = (Arc::clone(&f.engine), change(&format!("c{}", n % 32)));
        calls.spawn(async move {
            engine.log_change(&id, "{}").await.unwrap();
            engine.log_outcome(&id, &n.to_string()).await.unwrap();
        });
    }
    calls.join_all().await;
    let changes = logged(&f).await;
    assert_eq!(changes.len(), 32);
    assert!(changes.iter().all(|change| change.outcome.is_some()));
    assert!(changes.windows(2).all(|pair| pair[0].number < pair[1].number));
}

pub async fn what_is_logged_past_its_bounds_is_refused(f: Fixture) {
    let large = "x".repeat(MAX_LOGGED_BYTES + 1);
    assert!(matches!(f.engine.log_change(&change("a"), &large).await, Err(Error::Invalid(_))));
    assert!(matches!(f.engine.log_outcome(&change("a"), &large).await, Err(Error::Invalid(_))));
    for limit in [0, MAX_BATCH + 1] {
        assert!(matches!(f.engine.logged_changes(0, limit).await, Err(Error::Invalid(_))));
    }
    let key = |n: usize| LoggedKey { id: change(&n.to_string()), has_outcome: false };
    let many: Vec<LoggedKey> = (0..=MAX_BATCH).map(key).collect();
    assert!(matches!(f.engine.forget_logged_changes(&many).await, Err(Error::Invalid(_))));
    f.engine.forget_logged_changes(&many[..MAX_BATCH]).await.unwrap();
    f.engine.forget_logged_changes(&[]).await.unwrap();
    assert_eq!(logged(&f).await, []);
}
