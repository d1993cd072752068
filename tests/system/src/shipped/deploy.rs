//! What `deploy/` ships: systemd accepts the units, and what units and image start runs and stops in good order.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use jobbers_test_support::{binaries::binary, program::Program};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stack::Manager;

/// Where the units expect the program, and where they keep their data.
const PROGRAM: &str = "/usr/local/bin/jobbers";
const STATE: &str = "/var/lib/jobbers";
const UNITS: [&str; 3] = ["jobbers-manager.service", "jobbers-worker@.service", "jobbers-cleaner.service"];
/// Judges units.
const ANALYZE: &str = "systemd-analyze";
/// The most that a unit may be exposed, in tenths, as `systemd-analyze security` counts it; 100 is no protection.
const EXPOSURE: &str = "--threshold=20";

/// A file of the repository.
fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn unit(name: &str) -> String {
    read(&format!("deploy/systemd/{name}"))
}

/// The values of a unit's directive.
fn values<'a>(unit: &'a str, directive: &str) -> Vec<&'a str> {
    unit.lines().filter_map(|line| line.strip_prefix(directive)?.strip_prefix('=')).collect()
}

/// Starts what a unit starts, with its settings, in a folder in place of its own.
fn start(name: &str, folder: &Path, more: &[(&str, &str)]) -> Program {
    let (unit, settings) = (unit(name), read("deploy/systemd/jobbers.env"));
    assert_eq!(values(&unit, "WorkingDirectory"), [STATE], "{name}");
    let [command] = values(&unit, "ExecStart")[..] else { panic!("{name} starts one program") };
    let arguments: Vec<&str> = command.strip_prefix(PROGRAM).unwrap().split_whitespace().collect();
    let own = values(&unit, "Environment");
    let lines = settings.lines().filter(|line| !line.starts_with('#')).chain(own);
    let written: Vec<(String, String)> = lines
        .map(|line| line.split_once('=').unwrap())
        .map(|(key, value)| (key.to_owned(), value.replace(STATE, folder.to_str().unwrap()).replace("%i", "default")))
        .collect();
    let mut environment: Vec<(&str, &str)> =
        written.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    environment.extend(more);
    Program::start("jobbers", folder, &arguments, &environment)
}

async fn stops_in_good_order(mut program: Program) {
    program.signal(Signal::SIGTERM);
    let status = program.exit().await;
    assert_eq!(status.code(), Some(0), "{}", program.said());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_units_start_runs_a_task_and_stops_in_good_order() {
    let folder = TempDir::new().unwrap();
    let [manager, worker, cleaner] = UNITS;
    let manager = Manager::ready(start(manager, folder.path(), &[("MANAGER_LISTEN", "127.0.0.1:0")])).await;
    let worker = start(worker, folder.path(), &[]);
    worker.line("worker started").await;
    let cleaner = start(cleaner, folder.path(), &[]);
    cleaner.line("opened the store").await;
    manager.api.post("/tasks", &json!({"id": "a", "name": "echo", "parameters": {"hello": "unit"}})).await.ok();
    let task = manager.api.finished("a").await;
    assert_eq!((&task["status"], &task["result"]["hello"]), (&json!("completed"), &json!("unit")), "{task}");
    assert!(folder.path().join("jobbers.db").exists(), "the store is in the folder of the units");
    stops_in_good_order(cleaner).await;
    stops_in_good_order(worker).await;
    stops_in_good_order(manager.program).await;
}

/// The tool of systemd that judges units. It needs no systemd that runs.
fn systemd_analyze() -> Command {
    let found = Command::new(ANALYZE).arg("--version").output();
    assert!(
        found.is_ok_and(|version| version.status.success()),
        "{ANALYZE} is missing, and this test has it judge the units: install it (apt-get install systemd)"
    );
    Command::new(ANALYZE)
}

#[test]
fn systemd_accepts_the_units_and_finds_them_hardened() {
    let folder = TempDir::new().unwrap();
    let files = UNITS.map(|name| {
        let text = unit(name);
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '['])) {
            assert!(line.split_once('=').is_some_and(|(key, _)| !key.contains(' ')), "{name}: {line}");
        }
        assert_eq!(values(&text, "User"), ["jobbers"], "{name}");
        // A store may be away for longer than five starts take.
        let start_limit = values(text.split("[Service]").next().unwrap(), "StartLimitIntervalSec");
        assert_eq!(start_limit, ["0"], "{name}");
        // A directive that a later systemd knows is passed over, so all are checked by the one that is there. It also
        // looks for the program.
        let file = folder.path().join(name);
        fs::write(&file, text.replace(PROGRAM, binary("jobbers").to_str().unwrap())).unwrap();
        file
    });
    let verified = systemd_analyze().args(["verify", "--man=no"]).args(&files).output().unwrap();
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(verified.status.success() && said.is_empty(), "{said}");
    for file in &files {
        let rated = systemd_analyze().args(["security", "--offline=true", EXPOSURE]).arg(file).output().unwrap();
        assert!(rated.status.success(), "{}", String::from_utf8_lossy(&rated.stdout));
    }
}

/// The instructions of a Dockerfile, each with its arguments in one line.
fn instructions(text: &str) -> Vec<(String, String)> {
    let joined = text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    let lines = joined.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| line.split_once(' ').unwrap())
        .map(|(verb, rest)| (verb.to_owned(), rest.trim().to_owned()))
        .collect()
}

/// In place of `cargo` in the image: puts the program under test where a build of that profile would. A real one takes a
/// quarter of an hour.
const CARGO: &str = r#"#!/bin/sh
set -eu
[ "$1" = build ] && [ -f Cargo.lock ] && [ -f cli/Cargo.toml ]
while [ "$1" != --profile ]; do shift; done
mkdir -p "target/$2"
cp "$PROGRAM" "target/$2/jobbers"
"#;

/// Copies the files of a folder, but those whose path `is_left_out`.
fn copy_tree(from: &Path, to: &Path, is_left_out: &dyn Fn(&Path) -> bool) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| !is_left_out(&entry.path())) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target, is_left_out);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Copies the sources as a build of the image sees them.
fn copy_sources(to: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ignored = read("deploy/Dockerfile.dockerignore");
    let patterns: Vec<&str> = ignored.lines().filter(|line| !line.starts_with('#')).collect();
    let is_left_out = |path: &Path| {
        let path = path.strip_prefix(&root).unwrap();
        patterns.iter().any(|pattern| match pattern.strip_prefix("**/") {
            Some(name) => path.ends_with(name),
            None => path == Path::new(pattern),
        })
    };
    copy_tree(&root, to, &is_left_out);
}

/// Carries out the steps of an image: each stage in a folder in place of its root. What needs a user with privileges is
/// left out. Returns the folder of the last stage.
fn carry_out(instructions: &[(String, String)], folder: &Path) -> PathBuf {
    let tools = folder.join("tools");
    fs::create_dir(&tools).unwrap();
    fs::write(tools.join("cargo"), CARGO).unwrap();
    fs::set_permissions(tools.join("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    let (mut stage, mut workdir) = (folder.to_owned(), folder.to_owned());
    for (verb, rest) in instructions {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let within = |stage: &Path, path: &str| stage.join(path.trim_start_matches('/'));
        match (verb.as_str(), &words[..]) {
            ("FROM", [_, "AS", name]) => stage = folder.join(name),
            ("FROM", _) => stage = folder.join("last"),
            ("WORKDIR", [path]) => {
                workdir = within(&stage, path);
                fs::create_dir_all(&workdir).unwrap();
            }
            ("COPY", [".", "."]) => copy_sources(&workdir),
            ("COPY", [from, source, target]) => {
                let from = folder.join(from.strip_prefix("--from=").unwrap());
                copy_tree(&within(&from, source), &within(&stage, target), &|_| false);
            }
            ("RUN", ["useradd" | "apt-get", ..]) | ("USER" | "CMD" | "ENV" | "HEALTHCHECK", _) => {}
            ("RUN", _) => {
                let typed = words.iter().skip_while(|word| word.starts_with("--mount="));
                let rooted = typed.map(|word| match word.strip_prefix('/') {
                    Some(path) => stage.join(path).display().to_string(),
                    None => (*word).to_owned(),
                });
                let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
                let mut shell = Command::new("sh");
                shell.args(["-ec", &rooted.collect::<Vec<_>>().join(" ")]).current_dir(&workdir);
                let ran = shell.env("PATH", path).env("PROGRAM", binary("jobbers")).output().unwrap();
                assert!(ran.status.success(), "{rest}: {ran:?}");
            }
            _ => panic!("this test does not know {verb} {rest}"),
        }
    }
    stage
}

#[test]
fn the_steps_of_the_image_leave_a_program_that_starts() {
    let folder = TempDir::new().unwrap();
    let root = carry_out(&instructions(&read("deploy/Dockerfile")), folder.path());
    assert!(folder.path().join("build/src/Cargo.lock").exists() && !folder.path().join("build/src/.git").exists());
    let said = Command::new(root.join("usr/local/bin/jobbers")).arg("--version").output().unwrap();
    assert!(said.status.success() && said.stdout.starts_with(b"jobbers "), "{said:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_image_is_made_of_what_the_workspace_builds_and_starts_it() {
    let instructions = instructions(&read("deploy/Dockerfile"));
    let all = |verb: &str| -> Vec<&str> {
        instructions.iter().filter(|(it, _)| it == verb).map(|(_, rest)| rest.as_str()).collect()
    };
    // Built by the toolchain of the workspace, in a profile and from a package that it has.
    let toolchain = read("rust-toolchain.toml");
    let version = toolchain.lines().find_map(|line| line.strip_prefix("channel = \"")?.strip_suffix('"')).unwrap();
    let image = all("FROM")[0].strip_prefix("rust:").unwrap();
    assert!(version.starts_with(image.split('-').next().unwrap()), "{image} is not of {version}");
    let building = all("RUN").into_iter().find(|run| run.contains("cargo build")).unwrap();
    let words: Vec<&str> = building.split_whitespace().collect();
    let after = |flag: &str| words[words.iter().position(|word| *word == flag).unwrap() + 1];
    assert!(read("Cargo.toml").contains(&format!("[profile.{}]", after("--profile"))), "{building}");
    assert!(words.contains(&"--locked") && read("cli/Cargo.toml").contains(&format!("name = \"{}\"", after("-p"))));
    assert!(words.contains(&format!("target/{}/jobbers", after("--profile")).as_str()), "{building}");

    // The base image has no certificate authorities.
    assert!(all("RUN").iter().any(|run| run.contains("apt-get install") && run.contains("ca-certificates")));

    // Started as a user without privileges.
    let user = all("USER");
    assert!(!user.is_empty() && user.iter().all(|user| *user != "root" && *user != "0"), "{user:?}");
    let command: Vec<String> = serde_json::from_str::<Value>(all("CMD")[0]).and_then(serde_json::from_value).unwrap();
    let (program, arguments) = command.split_first().unwrap();
    let arguments: Vec<String> = arguments.iter().map(|it| it.replace("0.0.0.0:8000", "127.0.0.1:0")).collect();
    let folder = TempDir::new().unwrap();
    let program = Program::start(program, folder.path(), &arguments, &[]);
    let url = program.line("jobbers is up at http://127.0.0.1:").await;
    let url = url.split_whitespace().find(|word| word.starts_with("http://")).unwrap().trim_end_matches([';', ',']);
    // The image's own health check, asked where this one listens.
    let check = all("HEALTHCHECK")[0].split_once("CMD ").unwrap().1;
    let check: Vec<String> = serde_json::from_str(check).unwrap();
    assert_eq!(check[0], "jobbers");
    let asked = Command::new(binary("jobbers")).args(&check[1..]).args(["--manager", url]).output().unwrap();
    assert!(asked.status.success(), "{asked:?}");
    stops_in_good_order(program).await;

    let compose = read("dashboards/compose.yaml");
    assert!(compose.contains("dockerfile: deploy/Dockerfile"), "what runs there is this image");
}
