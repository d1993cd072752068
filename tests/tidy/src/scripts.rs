//! Lua lives in files of one operation each, SQL in files of named statements; all say what they do.

use crate::workspace::{Complaints, Source, files, names};

fn scripts() -> impl Iterator<Item = Source> {
    files(&[".rs", ".lua", ".sql"]).into_iter().filter(|source| !source.path.ends_with(".rs"))
}

/// The comment a script opens with, after the line that names a function library.
fn header(source: &Source) -> Vec<&str> {
    let lines = source.text.lines().skip_while(|line| line.starts_with("#!"));
    lines.take_while(|line| line.starts_with("--")).map(|line| line.trim_start_matches('-').trim()).collect()
}

#[test]
fn every_script_opens_with_its_purpose() {
    let mut complaints = Complaints::default();
    for source in scripts() {
        if header(&source).first().is_none_or(|purpose| purpose.len() < 12) {
            complaints.add(&source.path, "must open with `-- ` and a sentence on its purpose, inputs and answers");
        }
    }
    complaints.settle();
}

#[test]
fn every_statement_opens_with_its_name_and_its_purpose() {
    let mut complaints = Complaints::default();
    for source in scripts().filter(|source| source.path.ends_with(".sql") && !source.path.contains("/migrations/")) {
        for statement in source.text.split("\n\n") {
            let opening = statement.lines().next().unwrap_or_default();
            let purpose = opening.strip_prefix("-- ").and_then(|text| text.split_once(": "));
            if purpose.is_none_or(|(name, purpose)| name.contains(' ') || purpose.len() < 12) {
                complaints.add(&source.path, format!("`{opening}` must be `-- name: purpose`, after one empty line"));
            }
        }
    }
    complaints.settle();
}

#[test]
fn every_script_is_used() {
    let mut complaints = Complaints::default();
    let readers: Vec<Source> =
        files(&[".rs"]).into_iter().filter(|source| !source.path.starts_with("tests/")).collect();
    for source in scripts() {
        let name = source.path.rsplit('/').next().unwrap();
        let stem = name.split('.').next().unwrap();
        let crate_folder = source.path.split('/').next().unwrap();
        let used = readers.iter().filter(|reader| reader.path.starts_with(crate_folder)).any(|reader| {
            let includes = || ["include_str!", "statements!"].iter().any(|name| reader.text.contains(name));
            reader.text.contains(name) || names(&reader.text, stem) && includes()
        });
        if !used {
            complaints.add(&source.path, "is included by no source of its crate: use it or delete it");
        }
    }
    complaints.settle();
}
