//! Plain English in everything a person reads: comments, script headers, documents, dashboards and alerts.
//!
//! The list holds phrases that readers stumbled over, each with what to write in its place. It does not judge code or
//! string literals.

use crate::workspace::{Complaints, Source, files, names};

/// Phrases to avoid, and what to write instead. They match whole words, in lower or upper case.
const IDIOMS: &[(&str, &str)] = &[
    ("is told", "name who reports, returns, logs or notifies"),
    ("are told", "name who reports, returns, logs or notifies"),
    ("was told", "name who reports, returns, logs or notifies"),
    ("were told", "name who reports, returns, logs or notifies"),
    ("be told", "name who reports, returns, logs or notifies"),
    ("been told", "name who reports, returns, logs or notifies"),
    ("being told", "name who reports, returns, logs or notifies"),
    ("told of", "notified of"),
    ("tell of", "describe, report"),
    ("tells of", "describes, reports"),
    ("told apart", "distinguished"),
    ("tell apart", "distinguish"),
    ("tells apart", "distinguishes"),
    ("nobody", "no worker, no caller, no process"),
    ("somebody", "a client, another process"),
    ("anybody", "a client, any process"),
    ("everybody", "all clients, all workers"),
    ("whoever", "the caller, the process that"),
    ("whomever", "the caller, the process that"),
    ("anew", "again"),
    ("as yet", "yet"),
    ("of late", "recently"),
    ("by and by", "after a while"),
    ("there is no", "X does not exist, X not found, without X"),
    ("there are no", "X do not exist, without X"),
    ("stands", "is, is stored, waits"),
    ("stood", "was, was stored, waited"),
    ("stand aside", "are set aside"),
    ("lies apart", "is stored separately"),
    ("lie apart", "are stored separately"),
    ("kept apart", "stored separately"),
    ("lies beside", "is stored beside, is next to"),
    ("lie beside", "are stored beside, are next to"),
    ("what became of", "the outcome of, the result for"),
    ("what becomes of", "the outcome of, the action for"),
    ("says of", "reports about, sets for"),
    ("say of", "report about, set for"),
    ("said of", "reported about, given for"),
    ("says so", "name what it reports"),
    ("hear of", "learn of, are notified of"),
    ("hears of", "learns of, is notified of"),
    ("bring forth", "cause"),
    ("brings forth", "causes"),
    ("are come to", "are reached"),
    ("it is said", "name who documents it"),
];

/// Released migrations are never edited: their text is part of the stored schema.
fn is_released(path: &str) -> bool {
    path.contains("/migrations/")
}

/// The part of a line that a person reads: the comment of a source or script, all of a document.
fn prose<'a>(path: &str, line: &'a str) -> &'a str {
    let comment = match path.rsplit('.').next() {
        Some("rs") => "//",
        Some("lua" | "sql") => "--",
        Some("toml") if !path.starts_with("dashboards/") => "#",
        _ => return line,
    };
    // `://` begins no comment.
    let starts = line.match_indices(comment).find(|(at, _)| !line[..*at].ends_with(':'));
    starts.map_or("", |(at, _)| &line[at..])
}

/// The idioms of a source: the number of the line, and the idiom.
fn idioms(source: &Source) -> Vec<(usize, &'static (&'static str, &'static str))> {
    let mut found = Vec::new();
    for (number, line) in source.lines() {
        let text = prose(&source.path, line).to_lowercase();
        found.extend(IDIOMS.iter().filter(|(idiom, _)| names(&text, idiom)).map(|idiom| (number, idiom)));
    }
    found
}

#[test]
fn prose_uses_no_idiom_of_its_own() {
    let mut complaints = Complaints::default();
    let this = "tests/tidy/src/prose.rs";
    for source in files(&[".rs", ".lua", ".sql", ".md", ".toml", ".yml", ".yaml"]) {
        if source.path == this || is_released(&source.path) || source.path.contains("fixtures/") {
            continue;
        }
        for (number, (idiom, instead)) in idioms(&source) {
            complaints.add(format!("{}:{number}", source.path), format!("\"{idiom}\": write plainly ({instead})"));
        }
    }
    complaints.settle();
}

#[test]
fn an_idiom_is_found_in_a_comment_and_not_in_code() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let count = |path, text| idioms(&source(path, text)).len();
    assert_eq!(count("a/b.rs", "let nobody = \"nobody\";"), 0);
    assert_eq!(count("a/b.rs", "/// Nobody stands in the way."), 2);
    assert_eq!(count("a/b.lua", "local nobody = 1 -- written anew"), 1);
    assert_eq!(count("a/b.md", "It is\ntold, and understands."), 0);
}
