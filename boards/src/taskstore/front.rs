//! The state that the handlers of one base URL share.

use std::sync::Arc;

use jobbers_common::{engine::boards::Boards, name::BoardName};
use jobbers_process::server::memory::ClientMemory;

use super::dialect::Unit;

/// What every handler shares.
#[derive(Debug, Clone)]
pub(super) struct Front {
    pub(super) boards: Arc<dyn Boards>,
    pub(super) board: BoardName,
    pub(super) unit: Unit,
    pub(super) max_data_bytes: usize,
    pub(super) memory: Arc<ClientMemory>,
}
