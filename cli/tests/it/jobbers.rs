//! Runs the program: once and to its end, or as a system that is up.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use nix::{
    sys::signal::{self, Signal},
    unistd::Pid,
};
use serde_json::Value;
use tempfile::TempDir;

/// A bound, not a measurement.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jobbers"));
    without_settings(&mut command);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Takes the user's own settings of the product from a command's environment.
pub(crate) fn without_settings(command: &mut Command) {
    let ours = ["JOBBERS_", "MANAGER_", "WORKER_", "ENGINE_URL", "REDIS_URL"];
    for (name, _) in std::env::vars().filter(|(name, _)| ours.iter().any(|ours| name.starts_with(ours))) {
        command.env_remove(name);
    }
}

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

impl Said {
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.ends_with(0)
    }

    #[track_caller]
    pub(crate) fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// It failed with `code`, said nothing on standard output, and one sentence with `words` on standard error.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, words: &str) {
        let said = self.ends_with(code);
        assert!(said.out.is_empty() && said.err.starts_with("error: ") && said.err.contains(words), "{said:?}");
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Runs a command in `folder` to its end.
pub(crate) fn run_in(folder: &Path, arguments: &[&str]) -> Said {
    said(program(folder, arguments).output().unwrap())
}

/// The same with these variables.
pub(crate) fn run_with(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Said {
    said(program(folder, arguments).envs(variables.iter().copied()).output().unwrap())
}

/// Runs a command in an empty folder of its own: what it leaves there, no other one finds.
pub(crate) fn run(arguments: &[&str]) -> Said {
    run_in(tempfile::tempdir().unwrap().path(), arguments)
}

/// What a program that has ended said.
pub(crate) fn said(output: std::process::Output) -> Said {
    Said {
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code(),
    }
}

/// A program that runs beside a test; killed when dropped.
#[derive(Debug)]
pub(crate) struct Service {
    child: Child,
    name: String,
    /// The lines it wrote so far.
    lines: Arc<Mutex<Vec<String>>>,
}

impl Service {
    /// Waits until a program says `words` on `stream`; answers what follows them in that line.
    #[track_caller]
    pub(crate) fn ready(name: &str, child: Child, stream: impl Read + Send + 'static, words: &str) -> (Self, String) {
        let lines = Arc::default();
        let (service, awaited) = (Self { child, name: name.to_owned(), lines: Arc::clone(&lines) }, words.to_owned());
        let (sender, receiver) = mpsc::channel();
        // Reads to the end, so that the program is never held up by a full pipe.
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if let Some((_, rest)) = line.split_once(&awaited) {
                    sender.send(rest.to_owned()).ok();
                }
                lines.lock().unwrap().push(line);
            }
        });
        let rest = receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{name} does not say {words:?}"));
        (service, rest)
    }

    fn terminate(&self) {
        signal::kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), Signal::SIGTERM).unwrap();
    }

    /// Ends it as an operator would.
    #[track_caller]
    pub(crate) fn stops_in_good_order(mut self) {
        self.terminate();
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{}", self.name);
    }

    /// A worker with the stock tasks that has created its store. Also returns the end of its log line about that.
    pub(crate) fn worker(folder: &Path) -> (Self, String) {
        let mut child = program(folder, &["worker"]).spawn().unwrap();
        let stream = child.stderr.take().unwrap();
        Self::ready("jobbers worker", child, stream, "created the store ")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A `jobbers up` on a free port; killed when dropped.
#[derive(Debug)]
pub(crate) struct Running {
    service: Service,
    pub(crate) url: String,
}

impl Running {
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_with(folder, arguments, &[])
    }

    /// The same with these variables.
    pub(crate) fn start_with(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let arguments = [&["up", "--listen", "127.0.0.1:0"], arguments].concat();
        let mut child = program(folder, &arguments).envs(variables.iter().copied()).spawn().unwrap();
        let stream = child.stderr.take().unwrap();
        let (service, rest) = Service::ready("jobbers up", child, stream, "jobbers is up at ");
        Self { service, url: rest.split(' ').next().unwrap().to_owned() }
    }
}

/// `jobbers up` in a folder of its own.
pub(crate) struct Up {
    running: Running,
    pub(crate) url: String,
    pub(crate) folder: TempDir,
}

impl Up {
    pub(crate) fn start() -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), &[])
    }

    pub(crate) fn in_folder(folder: TempDir, arguments: &[&str]) -> Self {
        Self::start_with(folder, arguments, &[])
    }

    pub(crate) fn start_with(folder: TempDir, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let running = Running::start_with(folder.path(), arguments, variables);
        Self { url: running.url.clone(), running, folder }
    }

    /// Runs a client command against it.
    pub(crate) fn jobbers(&self, arguments: &[&str]) -> Said {
        said(self.client(arguments).output().unwrap())
    }

    /// The same with something on standard input.
    pub(crate) fn jobbers_fed(&self, arguments: &[&str], input: &str) -> Said {
        let mut child = self.client(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_owned());
        let feeding = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().unwrap();
        // A command that has seen enough closes its standard input.
        feeding.join().unwrap().ok();
        said(output)
    }

    /// A client command, not yet started.
    pub(crate) fn client(&self, arguments: &[&str]) -> Command {
        let mut command = program(self.folder.path(), arguments);
        command.env("JOBBERS_URL", &self.url);
        command
    }

    /// The lines that it wrote on standard error so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.running.service.lines.lock().unwrap().clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.running.service.child.id()
    }

    pub(crate) fn terminate(&self) {
        self.running.service.terminate();
    }

    /// Waits for its end; hands back how it ended and the folder it worked in.
    pub(crate) fn ended(mut self) -> (ExitStatus, TempDir) {
        let status = self.running.service.child.wait().unwrap();
        (status, self.folder)
    }
}
