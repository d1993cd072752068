//! Processor time of processes, and of the store inside them.

use std::fs;

use anyhow::{Context, Result, bail};
use nix::unistd::{SysconfVar, sysconf};
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
        let ticks = sysconf(SysconfVar::CLK_TCK)?.context("the length of a tick")? as f64;
        let micros_per_tick = 1e6 / ticks;
        let mut time = Self { program: 0.0, store: 0.0 };
        for thread in fs::read_dir(format!("/proc/{pid}/task")).context("the process's /proc entry")? {
            // A thread may end while it is being looked at.
            let Ok(stat) = fs::read_to_string(thread?.path().join("stat")) else { continue };
            let (name, ticks) = thread_ticks(&stat).context("a thread's /proc entry")?;
            #[expect(clippy::cast_precision_loss, reason = "ticks, far below 2^52")]
            let micros = ticks as f64 * micros_per_tick;
            if name.starts_with(STORE_THREAD) { time.store += micros } else { time.program += micros }
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

/// The name of a thread, and its `utime` and `stime` together, from `/proc/PID/task/TID/stat` (proc(5)).
fn thread_ticks(stat: &str) -> Option<(&str, u64)> {
    // The name is in brackets and may itself hold some.
    let (before, fields) = stat.rsplit_once(") ")?;
    let mut times = fields.split(' ').skip(11).map_while(|field| field.parse::<u64>().ok());
    Some((before.split_once('(')?.1, times.next()? + times.next()?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_s_times_are_read_behind_any_name() {
        let stat = "7 (jobbers-) (x) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 1 0 99";
        assert_eq!(thread_ticks(stat), Some(("jobbers-) (x", 300)));
        assert_eq!(thread_ticks("7 (a"), None);
    }

    #[test]
    fn the_time_of_this_process_grows() {
        let began = CpuTime::own().unwrap();
        while CpuTime::own().unwrap().since(began).program == 0.0 {}
    }
}
