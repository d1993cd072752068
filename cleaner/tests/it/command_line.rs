//! The `cleaner` program: what it refuses, what it prints, and with which code it ends.

use std::process::{Command, Output};

fn cleaner(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cleaner"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CLEANER_") || name.ends_with("_URL")) {
        command.env_remove(name);
    }
    command.args(args).output().unwrap()
}

fn fails_with(code: i32, word: &str, args: &[&str]) {
    let output = cleaner(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(word), "{said:?} does not say {word:?}");
    assert!(output.stdout.is_empty());
}

#[test]
fn it_refuses_to_run_when_nobody_says_what_to_prune() {
    fails_with(2, "nothing says what to prune", &["--dry-run"]);
}

#[test]
fn a_live_status_and_a_word_that_is_none_are_refused() {
    fails_with(2, "cancel them first", &["--status", "submitted"]);
    fails_with(2, "is not a status", &["--status", "done"]);
    fails_with(2, "is not a duration", &["--older-than", "a week"]);
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cleaner.toml");
    std::fs::write(&file, "status = [\"started\"]\n").unwrap();
    fails_with(64, "cancel them first", &["--config", file.to_str().unwrap()]);
    std::fs::write(&file, "older = \"7d\"\n").unwrap();
    fails_with(64, "older", &["--config", file.to_str().unwrap()]);
    fails_with(64, "too short", &["--retention", "--watch", "1ms"]);
    fails_with(64, "no-such.toml", &["--config", "no-such.toml"]);
}

#[test]
fn a_store_of_no_known_kind_is_refused() {
    fails_with(64, "is not the address of a store", &["--retention", "--engine-url", "mysql://localhost"]);
}

#[test]
fn a_store_that_is_not_there_ends_with_unavailable() {
    fails_with(69, "unavailable", &["--retention", "--engine-url", "redis://127.0.0.1:1"]);
}

#[test]
fn it_reports_in_json_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("jobbers.db").display());
    let output = cleaner(&["--retention", "--older-than", "7d", "--json", "--engine-url", &url]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["complete"], &report["removed"]), (&true.into(), &0.into()));
    assert_eq!(report["passes"][0]["pass"], "prune_retention");
    assert_eq!(report["passes"][1]["pass"], "prune_matching");
}
