//! Waiting with a bound. Events are awaited; what offers none is asked again and again in one place, here.

use std::{fmt::Display, future::Future, time::Duration};

/// How often [`until`] asks.
const INTERVAL: Duration = Duration::from_millis(10);

/// Awaits `event`, at most `bound`.
///
/// # Panics
/// When it does not happen in time.
pub async fn within<T>(bound: Duration, what: &(impl Display + ?Sized), event: impl Future<Output = T>) -> T {
    tokio::time::timeout(bound, event).await.unwrap_or_else(|_| panic!("did not happen within {bound:?}: {what}"))
}

/// Asks `question` until it has an answer, at most `bound`.
///
/// # Panics
/// When it has none in time.
pub async fn until<T>(
    bound: Duration,
    what: &(impl Display + ?Sized),
    mut question: impl AsyncFnMut() -> Option<T>,
) -> T {
    within(bound, what, async {
        loop {
            if let Some(answer) = question().await {
                return answer;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    })
    .await
}

/// Asks `question` until it leaves nothing over, at most `bound`.
///
/// # Panics
/// When something is left; it says what.
pub async fn until_none(
    bound: Duration,
    what: &(impl Display + ?Sized),
    mut question: impl AsyncFnMut() -> Vec<String>,
) {
    let mut left = Vec::new();
    let asking = async {
        loop {
            left = question().await;
            if left.is_empty() {
                return;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    };
    let in_time = tokio::time::timeout(bound, asking).await.is_ok();
    assert!(in_time, "did not happen within {bound:?}: {what}; left are\n{}", left.join("\n"));
}
