//! A program under test: started with its output captured, awaited by what it says, ended with the test.

use std::{
    ffi::OsStr,
    os::unix::fs::MetadataExt,
    path::Path,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use nix::{
    sys::signal::{self, Signal},
    unistd::Pid,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, Command},
    sync::Notify,
    task::JoinHandle,
};

use crate::{binaries::binary, wait::within};

/// How long a program may take to say what is awaited. A bound, not a measurement.
const PATIENCE: Duration = Duration::from_secs(30);

/// Prefixes of the environment variables that configure the programs; the user may have set some.
const OF_THE_PRODUCT: [&str; 8] =
    ["ENGINE_URL", "REDIS_URL", "MANAGER_", "WORKER_", "CLEANER_", "JOBBERS_", "METRICS_", "OTEL_"];

/// A running program. It is killed when this is dropped; when that happens in a failing test, its output is shown.
#[derive(Debug)]
pub struct Program {
    name: String,
    child: Child,
    output: Arc<Output>,
    /// They end when both streams do.
    readers: [JoinHandle<()>; 2],
}

/// What a program has said so far, line by line, on either stream.
#[derive(Debug, Default)]
struct Output {
    lines: Mutex<Vec<String>>,
    grew: Notify,
}

impl Output {
    fn follow(self: &Arc<Self>, stream: impl AsyncRead + Unpin + Send + 'static) -> JoinHandle<()> {
        let output = Arc::clone(self);
        tokio::spawn(async move {
            let mut lines = BufReader::new(stream).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                output.lines.lock().expect("no reader panics").push(line);
                output.grew.notify_waiters();
            }
        })
    }

    fn find(&self, from: usize, words: &str) -> Option<String> {
        self.lines.lock().expect("no reader panics").iter().skip(from).find(|line| line.contains(words)).cloned()
    }

    fn all(&self) -> String {
        self.lines.lock().expect("no reader panics").join("\n")
    }
}

impl Program {
    /// Starts one of the workspace's programs in `folder`, with `environment` and nothing else of the product's
    /// variables. Standard input is closed.
    ///
    /// # Panics
    /// When it can't be started.
    #[must_use]
    pub fn start<A: AsRef<OsStr>>(name: &str, folder: &Path, arguments: &[A], environment: &[(&str, &str)]) -> Self {
        Self::spawn(name, Command::new(binary(name)), folder, arguments, environment)
    }

    /// The same as a user for whom file permissions count: root becomes an unprivileged user, others stay. The program
    /// is copied into `folder`, since its own may be closed to others.
    ///
    /// # Panics
    /// When it can't be started.
    #[must_use]
    pub fn start_unprivileged<A: AsRef<OsStr>>(name: &str, folder: &Path, arguments: &[A]) -> Self {
        const NOBODY: u32 = 65_534;
        let copy = folder.join(name);
        std::fs::copy(binary(name), &copy).expect("the program can be copied");
        let mut command = Command::new(copy);
        if std::fs::metadata("/proc/self").expect("this process has an entry").uid() == 0 {
            command.uid(NOBODY).gid(NOBODY);
        }
        Self::spawn(name, command, folder, arguments, &[])
    }

    /// Starts a Python script in `folder`, with `environment`.
    ///
    /// # Panics
    /// If Python is missing.
    #[must_use]
    pub fn start_python(script: &Path, folder: &Path, environment: &[(&str, &str)]) -> Self {
        const PYTHON: &str = "python3";
        let version = std::process::Command::new(PYTHON).arg("--version").output();
        assert!(
            version.is_ok_and(|version| version.status.success()),
            "{PYTHON} is missing, and this test runs a worker that is written in it: install it (apt-get install {PYTHON})"
        );
        let environment: Vec<_> = environment.iter().copied().chain([("PYTHONUNBUFFERED", "1")]).collect();
        Self::spawn(PYTHON, Command::new(PYTHON), folder, &[script], &environment)
    }

    fn spawn<A: AsRef<OsStr>>(
        name: &str,
        mut command: Command,
        folder: &Path,
        arguments: &[A],
        environment: &[(&str, &str)],
    ) -> Self {
        command.args(arguments).current_dir(folder).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (variable, _) in std::env::vars_os() {
            if variable.to_str().is_some_and(|name| OF_THE_PRODUCT.iter().any(|prefix| name.starts_with(prefix))) {
                command.env_remove(variable);
            }
        }
        command.envs(environment.iter().copied());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        let output = Arc::new(Output::default());
        let readers = [
            output.follow(child.stdout.take().expect("it is piped")),
            output.follow(child.stderr.take().expect("it is piped")),
        ];
        Self { name: name.to_owned(), child, output, readers }
    }

    /// Its process id.
    ///
    /// # Panics
    /// When it has ended and been awaited.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id().unwrap_or_else(|| panic!("{} has ended", self.name))
    }

    /// How many lines it has said; for [`Program::line_after`].
    ///
    /// # Panics
    /// Never: no reader panics.
    #[must_use]
    pub fn mark(&self) -> usize {
        self.output.lines.lock().expect("no reader panics").len()
    }

    /// Everything it has said.
    #[must_use]
    pub fn said(&self) -> String {
        self.output.all()
    }

    /// Waits until it says a line that contains `words`, or has said it already.
    pub async fn line(&self, words: &str) -> String {
        self.line_after(0, words).await
    }

    /// Waits for such a line beyond the first `mark` ones.
    pub async fn line_after(&self, mark: usize, words: &str) -> String {
        within(PATIENCE, &format!("{} says {words:?}", self.name), async {
            loop {
                let mut grew = std::pin::pin!(self.output.grew.notified());
                grew.as_mut().enable();
                if let Some(line) = self.output.find(mark, words) {
                    return line;
                }
                grew.await;
            }
        })
        .await
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// When it has ended.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).expect("process ids are small"));
        signal::kill(pid, signal).unwrap_or_else(|error| panic!("{} can't be sent {signal}: {error}", self.name));
    }

    /// Whether it has ended, however that came.
    ///
    /// # Panics
    /// When that can't be asked.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap_or_else(|error| panic!("{}: {error}", self.name)).is_some()
    }

    /// Kills it as `kill -9` does and waits until it is gone.
    ///
    /// # Panics
    /// When it can't be killed.
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap_or_else(|error| panic!("{} can't be killed: {error}", self.name));
    }

    /// Waits until it ends by itself and all that it has said is read.
    ///
    /// # Panics
    /// When it can't be waited for.
    pub async fn exit(&mut self) -> ExitStatus {
        self.exit_within(PATIENCE).await
    }

    /// The same for one that has much to do.
    ///
    /// # Panics
    /// When it can't be waited for.
    pub async fn exit_within(&mut self, bound: Duration) -> ExitStatus {
        let ended = format!("{} ends", self.name);
        let waited = within(bound, &ended, self.child.wait()).await;
        let is_quiet = format!("{} says no more", self.name);
        for reader in self.readers.iter_mut().filter(|reader| !reader.is_finished()) {
            within(bound, &is_quiet, reader).await.expect("no reader panics");
        }
        waited.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// The CPU time all its threads have used.
    ///
    /// # Panics
    /// When it has ended.
    #[must_use]
    pub fn cpu_time(&self) -> Duration {
        cpu_time(self.pid())
    }
}

/// The CPU time all threads of a process have used.
///
/// # Panics
/// If the process does not exist.
#[must_use]
pub fn cpu_time(pid: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("the process runs");
    let spent = threads.filter_map(|thread| {
        // A thread may end between the listing and the reading.
        let schedstat = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        schedstat.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(spent.sum())
}

impl Drop for Program {
    fn drop(&mut self) {
        if std::thread::panicking() {
            #[expect(clippy::print_stderr, reason = "a failing test shows what its programs said")]
            {
                eprintln!("---- {} ({:?}) said\n{}\n----", self.name, self.child.id(), self.output.all());
            }
        }
    }
}
