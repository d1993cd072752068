//! Redis servers of one test's own of which one takes writes, and which choose another when it is gone: watched by
//! Sentinels, or as a Cluster. All of them end with the test.

mod ask_follower;
mod cluster;
mod member;
mod network;
mod sentinels;

use std::net::SocketAddr;

use self::{
    ask_follower::AskFollower, cluster::start_cluster, member::PATIENCE, network::Network, sentinels::start_watched,
};
pub use self::{
    cluster::SLOT,
    network::Cut,
    sentinels::{NAME, Sentinel, ask_sentinel, start_sentinel_with_tls},
};
use crate::{
    redis_server::{RedisOptions, RedisServer},
    wait::until,
};

/// What chooses the primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetKind {
    /// Sentinels.
    Sentinels,
    /// The nodes themselves.
    Cluster,
}

/// How many of each there are.
#[derive(Debug, Clone, Copy)]
pub struct FleetSize {
    /// Primaries of a Cluster; Sentinels watch one.
    pub primaries: usize,
    /// Replicas of each primary.
    pub replicas: usize,
    /// Sentinels; a Cluster has none.
    pub sentinels: usize,
}

impl FleetSize {
    /// A primary with two replicas, watched by three Sentinels; or a Cluster of three primaries with a replica each.
    const fn usual(kind: FleetKind) -> Self {
        match kind {
            FleetKind::Sentinels => Self { primaries: 1, replicas: 2, sentinels: 3 },
            FleetKind::Cluster => Self { primaries: 3, replicas: 1, sentinels: 0 },
        }
    }

    /// How many servers take commands.
    const fn servers(self) -> usize {
        self.primaries * (1 + self.replicas)
    }
}

/// Servers, and what watches them.
#[derive(Debug)]
pub struct RedisFleet {
    kind: FleetKind,
    servers: Vec<RedisServer>,
    /// Servers that were killed or frozen.
    away: Vec<usize>,
    sentinels: Vec<Sentinel>,
    /// Where each server says that it is, unless at its own port.
    network: Network,
    _followers: Vec<AskFollower>,
}

impl RedisFleet {
    /// One primary with two replicas, watched by three Sentinels; or a Cluster of three primaries with a replica each.
    pub async fn start(kind: FleetKind, options: &RedisOptions) -> Self {
        Self::start_with(kind, FleetSize::usual(kind), options).await
    }

    /// The same with other numbers.
    ///
    /// # Panics
    /// When it does not stand in time.
    pub async fn start_with(kind: FleetKind, size: FleetSize, options: &RedisOptions) -> Self {
        Self::start_at(kind, size, options, Network::default()).await
    }

    /// As [`RedisFleet::start`], in a network that [`RedisFleet::cut`] can cut.
    ///
    /// # Panics
    /// When it does not stand in time.
    pub async fn start_in_network(kind: FleetKind, options: &RedisOptions) -> Self {
        let size = FleetSize::usual(kind);
        Self::start_at(kind, size, options, Network::with_gates(size.servers()).await).await
    }

    async fn start_at(kind: FleetKind, size: FleetSize, options: &RedisOptions, network: Network) -> Self {
        let (servers, sentinels) = match kind {
            FleetKind::Sentinels => start_watched(size.replicas, size.sentinels, options, &network).await,
            FleetKind::Cluster => (start_cluster(size.primaries, size.replicas, options, &network).await, Vec::new()),
        };
        Self { kind, servers, away: Vec::new(), sentinels, network, _followers: Vec::new() }
    }

    /// A Cluster of three primaries whose clients are made to follow `ASK`: when the store moves to the first of them, its
    /// scripts run on what has arrived there.
    ///
    /// # Panics
    /// When it does not stand in time.
    pub async fn start_with_ask_followers(options: &RedisOptions) -> Self {
        let size = FleetSize { primaries: 3, replicas: 0, sentinels: 0 };
        let network = Network::announcing(size.servers());
        let mut fleet = Self::start_at(FleetKind::Cluster, size, options, network).await;
        for (index, server) in fleet.servers.iter().enumerate() {
            let follower = AskFollower::start(fleet.port_of(index), server.address(), fleet.servers[0].address());
            fleet._followers.push(follower.await);
        }
        fleet
    }

    /// Its address, as `ENGINE_URL` takes it.
    #[must_use]
    pub fn url(&self) -> String {
        match self.kind {
            FleetKind::Sentinels => format!("redis+sentinel://{}/{NAME}", self.watchers()),
            FleetKind::Cluster => format!("redis+cluster://{}", self.watchers()),
        }
    }

    /// Those that know where the primary is, separated by commas.
    fn watchers(&self) -> String {
        let ports: Vec<u16> = match self.kind {
            FleetKind::Sentinels => self.sentinels.iter().map(|sentinel| sentinel.address().port()).collect(),
            FleetKind::Cluster => (0..self.servers.len()).map(|index| self.port_of(index)).collect(),
        };
        ports.iter().map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
    }

    /// A server.
    #[must_use]
    pub fn server(&self, index: usize) -> &RedisServer {
        &self.servers[index]
    }

    /// At which port a server says that it is.
    fn port_of(&self, index: usize) -> u16 {
        self.network.place(index).map_or(self.servers[index].address().port(), |place| place.port)
    }

    /// Where a Sentinel listens.
    #[must_use]
    pub fn sentinel(&self, index: usize) -> SocketAddr {
        self.sentinels[index].address()
    }

    /// Freezes a Sentinel, as its machine may be gone.
    ///
    /// # Panics
    /// When it is gone.
    pub fn freeze_sentinel(&self, index: usize) {
        self.sentinels[index].freeze();
    }

    /// The primary that the Sentinels name, or that has the store's slot; `None` while there is none.
    #[must_use]
    pub fn primary(&self) -> Option<usize> {
        let port = match self.kind {
            FleetKind::Sentinels => {
                let named = ask_sentinel(self.sentinel(0), &format!("SENTINEL GET-MASTER-ADDR-BY-NAME {NAME}"));
                named.lines().nth(4)?.parse().ok()?
            }
            FleetKind::Cluster => owner_in(&self.present()?.command("CLUSTER NODES"))?,
        };
        let index = (0..self.servers.len()).find(|index| self.port_of(*index) == port)?;
        let is_primary = !self.away.contains(&index) && self.servers[index].command("ROLE").contains("master");
        is_primary.then_some(index)
    }

    /// A server that is neither killed nor frozen.
    fn present(&self) -> Option<&RedisServer> {
        let index = (0..self.servers.len()).find(|index| !self.away.contains(index))?;
        Some(&self.servers[index])
    }

    /// Waits until another server is the primary.
    ///
    /// # Panics
    /// When none is in time.
    pub async fn primary_other_than(&self, before: usize) -> usize {
        let other = async || self.primary().filter(|primary| *primary != before);
        until(PATIENCE, "another server is the primary", other).await
    }

    /// Has a replica take the primary's place, as an operator does for maintenance.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn fail_over(&self) {
        match self.kind {
            FleetKind::Sentinels => {
                let ask = async || {
                    let answer = ask_sentinel(self.sentinel(0), &format!("SENTINEL FAILOVER {NAME}"));
                    answer.starts_with("+OK").then_some(())
                };
                until(PATIENCE, "the Sentinels begin a failover", ask).await;
            }
            FleetKind::Cluster => {
                let primary = self.primary().expect("a primary");
                let replica = self.replicas_of(primary).into_iter().next().expect("a replica");
                assert_eq!(self.servers[replica].command("CLUSTER FAILOVER"), "+OK\r\n");
            }
        }
    }

    /// Moves the store from the node that has it to another one, as `redis-cli --cluster reshard --cluster-replace` does. In
    /// between, `meanwhile` runs: the slot has left neither node then.
    ///
    /// # Panics
    /// When a node refuses a step.
    pub async fn move_store(&self, to: usize, meanwhile: impl Future<Output = ()>) {
        let from = self.primary().expect("a node has the store");
        let id = |index: usize| self.servers[index].command("CLUSTER MYID").lines().nth(1).expect("an id").to_owned();
        let (source, target, new_owner) = (&self.servers[from], &self.servers[to], id(to));
        let is_done = |node: &RedisServer, step: &str| {
            let answer = node.command(step);
            assert!(answer.starts_with("+OK") || answer.starts_with("+NOKEY"), "{step}: {answer}");
        };
        is_done(target, &format!("CLUSTER SETSLOT {SLOT} IMPORTING {}", id(from)));
        is_done(source, &format!("CLUSTER SETSLOT {SLOT} MIGRATING {new_owner}"));
        meanwhile.await;
        loop {
            let listed = source.command(&format!("CLUSTER GETKEYSINSLOT {SLOT} 50"));
            let keys: Vec<&str> = listed.lines().filter(|line| line.starts_with("jobbers:")).collect();
            if keys.is_empty() {
                break;
            }
            let address = target.address();
            let move_keys =
                format!("MIGRATE {} {} \"\" 0 5000 REPLACE KEYS {}", address.ip(), address.port(), keys.join(" "));
            is_done(source, &move_keys);
        }
        for node in [target, source].into_iter().chain(&self.servers) {
            is_done(node, &format!("CLUSTER SETSLOT {SLOT} NODE {new_owner}"));
        }
    }

    /// Moves the store to another node in one step, which only Valkey can.
    ///
    /// # Panics
    /// When the node refuses it, or does not do it in time.
    pub async fn move_store_at_once(&self, to: usize) {
        let from = self.primary().expect("a node has the store");
        let new_owner = self.servers[to].command("CLUSTER MYID");
        let new_owner = new_owner.lines().nth(1).expect("an id");
        let answer =
            self.servers[from].command(&format!("CLUSTER MIGRATESLOTS SLOTSRANGE {SLOT} {SLOT} NODE {new_owner}"));
        assert_eq!(answer, "+OK\r\n");
        until(PATIENCE, "the store is there", async || (self.primary()? == to).then_some(())).await;
    }

    /// The present replicas of a server.
    fn replicas_of(&self, primary: usize) -> Vec<usize> {
        let port = format!("master_port:{}\r\n", self.port_of(primary));
        let others = (0..self.servers.len()).filter(|index| *index != primary && !self.away.contains(index));
        others.filter(|index| self.servers[*index].command("INFO replication").contains(&port)).collect()
    }

    /// Waits until all present replicas of the primary have what it has written by now.
    ///
    /// # Panics
    /// When they do not in time.
    pub async fn followed(&self) {
        self.followed_by(1).await;
    }

    /// Waits until every server that can follow the primary has what it has written by now: all, or in a Cluster those of its
    /// shard.
    ///
    /// # Panics
    /// When they do not in time.
    pub async fn whole(&self) {
        let replicas = match self.kind {
            FleetKind::Sentinels => self.servers.len() - 1,
            FleetKind::Cluster => 1,
        };
        self.followed_by(replicas).await;
    }

    /// A replica whose link is up may get nothing yet: the primary waits for its first acknowledgement.
    async fn followed_by(&self, at_least: usize) {
        let mut written = None;
        until(PATIENCE, "the replicas have what the primary has written", async || {
            let primary = self.primary()?;
            let replication = self.servers[primary].command("INFO replication");
            let (of, offset) = *written.get_or_insert((primary, offset_of(&replication)?));
            if of != primary {
                written = None;
                return None;
            }
            let replicas = self.replicas_of(primary);
            let have_it = acknowledged(&replication).filter(|acknowledged| *acknowledged >= offset).count();
            (replicas.len() >= at_least && have_it >= replicas.len()).then_some(())
        })
        .await;
    }

    /// Kills a server as a crash would.
    pub fn kill_9(&mut self, index: usize) {
        self.servers[index].kill_9();
        self.away.push(index);
    }

    /// Freezes a server: connections stay open and nothing is answered.
    pub fn freeze(&mut self, index: usize) {
        self.servers[index].pause();
        self.away.push(index);
    }

    /// Starts a killed server again, with what it wrote down.
    pub fn restart(&mut self, index: usize) {
        self.servers[index].restart();
        self.away.retain(|away| *away != index);
    }

    /// Cuts a server off from others.
    ///
    /// # Panics
    /// Unless the fleet was started in a network that can be cut.
    pub fn cut(&mut self, index: usize, cut: Cut) {
        self.network.cut(index, cut);
        if cut == Cut::Others {
            self.away.push(index);
        }
    }

    /// Mends the network: what a server that was cut off was sent meanwhile arrives.
    pub fn mend(&mut self, index: usize) {
        self.network.mend();
        self.away.retain(|away| *away != index);
    }

    /// Lets a frozen server go on.
    pub fn thaw(&mut self, index: usize) {
        self.servers[index].resume();
        self.away.retain(|away| *away != index);
    }
}

/// How much a primary has written, in its answer to `INFO replication`.
fn offset_of(replication: &str) -> Option<u64> {
    replication.lines().find_map(|line| line.strip_prefix("master_repl_offset:"))?.parse().ok()
}

/// How much of it each replica has acknowledged.
fn acknowledged(replication: &str) -> impl Iterator<Item = u64> {
    let replicas = replication.lines().filter(|line| line.starts_with("slave") && line.contains("state=online"));
    replicas.filter_map(|line| line.split_once("offset=")?.1.split_once(',')?.0.parse().ok())
}

/// The port of the primary that has the store's slot, in an answer to `CLUSTER NODES`.
fn owner_in(nodes: &str) -> Option<u16> {
    let has_slot = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        matches!((first.parse::<u16>(), last.parse::<u16>()), (Ok(first), Ok(last)) if (first..=last).contains(&SLOT))
    };
    let owner = nodes.lines().find(|line| line.split(' ').skip(8).any(has_slot))?;
    let (place, _) = owner.split(' ').nth(1)?.split_once('@')?;
    place.rsplit_once(':')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_fleet_has_another_primary_when_the_first_is_gone() {
        for kind in [FleetKind::Sentinels, FleetKind::Cluster] {
            let mut fleet = RedisFleet::start(kind, &RedisOptions::default()).await;
            let first = fleet.primary().expect("a primary");
            fleet.fail_over().await;
            let second = fleet.primary_other_than(first).await;
            fleet.followed().await;
            fleet.kill_9(second);
            fleet.primary_other_than(second).await;
        }
    }
}
