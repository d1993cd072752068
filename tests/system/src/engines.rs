//! Runs one test on both engines.

/// The two engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Redis,
}

/// Makes a test of each `async fn NAME(kind: Kind)`, once `on_sqlite` and once `on_redis`.
macro_rules! on_both_engines {
    ($($test:ident),+ $(,)?) => {
        mod on_sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test($crate::engines::Kind::Sqlite).await;
                }
            )+
        }
        mod on_redis {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test($crate::engines::Kind::Redis).await;
                }
            )+
        }
    };
}
