//! Everything that runs in a soak, started as a user starts it, and the hand that kills and freezes it.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use jobbers_test_support::{effects::now_micros, fault_proxy::FaultProxy, program::Program, shims::Disk};
use nix::sys::signal::Signal;

use super::plan::Fault;
use crate::{
    executions::{Killed, LOG},
    stack::{Manager, Stack},
};

/// The manager's file: a bridge, which has no flags.
const BRIDGE: &str = "\
[bridges.work]
board = \"taskstore\"
group = \"bridged\"
task = \"nap\"
reply_group = \"replies\"
";

/// What can be frozen and goes on later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Worker(usize),
    Manager(usize),
    /// The connections of clients to that manager.
    Link(usize),
}

/// What a worker's lease lasts by default.
const LEASE: Duration = Duration::from_secs(8);
/// How late answers come over a slow link.
const LATE: Duration = Duration::from_millis(700);

/// What runs.
pub(crate) struct Fleet {
    pub(crate) managers: Vec<Manager>,
    pub(crate) workers: Vec<Program>,
    cleaner: Option<Program>,
    /// Further environment variables of all of them.
    environment: Vec<(String, String)>,
    /// Each in front of the manager at its place, under one address for as long as the soak lasts.
    proxies: Vec<FaultProxy>,
    /// With the time at which each goes on.
    frozen: Vec<(Instant, Place)>,
    /// What workers said that are gone.
    logs: Vec<String>,
    /// The workers that were hit.
    pub(crate) blows: Vec<Killed>,
    /// From when to when the store was away, in microseconds of Unix time.
    pub(crate) outages: Vec<(i64, i64)>,
    /// How many faults were carried out; some can't be.
    pub(crate) faults: usize,
    /// How many workers ended by themselves, as poison makes them.
    pub(crate) suicides: usize,
    // Last, so that it outlives what runs on it.
    pub(crate) stack: Stack,
}

/// How many there are of each, and what is in the environment of all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Size {
    pub(crate) managers: usize,
    pub(crate) workers: usize,
    pub(crate) has_cleaner: bool,
    pub(crate) environment: Vec<(String, String)>,
}

/// As its unit starts it, and more often.
fn cleaner(stack: &Stack) -> Program {
    let arguments = ["--engine-url", stack.url(), "--retention", "--watch", "10s"];
    Program::start("cleaner", stack.folder(), &arguments, &[])
}

impl Fleet {
    pub(crate) async fn new(stack: Stack, size: Size) -> Self {
        std::fs::write(stack.folder().join("manager.toml"), BRIDGE).unwrap();
        let cleaner = size.has_cleaner.then(|| cleaner(&stack));
        let mut fleet = Self {
            managers: Vec::new(),
            workers: Vec::new(),
            cleaner,
            environment: size.environment,
            proxies: Vec::new(),
            frozen: Vec::new(),
            logs: Vec::new(),
            blows: Vec::new(),
            outages: Vec::new(),
            faults: 0,
            suicides: 0,
            stack,
        };
        for _ in 0..size.managers {
            let manager = fleet.manager().await;
            fleet.proxies.push(FaultProxy::start(manager.address).await);
            fleet.managers.push(manager);
        }
        for _ in 0..size.workers {
            let worker = fleet.worker().await;
            fleet.workers.push(worker);
        }
        fleet
    }

    fn environment<'a>(&'a self, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        self.environment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .chain(more.iter().copied())
            .collect()
    }

    async fn manager(&self) -> Manager {
        let file = self.stack.folder().join("manager.toml");
        self.stack.manager_with(&self.environment(&[("MANAGER_CONFIG", file.to_str().unwrap())])).await
    }

    async fn worker(&self) -> Program {
        self.stack.worker_with(&self.environment(&LOG)).await
    }

    /// Where clients find the managers, whichever processes these are.
    pub(crate) fn doors(&self) -> Vec<SocketAddr> {
        self.proxies.iter().map(FaultProxy::address).collect()
    }

    /// Everything that runs, by its role.
    pub(crate) fn processes(&self) -> Vec<(String, u32)> {
        let managers = self.managers.iter().enumerate().map(|(n, it)| (format!("manager {n}"), it.program.pid()));
        let workers = self.workers.iter().enumerate().map(|(n, it)| (format!("worker {n}"), it.pid()));
        let redis = self.stack.redis.iter().map(|redis| ("redis".to_owned(), redis.pid()));
        let cleaner = self.cleaner.iter().map(|cleaner| ("cleaner".to_owned(), cleaner.pid()));
        managers.chain(workers).chain(cleaner).chain(redis).collect()
    }

    /// What all workers said so far.
    pub(crate) fn logs(&self) -> Vec<String> {
        self.logs.iter().cloned().chain(self.workers.iter().map(Program::said)).collect()
    }

    /// Carries out a fault.
    pub(crate) async fn suffer(&mut self, fault: Fault) {
        self.faults += 1;
        match fault {
            Fault::KillWorker(n) => {
                self.blows.push(Killed { pid: self.workers[n].pid(), at: now_micros() });
                self.workers[n].kill().await;
                self.replace_worker(n).await;
            }
            Fault::KillManager(n) => {
                self.managers[n].program.kill().await;
                self.frozen.retain(|(_, place)| *place != Place::Manager(n));
                self.managers[n] = self.manager().await;
                self.proxies[n].lead_to(self.managers[n].address);
            }
            Fault::KillCleaner => {
                let Some(running) = &mut self.cleaner else { return };
                running.kill().await;
                self.cleaner = Some(cleaner(&self.stack));
            }
            // A file can be neither killed nor frozen.
            Fault::KillStore | Fault::FreezeStore(_) if self.stack.redis.is_none() => self.faults -= 1,
            Fault::KillStore => {
                let from = now_micros();
                self.stack.crash_store().await;
                self.outages.push((from, now_micros()));
            }
            Fault::FreezeStore(length) => self.freeze_store(length).await,
            Fault::FreezeWorker(n, length) => self.freeze(Place::Worker(n), length).await,
            Fault::FreezeManager(n, length) => self.freeze(Place::Manager(n), length).await,
            Fault::LoseAnswers(n, answers) => self.proxies[n].lose_answers(answers),
            Fault::Silence(n) => self.proxies[n].fall_silent(),
            Fault::HalfClose(n) => self.proxies[n].half_close(),
            Fault::StopLink(n, length) => {
                self.proxies[n].stop();
                self.frozen.push((Instant::now() + length, Place::Link(n)));
            }
            Fault::SlowLink(n, length) => {
                self.proxies[n].delay_answers(LATE);
                self.frozen.push((Instant::now() + length, Place::Link(n)));
            }
        }
    }

    async fn replace_worker(&mut self, n: usize) {
        self.frozen.retain(|(_, place)| *place != Place::Worker(n));
        let replacement = self.worker().await;
        let gone = std::mem::replace(&mut self.workers[n], replacement);
        self.logs.push(gone.said());
    }

    /// Nothing answers for so long; that is the fault.
    async fn freeze_store(&mut self, length: Duration) {
        let Some(redis) = &self.stack.redis else { return };
        let from = now_micros();
        redis.pause();
        let mut over = tokio::time::interval_at(tokio::time::Instant::now() + length, length);
        over.tick().await;
        redis.resume();
        self.outages.push((from, now_micros()));
    }

    /// Freezes a process, unless it is frozen, or holds the lock of a file that all share.
    async fn freeze(&mut self, place: Place, length: Duration) {
        if self.frozen.iter().any(|(_, frozen)| *frozen == place) {
            self.faults -= 1;
            return;
        }
        let (program, other) = match place {
            Place::Worker(n) => (&self.workers[n], 0),
            Place::Manager(n) => (&self.managers[n].program, (n + 1) % self.managers.len()),
            Place::Link(_) => return,
        };
        let blow = Killed { pid: program.pid(), at: now_micros() };
        if !self.stack.freeze(program, &self.managers[other]).await {
            self.faults -= 1;
            return;
        }
        self.frozen.push((Instant::now() + length, place));
        // One that goes on in time keeps its leases.
        if matches!(place, Place::Worker(_)) && length > LEASE {
            self.blows.push(blow);
        }
    }

    /// Lets those go on whose time has come, and starts workers that ended, as systemd does.
    pub(crate) async fn maintain(&mut self) {
        let now = Instant::now();
        let due: Vec<Place> = self.frozen.iter().filter(|(until, _)| *until <= now).map(|(_, place)| *place).collect();
        self.frozen.retain(|(until, _)| *until > now);
        for place in due {
            self.go_on(place);
        }
        for n in 0..self.workers.len() {
            if self.workers[n].has_ended() {
                self.suicides += 1;
                self.replace_worker(n).await;
            }
        }
    }

    fn go_on(&self, place: Place) {
        match place {
            Place::Worker(n) => self.workers[n].signal(Signal::SIGCONT),
            Place::Manager(n) => self.managers[n].program.signal(Signal::SIGCONT),
            Place::Link(n) => {
                self.proxies[n].go_on();
                self.proxies[n].delay_answers(Duration::ZERO);
            }
        }
    }

    /// The next answers of the first manager are lost.
    pub(crate) fn lose_answers(&self, count: usize) {
        self.proxies[0].lose_answers(count);
    }

    /// The power fails where the store is, and all goes on with what is left on the disk. A machine with a file runs the
    /// programs as well.
    pub(crate) async fn lose_power(&mut self, disk: &Disk) {
        if self.stack.redis.is_some() {
            return self.stack.lose_power_of_redis(disk).await;
        }
        for manager in &mut self.managers {
            manager.program.kill().await;
        }
        for worker in &mut self.workers {
            self.blows.push(Killed { pid: worker.pid(), at: now_micros() });
            worker.kill().await;
        }
        disk.lose_power(self.stack.folder(), &[".db", "-wal"]);
        // It is in memory alone, and gone with it.
        std::fs::remove_file(self.stack.folder().join("tasks.db-shm")).unwrap();
        for n in 0..self.managers.len() {
            self.managers[n] = self.manager().await;
            self.proxies[n].lead_to(self.managers[n].address);
        }
        for n in 0..self.workers.len() {
            self.replace_worker(n).await;
        }
    }

    /// Ends all faults: everything goes on.
    pub(crate) fn calm(&mut self) {
        for (_, place) in std::mem::take(&mut self.frozen) {
            self.go_on(place);
        }
        for proxy in &self.proxies {
            proxy.lose_answers(0);
        }
    }
}
