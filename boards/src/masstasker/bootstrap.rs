//! The first task of a system: one empty task in a group, once per store.

use std::{sync::Arc, time::Duration};

use jobbers_common::engine::boards::{
    Commit, CommitAnswer, Create,
    task::{Content, When},
};

use super::front::Front;

/// How long after a failure it is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// Creates the task, unless any server of this store ever did so for the group. Returns whether nothing is left to do.
pub(super) async fn is_done(front: &Front) -> bool {
    let Some(group) = &front.settings.bootstrap_group else { return true };
    let create = Create { group: group.clone(), at: When::NOW, content: Content::default() };
    let once = Some(format!("bootstrap:{group}"));
    match front.boards.commit(Commit { create: vec![create], once, ..front.empty_commit() }).await {
        Ok(answer) => {
            if matches!(answer, CommitAnswer::Done(_)) {
                tracing::info!(group, "created the bootstrap task");
            }
            true
        }
        Err(error) if error.is_transient() => {
            tracing::warn!(%error, group, "the bootstrap task could not be created; trying again");
            false
        }
        Err(error) => {
            tracing::error!(%error, group, "the bootstrap task can't be created");
            true
        }
    }
}

/// Tries until the store answers.
pub(super) async fn retry(front: Arc<Front>) {
    loop {
        tokio::time::sleep(PAUSE).await;
        if is_done(&front).await {
            return;
        }
    }
}
