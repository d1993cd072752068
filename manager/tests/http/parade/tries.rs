//! `MaxTries`.

use super::*;

fn tries(id: &str, max_tries: u32, more: &Value) -> Value {
    let mut task = task_with(id, "frob", &json!({"max_tries": max_tries, "exhausted": "aborted"}));
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    task
}

pub(super) async fn seven_returns_use_up_seven_tries_and_release_the_successor(lake: Lake) {
    lake.insert(vec![tries("111", 7, &json!({})), after("next", "broz", &["111"])]).await;
    for attempt in 1..=7 {
        assert!(lake.own("foo", 1, &["broz"]).await.is_empty());
        let owned = lake.own_one("foo", "frob").await;
        assert_eq!(owned["attempt"], attempt);
        let status = if attempt < 7 { "submitted" } else { "aborted" };
        assert_eq!(lake.finish(&owned, "released").await, status);
    }
    assert!(lake.own("foo", 1, &["frob"]).await.is_empty());
    assert_eq!(lake.own_one("foo", "broz").await["id"], "next");
}

pub(super) async fn expiries_use_up_tries_and_nothing_is_left_to_own(lake: Lake) {
    lake.insert(vec![tries("111", 7, &json!({}))]).await;
    for attempt in 0..7 {
        let owned = lake.own_one("foo", "frob").await;
        if attempt % 2 == 0 {
            lake.expire().await;
        } else {
            lake.finish(&owned, "released").await;
        }
    }
    assert!(lake.own("foo", 1, &["frob"]).await.is_empty());
    assert_eq!(lake.status("111").await, "aborted");
}

pub(super) async fn exhausted_leases_are_aborted_by_the_sweeper_and_signalled_as_failures(lake: Lake) {
    let failed = tries("failed", 1, &json!({"exhausted": "failed"}));
    lake.insert(vec![
        tries("lost", 1, &json!({})),
        failed,
        after("tells", "broz", &["lost", "failed"]),
        task_with("follows", "broz", &json!({"depends_on": ["lost"]})),
    ])
    .await;
    assert_eq!(lake.own("dies", 2, &["frob"]).await.len(), 2);
    lake.expire().await;
    assert_eq!((lake.status("lost").await, lake.status("failed").await), ("aborted".into(), "failed".into()));
    assert_eq!(lake.task("lost").await["errors"][0]["kind"], "crash");
    assert_eq!(lake.own_one("foo", "broz").await["id"], "tells", "it runs, and can see both ends");
    let follows = lake.task("follows").await;
    assert_eq!(follows["status"], "aborted");
    assert_eq!(follows["dependencies"]["aborted_by"], json!({"id": "lost", "status": "aborted"}));
}

pub(super) async fn an_abort_is_final_with_tries_left(lake: Lake) {
    lake.insert(vec![tries("111", 7, &json!({}))]).await;
    let owned = lake.own_one("foo", "frob").await;
    assert_eq!(lake.finish(&owned, "aborted").await, "aborted");
    assert!(lake.own("foo", 1, &["frob"]).await.is_empty());
}
