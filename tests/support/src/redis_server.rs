//! A Redis of one test's own: on a free port, in a folder of its own, ended with the test.
//!
//! A check before its address is given out ensures that it is the one that was started: ports are shared with the whole
//! machine, and another server's data is not ours to write to.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use nix::{
    sys::signal::{self, Signal},
    unistd::Pid,
};
use tempfile::TempDir;

use crate::{port::free_port, program::cpu_time, shims::Disk};

/// Another program may take a free port between the moment it is found and the moment Redis binds it.
const ATTEMPTS: usize = 5;

/// What a server persists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Persistence {
    /// Nothing: a restart is a fresh start.
    #[default]
    None,
    /// `appendonly yes`, `appendfsync everysec`.
    EverySecond,
    /// `appendonly yes`, `appendfsync always`.
    Always,
}

/// How to start a server.
#[derive(Debug, Clone, Default)]
pub struct RedisOptions {
    /// What survives a restart.
    pub persistence: Persistence,
    /// Further arguments of `redis-server`, e.g. `["--maxmemory", "3mb"]`.
    pub arguments: Vec<String>,
    /// Further environment variables.
    pub environment: Vec<(String, String)>,
    /// A file that `SAVE` wrote, for the server to begin with.
    pub snapshot: Option<PathBuf>,
    /// Whether it is a node of a Cluster.
    pub is_of_cluster: bool,
}

/// Names another program to start, such as the `valkey-server` that `./check` fetches.
pub const PROGRAM_VARIABLE: &str = "JOBBERS_TEST_REDIS_SERVER";

/// The program that is started.
pub(crate) fn server_program() -> OsString {
    std::env::var_os(PROGRAM_VARIABLE).unwrap_or_else(|| "redis-server".into())
}

/// Where a server listens.
#[derive(Debug, Clone, Copy)]
struct Ports {
    own: u16,
    bus: Option<u16>,
}

/// A running `redis-server`. It is killed when this is dropped.
#[derive(Debug)]
pub struct RedisServer {
    options: RedisOptions,
    folder: TempDir,
    ports: Ports,
    child: Child,
}

impl RedisServer {
    /// Starts a server and waits until it takes commands.
    ///
    /// # Panics
    /// If the program is not there or does not start.
    #[must_use]
    pub fn start(options: RedisOptions) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the server");
        if let Some(snapshot) = &options.snapshot {
            std::fs::copy(snapshot, folder.path().join("dump.rdb")).expect("the snapshot can be copied");
        }
        for _ in 0..ATTEMPTS {
            let ports = Ports { own: free_port(), bus: options.is_of_cluster.then(free_port) };
            if let Some(child) = spawn(&options, &folder, ports) {
                let server = Self { options, folder, ports, child };
                server.assert_ours();
                return server;
            }
        }
        panic!("redis-server did not start in {ATTEMPTS} attempts");
    }

    /// Its address, as `ENGINE_URL` takes it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports.own))
    }

    /// The port at which the other nodes of its Cluster reach it.
    #[must_use]
    pub fn bus(&self) -> Option<u16> {
        self.ports.bus
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where it keeps its files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The CPU time it has used.
    ///
    /// # Panics
    /// When it is gone.
    #[must_use]
    pub fn cpu_time(&self) -> Duration {
        cpu_time(self.child.id())
    }

    /// Ends it at once, as a crash would.
    ///
    /// # Panics
    /// When it can't be waited for.
    pub fn kill_9(&mut self) {
        self.child.kill().expect("the server is ours to kill");
        self.child.wait().expect("a killed server ends");
    }

    /// Starts it again, after [`RedisServer::kill_9`] or in its place, with its data and on its port.
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&mut self) {
        self.kill_9();
        self.child = spawn(&self.options, &self.folder, self.ports).expect("the server starts again on its port");
        self.assert_ours();
    }

    /// Kills it, drops the last `bytes` of its append-only file, as a slow disk or a power failure may, mends the file as
    /// the guide to Redis says, and starts it again.
    ///
    /// # Panics
    /// When it does not start, or wrote no append-only file.
    pub fn restart_without_the_last(&mut self, bytes: u64) {
        self.kill_9();
        let folder = self.folder.path().join("appendonlydir");
        let files = std::fs::read_dir(&folder).expect("an append-only file").map(|file| file.expect("a file").path());
        let written =
            files.filter(|path| path.to_string_lossy().ends_with(".incr.aof")).max().expect("a file of writes");
        let file = std::fs::OpenOptions::new().write(true).open(written).expect("the file opens");
        let length = file.metadata().expect("the file has a length").len();
        file.set_len(length.saturating_sub(bytes)).expect("the file can be cut");
        mend(&folder.join("appendonly.aof.manifest"));
        self.restart();
    }

    /// Its machine loses its power, and starts again with what was synced to the disk. It must have been started in the
    /// disk's environment, with an append-only file.
    ///
    /// # Panics
    /// When it does not start.
    pub fn lose_power(&mut self, disk: &Disk) {
        self.kill_9();
        disk.lose_power(&self.folder.path().join("appendonlydir"), &[".incr.aof"]);
        self.restart();
    }

    /// Freezes it: connections stay open and nothing is answered.
    ///
    /// # Panics
    /// When it is gone.
    pub fn pause(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Lets it go on.
    ///
    /// # Panics
    /// When it is gone.
    pub fn resume(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Sends one command, its words separated by blanks, and answers what comes back as the protocol writes it.
    ///
    /// # Panics
    /// When the server does not answer.
    #[must_use]
    pub fn command(&self, words: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout can be set");
        // The server closes the connection after QUIT, so the end of the answer is the end of the stream.
        write!(stream, "{words}\r\nQUIT\r\n").expect("the server reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the server answers");
        answer.strip_suffix("+OK\r\n").expect("the answer to QUIT").to_owned()
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        signal::kill(Pid::from_raw(pid), signal).expect("the server is ours to signal");
    }

    fn assert_ours(&self) {
        let answer = self.command("INFO server");
        let ours = format!("process_id:{}\r\n", self.child.id());
        assert!(answer.contains(&ours), "another server answers at {}: {answer}", self.address());
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // Nothing is lost when it is gone already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Starts the program and reads its log until it takes connections; `None` when it ends before.
fn spawn(options: &RedisOptions, folder: &TempDir, ports: Ports) -> Option<Child> {
    let (appendonly, appendfsync) = match options.persistence {
        Persistence::None => ("no", "everysec"),
        Persistence::EverySecond => ("yes", "everysec"),
        Persistence::Always => ("yes", "always"),
    };
    let bus = ports.bus.map(|bus| ["--cluster-enabled", "yes", "--cluster-port", &bus.to_string()].map(str::to_owned));
    let mut child = match Command::new(server_program())
        .args(["--bind", "127.0.0.1", "--port", &ports.own.to_string(), "--save", ""])
        .args(["--appendonly", appendonly, "--appendfsync", appendfsync, "--dir"])
        .arg(folder.path())
        .args(bus.iter().flatten())
        .args(&options.arguments)
        .envs(options.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
    {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => panic!("redis-server is not installed: ./check says how"),
        Err(error) => panic!("redis-server does not start: {error}"),
    };
    let mut log = BufReader::new(child.stdout.take().expect("its output is captured")).lines();
    if log.by_ref().map_while(Result::ok).any(|line| line.contains("Ready to accept connections")) {
        // Keep reading, or the server stops when the pipe is full.
        std::thread::spawn(move || log.map_while(Result::ok).for_each(drop));
        return Some(child);
    }
    child.wait().expect("a server that closed its output ends");
    None
}

/// Drops the half of a transaction at the end of an append-only file. Redis itself would keep it, and carry it out at the
/// next start.
fn mend(manifest: &Path) {
    let mut check = Command::new("redis-check-aof")
        .arg("--fix")
        .arg(manifest)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-check-aof starts");
    // It may end without a question.
    let _ = check.stdin.take().expect("its input is ours").write_all(b"y\n");
    assert!(check.wait().expect("it ends").success(), "the append-only file could not be mended");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_starts_answers_and_forgets() {
        let mut server = RedisServer::start(RedisOptions::default());
        assert_eq!(server.command("PING"), "+PONG\r\n");
        assert_eq!(server.command("SET a 1"), "+OK\r\n");
        server.restart();
        assert_eq!(server.command("EXISTS a"), ":0\r\n");
    }

    #[test]
    fn what_was_written_down_survives_a_crash() {
        let options = RedisOptions { persistence: Persistence::Always, ..RedisOptions::default() };
        let mut server = RedisServer::start(options);
        assert_eq!(server.command("INCR a"), ":1\r\n");
        server.kill_9();
        server.restart();
        assert_eq!(server.command("INCR a"), ":2\r\n");
    }

    #[test]
    fn two_servers_do_not_meet() {
        let servers = [RedisServer::start(RedisOptions::default()), RedisServer::start(RedisOptions::default())];
        assert_eq!(servers[0].command("INCR a"), ":1\r\n");
        assert_eq!(servers[1].command("EXISTS a"), ":0\r\n");
    }
}
