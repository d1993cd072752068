//! Time by the clock and of processors, of this program and of the Postgres that `run` started for it.

use std::{fs, io, time::Instant};

/// What something took.
pub struct Cost {
    pub seconds: f64,
    /// Processor time of this program, in ticks of 10 ms (proc(5)).
    pub own: f64,
    /// That of the Postgres.
    pub postgres: f64,
}

/// The state when it began.
pub struct Begin {
    at: Instant,
    own: u64,
    postgres: u64,
}

impl Cost {
    /// Begins now.
    pub fn begin() -> Result<Begin, io::Error> {
        Ok(Begin { own: own()?, postgres: postgres(), at: Instant::now() })
    }
}

impl Begin {
    /// Ends now.
    pub fn end<E: From<io::Error>>(&self) -> Result<Cost, E> {
        let seconds = self.at.elapsed().as_secs_f64();
        Ok(Cost { seconds, own: (own()? - self.own) as f64, postgres: (postgres() - self.postgres) as f64 })
    }
}

fn own() -> Result<u64, io::Error> {
    Ok(used(&fs::read_to_string("/proc/self/stat")?).map_or(0, |(_, ticks)| ticks))
}

/// The processes whose parent is the server in the folder that `POSTGRES_DATA` names.
fn postgres() -> u64 {
    let data = std::env::var("POSTGRES_DATA").unwrap_or_default();
    let pid = fs::read_to_string(format!("{data}/postmaster.pid")).unwrap_or_default();
    let Some(server) = pid.lines().next().and_then(|pid| pid.parse::<u64>().ok()) else { return 0 };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = processes.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    stats.filter_map(|stat| used(&stat)).filter(|(parent, _)| *parent == server).map(|(_, ticks)| ticks).sum()
}

/// The parent of a process, and its ticks.
fn used(stat: &str) -> Option<(u64, u64)> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let number = |nth: usize| fields.split(' ').nth(nth)?.parse::<u64>().ok();
    Some((number(1)?, number(11)? + number(12)?))
}
