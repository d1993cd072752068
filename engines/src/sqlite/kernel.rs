//! What every verb uses: a step or a view, rows, and the moves of tasks. It knows no verb, and none of the features that
//! follow a move (`follow.rs`): it calls them by [`step::Hooks`].

pub(super) mod catalog;
pub(super) mod chore;
pub(super) mod directory;
pub(super) mod due;
pub(super) mod failures;
pub(super) mod find;
pub(super) mod finished;
pub(super) mod heartbeat;
pub(super) mod ledger;
pub(super) mod moves;
pub(super) mod record;
pub(super) mod removal;
pub(super) mod row;
pub(super) mod step;
pub(super) mod view;
