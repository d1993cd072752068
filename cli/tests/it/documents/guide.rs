//! Runs the commands of a document as a reader types them: line by line, in one folder, with the files that it prints.

use std::{
    collections::VecDeque,
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use jobbers_test_support::redis_server::{RedisOptions, RedisServer};
use nix::{
    sys::signal::{self, Signal},
    unistd::Pid,
};
use tempfile::TempDir;

use crate::jobbers::{Said, Service, said, without_settings};

/// What a reader does.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Writes a file: a block under a line that is only its name.
    File { name: String, text: String },
    /// Types a command.
    Command(String),
}

/// Commands that no test repeats, by how they begin, and why.
const NOT_REPEATED: [(&str, &str); 3] = [
    ("cargo build --release", "the programs under test are built already"),
    ("cargo demo", "the demo has tests of its own"),
    ("./check", "it runs this test"),
];
/// Commands that run until a person ends them: how they begin, what they say once they are ready, and flags that give
/// them a free port in place of the documented one.
const SERVICES: [(&str, &str, &str); 4] = [
    ("jobbers up", "jobbers is up at ", " --listen 127.0.0.1:0"),
    ("jobbers manager", "listening address=", " --listen 127.0.0.1:0"),
    ("jobbers worker", "worker started", ""),
    ("jobbers cleaner --retention --watch", "opened the store", ""),
];
/// Starts a Redis, on a free port too.
const REDIS: &str = "redis-server";
/// What a person types once the server is down.
const MENDING: &str = "redis-check-aof";
/// Where the documents have a Redis.
const REDIS_ADDRESSES: [&str; 2] = ["redis://127.0.0.1:6379/0", "redis://db:6379/0"];
/// Where they have a manager.
const MANAGER: &str = "http://127.0.0.1:8000";
/// What a person ends: here, one picture of it must do.
const WATCHING: &str = "jobbers top";
/// What prints the id that the next commands call `ID`.
const NAMING: [&str; 3] = ["jobbers submit ", "curl -s -X POST http://127.0.0.1:8000/tasks", "jobbers workers"];

/// The folder of this repository.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The steps of a document.
fn steps(text: &str) -> Vec<Step> {
    let (mut steps, mut before) = (Vec::new(), "");
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let name = before.strip_prefix('`').and_then(|rest| rest.strip_suffix("`:"));
            match (language, name) {
                ("sh", _) => steps.extend(commands(&block).into_iter().map(Step::Command)),
                (_, Some(name)) => steps.push(Step::File { name: name.to_owned(), text: block.join("\n") + "\n" }),
                _ => {}
            }
        }
        if !line.trim().is_empty() {
            before = line;
        }
    }
    steps
}

/// The commands of a block, without comments. One goes on in the next line after a backslash and inside quotes.
pub(crate) fn commands(block: &[&str]) -> Vec<String> {
    let (mut commands, mut command, mut quote) = (Vec::new(), String::new(), None);
    for line in block {
        let mut last = ' ';
        for letter in line.chars() {
            if quote.is_none() && letter == '#' && last == ' ' {
                break;
            }
            match quote {
                None if matches!(letter, '\'' | '"') => quote = Some(letter),
                Some(open) if open == letter => quote = None,
                _ => {}
            }
            command.push(letter);
            last = letter;
        }
        if quote.is_some() {
            command.push('\n');
        } else if command.ends_with('\\') {
            command.pop();
        } else {
            commands.push(std::mem::take(&mut command).trim().to_owned());
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

/// `command` with what `id` answers in place of each word `ID`.
fn with_ids(command: &str, mut id: impl FnMut() -> String) -> String {
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let (mut written, mut rest) = (String::new(), command);
    while let Some(at) = rest.find("ID") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        let is_word = !is_part(before.chars().last()) && !is_part(after.chars().next());
        written.push_str(before);
        written.push_str(&if is_word { id() } else { "ID".to_owned() });
        rest = after;
    }
    written + rest
}

/// Whether a command is `start`, or goes on after it with a blank.
fn begins(command: &str, start: &str) -> bool {
    command.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// The first task id in a text: 26 letters and digits.
pub(crate) fn first_id(text: &str) -> Option<&str> {
    let is_letter = |c: char| c.is_ascii_digit() || c.is_ascii_uppercase();
    text.split(|c: char| !is_letter(c)).find(|word| word.len() == 26)
}

/// A command that runs beside the others. It and what it started are ended with the session.
#[derive(Debug)]
struct Beside(Child);

impl Drop for Beside {
    fn drop(&mut self) {
        if let Ok(group) = i32::try_from(self.0.id()) {
            signal::killpg(Pid::from_raw(group), Signal::SIGKILL).ok();
        }
        self.0.wait().ok();
    }
}

/// A reader at a terminal, in a folder of their own.
#[derive(Debug)]
pub(crate) struct Session {
    /// Where the reader is.
    pub(crate) folder: PathBuf,
    /// What the next words `ID` of the document mean. Once these are used up, it is the latest id that was printed.
    pub(crate) ids: VecDeque<String>,
    id: String,
    /// Functions and variables that the reader's shell has.
    shell: String,
    count: usize,
    told: Vec<(String, Said)>,
    beside: Vec<Beside>,
    services: Vec<Service>,
    redis: Option<RedisServer>,
    /// Addresses of the documents, and where that is in this session.
    addresses: Vec<(String, String)>,
    _root: TempDir,
}

impl Session {
    /// One in an empty folder. Crates made there are built as the workspace builds its own, so that both share what is
    /// built.
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let manifest = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
        let profiles = &manifest[manifest.find("[profile.dev]").unwrap()..];
        fs::create_dir(root.path().join(".cargo")).unwrap();
        fs::write(root.path().join(".cargo/config.toml"), profiles).unwrap();
        Self {
            folder: root.path().to_owned(),
            ids: VecDeque::new(),
            id: String::new(),
            shell: String::new(),
            count: 0,
            told: Vec::new(),
            beside: Vec::new(),
            services: Vec::new(),
            redis: None,
            addresses: Vec::new(),
            _root: root,
        }
    }

    /// Replaces this address of the documents by another one.
    pub(crate) fn place(&mut self, documented: &str, real: &str) {
        self.addresses.push((documented.to_owned(), real.to_owned()));
    }

    fn is_placed(&self, documented: &str) -> bool {
        self.addresses.iter().any(|(known, _)| known == documented)
    }

    /// Starts a service, and waits until it is ready. One system is enough for a document.
    fn serve(&mut self, command: &str, ready: &str, more: &str) {
        if begins(command, "jobbers up") && self.is_placed(MANAGER) {
            return;
        }
        // In place of the shell, so that a signal reaches it.
        let mut shell = self.shell(&format!("exec {command}{more} 2>&1"));
        let mut child = shell.stdout(Stdio::piped()).spawn().unwrap();
        let stream = child.stdout.take().unwrap();
        let (service, rest) = Service::ready(command, child, stream, ready);
        self.services.push(service);
        if !more.is_empty() && !self.is_placed(MANAGER) {
            let address = rest.split(' ').next().unwrap().trim_start_matches("http://");
            self.place(MANAGER, &format!("http://{address}"));
        }
    }

    fn start_redis(&mut self, flags: &str) {
        let arguments = flags.split_whitespace().map(str::to_owned).collect();
        let server = RedisServer::start(RedisOptions { arguments, ..RedisOptions::default() });
        for documented in REDIS_ADDRESSES {
            self.place(documented, &server.url());
        }
        self.redis = Some(server);
    }

    /// Ends what runs beside the reader. The services end in good order.
    pub(crate) fn end(&mut self) {
        self.beside.clear();
        // The last one first: the system goes on until what was started beside it has ended.
        for service in self.services.drain(..).rev() {
            service.stops_in_good_order();
        }
    }

    /// Follows a document to its end, and ends what it started. Each command must end with 0; those that begin as one of
    /// `others` says, with its code.
    pub(crate) fn follow(&mut self, document: &str, others: &[(&str, i32)]) {
        self.go_through(document, others);
        self.end();
    }

    /// The same, and what the document started goes on.
    pub(crate) fn go_through(&mut self, document: &str, others: &[(&str, i32)]) {
        for step in steps(document) {
            match step {
                Step::File { name, text } => {
                    // A document calls this repository's folder `jobbers`, and has it beside the reader's.
                    let text = text.replace("../jobbers/", &format!("{}/", workspace().display()));
                    let text = self.with_addresses(&text);
                    fs::write(self.folder.join(&name), text).unwrap();
                    if name == "Cargo.toml" {
                        fs::copy(workspace().join("Cargo.lock"), self.folder.join("Cargo.lock")).unwrap();
                    }
                }
                Step::Command(command) => self.type_in(&command, others),
            }
        }
    }

    /// What this command printed at its first time, or else the first that begins so.
    #[track_caller]
    pub(crate) fn told(&self, command: &str) -> &str {
        let exact = self.told.iter().find(|(typed, _)| typed == command);
        let found = exact.or_else(|| self.told.iter().find(|(typed, _)| typed.starts_with(command)));
        &found.unwrap_or_else(|| panic!("nothing begins with {command:?}: {:?}", self.told)).1.out
    }

    /// How many commands were typed.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// Types a command.
    pub(crate) fn type_in(&mut self, command: &str, others: &[(&str, i32)]) {
        if NOT_REPEATED.iter().any(|(start, _)| begins(command, start)) {
            return;
        }
        self.count += 1;
        if let Some(command) = command.strip_suffix(" &").or_else(|| command.ends_with("& done").then_some(command)) {
            let mut shell = self.shell(command);
            shell.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
            self.beside.push(Beside(shell.spawn().unwrap()));
        } else if let Some((_, ready, more)) = SERVICES.iter().find(|(start, ..)| begins(command, start)) {
            self.serve(command, ready, more);
        } else if begins(command, REDIS) {
            self.start_redis(&command[REDIS.len()..]);
        } else if begins(command, MENDING) {
            self.end();
            let server = self.redis.as_mut().expect("the document starts a Redis first");
            server.kill_9();
            self.folder = server.folder().to_owned();
            self.run(command, others);
        } else if let Some(folder) = command.strip_prefix("cd ") {
            self.folder.push(folder);
        } else if command.contains("() {") || begins(command, "export") {
            let typed = self.as_typed(command);
            self.shell.push_str(&format!("{typed}\n"));
        } else {
            self.run(command, others);
        }
    }

    fn run(&mut self, command: &str, others: &[(&str, i32)]) {
        let said = said(self.shell(command).output().unwrap());
        let code = others.iter().find(|(start, _)| command.starts_with(start)).map_or(0, |(_, code)| *code);
        assert_eq!(said.code, Some(code), "{command}: {said:?}");
        if NAMING.iter().any(|start| command.starts_with(start))
            && let Some(id) = first_id(&said.out)
        {
            id.clone_into(&mut self.id);
        }
        self.told.push((command.to_owned(), said));
    }

    /// The command for this session: with ids, and with addresses of this session.
    fn as_typed(&mut self, command: &str) -> String {
        let command = with_ids(command, || self.ids.pop_front().unwrap_or_else(|| self.id.clone()));
        let command = self.with_addresses(&command);
        if command == WATCHING { format!("{WATCHING} --once") } else { command }
    }

    fn with_addresses(&self, text: &str) -> String {
        self.addresses.iter().fold(text.to_owned(), |text, (documented, real)| text.replace(documented, real))
    }

    fn shell(&mut self, command: &str) -> Command {
        let programs = Path::new(env!("CARGO_BIN_EXE_jobbers")).parent().unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
        let typed = self.as_typed(command);
        let mut shell = Command::new("bash");
        shell.arg("-c").arg(format!("{}{typed}", self.shell));
        without_settings(&mut shell);
        shell.env("PATH", path).current_dir(&self.folder).stdin(Stdio::null());
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        // Without symbols, as this workspace compiles its dependencies: those with the same features are there already.
        shell.env("CARGO_TARGET_DIR", target).env("CARGO_PROFILE_DEV_DEBUG", "false");
        shell.env("CARGO_NET_OFFLINE", "true").env("CARGO_INCREMENTAL", "0");
        // A reader builds without the lints of `./check`.
        shell.env_remove("RUSTC_WORKSPACE_WRAPPER").env_remove("CLIPPY_ARGS");
        if let Some((_, url)) = self.addresses.iter().find(|(documented, _)| documented == MANAGER) {
            shell.env("JOBBERS_URL", url);
        }
        shell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_as_a_reader_would_type_it() {
        let document = "\
# Title

`src/main.rs`:

```rust
fn main() {}
```

```sh
jobbers list                 # don't type this
curl -d '{\"a\":
  1}' \\
  --next ID
```

```text
jobbers never
```
";
        let expected = [
            Step::File { name: "src/main.rs".to_owned(), text: "fn main() {}\n".to_owned() },
            Step::Command("jobbers list".to_owned()),
            Step::Command("curl -d '{\"a\":\n  1}'   --next ID".to_owned()),
        ];
        assert_eq!(steps(document), expected);
        let mut next = 6..;
        assert_eq!(with_ids("status ID ID_2 /ID?x", || next.next().unwrap().to_string()), "status 6 ID_2 /7?x");
    }
}
