//! The law of [`Engine`](jobbers_common::engine::Engine): every promise of the trait as a case that each engine runs as a test of its own.
//!
//! A crate that has an engine writes
//!
//! ```text
//! async fn open() -> Fixture { … }
//! jobbers_law::conformance_suite!(open);
//! ```
//!
//! A verb is done when its cases pass on every engine. Facts of one engine alone stand beside that engine. [`sequence`]
//! holds the random counterpart: the same operations on an engine and on the model, every answer compared.
//!
//! Cases panic with what they expected: they are tests, and run nowhere else.
#![expect(missing_docs, reason = "the cases' names are sentences")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "cases are tests; a panic is how they fail"
)]

pub mod audit;
pub mod audit_log;
pub mod backup;
pub mod backup_boards;
pub mod boards;
mod fixture;
pub mod follow;
pub mod keys;
mod random;
pub mod reads;
pub mod schedules;
pub mod sequence;
mod suite;
mod suite_of_stores;
pub mod verbs;
pub mod wide_sequence;

pub use self::{
    // The names of their groups of tests.
    boards::{
        bounds as boards_bounds, commits as boards_commit, reads as boards_reads, select as boards_select,
        sequence as boards_sequence, takes as boards_take, wait as boards_wait,
    },
    fixture::*,
    follow::*,
    schedules::{schedules_of_workflows, workflows},
    verbs::*,
};
use jobbers_common::engine::{Outcome, SettleAnswer, Settlement};

/// One test per case of one group. Attributes of the tests may follow `open` in brackets.
#[macro_export]
macro_rules! conformance_group {
    ($open:ident, $group:ident: $($case:ident)*) => {
        $crate::conformance_group!($open [], $group: $($case)*);
    };
    ($open:ident $attributes:tt, $group:ident: $($case:ident)*) => {
        mod $group {
            $($crate::conformance_case!($attributes $open $group $case);)*
        }
    };
}

/// The test of one case.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_case {
    ([$(#[$attribute:meta])*] $open:ident $group:ident $case:ident) => {
        #[tokio::test]
        $(#[$attribute])*
        async fn $case() {
            $crate::conformance::$group::$case(super::$open().await).await;
        }
    };
}
