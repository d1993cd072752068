//! Redis servers of one test's own of which one takes writes, and which choose another when it is gone: watched by
//! Sentinels, or as a Cluster. All of them end with the test.

mod ask_follower;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
    time::Duration,
};

use nix::{
    sys::signal::{self, Signal},
    unistd::Pid,
};
use tempfile::TempDir;

use self::ask_follower::AskFollower;
use crate::{
    redis_server::{RedisOptions, RedisServer, free_port},
    wait::until,
};

/// What the Sentinels call the primary.
pub const NAME: &str = "main";
/// The slot of a store's keys, `jobbers:{0}:`.
pub const SLOT: u16 = 13_907;
const SLOTS: u16 = 16_384;
/// After this time without an answer a server counts as gone, in milliseconds.
const GONE_AFTER: &str = "1000";
/// How long a fleet may take to stand, or to have another primary.
const PATIENCE: Duration = Duration::from_secs(60);

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

/// Servers, and what watches them.
#[derive(Debug)]
pub struct RedisFleet {
    kind: FleetKind,
    servers: Vec<RedisServer>,
    /// Servers that were killed or frozen.
    away: Vec<usize>,
    sentinels: Vec<Sentinel>,
    /// At which port the nodes of a Cluster say that each is.
    announced: Vec<u16>,
    _followers: Vec<AskFollower>,
}

/// A running Sentinel. It is killed when this is dropped.
#[derive(Debug)]
struct Sentinel {
    _folder: TempDir,
    port: u16,
    child: Child,
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        // Nothing is lost when it is gone already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Sends one command to a Sentinel, its words separated by blanks, and answers what comes back as the protocol writes it.
///
/// # Panics
/// When it does not answer.
#[must_use]
pub fn ask_sentinel(address: SocketAddr, words: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the Sentinel listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout can be set");
    write!(stream, "{words}\r\n").expect("the Sentinel reads");
    // It has no command that ends a connection.
    stream.shutdown(Shutdown::Write).expect("the connection is open");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the Sentinel answers");
    answer
}

impl RedisFleet {
    /// One primary with two replicas, watched by three Sentinels; or a Cluster of three primaries with a replica each.
    pub async fn start(kind: FleetKind, options: &RedisOptions) -> Self {
        let (primaries, replicas, sentinels) = match kind {
            FleetKind::Sentinels => (1, 2, 3),
            FleetKind::Cluster => (3, 1, 0),
        };
        Self::start_with(kind, FleetSize { primaries, replicas, sentinels }, options).await
    }

    /// The same with other numbers.
    ///
    /// # Panics
    /// When it does not stand in time.
    pub async fn start_with(kind: FleetKind, size: FleetSize, options: &RedisOptions) -> Self {
        match kind {
            FleetKind::Sentinels => start_watched(size, options).await,
            FleetKind::Cluster => start_cluster(size, options, &[]).await,
        }
    }

    /// A Cluster of three primaries whose clients are made to follow `ASK`: when the store moves to the first of them, its
    /// scripts run on what has arrived there.
    ///
    /// # Panics
    /// When it does not stand in time.
    pub async fn start_with_ask_followers(options: &RedisOptions) -> Self {
        let size = FleetSize { primaries: 3, replicas: 0, sentinels: 0 };
        let ports: Vec<u16> = (0..size.primaries).map(|_| free_port()).collect();
        let mut fleet = start_cluster(size, options, &ports).await;
        for (server, port) in fleet.servers.iter().zip(ports) {
            let follower = AskFollower::start(port, server.address(), fleet.servers[0].address());
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
            FleetKind::Sentinels => self.sentinels.iter().map(|sentinel| sentinel.port).collect(),
            FleetKind::Cluster => self.announced.clone(),
        };
        ports.iter().map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
    }

    /// A server.
    #[must_use]
    pub fn server(&self, index: usize) -> &RedisServer {
        &self.servers[index]
    }

    /// Where a Sentinel listens.
    #[must_use]
    pub fn sentinel(&self, index: usize) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.sentinels[index].port))
    }

    /// Freezes a Sentinel, as its machine may be gone.
    ///
    /// # Panics
    /// When it is gone.
    pub fn freeze_sentinel(&self, index: usize) {
        let pid = i32::try_from(self.sentinels[index].child.id()).expect("a process id");
        signal::kill(Pid::from_raw(pid), Signal::SIGSTOP).expect("the Sentinel is ours to signal");
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
        let index = match self.kind {
            FleetKind::Sentinels => self.servers.iter().position(|server| server.address().port() == port)?,
            FleetKind::Cluster => self.announced.iter().position(|announced| *announced == port)?,
        };
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

    /// The present replicas of a server.
    fn replicas_of(&self, primary: usize) -> Vec<usize> {
        let port = format!("master_port:{}\r\n", self.servers[primary].address().port());
        let others = (0..self.servers.len()).filter(|index| *index != primary && !self.away.contains(index));
        others.filter(|index| self.servers[*index].command("INFO replication").contains(&port)).collect()
    }

    /// Waits until all present replicas of the primary follow it.
    ///
    /// # Panics
    /// When they do not in time.
    pub async fn followed(&self) {
        until(PATIENCE, "all servers follow the primary", async || {
            let primary = self.primary()?;
            let replicas = self.replicas_of(primary);
            let are_up = replicas.iter().all(|replica| follows(&self.servers[*replica]));
            (!replicas.is_empty() && are_up).then_some(())
        })
        .await;
    }

    /// Waits until every server that can follow the primary does: all, or in a Cluster those of its shard.
    ///
    /// # Panics
    /// When they do not in time.
    pub async fn whole(&self) {
        let replicas = match self.kind {
            FleetKind::Sentinels => self.servers.len() - 1,
            FleetKind::Cluster => 1,
        };
        until(PATIENCE, "every server follows the primary", async || {
            let found = self.replicas_of(self.primary()?);
            (found.len() == replicas && found.iter().all(|index| follows(&self.servers[*index]))).then_some(())
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

    /// Lets a frozen server go on.
    pub fn thaw(&mut self, index: usize) {
        self.servers[index].resume();
        self.away.retain(|away| *away != index);
    }
}

/// Whether a replica has a link to its primary.
fn follows(replica: &RedisServer) -> bool {
    replica.command("INFO replication").contains("master_link_status:up")
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

async fn start_watched(size: FleetSize, options: &RedisOptions) -> RedisFleet {
    let first = RedisServer::start(options.clone());
    let port = first.address().port();
    let follow = ["--replicaof", &format!("127.0.0.1 {port}"), "--repl-diskless-sync-delay", "0"].map(str::to_owned);
    let replica = || {
        let arguments = [options.arguments.clone(), follow.to_vec()].concat();
        RedisServer::start(RedisOptions { arguments, ..options.clone() })
    };
    let replicas: Vec<RedisServer> = (0..size.replicas).map(|_| replica()).collect();
    until(PATIENCE, "the replicas follow", async || replicas.iter().all(follows).then_some(())).await;
    let ports: Vec<u16> = (0..size.sentinels).map(|_| free_port()).collect();
    let sentinels = (0..size.sentinels).map(|own| start_sentinel(own, &ports, port, &replicas)).collect();
    let servers = std::iter::once(first).chain(replicas).collect();
    let fleet = RedisFleet {
        kind: FleetKind::Sentinels,
        servers,
        away: Vec::new(),
        sentinels,
        announced: Vec::new(),
        _followers: Vec::new(),
    };
    for index in 0..size.sentinels {
        until(PATIENCE, "each Sentinel knows the replicas", async || {
            let known = ask_sentinel(fleet.sentinel(index), &format!("SENTINEL REPLICAS {NAME}"));
            let are_usable = known.matches("master-link-status\r\n$2\r\nok").count() == size.replicas;
            (are_usable && !known.contains("disconnected")).then_some(())
        })
        .await;
    }
    fleet
}

/// Starts a Sentinel that knows the others from the start, which they would tell each other within seconds.
fn start_sentinel(own: usize, ports: &[u16], primary: u16, replicas: &[RedisServer]) -> Sentinel {
    let folder = tempfile::tempdir().expect("a folder for the Sentinel");
    let id = |index: usize| format!("{index:040x}");
    let quorum = ports.len() / 2 + 1;
    let mut lines = vec![
        format!("port {}", ports[own]),
        "bind 127.0.0.1".to_owned(),
        format!("dir {}", folder.path().display()),
        format!("sentinel myid {}", id(own + 1)),
        format!("sentinel monitor {NAME} 127.0.0.1 {primary} {quorum}"),
        format!("sentinel down-after-milliseconds {NAME} {GONE_AFTER}"),
        format!("sentinel failover-timeout {NAME} 4000"),
        format!("sentinel parallel-syncs {NAME} 2"),
    ];
    lines.extend(replicas.iter().map(|it| format!("sentinel known-replica {NAME} 127.0.0.1 {}", it.address().port())));
    let others = (0..ports.len()).filter(|index| *index != own);
    lines.extend(others.map(|it| format!("sentinel known-sentinel {NAME} 127.0.0.1 {} {}", ports[it], id(it + 1))));
    let file = folder.path().join("sentinel.conf");
    std::fs::write(&file, lines.join("\n")).expect("the file can be written");
    let mut child = Command::new("redis-server")
        .arg(&file)
        .arg("--sentinel")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server starts");
    let mut log = BufReader::new(child.stdout.take().expect("its output is captured")).lines();
    let has_started = log.by_ref().map_while(Result::ok).any(|line| line.contains("Sentinel ID is"));
    assert!(has_started, "a Sentinel did not start on port {}", ports[own]);
    // Keep reading, or it stops when the pipe is full.
    std::thread::spawn(move || log.map_while(Result::ok).for_each(drop));
    Sentinel { _folder: folder, port: ports[own], child }
}

/// `announced`: at which port each node says that it is, unless at its own.
async fn start_cluster(size: FleetSize, options: &RedisOptions, announced: &[u16]) -> RedisFleet {
    let count = size.primaries * (1 + size.replicas);
    let nodes: Vec<(RedisServer, u16)> =
        (0..count).map(|index| start_node(options, announced.get(index).copied())).collect();
    for (index, (node, _)) in nodes.iter().enumerate() {
        if index < size.primaries {
            let bound = |n: usize| {
                u32::from(SLOTS) * u32::try_from(n).expect("few") / u32::try_from(size.primaries).expect("few")
            };
            let range = format!("CLUSTER ADDSLOTSRANGE {} {}", bound(index), bound(index + 1) - 1);
            assert_eq!(node.command(&range), "+OK\r\n");
        }
        assert_eq!(node.command(&format!("CLUSTER SET-CONFIG-EPOCH {}", index + 1)), "+OK\r\n");
    }
    for (index, (node, _)) in nodes.iter().enumerate() {
        for (other, bus) in &nodes[index + 1..] {
            let met = node.command(&format!("CLUSTER MEET 127.0.0.1 {} {bus}", other.address().port()));
            assert_eq!(met, "+OK\r\n");
        }
    }
    let servers: Vec<RedisServer> = nodes.into_iter().map(|(node, _)| node).collect();
    let id_of = |node: &RedisServer| node.command("CLUSTER MYID").lines().nth(1).expect("an id").to_owned();
    let ids: Vec<String> = servers.iter().map(id_of).collect();
    for (index, node) in servers.iter().enumerate() {
        until(PATIENCE, "the nodes know each other", async || {
            let known = node.command("CLUSTER NODES");
            (ids.iter().all(|id| known.contains(id)) && !known.contains("handshake")).then_some(())
        })
        .await;
        if index >= size.primaries {
            let primary = &ids[(index - size.primaries) % size.primaries];
            let follow =
                async || node.command(&format!("CLUSTER REPLICATE {primary}")).starts_with("+OK").then_some(());
            until(PATIENCE, "a node becomes a replica", follow).await;
        }
    }
    until(PATIENCE, "the Cluster stands", async || {
        let is_whole = |node: &RedisServer| {
            let roles = node.command("CLUSTER NODES");
            let replicas = roles.lines().filter(|line| line.contains("slave")).count();
            node.command("CLUSTER INFO").contains("cluster_state:ok") && replicas == count - size.primaries
        };
        let follow = servers.iter().skip(size.primaries).all(follows);
        (follow && servers.iter().all(is_whole)).then_some(())
    })
    .await;
    let own =
        servers.iter().enumerate().map(|(index, node)| announced.get(index).copied().unwrap_or(node.address().port()));
    let announced = own.collect();
    RedisFleet {
        kind: FleetKind::Cluster,
        servers,
        away: Vec::new(),
        sentinels: Vec::new(),
        announced,
        _followers: Vec::new(),
    }
}

/// A node, and the port on which it speaks to others.
fn start_node(options: &RedisOptions, announced: Option<u16>) -> (RedisServer, u16) {
    let bus = free_port();
    let own = [
        ["--cluster-enabled", "yes"],
        ["--cluster-port", &bus.to_string()],
        ["--cluster-node-timeout", GONE_AFTER],
        ["--cluster-replica-validity-factor", "0"],
        ["--cluster-allow-replica-migration", "no"],
        ["--repl-diskless-sync-delay", "0"],
    ];
    let mut arguments = [options.arguments.clone(), own.concat().into_iter().map(str::to_owned).collect()].concat();
    arguments.extend(announced.into_iter().flat_map(|port| ["--cluster-announce-port".to_owned(), port.to_string()]));
    (RedisServer::start(RedisOptions { arguments, ..options.clone() }), bus)
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
