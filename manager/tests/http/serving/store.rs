//! The examination of the store, and its repair, over HTTP and at the page.

use std::sync::Arc;

use jobbers_common::engine::{Engine, Error};
use jobbers_engines::{OpenOptions, open};
use jobbers_law::double::Double;
use jobbers_manager::Config;
use reqwest::Method;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::{
    fault::{Fault, FaultyEngine},
    pages::unfollowed,
    server::Server,
};

/// What the store has of each kind of flaw.
fn counts(view: &Value) -> Vec<(String, u64)> {
    let kinds = view["found"].as_array().unwrap().iter();
    kinds.map(|kind| (kind["flaw"].as_str().unwrap().to_owned(), kind["count"].as_u64().unwrap())).collect()
}

#[tokio::test]
async fn what_does_not_agree_is_found_and_mended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let engine: Arc<dyn Engine> = open(&format!("sqlite://{}", file.display()), OpenOptions::default()).await.unwrap();
    let server = Server::with(engine, Config::default()).await;
    for id in ["a", "b", "c"] {
        server.post("/tasks", json!({"id": id, "name": "t"})).await.expect(201);
    }
    let examined = async || server.get("/store/examination").await.expect(200);
    let sound = examined().await;
    assert_eq!((counts(&sound), sound["looked_at"].as_u64() >= Some(3)), (vec![], true), "{sound}");
    assert!(server.get("/ui/store").await.text.contains("Examine it"));
    assert!(server.get("/ui/store?examine=yes").await.text.contains("sound"));

    let conn = Connection::open(&file).unwrap();
    conn.execute_batch("PRAGMA foreign_keys = OFF; INSERT INTO dependency VALUES (1, 1, 99, 0)").unwrap();
    drop(conn);
    let orphan = vec![("orphan".to_owned(), 1)];
    for _ in 0..2 {
        let found = examined().await;
        assert_eq!((counts(&found), &found["repaired"]), (orphan.clone(), &json!(0)), "a look changes nothing");
        assert_eq!(found["findings"][0]["flaw"], "orphan");
    }
    let (mut parts, mut all, mut cursor) = (0, Vec::new(), String::new());
    loop {
        let part = server.get(&format!("/store/examination?limit=1{cursor}")).await.expect(200);
        all.extend(counts(&part));
        parts += 1;
        let Some(next) = part["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={}", percent_encoding::utf8_percent_encode(next, percent_encoding::NON_ALPHANUMERIC));
    }
    assert!(parts > 2 && all == orphan, "{parts} parts: {all:?}");

    let page = server.get("/ui/store?examine=yes").await.text;
    assert!(page.contains("1 finding<") && page.contains("at most <b>1</b> of these"), "{page}");
    let form = server.request(Method::POST, "/ui/store").header("content-type", "application/x-www-form-urlencoded");
    let form = form.header("origin", format!("http://{}", server.address)).body("act=repair");
    let done = unfollowed(form).await;
    assert_eq!(
        (done.status.as_u16(), &done.headers["location"]),
        (303, &"store?examine=yes&did=repaired&n=1".parse().unwrap())
    );
    let page = server.get("/ui/store?examine=yes&did=repaired&n=1").await.text;
    assert!(page.contains("1 finding mended.") && page.contains("jobbers cleaner --repair"), "{page}");
    assert_eq!(counts(&examined().await), []);
    server.stop().await;
}

#[tokio::test]
async fn damage_is_a_finding_and_a_wrong_parameter_is_refused() {
    let engine = Arc::new(Double(FaultyEngine::new()));
    let server = Server::with(Arc::clone(&engine) as Arc<dyn Engine>, Config::default()).await;
    for query in ["limit=0", "limit=-1", "cursor=nonsense", "repair=true"] {
        server.get(&format!("/store/examination?{query}")).await.refused(400, "invalid_parameter");
    }
    engine.set(Fault::Fails(Error::Corrupt("page 7 can't be read".to_owned())));
    let found = server.get("/store/examination").await.expect(200);
    assert_eq!(counts(&found), [("file_damaged".to_owned(), 1)]);
    assert_eq!(found["findings"][0]["detail"], "page 7 can't be read");
    engine.set(Fault::None);
    server.stop().await;
}
