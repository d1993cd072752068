//! What requests and answers carry for the audit log, in their extensions.

use axum::response::{IntoResponse, Response};
use jobbers_common::audit_log::MAX_IDS_LOGGED;

/// Marks an answer that another manager gave: that one has logged the change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassedOn;

/// What a handler adds to the entry of its change, in the extensions of its answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Audited {
    /// What was changed, where the path does not name it.
    pub(crate) object: Option<String>,
    /// How many tasks were changed, by the outcome for them.
    pub(crate) counts: Vec<(&'static str, u64)>,
    /// Some of these tasks.
    pub(crate) ids: Vec<String>,
}

impl Audited {
    /// A change of this object.
    pub(crate) fn object(object: &impl ToString) -> Self {
        Self { object: Some(object.to_string()), ..Self::default() }
    }

    /// A change of so many tasks or other entries, by the outcome for them.
    pub(crate) fn counts<const N: usize>(counts: [(&'static str, u64); N]) -> Self {
        Self { counts: counts.into_iter().filter(|(_, count)| *count > 0).collect(), ..Self::default() }
    }

    /// The same with the ids of those that were changed.
    pub(crate) fn with_ids(self, ids: impl Iterator<Item = impl ToString>) -> Self {
        // One more than are logged, so that the entry says that it has not all.
        Self { ids: ids.take(MAX_IDS_LOGGED + 1).map(|id| id.to_string()).collect(), ..self }
    }

    /// An answer with this.
    pub(crate) fn answer(self, response: impl IntoResponse) -> Response {
        let mut response = response.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
