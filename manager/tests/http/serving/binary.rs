//! The program itself: what it prints, what it refuses, and that it serves until it is stopped.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Output, Stdio},
};

fn manager() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manager"));
    for variable in ["MANAGER_LISTEN", "MANAGER_CONFIG", "ENGINE_URL", "REDIS_URL", "JOBBERS_LOG", "JOBBERS_LOG_FORMAT"]
    {
        command.env_remove(variable);
    }
    command
}

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = manager().args(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn it_tells_its_version_and_its_options() {
    let (code, out, _) = run(&["--version"]);
    assert_eq!((code, out.trim()), (Some(0), concat!("manager ", env!("CARGO_PKG_VERSION"))));
    let (code, out, _) = run(&["--help"]);
    assert_eq!(code, Some(0));
    let secret = manager().arg("--help").env("ENGINE_URL", "redis://:s3cret@host").output().unwrap();
    assert!(!String::from_utf8(secret.stdout).unwrap().contains("s3cret"));
    for told in ["--listen", "--engine-url", "MANAGER_CONFIG", "Exit codes"] {
        assert!(out.contains(told), "{told}");
    }
}

#[test]
fn it_prints_what_its_layers_come_to() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.toml");
    std::fs::write(&file, "tick = \"300ms\"\nengine_url = \"redis://:secret@host\"\n").unwrap();
    let (code, out, _) = run(&["--config", file.to_str().unwrap(), "--listen", "127.0.0.1:9", "--print-config"]);
    assert_eq!(code, Some(0));
    for line in ["tick = \"300ms\"", "listen = \"127.0.0.1:9\"", "engine_url = \"redis://:***@host\""] {
        assert!(out.contains(line), "{line} in {out}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_its_code() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.toml");
    std::fs::write(&file, "tikc = \"3s\"\n").unwrap();
    let group = "g".repeat(1_025);
    let long = format!("unix:/{}", "x".repeat(107));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let cases: [(&[&str], i32, &str); 26] = [
        (&["--lisen", "x"], 2, "--listen"),
        (&["--listen", "here"], 2, "--listen"),
        (&["--config", file.to_str().unwrap()], 64, "tikc"),
        (&["--config", "/no/such/file.toml"], 64, "/no/such/file.toml"),
        (&["--log", "a=b=c"], 64, "--log"),
        (&["--listen", "0.0.0.0:0"], 64, "--insecure"),
        (&["--listen", "0.0.0.0:0"], 64, "--behind-proxy"),
        (&["--behind-proxy", "10.0.0.0/33"], 2, "write 10.0.0.0/8"),
        (&["--behind-proxy", "proxy.example"], 2, "write 10.0.0.0/8"),
        (&["--trusted-header", "X-Forwarded-User"], 64, "--trusted-from 10.0.0.5"),
        (&["--trusted-from", "10.0.0.5"], 64, "--trusted-header X-Forwarded-User"),
        (&["--trusted-header", "X-Forwarded-User", "--trusted-from", "10.0.0.5,::/0"], 64, "is every address"),
        (&["--trusted-header", "Remote-User", "--trusted-from", "proxy.example"], 2, "write 10.0.0.0/8"),
        (&["--taskstore-listen", "here"], 2, "--taskstore-listen"),
        (&["--taskstore-listen", "0.0.0.0:0"], 64, "--insecure"),
        (&["--taskstore-unit", "s"], 2, "write ms or ns"),
        (&["--taskstore-listen", &long], 2, "at most 107"),
        (&["--taskstore-listen", "unix:front.sock"], 2, "names no whole path"),
        (&["--masstasker-listen", "unix:/x?mode=0999"], 2, "?mode=0660"),
        (&["--listen", "unix:/run/x.sock"], 2, "--listen"),
        (
            &[
                "--engine-url",
                "sqlite::memory:",
                "--listen",
                "127.0.0.1:0",
                "--masstasker-listen",
                "unix:/no/such/x.sock",
            ],
            69,
            "--masstasker-listen",
        ),
        (&["--masstasker-listen", "here"], 2, "--masstasker-listen"),
        (&["--masstasker-listen", "0.0.0.0:0"], 64, "--insecure"),
        (&["--bootstrap-task-group", &group], 64, "at most 1024 bytes"),
        (&["--engine-url", "carrier://me:s3cret@pigeon"], 64, "carrier://…"),
        (&["--engine-url", "sqlite:///no/such/folder/jobbers.db"], 64, "/no/such/folder"),
    ];
    for (arguments, code, told) in cases {
        let (found, _, err) = run(arguments);
        assert!(found == Some(code) && err.contains(told), "{arguments:?}: {found:?} {err}");
        assert!(!err.contains("s3cret"), "{err}");
    }
    let (code, _, err) = run(&["--engine-url", "sqlite::memory:", "--listen", &taken]);
    assert!(code == Some(69) && err.contains(&taken), "{code:?} {err}");
    let both = ["--engine-url", "sqlite::memory:", "--listen", "127.0.0.1:0", "--taskstore-listen", &taken];
    let (code, _, err) = run(&both);
    assert!(code == Some(69) && err.contains("--taskstore-listen"), "{code:?} {err}");
}

#[test]
fn it_serves_until_it_is_told_to_stop() {
    let mut child = manager()
        .args(["--engine-url", "sqlite::memory:", "--listen", "127.0.0.1:0", "--log-format", "json"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let address = lines
        .find_map(|line| {
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            line["fields"]["address"].as_str().map(str::to_owned)
        })
        .expect("it says where it listens");
    assert!(std::net::TcpStream::connect(&address).is_ok());
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(lines.any(|line| line.contains("stopped")));
}

#[test]
fn it_logs_the_absolute_path_of_its_archive() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = manager()
        .args(["--listen", "127.0.0.1:0", "--log-format", "json"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let archive = lines.find_map(|line| {
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        line["fields"]["archive"].as_str().map(str::to_owned)
    });
    let path = folder.path().canonicalize().unwrap().join("jobbers.dead-letters.db");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(archive.as_deref(), path.to_str());
}
