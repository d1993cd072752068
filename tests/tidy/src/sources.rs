//! Habits of the Rust sources.

use crate::workspace::{Complaints, Source, file, files};

const MAX_LINES: usize = 800;

/// Test code that may sleep, and why no event could be awaited instead.
const MAY_SLEEP: &[(&str, &str)] = &[
    ("tests/support/src/fault_proxy.rs", "delays the answers that pass through it: that is the fault"),
    ("tests/support/src/wait.rs", "polls what offers no event, within a bound: another process's HTTP port"),
    ("tests/system/src/bin/test-worker.rs", "its tasks wait for a file of the test to appear, in another process"),
    ("tests/system/src/watching/idle.rs", "measures the CPU time of an idle process over a stretch of time"),
];

/// Writes code into programs, and can't know whether they set a lint off.
const MAY_ALLOW: &str = "worker/macros/src/expansion.rs";

/// Code that opens files by other ways than `jobbers_engines::ordinary_file`, and why it can't meet a store's file that
/// its process has open.
const MAY_OPEN: &[(&str, &str)] = &[
    ("engines/src/ordinary_file.rs", "is the way itself"),
    ("bench/outbox/src/cost.rs", "reads what the kernel says of processes, and a file of Postgres"),
    ("sqlite-file/src/held.rs", "creates the file of a new store, before SQLite opens it"),
    ("engines/src/sqlite/store/heartbeats/locks.rs", "opens the file beside the store that is not SQLite's"),
    ("engines/src/sqlite/store/mark.rs", "opens the file beside the store that is not SQLite's"),
    ("engines/src/sqlite/store/reserve.rs", "opens the file beside the store that occupies room on the disk"),
    ("engines/src/redis/server/tls.rs", "reads the authorities that the address of a Redis names"),
    ("process/src/config/layers.rs", "reads the configuration at the start, before a store is opened"),
    ("process/src/server/tls/identity.rs", "reads the certificates that the configuration names"),
    ("process/src/server/socket_file.rs", "opens the folder of a socket, to lock it"),
    ("process/src/client_key.rs", "reads the file of an access key that the environment or a flag names"),
    ("cli/src/profile.rs", "reads the profiles of a user, under their own fixed name"),
    ("api/src/client/tls_files.rs", "reads the certificates that a manager's address names"),
    ("process/src/site.rs", "reads and writes the address file, under its own fixed name"),
    ("cli/src/bench/cpu.rs", "reads what the kernel says of its own threads"),
    ("cli/src/commands/settings/workflow.rs", "a client's command, which has no store open"),
    (
        "cli/src/journal/reader.rs",
        "reads the journal before the store is opened, and what is no journal is closed then",
    ),
    ("cli/src/demo/split.rs", "creates files in a temporary folder of its own"),
];
/// Ways to open a file.
const OPENS: &[&str] = &[
    "File::open(",
    "File::create(",
    "OpenOptions::new()",
    "fs::read(",
    "fs::read_to_string(",
    "fs::write(",
    "fs::copy(",
];

/// Whether a line is test code: in a folder or file of tests, or below the `#[cfg(test)]` that closes a source.
fn test_lines(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let all = source.path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "conformance" | "benches"));
    let from = source.text.lines().position(|line| line.trim() == "#[cfg(test)]").unwrap_or(usize::MAX);
    source.code().filter(move |(number, _)| all || *number > from)
}

#[test]
fn a_source_fits_in_a_room() {
    let mut complaints = Complaints::default();
    for source in files(&[".rs", ".lua", ".sql"]) {
        let lines = source.text.lines().count();
        if lines >= MAX_LINES {
            complaints.add(&source.path, format!("has {lines} lines, {MAX_LINES} are too many: split it by its nouns"));
        }
    }
    complaints.settle();
}

#[test]
fn the_length_of_functions_is_linted() {
    let workspace = file("Cargo.toml").unwrap();
    let clippy = file("clippy.toml").unwrap();
    assert!(workspace.contains("too_many_lines = \"warn\""), "Cargo.toml must lint too_many_lines");
    assert!(clippy.contains("too-many-lines-threshold = 70"), "clippy.toml must set too-many-lines-threshold = 70");
}

#[test]
fn nothing_is_left_unfinished() {
    // Split, so that this file does not find itself.
    let marks = [concat!("to", "do!("), concat!("unimple", "mented!("), concat!("FIX", "ME"), concat!("XX", "X:")];
    let mut complaints = Complaints::default();
    for source in files(&[".rs", ".lua", ".sql", ".toml", ".md", ".sh", "check"]) {
        for (number, line) in source.lines() {
            for mark in marks.iter().filter(|mark| line.contains(*mark)) {
                complaints
                    .add(format!("{}:{number}", source.path), format!("{mark} is left: finish it, or take it out"));
            }
        }
    }
    complaints.settle();
}

#[test]
fn a_lint_is_expected_with_a_reason_and_never_allowed() {
    let allow = [concat!("#[al", "low("), concat!("#![al", "low(")];
    let mut complaints = Complaints::default();
    for source in files(&[".rs"]) {
        if source.path == MAY_ALLOW {
            continue;
        }
        for (number, line) in source.code() {
            if allow.iter().any(|mark| line.contains(mark)) {
                complaints.add(
                    format!("{}:{number}", source.path),
                    "write #[expect(lint, reason = \"…\")]: it says why, and complains when it is no longer needed",
                );
            }
        }
    }
    complaints.settle();
}

#[test]
fn tests_await_events_and_do_not_sleep() {
    let sleeps = [concat!("thread::", "sleep("), concat!("time::", "sleep("), concat!(" sl", "eep(Duration")];
    let mut complaints = Complaints::default();
    for source in files(&[".rs"]) {
        if MAY_SLEEP.iter().any(|(path, _)| *path == source.path) {
            continue;
        }
        for (number, line) in test_lines(&source) {
            if sleeps.iter().any(|sleep| line.contains(sleep)) {
                complaints.add(
                    format!("{}:{number}", source.path),
                    "a sleeping test: await the event, move a clock, or give the reason in MAY_SLEEP \
                     (tests/tidy/src/sources.rs)",
                );
            }
        }
    }
    complaints.settle();
}

#[test]
fn whoever_may_sleep_is_there_and_gives_a_reason() {
    for (path, reason) in MAY_SLEEP {
        assert!(file(path).is_some(), "{path} is gone: take it out of MAY_SLEEP");
        assert!(reason.len() > 20, "{path}: say why no event can be awaited");
    }
}

#[test]
fn a_file_is_opened_so_that_no_store_loses_its_locks() {
    let mut complaints = Complaints::default();
    let is_program = |source: &&Source| {
        let rooms = ["tests/", "law/", "dashboards/"];
        !rooms.iter().any(|room| source.path.starts_with(room)) && !source.path.contains("/examples/")
    };
    for source in files(&[".rs"]).iter().filter(is_program) {
        if MAY_OPEN.iter().any(|(path, _)| *path == source.path) {
            continue;
        }
        let tests: Vec<usize> = test_lines(source).map(|(number, _)| number).collect();
        for (number, line) in source.code().filter(|(number, _)| !tests.contains(number)) {
            let line = line.replace("OrdinaryFile::open(", "");
            if OPENS.iter().any(|open| line.contains(open)) && !line.contains("\"/proc/") {
                complaints.add(
                    format!("{}:{number}", source.path),
                    "opens a file: use jobbers_engines::ordinary_file, or say in MAY_OPEN (tests/tidy/src/sources.rs) \
                     why it can't be one that an open store has locked",
                );
            }
        }
    }
    complaints.settle();
}

#[test]
fn what_may_open_files_is_there() {
    for (path, _) in MAY_OPEN {
        let text = file(path).unwrap_or_else(|| panic!("{path} is gone: take it out of MAY_OPEN"));
        assert!(OPENS.iter().any(|open| text.contains(open)), "{path} opens no file: take it out of MAY_OPEN");
    }
}

/// Whether a line reads a column of a row by its number. The only column of a statement has the number 0.
fn reads_by_number(line: &str) -> bool {
    [".get(", ".get_ref(", ".get::<"].iter().flat_map(|call| line.match_indices(call)).any(|(at, call)| {
        let rest = &line[at + call.len()..];
        let argument =
            if call.ends_with('<') { rest.split_once(">(").map_or("", |(_, argument)| argument) } else { rest };
        argument.split_once(')').is_some_and(|(number, _)| number.parse::<u16>().is_ok_and(|number| number > 0))
    })
}

#[test]
fn columns_are_read_by_their_names() {
    let mut complaints = Complaints::default();
    let is_of_sqlite = |source: &&Source| {
        ["engines/src/sqlite/", "archive/src/", "sqlite-file/src/"].iter().any(|room| source.path.starts_with(room))
    };
    for source in files(&[".rs"]).iter().filter(is_of_sqlite) {
        for (number, _) in source.code().filter(|(_, line)| reads_by_number(line)) {
            complaints.add(
                format!("{}:{number}", source.path),
                "reads a column by its number: name it, in the statement as well, or take its place from \
                 jobbers_sqlite_file::columns",
            );
        }
    }
    complaints.settle();
}

#[test]
fn a_column_that_is_read_by_its_number_is_found() {
    for line in ["let at = row.get(2)?;", "row.get::<_, Option<i64>>(13)?", "row.get_ref(5)?.as_blob()"] {
        assert!(reads_by_number(line), "{line}");
    }
    for line in ["row.get(0)?", "row.get(\"key\")?", "row.get(queue)?", "found.get(limit.wrapping_sub(1))"] {
        assert!(!reads_by_number(line), "{line}");
    }
}

/// Where the manager may read a whole body: both leave the threads that serve other requests when it is long.
const MAY_DECODE: &[&str] = &["manager/src/handlers/extract.rs", "manager/src/api/tasks/submit.rs"];

#[test]
fn the_manager_reads_bodies_where_long_ones_delay_no_other_request() {
    let mut complaints = Complaints::default();
    for source in files(&[".rs"]) {
        let is_free = MAY_DECODE.contains(&source.path.as_str()) || !source.path.starts_with("manager/src/");
        let decodes = source.code().filter(|(_, line)| !is_free && line.contains("json::decode"));
        for (number, _) in decodes {
            complaints
                .add(format!("{}:{number}", source.path), "read bodies with `JsonBytes::decode` or `JsonBytes::read`");
        }
    }
    complaints.settle();
}

#[test]
fn no_path_of_somebody_s_machine_is_written_down() {
    let homes = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];
    let mut complaints = Complaints::default();
    for source in files(&[".rs", ".lua", ".sql", ".toml", ".md", ".sh", ".yml", ".yaml", ".json", "check", ".ci/run"]) {
        for (number, line) in source.lines() {
            for home in homes.iter().filter(|home| line.contains(*home)) {
                complaints.add(
                    format!("{}:{number}", source.path),
                    format!("{home} is a folder of one machine: use a relative path, an argument or a temp folder"),
                );
            }
        }
    }
    complaints.settle();
}

#[test]
fn every_source_opens_by_saying_what_it_is_for() {
    let mut complaints = Complaints::default();
    for source in files(&[".rs"]) {
        if !source.text.starts_with("//!") {
            complaints.add(&source.path, "must open with //! and a sentence on its purpose");
        }
    }
    complaints.settle();
}
