//! The examples run as their page prints them, and print what it says.

use std::{env, fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use jobbers_test_support::binaries::binary;

/// In place of `cargo run -p jobbers-worker --example NAME -- …`: starts the program that is built already.
const CARGO: &str = "#!/bin/sh
[ \"$1 $2 $3 $4\" = 'run -p jobbers-worker --example' ] || { echo \"unexpected: cargo $*\" >&2; exit 2; }
name=$5
shift 5
[ \"$1\" != -- ] || shift
exec \"$EXAMPLES/$name\" \"$@\"
";

/// The commands of a page, each with what it says they print.
fn commands(page: &str) -> Vec<(String, String)> {
    let block = |text: &str| text.split_once("\n```").map(|(block, _)| format!("{block}\n")).unwrap();
    let parts = page.split("```sh\n").skip(1);
    parts.map(|part| (block(part), part.split_once("```text\n").map(|(_, text)| block(text)).unwrap())).collect()
}

#[test]
fn the_examples_run_as_their_page_prints_them() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(workspace.join("worker/examples/README.md")).unwrap();
    let examples = binary("examples/nightly").parent().unwrap().to_owned();
    let (folder, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cargo = tools.path().join("cargo");
    fs::write(&cargo, CARGO).unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", tools.path().display(), env::var("PATH").unwrap());
    for (commands, expected) in commands(&page) {
        let run = Command::new("sh")
            .args(["-e", "-c", &commands])
            .current_dir(folder.path())
            .env("PATH", &path)
            .env("EXAMPLES", &examples)
            .output()
            .unwrap();
        let (printed, errors) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        assert!(run.status.success(), "{commands}{printed}{errors}");
        assert_eq!(printed, expected, "{commands}{errors}");
    }
}

#[test]
fn every_example_is_on_the_page() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worker/examples");
    let page = fs::read_to_string(folder.join("README.md")).unwrap();
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "README.md" || page.contains(&format!("[{name}]({name})")), "{name}");
    }
}
