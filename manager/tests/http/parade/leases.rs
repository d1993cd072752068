//! Owning, extending, returning and waiting.

use super::*;
use crate::server::soon;

pub(super) async fn tasks_are_owned_once_and_only_of_the_actions_asked_for(lake: Lake) {
    lake.insert(vec![task("000", "never"), task("111", "frob"), task("123", "broz"), task("222", "broz")]).await;
    let mut owned = lake.own("tester", 2, &["frob", "broz"]).await;
    assert_eq!(owned.len(), 2);
    let more = lake.own("tester-two", 2, &["frob", "broz"]).await;
    assert_eq!(more.len(), 1);
    owned.extend(more);
    assert_eq!(ids(&owned), ["111", "123", "222"]);
    assert_eq!(lake.own("tester", 2, &["frob", "broz"]).await, [] as [Value; 0]);
    assert_eq!(lake.task("111").await["worker"], "tester", "who owns it is seen");
}

pub(super) async fn a_body_comes_back_and_no_body_stays_none(lake: Lake) {
    let body = "\"the quick brown fox jumps over the lazy dog\"";
    lake.insert(vec![
        task_with("body", "frob", &json!({"parameters": body})),
        task_with("nobody", "frob", &json!({"parameters": null})),
    ])
    .await;
    let owned = lake.own("another", 2, &["frob"]).await;
    let of = |id: &str| owned.iter().find(|it| it["id"] == id).unwrap()["parameters"].clone();
    assert_eq!((of("body"), of("nobody")), (json!(body), Value::Null));
}

pub(super) async fn a_leased_task_is_hidden_until_its_deadline_and_owned_again_then(lake: Lake) {
    lake.insert(vec![task("111", "frob")]).await;
    let tortoise = lake.own_one("tortoise", "frob").await;
    assert!(lake.own("hare", 1, &["frob"]).await.is_empty());
    lake.clock.advance(LEASE);
    let hare = lake.own_one("hare", "frob").await;
    assert_eq!(hare["id"], "111");
    assert_ne!(hare["token"], tortoise["token"]);
    assert_eq!(lake.give_back(&tortoise, "completed").await["code"], "lease_lost");
    assert_eq!(lake.finish(&hare, "completed").await, "completed");
}

pub(super) async fn a_task_is_completed_once_and_returned_as_pending_for_another(lake: Lake) {
    lake.insert(vec![task("111", "frob"), task("123", "broz")]).await;
    let done = lake.own_one("foo", "frob").await;
    assert_eq!(lake.finish(&done, "completed").await, "completed");
    let revision = lake.task("111").await["revision"].clone();
    // The same return is answered as the first time, which makes it safe to repeat; it changes nothing.
    assert_eq!(lake.finish(&done, "completed").await, "completed");
    assert_eq!(lake.give_back(&done, "aborted").await["code"], "lease_lost", "it says something else");
    assert_eq!(lake.task("111").await["revision"], revision);
    let mut forged = done.clone();
    forged["token"] = json!("1");
    assert_eq!(lake.give_back(&forged, "completed").await["code"], "lease_lost");

    let pending = lake.own_one("foo", "broz").await;
    assert_eq!(lake.finish(&pending, "released").await, "submitted");
    assert_eq!(lake.give_back(&pending, "completed").await["code"], "lease_lost");
    let again = lake.own("foo", 4, &["frob", "broz"]).await;
    assert_eq!(ids(&again), ["123"]);
    assert_eq!(lake.task("123").await["errors"], json!([]), "no failure is counted");
}

pub(super) async fn the_text_of_a_task_that_is_returned_as_pending_is_kept_for_the_next_owner(lake: Lake) {
    lake.insert(vec![task("a", "frob"), task("b", "frob")]).await;
    for (id, outcome) in [("a", "released"), ("b", "retry")] {
        let owned = lake.own_one("foo", "frob").await;
        let give_back = async |more: Value| {
            let mut lease = json!({"id": owned["id"], "token": owned["token"], "outcome": outcome});
            lease.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let answer = lake.server.post("/leases/return", json!({"worker": "foo", "leases": [lease]})).await;
            answer.expect(200)["leases"][0].clone()
        };
        let refused = give_back(json!({"outcome": "completed", "checkpoint": 1})).await;
        assert_eq!(refused["pointer"], "/leases/0/checkpoint", "{refused}");
        let status = json!({"text": "half is copied", "done": ["part-0"]});
        assert_eq!(give_back(json!({"checkpoint": status})).await["accepted"], true);
        assert_eq!(lake.task(id).await["checkpoint"], status);
        if outcome == "released" {
            let next = lake.own_one("bar", "frob").await;
            assert_eq!((&next["id"], &next["checkpoint"]), (&json!(id), &status));
            assert_eq!(lake.finish(&next, "completed").await, "completed");
        }
    }
}

pub(super) async fn a_foreign_or_stolen_token_extends_nothing_and_an_owned_one_holds(lake: Lake) {
    lake.insert(vec![task("111", "frob"), task("222", "broz")]).await;
    let lost = |answer: &Value| (answer["extended"].clone(), answer["code"].clone());
    for token in ["123e4567-e89b-12d3-a456-426614174000", "1", ""] {
        let foreign = json!({"id": "111", "token": token});
        let answer = lake.extend(&[&foreign]).await.remove(0);
        assert_eq!(lost(&answer), (json!(false), json!("lease_lost")), "{token:?}");
    }
    let owned = lake.own_one("extend", "frob").await;
    lake.clock.advance(LEASE / 2);
    assert_eq!(lake.extend(&[&owned]).await[0]["extended"], true);
    lake.clock.advance(LEASE * 3 / 4);
    assert!(lake.own("steal", 1, &["frob"]).await.is_empty(), "the extension holds");
    assert_eq!(lake.finish(&owned, "completed").await, "completed", "under the same token");

    let first = lake.own_one("first", "broz").await;
    lake.clock.advance(LEASE);
    lake.own_one("second", "broz").await;
    assert_eq!(lost(&lake.extend(&[&first]).await[0]), (json!(false), json!("lease_lost")));
}

pub(super) async fn many_leases_are_extended_at_once_each_with_an_answer(lake: Lake) {
    lake.insert(vec![task("a", "frob"), task("b", "frob"), task("c", "frob")]).await;
    let owned = lake.own("many", 3, &["frob"]).await;
    lake.finish(&owned[1], "completed").await;
    let answers = lake.extend(&owned.iter().collect::<Vec<_>>()).await;
    let held: Vec<_> = answers.iter().map(|it| (it["id"].clone(), it["extended"].clone())).collect();
    let expected = owned.iter().zip([true, false, true]).map(|(it, held)| (it["id"].clone(), json!(held)));
    assert_eq!(held, expected.collect::<Vec<_>>());
}

pub(super) async fn a_late_return_is_refused_once_the_lease_was_taken_back(lake: Lake) {
    lake.insert(vec![task("late", "frob")]).await;
    let late = lake.own_one("late", "frob").await;
    lake.expire().await;
    assert_eq!(lake.extend(&[&late]).await[0]["code"], "lease_lost");
    assert_eq!(lake.give_back(&late, "completed").await["code"], "lease_lost");
    assert_eq!(lake.status("late").await, "submitted", "it runs again");
}

pub(super) async fn a_waiter_is_answered_before_and_after_the_end(lake: Lake) {
    for outcome in ["aborted", "completed"] {
        lake.insert(vec![task(outcome, "frob")]).await;
        let owned = lake.own_one("foo", "frob").await;
        let path = format!("/tasks/{outcome}?wait=20s");
        let waits = tokio::spawn(lake.server.send_owned(&path));
        assert_eq!(lake.finish(&owned, outcome).await, outcome);
        let (_, text) = soon(waits).await.unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["status"], outcome);
        assert_eq!(soon(lake.server.get(&path)).await.expect(200)["status"], outcome, "at once");
    }
}

pub(super) async fn an_unknown_outcome_is_refused_and_changes_nothing(lake: Lake) {
    lake.insert(vec![task("a", "frob")]).await;
    let owned = lake.own_one("foo", "frob").await;
    for outcome in ["huh?", "", "in-progress", "COMPLETED"] {
        let lease = json!({"id": "a", "token": owned["token"], "outcome": outcome});
        let refused = lake.server.post("/leases/return", json!({"worker": "foo", "leases": [lease]})).await;
        let refused = &refused.expect(200)["leases"][0];
        assert_eq!((&refused["accepted"], &refused["code"]), (&json!(false), &json!("invalid_request")), "{refused}");
        assert_eq!(refused["pointer"], "/leases/0/outcome", "{outcome}");
    }
    assert_eq!(lake.finish(&owned, "completed").await, "completed");
}

pub(super) async fn workers_that_loop_handle_every_task_and_wait_while_there_is_none(lake: Lake) {
    for count in [0, 50, 80] {
        let id = |n: usize| format!("{count}-{n}");
        if count > 0 {
            lake.insert((0..count).map(|n| task(&id(n), "frob")).collect()).await;
        }
        let mut handled = 0;
        loop {
            let owned = lake.own("loop", 7, &["frob"]).await;
            if owned.is_empty() {
                break;
            }
            for owned in &owned {
                assert_eq!(lake.finish(owned, "completed").await, "completed");
                handled += 1;
            }
        }
        assert_eq!(handled, count);
    }
    let body = json!({"worker": "idle", "queues": ["frob"], "wait": "20s"});
    let waits = async { lake.server.post("/leases", body).await.expect(200)["leases"][0]["id"].clone() };
    let inserts = lake.insert(vec![task("at-last", "frob")]);
    // Whichever comes first.
    let (owned, ()) = soon(async { tokio::join!(waits, inserts) }).await;
    assert_eq!(owned, "at-last");
}
