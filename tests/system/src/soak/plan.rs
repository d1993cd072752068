//! The faults of a soak, all of them decided by its seed before it begins.

use std::{fmt, time::Duration};

use rand::{RngExt, SeedableRng, rngs::StdRng};

/// How many of each there are: what a fault can hit.
pub(crate) const MANAGERS: usize = 2;
pub(crate) const WORKERS: usize = 3;

/// A frozen process sleeps for longer than a worker's lease (8 s), or for less.
const FREEZES: [Duration; 2] = [Duration::from_secs(12), Duration::from_secs(3)];
/// A frozen server stops everything; for longer than a lease it would be an outage of all workers.
const FROZEN_STORE: Duration = Duration::from_secs(2);

/// Something that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    KillWorker(usize),
    KillManager(usize),
    /// Of retention.
    KillCleaner,
    /// Redis; a file can't be killed.
    KillStore,
    FreezeWorker(usize, Duration),
    FreezeManager(usize, Duration),
    FreezeStore(Duration),
    /// So many answers of one manager are lost: the request was carried out.
    LoseAnswers(usize, usize),
    /// The connections to one manager go dead without a word; new ones work.
    Silence(usize),
    /// Those connections are closed for answers, and not for requests.
    HalfClose(usize),
    /// Nothing passes to or from one manager for so long, and nothing is lost.
    StopLink(usize, Duration),
    /// Its answers come late for so long.
    SlowLink(usize, Duration),
}

/// Faults, each with the time from the beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) faults: Vec<(Duration, Fault)>,
}

impl Plan {
    /// The faults of so long a time. For the last third, one worker and one manager live on: what a process holds is then
    /// measured over that time.
    pub(crate) fn new(seed: u64, length: Duration) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let mut faults = Vec::new();
        let mut at = Duration::from_secs(3);
        while at < length {
            let spares = at > length * 2 / 3;
            faults.push((at, fault(&mut random, spares)));
            at += Duration::from_millis(random.random_range(1_500..4_500));
        }
        Self { seed, faults }
    }
}

fn fault(random: &mut StdRng, spares: bool) -> Fault {
    let worker = random.random_range(0..WORKERS - usize::from(spares));
    let manager = random.random_range(0..MANAGERS - usize::from(spares));
    let length = FREEZES[random.random_range(0..FREEZES.len())];
    match random.random_range(0..100) {
        0..34 => Fault::KillWorker(worker),
        34..49 => Fault::FreezeWorker(random.random_range(0..WORKERS), length),
        49..62 => Fault::KillManager(manager),
        62..70 => Fault::FreezeManager(random.random_range(0..MANAGERS), length),
        70..79 => Fault::LoseAnswers(random.random_range(0..MANAGERS), random.random_range(1..8)),
        79..83 => Fault::Silence(random.random_range(0..MANAGERS)),
        83..86 => Fault::HalfClose(random.random_range(0..MANAGERS)),
        86..89 => Fault::StopLink(random.random_range(0..MANAGERS), length),
        89..92 => Fault::SlowLink(random.random_range(0..MANAGERS), length),
        92..94 => Fault::KillCleaner,
        94..98 => Fault::KillStore,
        _ => Fault::FreezeStore(FROZEN_STORE),
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {} (JOBBERS_SOAK_SEED={0} plans these faults again)", self.seed)?;
        for (at, fault) in &self.faults {
            writeln!(f, "{:>8.1} s  {fault:?}", at.as_secs_f64())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_seed_plans_the_same_faults_again_and_another_one_others() {
        assert_eq!(Plan::new(7, HOUR), Plan::new(7, HOUR));
        assert_ne!(Plan::new(7, HOUR).faults, Plan::new(8, HOUR).faults);
        let begins = |length: Duration| -> Vec<_> {
            Plan::new(7, length).faults.into_iter().take_while(|(at, _)| *at < HOUR / 120).collect()
        };
        assert_eq!(begins(HOUR / 60), begins(HOUR), "a longer soak begins like a shorter one");
    }

    #[test]
    fn everything_is_hit_and_in_the_last_third_one_of_each_lives_on() {
        let plan = Plan::new(7, HOUR);
        let hit = |fault: Fault| plan.faults.iter().any(|(_, planned)| *planned == fault);
        assert!((0..WORKERS).all(|worker| hit(Fault::KillWorker(worker))));
        assert!((0..MANAGERS).all(|manager| hit(Fault::KillManager(manager)) && hit(Fault::Silence(manager))));
        assert!((0..MANAGERS).all(|n| hit(Fault::HalfClose(n)) && hit(Fault::StopLink(n, FREEZES[0]))));
        assert!(hit(Fault::KillStore) && hit(Fault::KillCleaner) && hit(Fault::FreezeStore(FROZEN_STORE)));
        let late = plan.faults.iter().filter(|(at, _)| *at > HOUR * 2 / 3);
        let spared = [Fault::KillWorker(WORKERS - 1), Fault::KillManager(MANAGERS - 1)];
        assert!(late.clone().count() > 100 && late.clone().all(|(_, fault)| !spared.contains(fault)));
    }
}
