//! A Redis that an earlier version wrote to: it is refused with a sentence that says what to do, and left as it is.
//!
//! `fixtures/README.md` says what it holds.

use std::{collections::BTreeMap, path::Path};

use jobbers_common::{
    engine::{Error, Tasks},
    lifecycle::Status,
};
use jobbers_engines::{OpenOptions, redis::RedisEngine};
use jobbers_law::conformance::{DONE, ids};
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};

use super::connect;

fn old_store() -> RedisServer {
    let snapshot = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/schema-1.rdb");
    RedisServer::start(RedisOptions { snapshot: Some(snapshot), ..RedisOptions::default() })
}

/// Every key with what it holds, as the server writes it down.
async fn contents(server: &RedisServer) -> BTreeMap<String, Vec<u8>> {
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query_async(&mut connection).await.unwrap();
    let mut contents = BTreeMap::new();
    for key in keys {
        let value = redis::cmd("DUMP").arg(&key).query_async(&mut connection).await.unwrap();
        contents.insert(key, value);
    }
    contents
}

#[tokio::test]
async fn a_store_of_schema_1_is_refused_with_what_to_do_and_left_as_it_is() {
    let server = old_store();
    let before = contents(&server).await;
    assert!(before.len() > 10, "the snapshot is loaded: {:?}", before.keys());
    for options in [OpenOptions::default(), OpenOptions::existing()] {
        let refused = RedisEngine::open(&server.url(), options).await.map(drop).unwrap_err();
        let Error::Config(sentence) = refused else { panic!("{refused:?}") };
        for word in ["schema 1", "schema 4", "until no task is left", "?prefix="] {
            assert!(sentence.contains(word), "{word:?} is missing in: {sentence}");
        }
    }
    assert_eq!(contents(&server).await, before);
}

#[tokio::test]
async fn a_store_of_the_version_before_is_taken_over_by_who_may_create_one() {
    let server = RedisServer::start(RedisOptions::default());
    let before = connect(&server.url()).await;
    before.submit_ids(&["runs", "waits"]).await;
    let claimed = before.claim_one().await;
    assert_eq!(server.command("SET jobbers:{0}:schema 3"), "+OK\r\n");
    let looks = RedisEngine::open(&server.url(), OpenOptions::existing()).await.unwrap();
    assert_eq!(looks.get(&claimed.id).await.unwrap().unwrap().status, Status::Started);
    assert_eq!(server.command("GET jobbers:{0}:schema"), "$1\r\n3\r\n", "its programs may still run");
    let f = connect(&server.url()).await;
    assert_eq!(server.command("GET jobbers:{0}:schema"), "$1\r\n4\r\n");
    f.settle(&claimed, DONE).await;
    assert_eq!(ids(&f.claim(10).await), ["waits"]);
    assert_eq!(f.status("runs").await, Status::Completed);
}
