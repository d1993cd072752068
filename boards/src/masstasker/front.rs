//! The state that all calls of the front share. It knows no call.

use std::sync::Arc;

use jobbers_common::{
    engine::boards::{Boards, Commit},
    name::BoardName,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::settings::Settings;

/// What all calls share.
#[derive(Debug)]
pub(super) struct Front {
    pub(super) boards: Arc<dyn Boards>,
    pub(super) board: BoardName,
    pub(super) settings: Settings,
    /// The service is reported as not serving once it is cancelled.
    pub(super) leaving: CancellationToken,
    /// Waiting calls end when it is cancelled.
    pub(super) drain: CancellationToken,
    /// Takes and give-backs under way, which no caller can abandon.
    pub(super) calls: TaskTracker,
}

impl Front {
    /// A commit that changes nothing. Every client is the same owner: in MassTasker the id is the proof.
    pub(super) fn empty_commit(&self) -> Commit {
        Commit {
            board: self.board.clone(),
            owner: 0,
            check_owner: false,
            require: Vec::new(),
            delete: Vec::new(),
            update: Vec::new(),
            create: Vec::new(),
            once: None,
        }
    }
}
