//! Tombstones beyond their bound: the oldest is forgotten early, and health shows it.

use jobbers_common::{
    engine::{PruneRequest, PruneScope, TaskFilter},
    task::{NewTask, tombstone::TombstonePolicy},
    time::Clock,
};
use jobbers_law::conformance::{DONE, Fixture, id, seconds, task};

/// For a store that remembers two tasks.
pub(crate) const TWO: TombstonePolicy = TombstonePolicy { count: 2, ..TombstonePolicy::DEFAULT };

/// Completes and prunes tasks with chosen ids, a second apart.
async fn bury(f: &Fixture, ids: &[&str]) {
    for text in ids {
        f.submit(vec![NewTask { id_is_chosen: true, ..task(text) }]).await;
        let claimed = f.claim_one().await;
        f.settle(&claimed, DONE).await;
        f.advance(seconds(1));
        let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
        f.engine.prune(PruneRequest { scope, limit: 1_000, dry_run: false, cursor: None }).await.unwrap();
    }
}

/// Of a store that was opened with [`TWO`]: the third tombstone takes the place of the first.
pub(crate) async fn assert_cut_at_the_bound(f: &Fixture) {
    bury(f, &["a", "b"]).await;
    let health = f.engine.health().await.unwrap().tombstones;
    assert_eq!((health.count, health.cut_at), (2, None));
    bury(f, &["c"]).await;
    let health = f.engine.health().await.unwrap().tombstones;
    assert_eq!((health.count, health.cut_at), (2, Some(f.clock.now())));
    let mut remembered = Vec::new();
    for text in ["a", "b", "c"] {
        remembered.extend(f.engine.tombstone(&id(text)).await.unwrap().map(|tombstone| tombstone.id));
    }
    assert_eq!(remembered, [id("b"), id("c")]);
}
