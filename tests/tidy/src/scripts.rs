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

/// Scripts that read records as they are stored. Others ask whether the task of a fresh record runs in a batch of leases: with
/// `as_leased`, or with `owned` if they may change it.
const READ_AS_STORED: [(&str, &[&str]); 4] = [
    (
        "know batches",
        &[
            "kernel/batches",
            "verbs/claim",
            "verbs/extend",
            "verbs/overdue_leases",
            "verbs/replay",
            "verbs/settle",
            "read/leases",
            "audit/audit",
            "blame/losses",
            "follow/gates",
        ],
    ),
    (
        "read tasks that wait or are over, and the leases that tasks have for themselves",
        &[
            "blame/held",
            "blame/suspects",
            "dependency/end_signals",
            "dependency/link_pieces",
            "follow/parents",
            "follow/pass",
            "follow/sizes",
            "follow/signal",
            "kernel/lane",
            "kernel/remove",
            "read/place",
            "read/stats",
            "verbs/maintain",
            "verbs/move",
            "verbs/prune",
            "verbs/trim",
        ],
    ),
    (
        "ask what a fresh record says of any task",
        &[
            "audit/edge_audit",
            "audit/held_audit",
            "backup/link_restored",
            "backup/restore",
            "follow/alike",
            "schedules/fire",
        ],
    ),
    ("have called `owned` for these tasks before", &["dependency/link", "verbs/duplicates", "verbs/submit"]),
];

#[test]
fn a_script_that_reads_records_asks_whether_they_run_in_a_batch() {
    let (mut complaints, mut seen) = (Complaints::default(), Vec::new());
    let excused: Vec<&str> = READ_AS_STORED.iter().flat_map(|(_, files)| *files).copied().collect();
    for source in scripts().filter(|source| source.path.contains("/redis/scripts/")) {
        let reads = |line: &&str| line.contains("'HGET', T,") || line.contains("'HMGET', T,");
        let asks = |line: &str| line.contains("as_leased(") || line.contains("owned(");
        let name = source.path.trim_end_matches(".lua");
        let excuse = excused.iter().find(|excused| name.ends_with(&format!("/{excused}")));
        let unasked = source.text.lines().filter(reads).any(|line| !asks(line));
        if unasked && excuse.is_none() {
            complaints.add(&source.path, "reads records: ask `as_leased` or `owned`, or list it with what it reads");
        }
        seen.extend(excuse.filter(|_| unasked));
    }
    for unused in excused.iter().filter(|excused| !seen.contains(excused)) {
        complaints.add("tests/tidy/src/scripts.rs", format!("`{unused}` needs no excuse any more"));
    }
    complaints.settle();
}
