//! One reading of the store for all who ask within a few seconds.

use std::time::{Duration, Instant};

use jobbers_common::engine::Result;
use tokio::sync::Mutex;

/// How old an answer may be.
pub(crate) const KEPT: Duration = Duration::from_secs(3);

/// The last reading, and when it ended; locked while the next one is under way.
#[derive(Debug)]
pub(crate) struct SharedReading<T>(Mutex<Option<(Instant, Result<T>)>>);

impl<T> Default for SharedReading<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> SharedReading<T> {
    /// What was read last, or reads. Those that ask meanwhile wait for the same reading, and share its failure too: with a
    /// store that is away they would otherwise fail one after the other.
    ///
    /// # Errors
    /// Those of the reading.
    pub(crate) async fn get(&self, read: impl Future<Output = Result<T>>) -> Result<T> {
        let asked_at = Instant::now();
        let mut last = self.0.lock().await;
        let serves = |(ended_at, value): &&(Instant, Result<T>)| {
            *ended_at > asked_at || value.is_ok() && ended_at.elapsed() < KEPT
        };
        if let Some((_, value)) = last.as_ref().filter(serves) {
            return value.clone();
        }
        let value = read.await;
        last.insert((Instant::now(), value)).1.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use jobbers_common::engine::Error;

    use super::*;

    #[tokio::test]
    async fn those_who_ask_together_share_a_reading_and_a_failure_serves_only_them() {
        let (shared, readings) = (SharedReading::default(), AtomicU32::new(0));
        let (shared, readings) = (&shared, &readings);
        let ask = |fails: bool| {
            shared.get(async move {
                let reading = readings.fetch_add(1, Ordering::SeqCst) + 1;
                tokio::task::yield_now().await;
                if fails { Err(Error::unavailable("away")) } else { Ok(reading) }
            })
        };
        let (first, second) = tokio::join!(ask(true), ask(true));
        assert!(first.is_err() && second.is_err());
        assert_eq!(readings.load(Ordering::SeqCst), 1, "the second waited for the first");
        assert_eq!(tokio::join!(ask(false), ask(false)), (Ok(2), Ok(2)), "the failure is not kept");
        assert_eq!(ask(false).await, Ok(2), "what was read serves those who ask soon after");
    }
}
