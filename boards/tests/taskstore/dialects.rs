//! Item 26 of the conformance list: the document's, the server's and the Go client's way to say the same.

use serde_json::{Value, json};

use crate::store::{MINUTE, OWNER, Store, id};

on_every_store!(
    a_request_is_read_from_a_body_a_form_or_the_query,
    keys_are_read_in_both_cases,
    the_base_decides_how_keys_are_spelt,
    both_names_of_the_time_are_read_and_written,
    the_base_decides_the_unit_of_time,
    a_task_that_was_read_can_be_sent_back,
    fields_of_no_dialect_are_passed_over,
);

async fn a_request_is_read_from_a_body_a_form_or_the_query(store: Store) {
    let update = json!({"clientid": OWNER, "adds": [{"group": "a b&c=d+%", "data": "x"}]}).to_string();
    let form = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let field = format!("other=1&update={}", form(&update));
    let types = ["", "application/json", "text/plain", "application/x-www-form-urlencoded"];
    let mut requests: Vec<_> =
        types.map(|it| store.posting("/update").header("content-type", it).body(update.clone())).into();
    requests.push(store.posting("/update").body(format!(" \n\t{update} \n")));
    requests.push(store.posting("/update").header("content-type", types[3]).body(field.clone()));
    requests.push(store.posting("/update").body(field.clone()));
    requests.push(store.posting(&format!("/update?{field}")));
    requests.push(store.posting(&format!("/update?{field}")).body("other=2"));
    for (at, request) in requests.into_iter().enumerate() {
        let answer = store.send(request).await.json();
        assert_eq!(answer["tasks"][0]["group"], "a b&c=d+%", "{at}: {answer}");
    }
    let claim = json!({"clientid": OWNER, "group": "a b&c=d+%", "duration": MINUTE}).to_string();
    for request in [
        store.posting("/claim").body(claim.clone()),
        store.posting("/claim").body(format!("claim={}", form(&claim))),
        store.posting(&format!("/claim?claim={}", form(&claim))),
    ] {
        assert_eq!(store.send(request).await.json()["tasks"][0]["data"], "x");
    }
}

async fn keys_are_read_in_both_cases(store: Store) {
    let update = json!({"ClientID": OWNER, "Adds": [{"Group": "a", "Data": "x", "TimeSpec": 5}], "Updates": null});
    let added = store.post("/update", &update).await;
    assert_eq!((&added["tasks"][0]["data"], &added["tasks"][0]["timespec"]), (&json!("x"), &json!(5)));
    let claimed = store.post("/claim", &json!({"ClientID": OWNER, "Group": "a", "Duration": MINUTE})).await;
    assert_eq!(claimed["tasks"][0]["ownerid"], json!(OWNER));
    let keys: Vec<&String> = claimed["tasks"][0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["data", "duration", "group", "id", "ownerid", "timespec"], "lower case, which Go reads too");
}

async fn the_base_decides_how_keys_are_spelt(store: Store) {
    for (store, done, conflict) in [
        (store.milliseconds(), r#"{"tasks":[],"error":null}"#, r#","error":{"changes":[],"deletes":[7],"#),
        (store.clone(), r#"{"Tasks":[],"Error":null}"#, r#","Error":{"Changes":[],"Deletes":[7],"#),
    ] {
        let added = id(&store.add("a").await);
        let delete = |id: i64| store.posting("/update").body(json!({"clientid": OWNER, "deletes": [id]}).to_string());
        let refused = store.send(delete(7)).await;
        assert!(refused.text.contains(conflict), "{}", refused.text);
        assert_eq!(refused.text.contains("\"Bugs\":[]"), refused.text.contains("Error"), "{}", refused.text);
        assert_eq!(store.send(delete(added)).await.text, done);
    }
}

async fn both_names_of_the_time_are_read_and_written(store: Store) {
    for store in [store.clone(), store.milliseconds()] {
        for name in ["timespec", "duration"] {
            let added = store.updated(json!({"adds": [{"group": "a", name: 12_345}]})).await;
            assert_eq!((&added[0]["timespec"], &added[0]["duration"]), (&json!(12_345), &json!(12_345)), "{name}");
        }
    }
}

async fn the_base_decides_the_unit_of_time(store: Store) {
    let ms = store.milliseconds();
    let added = ms.updated(json!({"adds": [{"group": "a", "timespec": 1_388_552_400_000_i64}]})).await;
    let read = store.get(&format!("/task/{}", id(&added[0]))).await;
    assert_eq!(read["duration"], json!(1_388_552_400_000_000_000_i64), "one board");
    let soon = ms.updated(json!({"adds": [{"group": "b", "timespec": -60_000}]})).await;
    let exact = store.get(&format!("/task/{}", id(&soon[0]))).await["duration"].as_i64().unwrap();
    assert_eq!(soon[0]["timespec"], json!(exact / 1_000_000));
    let claimed = ms.post("/claim", &json!({"clientid": OWNER, "group": "a", "duration": 60_000})).await;
    let until = claimed["tasks"][0]["timespec"].as_i64().unwrap();
    assert!((0..60_000).contains(&(until - soon[0]["timespec"].as_i64().unwrap())), "a minute from then: {claimed}");
}

/// Of both times, the one counts that the dialect of the address knows: so a client may change its own and send the other
/// as it came.
async fn a_task_that_was_read_can_be_sent_back(store: Store) {
    for (store, own) in [(store.milliseconds(), "timespec"), (store.clone(), "duration")] {
        let mut task = store.add("a").await;
        task[own] = json!(77);
        let back = store.updated(json!({"updates": [task]})).await;
        assert_eq!((&back[0]["timespec"], &back[0]["duration"]), (&json!(77), &json!(77)));
    }
}

async fn fields_of_no_dialect_are_passed_over(store: Store) {
    let update =
        json!({"clientid": OWNER, "adds": [{"group": "a", "priority": {"high": [1]}}], "trace": "x", "tasks": 7});
    let added = store.post("/update", &update).await;
    assert_eq!(added["error"], Value::Null);
    // However deep.
    let deep = format!(r#"{{"adds":[{{"group":"a"}}],"x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let added = store.send(store.posting("/update").body(deep)).await.json();
    assert_eq!(added["error"], Value::Null);
    assert_eq!(store.get("/group/a?verbose=1&limit=5").await.as_array().unwrap().len(), 2);
}
