//! An invariant that ARCHITECTURE.md states is held by a test it names.
//!
//! The form is a line that starts with `**Invariant**` and ends in the test's name, in backquotes and parentheses:
//! `**Invariant** A completed task is never resubmitted. (`a_completed_task_is_never_resubmitted`)`.

use crate::workspace::{Complaints, file, files, names};

const DOCUMENT: &str = "ARCHITECTURE.md";

#[test]
fn every_invariant_names_a_test_that_exists() {
    let Some(text) = file(DOCUMENT) else { return };
    let sources = files(&[".rs"]);
    let mut complaints = Complaints::default();
    let mut held = 0;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start_matches(['-', '*', ' ']).trim_end();
        let Some(statement) = line.strip_prefix("Invariant**") else { continue };
        let place = format!("{DOCUMENT}:{}", index + 1);
        let Some((_, test)) = statement.strip_suffix("`)").and_then(|rest| rest.rsplit_once("(`")) else {
            complaints.add(place, "an invariant ends in the name of the test that holds it: (`test_name`)");
            continue;
        };
        held += 1;
        if !sources.iter().any(|source| names(&source.text, test)) {
            complaints.add(place, format!("there is no test `{test}`: write it, or name the one that holds this"));
        }
    }
    complaints.settle();
    assert!(held > 0, "{DOCUMENT} states no invariant; start its lines with **Invariant**");
}
