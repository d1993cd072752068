//! Processor time of processes, and of the store inside them.

use anyhow::{Context, Result, bail};
use procfs::process::Process;
use redis::aio::MultiplexedConnection;

/// Threads of the embedded store are named so.
const STORE_THREAD: &str = "jobbers-sqlite";

/// Processor time used so far, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct CpuTime {
    /// Of all threads but the store's.
    pub(super) program: f64,
    /// Of the embedded store's threads.
    pub(super) store: f64,
}

impl CpuTime {
    /// Of a process, to the scheduler's tick (10 ms).
    pub(super) fn of(pid: u32) -> Result<Self> {
        #[expect(clippy::cast_precision_loss, reason = "a hundred")]
        let ticks = procfs::ticks_per_second() as f64;
        let process = Process::new(i32::try_from(pid)?).context("the process's /proc entry")?;
        let micros_per_tick = 1e6 / ticks;
        let mut time = Self { program: 0.0, store: 0.0 };
        for task in process.tasks()? {
            // A thread may end while it is being looked at.
            let Ok(stat) = task.and_then(|task| task.stat()) else { continue };
            #[expect(clippy::cast_precision_loss, reason = "ticks, far below 2^52")]
            let micros = (stat.utime + stat.stime) as f64 * micros_per_tick;
            if stat.comm.starts_with(STORE_THREAD) { time.store += micros } else { time.program += micros }
        }
        Ok(time)
    }

    /// Of no process.
    pub(super) const fn none() -> Result<Self> {
        Ok(Self { program: 0.0, store: 0.0 })
    }

    pub(super) fn own() -> Result<Self> {
        Self::of(std::process::id())
    }

    pub(super) fn since(self, earlier: Self) -> Self {
        Self { program: self.program - earlier.program, store: self.store - earlier.store }
    }
}

/// Processor time of a server so far, by its own account, in microseconds.
pub(super) async fn used_by_server(connection: &MultiplexedConnection) -> Result<f64> {
    let user = info(connection, "cpu", "used_cpu_user").await?;
    Ok((user + info(connection, "cpu", "used_cpu_sys").await?) * 1e6)
}

/// A field of the server's `INFO`.
pub(super) async fn info(connection: &MultiplexedConnection, section: &str, field: &str) -> Result<f64> {
    let text: String = redis::cmd("INFO").arg(section).query_async(&mut connection.clone()).await?;
    let value = text.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| *name == field);
    match value {
        Some((_, value)) => Ok(value.trim().parse()?),
        None => bail!("INFO {section} has no {field}"),
    }
}
