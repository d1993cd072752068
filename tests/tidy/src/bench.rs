//! The benchmarks in Python are not run by the tests, but their programs parse, and those of the peers keep to one set of verbs.

use std::process::Command;

use crate::workspace::{Complaints, Source, file, files, root};

const FOLDER: &str = "bench/peers/";
/// What each peer is asked to do.
const VERBS: [&str; 4] = ["bulk", "single", "idle", "work"];
/// Parses files without running them or writing anything.
const PARSE_PYTHON: &str = "import ast, sys\nfor path in sys.argv[1:]: ast.parse(open(path).read(), path)";

fn programs(ending: &str) -> Vec<Source> {
    files(&[ending]).into_iter().filter(|source| source.path.starts_with(FOLDER)).collect()
}

fn parse(command: &mut Command) {
    let parsed = command.current_dir(root()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stderr));
}

#[test]
fn the_programs_of_the_peers_parse_and_know_every_verb() {
    let (python, node) = (programs(".py"), programs(".mjs"));
    let paths = python.iter().map(|source| source.path.as_str()).chain(["bench/peers/run", "bench/costs"]);
    parse(Command::new("python3").args(["-c", PARSE_PYTHON]).args(paths));
    for source in &node {
        parse(Command::new("node").args(["--check", &source.path]));
    }

    let driver = file("bench/peers/driver/peers.py").unwrap();
    // `client` in `deliveries.py` reads the verb of each peer in Python.
    let shared = file("bench/peers/python/deliveries.py").unwrap();
    let mut complaints = Complaints::default();
    let mut peers = 0;
    for source in python.into_iter().chain(node).chain(programs(".rb")).chain(programs(".rs")) {
        let name = source.path.rsplit('/').next().unwrap().split('.').next().unwrap();
        let stem = name.strip_suffix("_peer").unwrap_or(name);
        let folder = source.path.trim_start_matches(FOLDER).split('/').next().unwrap();
        if folder == "driver" || matches!(stem, "deliveries" | "lib") {
            continue;
        }
        peers += 1;
        let asked = if stem == "main" { "jobbers-peer" } else { stem };
        if !driver.contains(asked) {
            complaints.add(&source.path, "is started by no function of driver/peers.py");
        }
        let text = if folder == "python" { format!("{}{shared}", source.text) } else { source.text.to_lowercase() };
        for verb in VERBS.iter().filter(|verb| !text.contains(*verb)) {
            complaints.add(&source.path, format!("does not know the verb {verb}"));
        }
    }
    assert!(peers >= 8, "the peers are in other files than this test looks for: {peers}");
    complaints.settle();
}
