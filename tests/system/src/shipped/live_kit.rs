//! The test kit's running system: a test of a user's own, with a worker of its own beside a real `jobbers up`.

use std::time::Duration;

use jobbers_test_support::binaries::binary;
use jobbers_worker::{
    Shutdown, stock,
    testing::live::{LiveError, LiveSystem},
};

use crate::{engines::Kind, stack::Stack};

on_both_engines!(a_test_has_a_system_of_its_own);

const SOON: Duration = Duration::from_secs(20);

async fn a_test_has_a_system_of_its_own(kind: Kind) {
    let stack = Stack::on(kind).await;
    let builder = LiveSystem::builder().program(binary("jobbers"));
    let live = match kind {
        Kind::Sqlite => builder.start().await.unwrap(),
        Kind::Redis => builder.engine_url(stack.url()).start().await.unwrap(),
    };
    let shutdown = Shutdown::new();
    let worker = tokio::spawn(live.worker().tasks(stock::ALL.iter().copied()).run_until(shutdown.clone()));
    let slept = stock::Sleep { seconds: Duration::from_millis(5), heartbeat_every: None, ignore_cancel: false };
    let handle = stock::sleep.delay(live.client(), slept).await.unwrap();
    assert!(handle.result(SOON).await.unwrap().seconds >= 0.005);
    shutdown.drain.cancel();
    assert_eq!(worker.await.unwrap().unwrap().lost, 0);
    let folder = live.folder().to_owned();
    assert!(folder.is_dir());
    live.stop().await.unwrap();
    assert!(!folder.exists(), "its folder goes with it");
}

#[tokio::test]
async fn a_system_that_does_not_start_says_why() {
    let nowhere = LiveSystem::builder().program("/nowhere/jobbers").start().await.unwrap_err();
    assert!(matches!(nowhere, LiveError::Program { .. }) && nowhere.to_string().contains("JOBBERS_BIN"), "{nowhere}");
    let builder = LiveSystem::builder().program(binary("jobbers"));
    let refused = builder.engine_url("nonsense://").start().await.unwrap_err();
    assert!(matches!(refused, LiveError::NotUp { .. }) && refused.to_string().contains("nonsense"), "{refused}");
}
