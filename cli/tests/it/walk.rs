//! The walk of the README, run as it is printed, so that neither drifts from the other.

use std::{path::Path, process::Command};

use crate::jobbers::{Said, Up, said};

const README: &str = include_str!("../../../README.md");

/// What only a person starts: the build, and the system itself, which the test has started.
const NOT_HERE: [&str; 3] = ["cargo ", "export ", "jobbers up"];
/// What is expected to end with another code than 0: it waits for a task that fails.
const FAILING: &str = "jobbers submit fail ";

/// The commands of a section's blocks for a shell, each as one line.
fn commands(heading: &str) -> Vec<String> {
    let section = README.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
    let blocks = section.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
    let joined: Vec<String> = blocks.map(|block| block.replace("\\\n", " ")).collect();
    let lines = joined.iter().flat_map(|block| block.lines());
    lines
        .filter(|line| !line.is_empty() && !NOT_HERE.iter().any(|it| line.starts_with(it)))
        .map(str::to_owned)
        .collect()
}

/// What a person ends: here, one picture of it must do.
const WATCHING: &str = "jobbers top";
/// What prints a new task's id.
const SUBMITTING: [&str; 2] = ["jobbers submit ", "curl -s -X POST "];

/// The first task id in a text: 26 letters and digits.
fn first_id(text: &str) -> Option<&str> {
    let is_letter = |c: char| c.is_ascii_digit() || c.is_ascii_uppercase();
    text.split(|c: char| !is_letter(c)).find(|word| word.len() == 26)
}

/// Runs a line as a shell would, with `jobbers` on its path and the manager where the line expects it.
fn run(up: &Up, line: &str) -> Said {
    let mut line = line.replace("http://127.0.0.1:8000", &up.url);
    if line.starts_with(WATCHING) {
        line = format!("{WATCHING} --once");
    }
    let programs = Path::new(env!("CARGO_BIN_EXE_jobbers")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(&line).env("PATH", path).env("JOBBERS_URL", &up.url).current_dir(up.folder.path());
    let said = said(shell.output().unwrap());
    let code = if line.starts_with(FAILING) { 1 } else { 0 };
    assert_eq!(said.code, Some(code), "{line}: {said:?}");
    said
}

/// Runs all commands of a section, each `ID` being the latest one that was printed; answers what each said.
fn walk(up: &Up, heading: &str) -> Vec<(String, Said)> {
    let mut id = String::new();
    let mut told = Vec::new();
    for line in commands(heading) {
        let said = run(up, &line.replace("ID", &id));
        if SUBMITTING.iter().any(|it| line.starts_with(it)) {
            first_id(&said.out).unwrap_or_else(|| panic!("{line} prints no id: {said:?}")).clone_into(&mut id);
        }
        told.push((line, said));
    }
    told
}

fn told<'a>(walk: &'a [(String, Said)], line: &str) -> &'a str {
    let found = walk.iter().find(|(command, _)| command.starts_with(line));
    &found.unwrap_or_else(|| panic!("the README says no {line:?}: {walk:?}")).1.out
}

#[test]
fn the_first_walk_of_the_readme_works_as_printed() {
    let up = Up::start();
    std::fs::write(up.folder.path().join("README.md"), README).unwrap();
    let walk = walk(&up, "A first walk");
    assert!(walk.len() >= 11, "{walk:?}");
    let listed = told(&walk, "jobbers list");
    assert!(listed.contains("echo") && listed.contains("text.wordcount"), "{listed}");
    assert!(told(&walk, "jobbers status ID").contains("text.wordcount"));
    let slept = told(&walk, "curl -s 'http://127.0.0.1:8000/tasks/ID?wait=30s'");
    assert!(slept.contains(r#""name":"sleep""#) && slept.contains(r#""status":"completed""#), "{slept}");

    // And from here over a task that fails, to its dead letter, and back.
    let failed = first_id(told(&walk, "jobbers submit fail")).unwrap().to_owned();
    let letters = told(&walk, "jobbers dlq list");
    assert!(letters.contains(&failed) && letters.contains("no user 17"), "{letters}");
    let letter = told(&walk, "jobbers dlq show ID");
    assert!(letter.contains(&failed) && letter.contains("fatal"), "{letter}");
    let sent = told(&walk, "jobbers dlq resubmit ID");
    assert!(sent.starts_with("1 task sent again (operation "), "{sent}");
    let again = told(&walk, "jobbers status ID --wait");
    assert!(again.contains(&failed) && again.contains("completed"), "{again}");
}
