//! What makes no sense is refused with a line that says why, and changes nothing.

use serde_json::{Value, json};

use crate::store::{MAX_DATA, Store};

on_every_store!(
    garbage_is_refused,
    nothing_at_all_is_refused,
    values_of_a_wrong_kind_are_refused_by_name,
    too_much_is_refused,
    paths_and_queries_that_make_no_sense_are_refused,
    a_wrong_method_is_answered_405_without_a_body,
);

async fn refused(store: &Store, path: &str, body: impl Into<reqwest::Body>) -> String {
    store.send(store.posting(path).body(body)).await.refused().to_owned()
}

async fn garbage_is_refused(store: Store) {
    for path in ["/update", "/claim"] {
        for garbage in [
            &b"{"[..],
            b"garbage",
            b"{\"clientid\": 1}}",
            b"[]",
            b"12",
            b"\"x\"",
            b"\xff\xfe\x00",
            b"{\"clientid\": \xff}",
            b"update=%7B&claim=%7B",
            b"update=&claim=",
        ] {
            let line = refused(&store, path, garbage).await;
            assert!(line.contains("line 1 column") || line.contains("expected"), "{path}: {line}");
        }
    }
    assert_eq!(store.get("/groups").await, json!([]));
}

async fn nothing_at_all_is_refused(store: Store) {
    for (path, words) in
        [("/update", "no data provided for task update"), ("/claim", "no parameters provided for task claim")]
    {
        for body in ["", " \n"] {
            assert!(refused(&store, path, body).await.starts_with(words));
        }
        let elsewhere = format!("{path}?other=1");
        assert!(refused(&store, &elsewhere, "").await.starts_with(words));
    }
}

async fn values_of_a_wrong_kind_are_refused_by_name(store: Store) {
    for (body, words) in [
        (json!({"clientid": "x"}), "clientid: invalid type"),
        (json!({"clientid": 1_i64 << 40}), "clientid: invalid value"),
        (json!({"clientid": 1.5}), "clientid: invalid type"),
        (json!({"adds": "x"}), "adds: invalid type"),
        (json!({"adds": [{"group": "a"}, {"group": 5}]}), "adds[1].group: invalid type"),
        (json!({"adds": [{"timespec": "now"}]}), "adds[0].timespec: invalid type"),
        (json!({"updates": [[]]}), "updates[0]: invalid type"),
        (json!({"deletes": [1, "2"]}), "deletes[1]: invalid type"),
        (json!({"depends": {}}), "depends: invalid type"),
        (json!({"adds": [{"group": "a", "data": "x", "data_encoding": "gzip"}]}), "adds[0].data_encoding is \"gzip\""),
        (json!({"updates": [{"id": 1, "data": "*", "data_encoding": "base64"}]}), "updates[0].data is not base64"),
    ] {
        let line = refused(&store, "/update", body.to_string()).await;
        assert!(line.starts_with(words), "{line}");
    }
    let line = refused(&store, "/claim", json!({"duration": "60s"}).to_string()).await;
    assert!(line.starts_with("duration: invalid type"), "{line}");
}

async fn too_much_is_refused(store: Store) {
    let data = "x".repeat(MAX_DATA + 1);
    let line = refused(&store, "/update", json!({"adds": [{"group": "a", "data": data}]}).to_string()).await;
    assert!(line.starts_with("adds[0].data has 4097 bytes; at most 4096 are allowed"), "{line}");
    let adds: Vec<Value> = (0..10_001).map(|_| json!({"group": "a"})).collect();
    let line = refused(&store, "/update", json!({"adds": adds}).to_string()).await;
    assert!(line.contains("at most 10000, not 10001"), "{line}");
    let line = refused(&store, "/update", json!({"adds": [{"group": "g".repeat(1_025)}]}).to_string()).await;
    assert!(line.contains("at most 1024, not 1025"), "{line}");
    let depends: Vec<i64> = (1..=10_001).collect();
    for path in ["/update", "/claim"] {
        let body = json!({"group": "a", "adds": [{"group": "a"}], "depends": depends});
        let line = refused(&store, path, body.to_string()).await;
        assert!(line.contains("at most 10000, not 10001"), "{line}");
    }
    let many: Vec<String> = (1..=1_001).map(|id| id.to_string()).collect();
    let line = store.send(store.getting(&format!("/tasks/{}", many.join(",")))).await;
    assert!(line.refused().contains("at most 1000"), "{line:?}");
    assert_eq!(store.get("/groups").await, json!([]));
}

async fn paths_and_queries_that_make_no_sense_are_refused(store: Store) {
    for (path, words) in [
        ("/task/x", "invalid task id \"x\""),
        ("/task/1.5", "invalid task id \"1.5\""),
        ("/task/99999999999999999999", "invalid task id"),
        ("/tasks/1,,2", "invalid task id \"\""),
        ("/tasks/1,x", "invalid task id \"x\""),
        ("/task/", "invalid task request, expected /task/<id>"),
        ("/tasks/", "invalid task request, expected /task/<id>"),
        ("/group/", "invalid group request, expected /group/<group>"),
        ("/group/a?limit=x", "invalid limit parameter \"x\", expected a number"),
        ("/group/a?limit=1e3", "invalid limit parameter \"1e3\", expected a number"),
        ("/group/a?owned=maybe", "invalid owned parameter \"maybe\""),
        ("/task/%FF", ""),
    ] {
        let answer = store.send(store.getting(path)).await;
        let line = answer.refused();
        assert!(line.starts_with(words), "{path}: {line}");
    }
    for path in ["/unknown", "/task/1/2"] {
        let answer = store.send(store.getting(path)).await;
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (404, "404 page not found\n"), "{path}");
    }
}

async fn a_wrong_method_is_answered_405_without_a_body(store: Store) {
    for path in ["/update", "/claim"] {
        let answer = store.send(store.getting(path)).await;
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (405, ""), "{path}");
    }
    for path in ["/groups", "/group", "/group/a", "/task/1", "/tasks/1"] {
        let answer = store.send(store.posting(path).body("{}")).await;
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (405, ""), "{path}");
    }
}
