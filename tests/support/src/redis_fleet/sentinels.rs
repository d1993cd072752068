//! A primary and its replicas, watched by Sentinels.

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

use super::{
    member::{GONE_AFTER, PATIENCE, follows},
    network::Network,
};
use crate::{
    authority::Authority,
    port::free_port,
    redis_server::{RedisOptions, RedisServer, server_program},
    wait::until,
};

/// What the Sentinels call the primary.
pub const NAME: &str = "main";

/// A running Sentinel. It is killed when this is dropped.
#[derive(Debug)]
pub struct Sentinel {
    _folder: TempDir,
    port: u16,
    child: Child,
}

impl Sentinel {
    pub(super) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    pub(super) fn freeze(&self) {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        signal::kill(Pid::from_raw(pid), Signal::SIGSTOP).expect("the Sentinel is ours to signal");
    }
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

/// Starts a primary, replicas and Sentinels; the primary comes first.
///
/// # Panics
/// When they do not stand in time.
pub(super) async fn start_watched(
    replicas: usize,
    sentinels: usize,
    options: &RedisOptions,
    network: &Network,
) -> (Vec<RedisServer>, Vec<Sentinel>) {
    let first = start_server(options, network, 0, None);
    let port_of =
        |index: usize, server: &RedisServer| network.place(index).map_or(server.address().port(), |it| it.port);
    let primary = port_of(0, &first);
    let follow = |index| start_server(options, network, index, Some(primary));
    let servers: Vec<RedisServer> = std::iter::once(first).chain((1..=replicas).map(follow)).collect();
    until(PATIENCE, "the replicas follow", async || servers[1..].iter().all(follows).then_some(())).await;
    let known: Vec<u16> = servers.iter().enumerate().map(|(index, server)| port_of(index, server)).collect();
    let ports: Vec<u16> = (0..sentinels).map(|_| free_port()).collect();
    let source = network.source_of_sentinels();
    let sentinels: Vec<Sentinel> = (0..sentinels).map(|own| start_sentinel(own, &ports, &known, &source)).collect();
    for sentinel in &sentinels {
        until(PATIENCE, "each Sentinel knows the replicas", async || {
            let known = ask_sentinel(sentinel.address(), &format!("SENTINEL REPLICAS {NAME}"));
            let are_usable = known.matches("master-link-status\r\n$2\r\nok").count() == replicas;
            (are_usable && !known.contains("disconnected")).then_some(())
        })
        .await;
    }
    (servers, sentinels)
}

/// Starts a server that follows another one, or none.
fn start_server(options: &RedisOptions, network: &Network, index: usize, primary: Option<u16>) -> RedisServer {
    let mut own = vec!["--repl-diskless-sync-delay".to_owned(), "0".to_owned()];
    own.extend(primary.into_iter().flat_map(|port| ["--replicaof".to_owned(), format!("127.0.0.1 {port}")]));
    own.extend(network.source_of(index));
    if let Some(place) = network.place(index) {
        let announced = ["--replica-announce-ip", "127.0.0.1", "--replica-announce-port"].map(str::to_owned);
        own.extend(announced.into_iter().chain([place.port.to_string()]));
    }
    let arguments = [options.arguments.clone(), own].concat();
    let server = RedisServer::start(RedisOptions { arguments, ..options.clone() });
    network.leads_to(index, server.address().port(), None);
    server
}

/// Starts a Sentinel that knows the others from the start, which they would tell each other within seconds.
/// `known` are the ports of the servers, the primary's first.
fn start_sentinel(own: usize, ports: &[u16], known: &[u16], source: &[String]) -> Sentinel {
    let id = |index: usize| format!("{index:040x}");
    let quorum = ports.len() / 2 + 1;
    let mut lines = vec![
        format!("port {}", ports[own]),
        format!("sentinel myid {}", id(own + 1)),
        format!("sentinel monitor {NAME} 127.0.0.1 {} {quorum}", known[0]),
        format!("sentinel down-after-milliseconds {NAME} {GONE_AFTER}"),
        format!("sentinel failover-timeout {NAME} 4000"),
        format!("sentinel parallel-syncs {NAME} 2"),
    ];
    lines.extend_from_slice(source);
    lines.extend(known[1..].iter().map(|port| format!("sentinel known-replica {NAME} 127.0.0.1 {port}")));
    let others = (0..ports.len()).filter(|index| *index != own);
    lines.extend(others.map(|it| format!("sentinel known-sentinel {NAME} 127.0.0.1 {} {}", ports[it], id(it + 1))));
    start_with_lines(ports[own], &lines)
}

/// Starts a Sentinel that speaks nothing but TLS, and watches a server that does too, by the name in its certificate.
///
/// # Panics
/// When it does not start.
#[must_use]
pub fn start_sentinel_with_tls(primary: u16, authority: &Authority) -> (Sentinel, u16) {
    let port = free_port();
    let file = |name: &str| authority.file(name).display().to_string();
    let lines = [
        "port 0".to_owned(),
        format!("tls-port {port}"),
        "tls-replication yes".to_owned(),
        "tls-auth-clients no".to_owned(),
        format!("tls-cert-file {}", file("server.pem")),
        format!("tls-key-file {}", file("server.key")),
        format!("tls-ca-cert-file {}", file("ca.pem")),
        "sentinel resolve-hostnames yes".to_owned(),
        "sentinel announce-hostnames yes".to_owned(),
        format!("sentinel monitor {NAME} localhost {primary} 1"),
    ];
    (start_with_lines(port, &lines), port)
}

/// Starts a Sentinel with these lines in its file.
fn start_with_lines(port: u16, lines: &[String]) -> Sentinel {
    let folder = tempfile::tempdir().expect("a folder for the Sentinel");
    let place = ["bind 127.0.0.1".to_owned(), format!("dir {}", folder.path().display())];
    let file = folder.path().join("sentinel.conf");
    std::fs::write(&file, [&place, lines].concat().join("\n")).expect("the file can be written");
    let mut child = Command::new(server_program())
        .arg(&file)
        .arg("--sentinel")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server starts");
    let mut log = BufReader::new(child.stdout.take().expect("its output is captured")).lines();
    let has_started = log.by_ref().map_while(Result::ok).any(|line| line.contains("Sentinel ID is"));
    assert!(has_started, "a Sentinel did not start on port {port}");
    // Keep reading, or it stops when the pipe is full.
    std::thread::spawn(move || log.map_while(Result::ok).for_each(drop));
    Sentinel { _folder: folder, port, child }
}
