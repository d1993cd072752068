//! What a worker costs that has nothing to do.

use std::time::Duration;

use crate::{engines::Kind, stack::Stack};

on_both_engines!(an_idle_worker_uses_less_than_a_hundredth_of_a_core);

async fn an_idle_worker_uses_less_than_a_hundredth_of_a_core(kind: Kind) {
    const MEASURED: Duration = Duration::from_secs(10);
    let stack = Stack::on(kind).await;
    let worker = stack.worker().await;
    let before = worker.cpu_time();
    // Not a wait for anything: the length of the measurement.
    tokio::time::sleep(MEASURED).await;
    let used = worker.cpu_time() - before;
    assert!(used < MEASURED / 100, "{used:?} of CPU in {MEASURED:?}");
}
