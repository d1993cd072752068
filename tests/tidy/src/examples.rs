//! What a user of the worker's library meets first has an example in its documentation, which the documentation's tests compile.

use crate::{
    rust::{paths, tokens},
    workspace::{Complaints, Source, file, files},
};

/// The files that say what the library exports.
const ROOMS: [&str; 4] = ["worker/src/lib.rs", "worker/src/canvas.rs", "worker/src/outbox.rs", "worker/src/testing.rs"];
/// What follows is for the macro.
const NOT_FOR_USERS: &str = "pub mod macro_support";
/// Names that are met with one that has an example: its parts, its answers, and what the macro writes.
const MET_LATER: &[&str] = &[
    "Answer",
    "Builder",
    "CarriedError",
    "CodecError",
    "CodecProblem",
    "Codecs",
    "ContentKind",
    "Cron",
    "Decode",
    "Drained",
    "DuplicateTask",
    "Encode",
    "InvalidCron",
    "Joined",
    "LEASE",
    "MYSQL",
    "MissingState",
    "Moved",
    "NeededState",
    "Next",
    "OutboxError",
    "POSTGRES",
    "Part",
    "Parts",
    "Reason",
    "RelayError",
    "Report",
    "SQLITE",
    "Submits",
    "TaskCall",
    "TaskFuture",
    "TestError",
];

/// What can have a name.
const KINDS: [&str; 7] = ["struct", "enum", "trait", "type", "fn", "const fn", "const"];

/// The names that a file exports: its own, and those of the files below it.
fn exports(text: &str) -> Vec<String> {
    let text = text.split(NOT_FOR_USERS).next().unwrap_or(text);
    let tokens = tokens(text);
    let shown = paths(&tokens).into_iter().filter(|path| path.is_shown && matches!(path.names[0], "self" | "crate"));
    let mut names: Vec<String> = shown.filter_map(|path| path.names.last().map(|&name| name.to_owned())).collect();
    for line in text.lines() {
        let item = KINDS.iter().find_map(|kind| line.strip_prefix(&format!("pub {kind} ")));
        names.extend(item.map(|item| item.split(|c: char| !is_part(c)).next().unwrap_or_default().to_owned()));
    }
    names.push("task".to_owned());
    names.sort();
    names.dedup();
    names
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a line begins the item of this name.
fn defines(line: &str, name: &str) -> bool {
    let begins = |start: String| line.strip_prefix(&start).is_some_and(|rest| !rest.starts_with(is_part));
    KINDS.iter().any(|kind| begins(format!("pub {kind} {name}")))
        || begins(format!("macro_rules! {name}"))
        || begins(format!("pub use jobbers_macros::{name}"))
}

/// Whether the documentation of an item has an example; `None` if it is defined elsewhere.
fn has_example(sources: &[Source], name: &str) -> Option<bool> {
    sources.iter().find_map(|source| {
        let lines: Vec<&str> = source.text.lines().collect();
        let at = lines.iter().position(|line| defines(line, name))?;
        let above = lines[..at].iter().rev().take_while(|line| !line.is_empty());
        Some(above.into_iter().any(|line| line.starts_with("/// ```")))
    })
}

#[test]
fn what_a_user_meets_first_has_an_example() {
    let sources =
        files(&[".rs"]).into_iter().filter(|source| source.path.starts_with("worker/src/")).collect::<Vec<_>>();
    let mut complaints = Complaints::default();
    let mut all = Vec::new();
    for room in ROOMS {
        let names = exports(&file(room).expect("the room is there"));
        assert!(names.len() > 5, "{room} exports {names:?}");
        for name in &names {
            let is_later = MET_LATER.contains(&&**name);
            match has_example(&sources, name) {
                Some(false) if !is_later => complaints.add(
                    room,
                    format!("`{name}` has no example: show it in its documentation, or name it in MET_LATER (tests/tidy/src/examples.rs)"),
                ),
                Some(true) if is_later => complaints.add(room, format!("`{name}` has an example: take it out of MET_LATER")),
                _ => {}
            }
        }
        all.extend(names);
    }
    for name in MET_LATER.iter().filter(|name| !all.iter().any(|exported| exported == *name)) {
        complaints
            .add("tests/tidy/src/examples.rs", format!("`{name}` is no longer exported: take it out of MET_LATER"));
    }
    complaints.settle();
}

#[test]
fn names_and_examples_are_found() {
    let room = "pub use self::{a::First, b::{Second, Third}};\npub use other::Fourth;\npub fn fifth() {}\n\
                pub mod macro_support { pub use crate::Sixth; }";
    assert_eq!(exports(room), ["First", "Second", "Third", "fifth", "task"]);
    let text = "/// ```\n/// ```\n#[derive(Debug)]\npub struct First<T>(T);\n\n/// Words.\npub struct Second;\n";
    let sources = [Source { path: "a.rs".to_owned(), text: text.to_owned() }];
    let found = ["First", "Second", "Third"].map(|name| has_example(&sources, name));
    assert_eq!(found, [Some(true), Some(false), None]);
}
