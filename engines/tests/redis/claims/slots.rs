//! Limits by key that are set while many tasks run.

use jobbers_common::{
    engine::PutMode,
    queue::{QueueConfig, gate::ConcurrencyKey},
    task::NewTask,
};
use jobbers_law::conformance::{ids, queue, seconds, task};
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};

use crate::connect;

fn keyed(name: &str, key: &str) -> NewTask {
    NewTask { concurrency_key: ConcurrencyKey::new(key).ok(), ..task(name) }
}

#[tokio::test]
async fn slots_are_noted_a_piece_at_a_time_and_none_is_given_out_before() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    for first in [0, 800] {
        f.submit((first..first + 800).map(|n| keyed(&format!("t{n}"), &format!("key{n}"))).collect()).await;
        assert_eq!(f.claim(800).await.len(), 800);
    }
    let limits = QueueConfig { max_concurrent_per_key: Some(1), ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(limits, PutMode::Replace).await.unwrap();
    f.submit(vec![keyed("held-back", "key1599"), keyed("free", "another")]).await;
    let mut claims = 0;
    let claimed = loop {
        claims += 1;
        let reply = f.cycle_as("w1", &["default"], 10, Vec::new()).await;
        if !reply.claimed.is_empty() {
            break reply.claimed;
        }
        assert_eq!(reply.next_due, Some(seconds(0)), "there is more at once");
    };
    assert!((3..=5).contains(&claims), "{claims} claims for 1,600 leases");
    assert_eq!(ids(&claimed), ["free"]);
    assert_eq!(server.command("ZCARD jobbers:{0}:q:default:h").trim(), ":1601");
    f.assert_conserved().await;
}
