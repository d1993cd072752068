//! What the processes of a soak hold in memory while it lasts, and how often the store is written to when it is over.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use jobbers_test_support::redis_server::RedisServer;

use crate::stack::Stack;

/// How often memory is measured.
const PERIOD: Duration = Duration::from_secs(1);
/// A process has come to itself when it is so old; what it holds before is not what it begins with.
const WARM: Duration = Duration::from_secs(5);
/// How often a file is looked at: writes that are closer together count as one.
const LOOK: Duration = Duration::from_millis(100);

/// What one process held, in KiB.
#[derive(Debug, Clone, Copy)]
struct Held {
    since: Instant,
    until: Instant,
    /// Once it was warm.
    first: Option<u64>,
    last: u64,
    peak: u64,
}

/// The memory of all processes.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    sampled: Option<Instant>,
    /// By role, then by process.
    held: BTreeMap<String, BTreeMap<u32, Held>>,
}

/// What a process holds in memory, in KiB; nothing if it is gone.
fn resident(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

impl Meter {
    /// Measures these, once a second at most.
    pub(crate) fn sample(&mut self, processes: impl FnOnce() -> Vec<(String, u32)>) {
        let now = Instant::now();
        if self.sampled.is_some_and(|at| now < at + PERIOD) {
            return;
        }
        self.sampled = Some(now);
        for (role, pid) in processes() {
            let Some(kib) = resident(pid) else { continue };
            let held = self.held.entry(role).or_default().entry(pid);
            let held = held.or_insert(Held { since: now, until: now, first: None, last: kib, peak: kib });
            if now >= held.since + WARM {
                held.first.get_or_insert(kib);
            }
            held.until = now;
            held.last = kib;
            held.peak = held.peak.max(kib);
        }
    }

    /// Of each role the process that lived longest: role, seconds, and MiB at first, at last and at most.
    pub(crate) fn longest(&self) -> Vec<(String, u64, [u64; 3])> {
        let longest = |(role, processes): (&String, &BTreeMap<u32, Held>)| {
            let held = processes.values().max_by_key(|held| held.until - held.since)?;
            let mib = |kib: u64| kib.div_ceil(1_024);
            let figures = [mib(held.first?), mib(held.last), mib(held.peak)];
            Some((role.clone(), (held.until - held.since).as_secs(), figures))
        };
        self.held.iter().filter_map(longest).collect()
    }

    /// The table of that.
    pub(crate) fn report(&self) -> String {
        let mut out =
            format!("{:<12}{:>9}{:>11}{:>10}{:>10}\n", "memory", "lived s", "first MiB", "last MiB", "peak MiB");
        for (role, lived, [first, last, peak]) in self.longest() {
            writeln!(out, "{role:<12}{lived:>9}{first:>11}{last:>10}{peak:>10}").unwrap();
        }
        out
    }
}

/// When a file was last written, and how long it is.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn changes(redis: &RedisServer) -> u64 {
    let said = redis.command("INFO persistence");
    let line = said.lines().find_map(|line| line.strip_prefix("rdb_changes_since_last_save:")).unwrap();
    line.trim().parse().unwrap()
}

/// How often the store is written to in so long: transactions that are a tenth of a second apart in the files of SQLite,
/// changes of keys in Redis.
pub(crate) async fn writes(stack: &Stack, length: Duration) -> u64 {
    let before = stack.redis.as_ref().map(changes);
    let files: Vec<_> = ["tasks.db", "tasks.db-wal"].iter().map(|name| stack.folder().join(name)).collect();
    let stamps = || -> Vec<_> { files.iter().map(|path| stamp(path)).collect() };
    let (mut seen, mut writes) = (stamps(), 0);
    let end = Instant::now() + length;
    let mut look = tokio::time::interval(LOOK);
    while Instant::now() < end {
        look.tick().await;
        let now = stamps();
        writes += u64::from(now != seen);
        seen = now;
    }
    match (&stack.redis, before) {
        (Some(redis), Some(before)) => changes(redis) - before,
        _ => writes,
    }
}
