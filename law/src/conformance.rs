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

pub mod added_dependencies;
pub mod audit;
pub mod audit_log;
pub mod backup;
pub mod backup_boards;
pub mod boards;
pub mod boards_bounds;
pub mod boards_commit;
pub mod boards_reads;
pub mod boards_select;
pub mod boards_sequence;
pub mod boards_take;
pub mod boards_wait;
pub mod bytes;
pub mod cancel;
pub mod deleting;
pub mod deleting_tasks;
pub mod dependencies;
pub mod expiry;
pub mod fan_in;
mod fixture;
pub mod gates;
pub mod graphs;
pub mod history;
pub mod intake;
pub mod keys;
pub mod lease;
pub mod letters;
pub mod limits;
pub mod moving;
pub mod parents;
pub mod queues;
pub mod reads;
pub mod recovery;
pub mod refusals;
pub mod schedules;
pub mod schedules_of_workflows;
pub mod sequence;
pub mod sessions;
pub mod settings;
pub mod settle;
pub mod signals;
pub mod spans;
pub mod spontaneous;
pub mod submit;
mod suite;
mod suite_of_stores;
pub mod suspicion;
pub mod tombstones;
pub mod tries;
pub mod unique;
pub mod upkeep;
pub mod wake;
pub mod wide_sequence;
pub mod work;
pub mod workflows;

pub use self::fixture::*;
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
