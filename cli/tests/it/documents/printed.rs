//! The commands that documents print are commands of the program.
//!
//! The program's own parser reads every `jobbers …` in a code span or in a block of shell commands. Nothing is run here:
//! `walk` follows the guides.

use std::fs;

use clap::{
    CommandFactory,
    error::{ContextKind, ContextValue, ErrorKind},
};
use jobbers_cli::args::Cli;

use crate::documents::guide::{commands, workspace};

/// The folders and files whose documents are read. Dashboards and alerts name commands in their descriptions.
const PLACES: [&str; 7] =
    [".", "docs", "docs/guides", "docs/reference", "dashboards", "dashboards/alerts", "dashboards/source"];
/// The changelog also names commands of earlier versions.
const SKIPPED: [&str; 1] = ["./CHANGELOG.md"];
/// The services, which are also programs of these names.
const SERVICES: [&str; 3] = ["manager --", "worker --", "cleaner --"];
/// Words that may come before a command.
const BEFORE: [&str; 8] = ["until", "while", "if", "do", "then", "else", "sudo", "{"];

/// A command that a document prints.
#[derive(Debug, PartialEq, Eq)]
struct Printed {
    words: Vec<String>,
    /// It is in a block, to be typed as it is. One in a sentence may have placeholders, and leave arguments out.
    is_complete: bool,
}

/// The commands of a document.
fn printed(text: &str) -> Vec<Printed> {
    let (mut found, mut paragraph) = (Vec::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| !line.trim_start().starts_with("```")).collect();
            if language == "sh" {
                let typed = commands(&block).into_iter().flat_map(|command| simple_commands(&once(&command)));
                found.extend(typed.filter_map(of_program).map(|words| Printed { words, is_complete: true }));
            }
        } else if line.trim().is_empty() {
            found.extend(in_paragraph(&std::mem::take(&mut paragraph)));
        } else {
            paragraph.push_str(line);
            paragraph.push('\n');
        }
    }
    found.extend(in_paragraph(&paragraph));
    found
}

/// The commands in the code spans of a paragraph.
fn in_paragraph(paragraph: &str) -> Vec<Printed> {
    let mut found = Vec::new();
    for span in code_spans(paragraph) {
        let span =
            span.split_whitespace().collect::<Vec<_>>().join(" ").replace("\\|", "|").replace(['[', ']', '…'], "");
        let is_service = SERVICES.iter().any(|service| span.starts_with(service));
        let span = if is_service { format!("jobbers {span}") } else { span };
        let mut pieces = simple_commands(&span).into_iter();
        let Some(first) = pieces.next().and_then(of_program) else { continue };
        // `jobbers queues show | create` is two commands: what follows a bar replaces the last word.
        let stem = first[..first.len() - 1].to_vec();
        let others = pieces.map(|piece| [stem.clone(), piece].concat()).collect::<Vec<_>>();
        found.extend([first].into_iter().chain(others).map(|words| Printed { words, is_complete: false }));
    }
    found
}

/// The code spans of a paragraph, each between two runs of as many backquotes.
fn code_spans(paragraph: &str) -> Vec<&str> {
    let (mut spans, mut rest) = (Vec::new(), paragraph);
    while let Some(at) = rest.find('`') {
        let after = rest[at..].trim_start_matches('`');
        let fence = &rest[at..rest.len() - after.len()];
        let Some(end) = after.find(fence) else { break };
        spans.push(&after[..end]);
        rest = &after[end + fence.len()..];
    }
    spans
}

/// A loop `for NAME in FIRST …` with its first value, in place of its variable.
fn once(line: &str) -> String {
    let mut words = line.split(' ');
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some("for"), Some(name), Some("in"), Some(first)) => {
            line.replace(&format!("${name}"), first.trim_end_matches(';'))
        }
        _ => line.to_owned(),
    }
}

/// The commands of a line for the shell, each as its words: without quotes, redirections and what joins them.
fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words) = (Vec::new(), Vec::<String>::new());
    let (mut word, mut quote, mut is_target) = (None::<String>, None, false);
    for letter in line.chars().chain([';']) {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ' | '\n' | '|' | '&' | ';' | '(' | ')' | '<' | '>') => {
                // The word after `<` or `>` names a file.
                if let Some(word) = word.take()
                    && !std::mem::take(&mut is_target)
                {
                    words.push(word);
                }
                match letter {
                    '<' | '>' => is_target = true,
                    ' ' => {}
                    _ => commands.push(std::mem::take(&mut words)),
                }
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    commands.retain(|words| !words.is_empty());
    commands
}

/// The words if they start this program.
fn of_program(mut words: Vec<String>) -> Option<Vec<String>> {
    let is_before = |word: &String| {
        BEFORE.contains(&word.as_str()) || word.split_once('=').is_some_and(|(name, _)| is_variable(name))
    };
    let first = words.iter().position(|word| !is_before(word))?;
    words.drain(..first);
    // An alias of `.cargo/config.toml`.
    if words.starts_with(&["cargo".to_owned(), "demo".to_owned()]) {
        words[0] = "jobbers".to_owned();
    }
    // `cargo run` runs `jobbers`, unless another program is named.
    if words.starts_with(&["cargo".to_owned(), "run".to_owned()])
        && let Some(end) = words.iter().position(|word| word == "--")
        && words[2..end].iter().all(|word| word == "--release" || word == "--quiet")
    {
        words.splice(..=end, ["jobbers".to_owned()]);
    }
    (words[0] == "jobbers" && words.len() > 1).then_some(words)
}

/// Whether it is a word such as `ID`, in place of a value.
fn is_placeholder(word: &str) -> bool {
    word.len() > 1 && word.chars().all(|letter| letter.is_ascii_uppercase())
}

/// Whether a shell takes `name=value` for the setting of a variable.
fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_')
}

/// What the program says against a command.
fn complaint(program: &clap::Command, command: &Printed) -> Option<String> {
    let error = program.clone().try_get_matches_from(&command.words).err()?;
    let has_placeholder = |kind| match error.get(kind) {
        Some(ContextValue::String(value)) => value.split(|letter: char| !letter.is_alphanumeric()).any(is_placeholder),
        _ => false,
    };
    let is_accepted = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        _ if command.is_complete => false,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => true,
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => has_placeholder(ContextKind::InvalidValue),
        ErrorKind::InvalidSubcommand => has_placeholder(ContextKind::InvalidSubcommand),
        _ => false,
    };
    let reason = error.to_string();
    (!is_accepted).then(|| format!("`{}`: {}", command.words.join(" "), reason.lines().next().unwrap_or_default()))
}

#[test]
fn every_command_that_a_document_prints_is_one_of_the_program() {
    let (program, mut complaints, mut count) = (Cli::command(), Vec::new(), 0);
    for place in PLACES {
        for entry in fs::read_dir(workspace().join(place)).unwrap() {
            let path = format!("{place}/{}", entry.unwrap().file_name().to_str().unwrap());
            let is_read = [".md", ".toml", ".yaml"].iter().any(|extension| path.ends_with(extension));
            if !is_read || SKIPPED.contains(&path.as_str()) {
                continue;
            }
            let commands = printed(&fs::read_to_string(workspace().join(&path)).unwrap());
            count += commands.len();
            complaints
                .extend(commands.iter().filter_map(|it| complaint(&program, it)).map(|it| format!("{path}: {it}")));
        }
    }
    assert!(count > 300, "only {count} commands were found");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn a_command_that_does_not_exist_is_noticed_in_a_sentence_and_in_a_block() {
    let document = "\
Look with `jobbers get ID`, `jobbers explain ID` or `jobbers
list --colour`; `cleaner --forever` and `jobbers.db` are no commands.

| `jobbers queues [show \\| make \\| …]` | `jobbers cancel ID…` |

```sh
jobbers list --status failed | grep 'jobbers get'
jobbers status
seq 3 | QUIET=1 jobbers submit echo - > jobbers.txt && jobbers fetch
cargo run --release -- demonstrate
cargo demo --slowly
cargo run --example nightly -- get
```
";
    let (program, commands) = (Cli::command(), printed(document));
    let words: Vec<String> = commands.iter().map(|command| command.words.join(" ")).collect();
    let expected = [
        "jobbers get ID",
        "jobbers explain ID",
        "jobbers list --colour",
        "jobbers cleaner --forever",
        "jobbers queues show",
        "jobbers queues make",
        "jobbers cancel ID",
        "jobbers list --status failed",
        "jobbers status",
        "jobbers submit echo -",
        "jobbers fetch",
        "jobbers demonstrate",
        "jobbers demo --slowly",
    ];
    assert_eq!(words, expected);
    let refused: Vec<&str> = commands
        .iter()
        .zip(&words)
        .filter(|(it, _)| complaint(&program, it).is_some())
        .map(|(_, it)| it.as_str())
        .collect();
    let wrong = [
        "get ID",
        "list --colour",
        "cleaner --forever",
        "queues make",
        "status",
        "fetch",
        "demonstrate",
        "demo --slowly",
    ];
    assert_eq!(refused, wrong.map(|command| format!("jobbers {command}")));
}
