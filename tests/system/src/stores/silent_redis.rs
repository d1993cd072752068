//! The network forgets a worker's connections to Redis: nothing breaks, and nothing arrives any more.

use jobbers_test_support::{fault_proxy::FaultProxy, redis_server::Persistence};
use serde_json::json;

use crate::stack::Stack;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_whose_connections_died_in_silence_keeps_its_leases_and_takes_further_tasks() {
    let stack = Stack::on_redis(Persistence::None).await;
    let manager = stack.manager().await;
    let proxy = FaultProxy::start(stack.redis.as_ref().unwrap().address()).await;
    let url = format!("redis://{}", proxy.address());
    let _worker = stack.worker_with(&[("ENGINE_URL", &url), ("WORKER_LEASE", "60s")]).await;
    let held = manager.api.submit(&json!({"name": "hold"})).await;
    stack.effects.happened("started", &held).await;
    proxy.fall_silent();
    let next = manager.api.submit(&json!({"name": "note"})).await;
    assert_eq!(manager.api.finished(&next).await["status"], "completed");
    stack.release();
    let task = manager.api.finished(&held).await;
    assert_eq!((&task["status"], &task["attempt"]), (&json!("completed"), &json!(1)), "{task}");
    assert_eq!(stack.effects.count("started").get(&held), Some(&1));
}
