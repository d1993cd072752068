//! Follows the primary of a store that can move, also while no call is under way.
//!
//! A process that only waits for messages would not notice that its server is gone. And a primary that Sentinels have
//! replaced goes on accepting writes until they demote it, which can take them ten seconds: all of these writes are lost.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{primary::Standing, store::Store};

/// How often Sentinels are asked whether the primary is still the same. They take two tenths of a second from the decision to
/// replace it until another server is one.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Starts following, for as long as the store is open, if it can move.
pub(crate) fn follow_primary(store: &Arc<Store>) {
    if !store.leases.primary.can_move() {
        return;
    }
    let (store, notifications) = (Arc::downgrade(store), Arc::clone(&store.notifications));
    tokio::spawn(async move {
        loop {
            let is_broken = tokio::select! {
                () = notifications.disconnected.notified() => true,
                () = sleep(ASK_EVERY) => false,
            };
            let Some(store) = store.upgrade() else { return };
            let (_, connected) = store.leases.connection();
            if is_broken || store.leases.primary.standing().await == Standing::WasReplaced {
                store.leases.look(connected);
            }
        }
    });
}
