//! What a worker under test notes of each delivery, and when a run is over. `python/deliveries.py`, `node/deliveries.mjs` and
//! `ruby/deliveries.rb` do the same.
//!
//! Jobs have the numbers from 0. Each delivery is noted under its job's number, so one that is lost and one that comes
//! twice do not cancel each other out.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The first jobs of a run warm caches and connections. Their latency does not count.
const WARMING: usize = 20;
/// After this long without a delivery the missing ones are given up, if the store holds none of them.
const QUIET_MICROS: u64 = 1_000_000;
/// How often a worker under test looks whether its run is over.
pub const TICK: Duration = Duration::from_millis(1);
/// Between two jobs of a client that leaves the worker idle.
pub const PAUSE: Duration = Duration::from_millis(12);
/// What each job carries beside its number and the time when it was submitted, so that it has about 100 bytes.
pub const NOTE: &str = "alpha@example.org to omega@example.org, 42 EUR, a note";

/// The deliveries of one run.
pub struct Deliveries {
    times: Vec<AtomicU8>,
    latencies_us: Vec<AtomicU32>,
    unknown: AtomicU64,
    delivered: AtomicU64,
    first: AtomicU64,
    last: AtomicU64,
}

impl Deliveries {
    /// Of jobs that have the numbers from 0 to `jobs` - 1.
    #[must_use]
    pub fn of(jobs: usize) -> Self {
        Self {
            times: (0..jobs).map(|_| AtomicU8::new(0)).collect(),
            latencies_us: (0..jobs).map(|_| AtomicU32::new(0)).collect(),
            unknown: AtomicU64::new(0),
            delivered: AtomicU64::new(0),
            first: AtomicU64::new(u64::MAX),
            last: AtomicU64::new(0),
        }
    }

    /// Notes a delivery; `sent` is when the job was submitted. To be called first by each job.
    pub fn note(&self, job: usize, sent: u64) {
        let now = now_micros();
        match self.times.get(job) {
            Some(times) => {
                times.fetch_add(1, Relaxed);
                self.latencies_us[job].store(now.saturating_sub(sent).try_into().unwrap_or(u32::MAX), Relaxed);
            }
            None => _ = self.unknown.fetch_add(1, Relaxed),
        }
        if self.delivered.fetch_add(1, Relaxed) == 0 {
            self.first.store(now, Relaxed);
        }
        self.last.store(now, Relaxed);
    }

    /// Whether it is worth asking the store what it still holds.
    #[must_use]
    pub fn are_nearly_over(&self) -> bool {
        self.delivered.load(Relaxed) + 1 >= self.times.len() as u64 || self.are_quiet()
    }

    /// Whether the run is over, given that the store holds no job any more.
    #[must_use]
    pub fn are_over(&self) -> bool {
        self.delivered.load(Relaxed) >= self.times.len() as u64 || self.are_quiet()
    }

    fn are_quiet(&self) -> bool {
        let last = self.last.load(Relaxed);
        last > 0 && now_micros().saturating_sub(last) > QUIET_MICROS
    }

    /// The report, to be printed at once when the run is over.
    #[must_use]
    pub fn report(&self) -> String {
        let seconds = Duration::from_micros(now_micros() - self.first.load(Relaxed)).as_secs_f64();
        let count = |wanted: fn(u8) -> bool| self.times.iter().filter(|times| wanted(times.load(Relaxed))).count();
        let mut latencies: Vec<u32> = self.latencies_us.iter().skip(WARMING).map(|us| us.load(Relaxed)).collect();
        latencies.sort_unstable();
        let at = |share: f64| {
            let place = (latencies.len() as f64 * share) as usize;
            latencies.get(place).map_or(0.0, |us| f64::from(*us) / 1e3)
        };
        format!(
            r#"{{"delivered": {}, "missing": {}, "repeated": {}, "unknown": {}, "seconds": {seconds:.6}, "p50_ms": {}, "p99_ms": {}}}"#,
            self.delivered.load(Relaxed),
            count(|times| times == 0),
            count(|times| times > 1),
            self.unknown.load(Relaxed),
            at(0.5),
            at(0.99),
        )
    }
}

/// The line that tells the driver that jobs may come.
pub fn print_ready() {
    println!(r#"{{"ready": true}}"#);
}

/// The line with which a client ends.
pub fn print_submitted(jobs: usize, time: Duration) {
    println!(r#"{{"submitted": {jobs}, "seconds": {:.6}}}"#, time.as_secs_f64());
}

/// Microseconds since the epoch. Client and worker read the same clock.
#[must_use]
pub fn now_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_micros().try_into().unwrap_or(u64::MAX)
}
