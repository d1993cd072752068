//! The stores that each test runs on.

use std::{any::Any, sync::Arc};

use jobbers_common::engine::{Engine, boards::Boards};
use jobbers_engines::{OpenOptions, redis::RedisEngine, sqlite::SqliteEngine};
use jobbers_law::model::ModelEngine;
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};

/// A store of one test's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Model,
    Sqlite,
    Redis,
}

impl Kind {
    /// Opens it. The second value keeps it.
    pub(crate) async fn open(self) -> (Arc<dyn Boards>, Box<dyn Any + Send>) {
        match self {
            Self::Model => (Arc::new(ModelEngine::with_system_clock()), Box::new(())),
            Self::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let url = format!("sqlite://{}", folder.path().join("store.db").display());
                let engine = SqliteEngine::open(&url, OpenOptions::default()).await.unwrap();
                (Arc::new(engine).boards(), Box::new(folder))
            }
            Self::Redis => {
                let server = RedisServer::start(RedisOptions::default());
                let engine = RedisEngine::open(&server.url(), OpenOptions::default()).await.unwrap();
                (Arc::new(engine).boards(), Box::new(server))
            }
        }
    }
}

/// Makes a test of each `async fn NAME(kind: Kind)` on each store.
macro_rules! on_every_store {
    ($($test:ident),+ $(,)?) => {
        on_every_store!(on_model Model $($test)+);
        on_every_store!(on_sqlite Sqlite $($test)+);
        on_every_store!(on_redis Redis $($test)+);
    };
    ($room:ident $kind:ident $($test:ident)+) => {
        mod $room {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test($crate::stores::Kind::$kind).await;
                }
            )+
        }
    };
}
