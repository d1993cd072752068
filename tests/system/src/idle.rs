//! What a worker costs that has nothing to do.

use std::time::Duration;

use crate::{engines::Kind, stack::Stack};

on_both_engines!(an_idle_worker_uses_less_than_a_hundredth_of_a_core);

/// On a shared machine the same work can be charged ten times the CPU time for some seconds. That only ever adds, and a
/// worker that is busy all the time exceeds the bound in every window.
async fn an_idle_worker_uses_less_than_a_hundredth_of_a_core(kind: Kind) {
    const WINDOW: Duration = Duration::from_secs(10);
    const WINDOWS: usize = 6;
    let stack = Stack::on(kind).await;
    let worker = stack.worker().await;
    let mut used = Vec::new();
    for _ in 0..WINDOWS {
        let before = worker.cpu_time();
        // Not a wait for anything: the length of the measurement.
        tokio::time::sleep(WINDOW).await;
        let spent = worker.cpu_time() - before;
        if spent < WINDOW / 100 {
            return;
        }
        used.push(spent);
    }
    panic!("{used:?} of CPU in windows of {WINDOW:?}");
}
