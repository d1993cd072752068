//! What the Tab key offers.

use std::{path::Path, process::Command};

use crate::jobbers::{Up, run, said};

/// What bash offers behind these words, with the script that users install.
fn offered(up: &Up, words: &[&str]) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_jobbers");
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let line = format!(
        "source <(jobbers completions bash); COMP_WORDS=(jobbers {}); COMP_CWORD={}; _jobbers; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        words.len(),
    );
    let path = format!("{}:{}", Path::new(program).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-c", &line]).env("PATH", path).env("JOBBERS_URL", &up.url).current_dir(up.folder.path());
    let said = said(shell.output().unwrap()).ok();
    said.out.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn the_shell_offers_commands_queues_tasks_and_ids() {
    let up = Up::start();
    up.jobbers(&["queues", "create", "mail", "--paused"]).ok();
    up.jobbers(&["submit", "echo", "--queue", "mail", "--id", "order:7/a"]).ok();
    up.jobbers(&["submit", "echo", "--id", "order:8", "--wait"]).ok();
    assert_eq!(offered(&up, &["resub"]), ["resubmit"]);
    assert_eq!(offered(&up, &["list", "--queue", ""]), ["default", "mail"]);
    assert_eq!(offered(&up, &["list", "--queue", "=", "ma"]), ["mail"]);
    assert_eq!(offered(&up, &["submit", "text."]), ["text.wordcount"]);
    assert_eq!(offered(&up, &["status", "order:"]), ["order:7/a", "order:8"]);
    assert_eq!(offered(&up, &["cancel", ""]), ["order:7/a"], "the other one is over");
    assert!(offered(&up, &["dlq", "show", ""]).is_empty());
}

#[test]
fn a_manager_is_named_in_one_word_or_two() {
    let up = Up::start();
    up.jobbers(&["queues", "create", "mail"]).ok();
    let flag = format!("--manager={}", up.url);
    for named in [&["--manager", &*up.url][..], &[&flag], &["--manager", "=", &up.url]] {
        let words = [&["complete", "--", "list"], named, &["--queue", ""]].concat();
        assert_eq!(run(&words).ok().out, "default\nmail\n", "{named:?}");
    }
}

#[test]
fn without_a_manager_what_is_fixed_is_offered_and_nothing_is_said() {
    let here = ["complete", "--", "list", "--manager", "http://127.0.0.1:1"];
    assert_eq!(run(&[&here[..], &["--status", "comp"]].concat()).ok().out, "completed\n");
    let nothing = run(&[&here[..], &["--queue", ""]].concat()).ok();
    assert!(nothing.out.is_empty() && nothing.err.is_empty(), "{nothing:?}");
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(&["completions", shell]).ok().out.contains(" complete -- "), "{shell}");
    }
    assert!(run(&["completions", "elvish"]).ok().out.contains("scheduled"));
}
