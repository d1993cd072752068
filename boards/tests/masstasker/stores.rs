//! The stores that each test runs on.

use std::{any::Any, sync::Arc};

use jobbers_common::engine::{boards::Boards, model::ModelEngine};

/// A store of one test's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Model,
}

impl Kind {
    /// Opens it. The second value keeps it.
    pub(crate) async fn open(self) -> (Arc<dyn Boards>, Box<dyn Any + Send>) {
        match self {
            Self::Model => (Arc::new(ModelEngine::with_system_clock()), Box::new(())),
        }
    }
}

/// Makes a test of each `async fn NAME(kind: Kind)` on each store.
macro_rules! on_every_store {
    ($($test:ident),+ $(,)?) => {
        mod on_model {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test($crate::stores::Kind::Model).await;
                }
            )+
        }
    };
}
