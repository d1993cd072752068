//! Several processes that find no store and create it at once.

use futures_util::future::join_all;
use serde_json::json;

use crate::{engines::Kind, stack::Stack};

on_both_engines!(processes_that_create_the_store_at_once_share_it);

async fn processes_that_create_the_store_at_once_share_it(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (managers, _workers) =
        tokio::join!(join_all((0..3).map(|_| stack.manager())), join_all((0..2).map(|_| stack.worker())));
    for (n, manager) in managers.iter().enumerate() {
        manager.api.submit(&json!({"id": format!("from-{n}"), "name": "note"})).await;
    }
    for manager in &managers {
        for n in 0..managers.len() {
            assert_eq!(manager.api.finished(&format!("from-{n}")).await["status"], "completed");
        }
    }
}
