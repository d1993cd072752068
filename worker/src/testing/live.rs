//! A running `jobbers up`, for a test of the program together with a manager and a store.
//!
//! ```no_run
//! use jobbers_worker::{Shutdown, prelude::*, testing::live::LiveSystem};
//!
//! #[task]
//! async fn double(n: u64) -> Result<u64, TaskError> { Ok(2 * n) }
//!
//! // With `#[tokio::test]` above it.
//! async fn a_task_runs_live() -> Result<(), Box<dyn std::error::Error>> {
//!     let live = LiveSystem::builder().start().await?;
//!     let shutdown = Shutdown::new();
//!     let worker = tokio::spawn(live.worker().run_until(shutdown.clone()));
//!
//!     let handle = double.delay(live.client(), 21).await?;
//!     assert_eq!(handle.result(Duration::from_secs(10)).await?, 42);
//!
//!     shutdown.drain.cancel();
//!     worker.await??;
//!     Ok(())
//! }
//! ```
//!
//! It needs the program `jobbers`. The bench needs nothing, and most tests are better with it: here time passes by itself.

use std::{
    env, fs,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    thread,
    time::Duration,
};

use jobbers_process::site::Site;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{sync::oneshot, time::timeout};
use ulid::Ulid;

use crate::{client::Client, config::Config, worker::Worker};

/// The variable that names the program `jobbers`, if it is not in `PATH`.
const PROGRAM: &str = "JOBBERS_BIN";
/// What the program prints when it is up.
const IS_UP: &str = "jobbers is up";
/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// A `jobbers up` of this test: a manager, a store and no worker. When this is dropped, it is killed, and its folder deleted.
///
/// [The module](self) shows one in a test.
///
/// ```no_run
/// use jobbers_worker::testing::live::LiveSystem;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let live = LiveSystem::builder().engine_url("redis://127.0.0.1:6379/9").start().await?;
/// println!("its pages are at {}", live.manager_url());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LiveSystem {
    process: Process,
    site: Site,
    client: Client,
}

/// Which system to start.
#[derive(Debug, Default)]
#[must_use = "`.start()` starts it"]
pub struct Builder {
    program: Option<PathBuf>,
    engine_url: Option<String>,
    arguments: Vec<String>,
}

/// Why no system runs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The program can't be started.
    #[error("can't start {}: {error}. Put `jobbers` in PATH, or its path in {PROGRAM}", program.display())]
    Program {
        /// Its path.
        program: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// It ended, or was not up in time.
    #[error("`jobbers up` {problem}. It printed:\n{printed}")]
    NotUp {
        /// What happened.
        problem: &'static str,
        /// What it printed so far; nothing if it still runs.
        printed: String,
    },
    /// Its folder can't be created.
    #[error("a folder for it: {0}")]
    Folder(#[from] io::Error),
    /// Its manager's address can't be used.
    #[error(transparent)]
    Client(#[from] crate::Error),
}

/// The program and its folder.
#[derive(Debug)]
struct Process {
    child: Child,
    folder: PathBuf,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
        fs::remove_dir_all(&self.folder).ok();
    }
}

impl Builder {
    /// The program; without it, the one that the variable `JOBBERS_BIN` names, or `jobbers` in `PATH`.
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// The store, such as `redis://127.0.0.1:6379/9`; without it, an SQLite file in the system's folder.
    pub fn engine_url(mut self, url: impl Into<String>) -> Self {
        self.engine_url = Some(url.into());
        self
    }

    /// A further argument of `jobbers up`.
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Starts it on a free port, and returns when it is up.
    ///
    /// # Errors
    /// [`LiveError`].
    pub async fn start(self) -> Result<LiveSystem, LiveError> {
        let named = self.program.or_else(|| env::var_os(PROGRAM).map(PathBuf::from));
        let program = named.unwrap_or_else(|| PathBuf::from("jobbers"));
        let folder = env::temp_dir().join(format!("jobbers-live-{}", Ulid::generate()));
        fs::create_dir(&folder)?;
        let url = self.engine_url.unwrap_or_else(|| format!("sqlite://{}", folder.join("jobbers.db").display()));
        let mut command = Command::new(&program);
        command.args(["up", "--no-worker", "--listen", "127.0.0.1:0", "--engine-url", &url]).args(self.arguments);
        command.current_dir(&folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                fs::remove_dir(&folder).ok();
                return Err(LiveError::Program { program, error });
            }
        };
        let stderr = child.stderr.take();
        let process = Process { child, folder };
        let (up, is_up) = oneshot::channel();
        let reader = stderr.map(|stderr| thread::spawn(move || read(stderr, up)));
        let not_up = |problem, printed| Err(LiveError::NotUp { problem, printed });
        match timeout(PATIENCE, is_up).await {
            Ok(Ok(())) => {}
            // Its output has ended, and so does the thread.
            Ok(Err(_)) => return not_up("ended", reader.and_then(|reader| reader.join().ok()).unwrap_or_default()),
            Err(_) => return not_up("was not up after 30 s", String::new()),
        }
        let Some(site) = Site::find(&process.folder) else { return not_up("left no address file", String::new()) };
        let client = Client::http(&site.manager)?;
        Ok(LiveSystem { process, site, client })
    }
}

/// Reads what the program prints until it ends, because it would block on a full pipe. Reports when it is up, and returns what
/// it printed before.
fn read(stderr: ChildStderr, up: oneshot::Sender<()>) -> String {
    let (mut printed, mut up) = (String::new(), Some(up));
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        if line.contains(IS_UP)
            && let Some(up) = up.take()
        {
            up.send(()).ok();
        }
        if up.is_some() {
            printed.push_str(&line);
            printed.push('\n');
        }
    }
    printed
}

impl LiveSystem {
    /// A system on a store of its own.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A client of its manager.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// The manager's address, `http://HOST:PORT`.
    #[must_use]
    pub fn manager_url(&self) -> &str {
        &self.site.manager
    }

    /// The store's address.
    #[must_use]
    pub fn engine_url(&self) -> &str {
        &self.site.store
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.process.folder
    }

    /// A worker on its store with the default settings, to run with [`Worker::run_until`].
    #[must_use]
    pub fn worker(&self) -> Worker {
        Worker::open(Config { engine_url: self.engine_url().to_owned(), ..Config::default() })
    }

    /// Stops it in good order, by SIGTERM, and waits for its end.
    ///
    /// # Errors
    /// If it can't be waited for.
    pub async fn stop(mut self) -> Result<(), io::Error> {
        let pid = i32::try_from(self.process.child.id()).map_err(io::Error::other)?;
        kill(Pid::from_raw(pid), Signal::SIGTERM)?;
        let ended = tokio::task::spawn_blocking(move || self.process.child.wait()).await;
        ended.map_err(io::Error::other)?.map(drop)
    }
}
