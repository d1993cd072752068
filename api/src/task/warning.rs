//! The warnings about a submission that was accepted, as JSON.

use serde::{Deserialize, Serialize};

use crate::{openapi::ToSchema, value::Word};

/// What may be wrong with a submission that was accepted.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Warning)]
pub struct WarningView {
    /// `no_worker`: no live worker that claims from its queue can run it. `schema_unchecked`: a part of the schema of its
    /// parameters is not checked.
    #[schema(value_type = String)]
    pub code: Word,
    /// The problem, in a sentence.
    pub detail: String,
}
