//! Runs the commands of a document as a reader types them: line by line, in one folder, with the files that it prints.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use nix::{
    sys::signal::{self, Signal},
    unistd::Pid,
};
use tempfile::TempDir;

use crate::jobbers::{Running, Said, said};

/// What a reader does.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Writes a file: a block under a line that is only its name.
    File { name: String, text: String },
    /// Types a command.
    Command(String),
}

/// Commands that no test repeats, by how they begin, and why.
const NOT_REPEATED: [(&str, &str); 7] = [
    ("cargo build --release", "the programs under test are built already"),
    ("export", "the session has the path of the programs under test"),
    ("cargo run --release -- demo", "the demo has tests of its own"),
    ("./check", "it runs this test"),
    ("jobbers worker", "the same"),
    ("jobbers manager", "the services alone have tests of their own, and do not end"),
    ("jobbers cleaner --retention --watch", "the same"),
];
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
fn commands(block: &[&str]) -> Vec<String> {
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

/// `command` with `id` in place of each word `ID`.
fn with_id(command: &str, id: &str) -> String {
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let (mut written, mut rest) = (String::new(), command);
    while let Some(at) = rest.find("ID") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        let is_word = !is_part(before.chars().last()) && !is_part(after.chars().next());
        written.extend([before, if is_word { id } else { "ID" }]);
        rest = after;
    }
    written + rest
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
    id: String,
    functions: String,
    told: Vec<(String, Said)>,
    beside: Vec<Beside>,
    system: Option<Running>,
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
            id: String::new(),
            functions: String::new(),
            told: Vec::new(),
            beside: Vec::new(),
            system: None,
            _root: root,
        }
    }

    /// Starts the system in the folder where the reader is.
    pub(crate) fn start(&mut self) {
        self.start_with(&[]);
    }

    /// The same with these flags.
    fn start_with(&mut self, flags: &[&str]) {
        if self.system.is_none() {
            self.system = Some(Running::start(&self.folder, flags));
        }
    }

    /// Follows a document to its end. Each command must end with 0; those that begin as one of `others` says, with its code.
    pub(crate) fn follow(&mut self, document: &str, others: &[(&str, i32)]) {
        for step in steps(document) {
            match step {
                Step::File { name, text } => {
                    // A document calls this repository's folder `jobbers`, and has it beside the reader's.
                    let text = text.replace("../jobbers/", &format!("{}/", workspace().display()));
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

    /// How many commands ran to their end.
    pub(crate) fn count(&self) -> usize {
        self.told.len()
    }

    fn type_in(&mut self, command: &str, others: &[(&str, i32)]) {
        let begins =
            |start: &str| command.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        if NOT_REPEATED.iter().any(|(start, _)| begins(start)) {
            return;
        }
        if let Some(flags) = command.strip_prefix("jobbers up") {
            self.start_with(&flags.split_whitespace().collect::<Vec<_>>());
        } else if let Some(folder) = command.strip_prefix("cd ") {
            self.folder.push(folder);
        } else if command.contains("() {") {
            self.functions.push_str(&format!("{}\n", self.as_typed(command)));
        } else if let Some(command) = command.strip_suffix(" &") {
            let mut shell = self.shell(command);
            shell.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
            self.beside.push(Beside(shell.spawn().unwrap()));
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

    /// The command for this session: with the latest id, and with the system where it is.
    fn as_typed(&self, command: &str) -> String {
        let mut command = with_id(command, &self.id);
        if let Some(system) = &self.system {
            command = command.replace("http://127.0.0.1:8000", &system.url);
        }
        if command == WATCHING { format!("{WATCHING} --once") } else { command }
    }

    fn shell(&self, command: &str) -> Command {
        let programs = Path::new(env!("CARGO_BIN_EXE_jobbers")).parent().unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("bash");
        shell.arg("-c").arg(format!("{}{}", self.functions, self.as_typed(command)));
        shell.env("PATH", path).current_dir(&self.folder).stdin(Stdio::null());
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        shell.env("CARGO_TARGET_DIR", target).env("CARGO_NET_OFFLINE", "true").env("CARGO_INCREMENTAL", "0");
        if let Some(system) = &self.system {
            shell.env("JOBBERS_URL", &system.url);
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
        assert_eq!(with_id("status ID ID_2 /ID?x", "7"), "status 7 ID_2 /7?x");
    }
}
