//! The documents say what the code does.

use std::collections::BTreeSet;

use jobbers_common::{
    access::{AccessRole, Scope},
    lifecycle::TRANSITIONS,
};

use crate::workspace::{Complaints, file, files, root};

const LIFECYCLE: &str = "docs/reference/lifecycle.md";
const CONFIGURATION: &str = "docs/reference/configuration.md";
const KEYS: &str = "docs/guides/keys.md";
const LESSONS: &str = "docs/reference/lessons.md";
const RELIABILITY: &str = "docs/reference/reliability.md";

/// The cells of a Markdown table's rows, without backquotes.
fn rows(text: &str) -> impl Iterator<Item = Vec<String>> {
    text.lines()
        .filter(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect())
}

#[test]
fn the_documented_lifecycle_is_the_table_of_the_code() {
    let text = file(LIFECYCLE).unwrap_or_else(|| panic!("{LIFECYCLE} is missing"));
    let written: BTreeSet<Vec<String>> =
        rows(&text).filter(|cells| cells.len() == 3 && cells[0] != "from" && !cells[0].starts_with("--")).collect();
    let real: BTreeSet<Vec<String>> = TRANSITIONS
        .iter()
        .map(|(from, event, to)| vec![from.to_string(), format!("{event:?}").to_lowercase(), to.to_string()])
        .collect();
    let mut complaints = Complaints::default();
    for row in real.difference(&written) {
        complaints.add(LIFECYCLE, format!("add the row | {} |", row.join(" | ")));
    }
    for row in written.difference(&real) {
        complaints.add(LIFECYCLE, format!("no such move: take out | {} |", row.join(" | ")));
    }
    complaints.settle();
}

#[test]
fn the_documented_roles_are_the_table_of_the_code() {
    let text = file(KEYS).unwrap_or_else(|| panic!("{KEYS} is missing"));
    let written: Vec<Vec<String>> = rows(&text).filter(|cells| Scope::find(&cells[0]).is_some()).collect();
    let real: Vec<Vec<String>> = Scope::all()
        .map(|scope| {
            let has = |role: AccessRole| if role.has(scope) { "yes" } else { "" };
            std::iter::once(scope.as_str()).chain(AccessRole::ALL.map(has)).map(str::to_owned).collect()
        })
        .collect();
    assert_eq!(written, real, "correct the table of {KEYS}");
}

#[test]
fn every_lesson_of_the_original_is_held_by_a_test() {
    let text = file(LESSONS).unwrap_or_else(|| panic!("{LESSONS} is missing"));
    let held: Vec<(String, String)> = rows(&text)
        .filter(|cells| cells[0].starts_with('W'))
        .map(|cells| (cells[0].clone(), cells.last().cloned().unwrap_or_default()))
        .collect();
    assert!(!held.is_empty(), "the table's form has changed; read it anew here");
    let tests: String = files(&[".rs"])
        .into_iter()
        .filter(|source| source.path.starts_with("tests/system/src/"))
        .map(|source| source.text)
        .collect();
    let mut complaints = Complaints::default();
    for (number, test) in held {
        if !tests.contains(&format!("async fn {test}(kind: Kind)")) {
            complaints.add(LESSONS, format!("{number}: there is no test {test}"));
        }
    }
    complaints.settle();
}

/// The names in backquotes in the column `tests` or `test` of the page's tables, each with its row's first cell.
fn tests_on_the_page(text: &str) -> Vec<(String, String)> {
    let mut column = None;
    let mut found = Vec::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if !line.starts_with('|') {
            column = None;
        } else if column.is_none() {
            column = cells.iter().position(|cell| matches!(*cell, "test" | "tests"));
        } else if let Some(names) = column.and_then(|at| cells.get(at)).filter(|cell| !cell.starts_with("--")) {
            let named: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
            assert!(!named.is_empty(), "{RELIABILITY}: the row names no test: {line}");
            found.extend(named.into_iter().map(|name| (cells[0].to_owned(), name.to_owned())));
        }
    }
    found
}

#[test]
fn every_row_about_reliability_names_a_test_and_every_broken_promise_is_on_the_page() {
    let text = file(RELIABILITY).unwrap_or_else(|| panic!("{RELIABILITY} is missing"));
    let named = tests_on_the_page(&text);
    assert!(named.len() > 30, "the form of {RELIABILITY} has changed; read it here as it is: {named:?}");
    let sources = files(&[".rs"]);
    let mut complaints = Complaints::default();
    for (row, test) in &named {
        if !sources.iter().any(|source| source.text.contains(&format!("fn {test}("))) {
            complaints.add(RELIABILITY, format!("{row}: there is no test {test}"));
        }
    }
    for source in sources.iter().filter(|source| source.path.starts_with("tests/system/src/soak/controls")) {
        // Each is `async fn a_disk_that_lies_about_its_syncs_is_noticed(kind: Kind) {`, or has no argument.
        let controls = source.text.lines().filter_map(|line| line.strip_prefix("async fn ")?.split_once('('));
        for (control, _) in controls.filter(|(name, _)| name.ends_with("_is_noticed")) {
            if !named.iter().any(|(_, test)| test == control) {
                complaints.add(RELIABILITY, format!("name {control} of {}", source.path));
            }
        }
    }
    complaints.settle();
}

#[test]
fn every_configuration_key_is_documented() {
    let text = file(CONFIGURATION).unwrap_or_else(|| panic!("{CONFIGURATION} is missing"));
    let mut complaints = Complaints::default();
    for source in files(&[".toml"]) {
        if !source.path.ends_with(".default.toml") {
            continue;
        }
        for (number, line) in source.lines() {
            // A key without a default is there as a comment: `# engine_url = "…"`.
            let Some((key, _)) = line.trim_start_matches(['#', ' ']).split_once(" = ") else { continue };
            let is_key = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'));
            if is_key && !text.contains(&format!("`{key}`")) {
                complaints.add(format!("{}:{number}", source.path), format!("describe `{key}` in {CONFIGURATION}"));
            }
        }
    }
    complaints.settle();
}

#[test]
fn every_relative_link_leads_somewhere() {
    let mut complaints = Complaints::default();
    for source in files(&[".md"]) {
        let folder = root().join(&source.path).parent().unwrap().to_owned();
        for (number, line) in source.lines() {
            for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let target = target.split('#').next().unwrap();
                let elsewhere = target.is_empty() || target.contains("://") || target.starts_with("mailto:");
                if !elsewhere && !folder.join(target).exists() {
                    complaints
                        .add(format!("{}:{number}", source.path), format!("{target} does not exist: mend the link"));
                }
            }
        }
    }
    complaints.settle();
}

#[test]
fn every_error_code_is_documented() {
    let (document, source) = ("docs/reference/http-api.md", "api/src/problem.rs");
    let text = file(document).unwrap_or_else(|| panic!("{document} is missing"));
    let problems = file(source).unwrap_or_else(|| panic!("{source} is missing"));
    // The list's form: `Name = "code", STATUS, "Title";`
    let codes: Vec<&str> = problems
        .lines()
        .filter(|line| line.ends_with("\";"))
        .filter_map(|line| line.split_once(" = \"")?.1.split_once("\", "))
        .filter(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_uppercase()))
        .map(|(code, _)| code)
        .collect();
    assert!(codes.len() > 20, "the list of codes in {source} has another form; read it anew here: {codes:?}");
    let mut complaints = Complaints::default();
    for code in codes {
        if !text.contains(&format!("| `{code}` |")) {
            complaints.add(document, format!("add the error code `{code}` of {source}"));
        }
    }
    complaints.settle();
}

#[test]
fn every_route_is_documented() {
    let document = "docs/reference/http-api.md";
    let text = file(document).unwrap_or_else(|| panic!("{document} is missing"));
    let mut complaints = Complaints::default();
    let mut routes = 0;
    for source in files(&[".rs"]) {
        if !source.path.starts_with("manager/src/api/") {
            continue;
        }
        // The handlers' form: `get, path = "/tasks/{id}", …`
        for (number, line) in source.code() {
            let Some((method, rest)) = line.trim().split_once(", path = \"") else { continue };
            let path = rest.split('"').next().unwrap();
            routes += 1;
            let route = format!("`{} {path}`", method.to_uppercase());
            if !text.contains(&route) {
                complaints.add(format!("{}:{number}", source.path), format!("describe {route} in {document}"));
            }
        }
    }
    complaints.settle();
    assert!(routes > 20, "the handlers' form has changed; read it anew here");
}

#[test]
fn the_guide_of_transactions_shows_what_is_compiled() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sources = ["with_sqlx", "with_diesel"].map(|name| file(&format!("bench/outbox/src/{name}.rs")).unwrap());
    let sources = words(&sources.concat());
    let guide = file("docs/guides/transactions.md").unwrap();
    let blocks: Vec<&str> =
        guide.split("```rust,ignore\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 4);
    let mut complaints = Complaints::default();
    for line in blocks.into_iter().flat_map(str::lines).map(words) {
        if !sources.contains(&line) {
            complaints.add("docs/guides/transactions.md", format!("bench/outbox does not have this line: {line}"));
        }
    }
    complaints.settle();
}
