//! Alert rules: sound by Prometheus' own tool, tested, and each with its way to go on.

use std::{collections::BTreeSet, path::Path, process::Command};

use super::files::{RULE_TESTS, RULES, RUNBOOK, alerts, dashboards, here, text};
use crate::{grafana::uid, runbook::sections};

/// Runs Prometheus' tool.
fn promtool(arguments: &[&str], file: &Path) -> (bool, String) {
    let run = Command::new("promtool").args(arguments).arg(file).output().unwrap_or_else(|error| {
        panic!("promtool: {error}; it comes with Prometheus (apt-get install prometheus)");
    });
    let said = [run.stdout, run.stderr].concat();
    (run.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn promtool_finds_nothing_wrong_with_the_rules() {
    let (good, said) = promtool(&["check", "rules", "--lint=all", "--lint-fatal"], &here().join(RULES));
    assert!(good, "{said}");
}

#[test]
fn the_rules_pass_their_tests() {
    let (good, said) = promtool(&["test", "rules"], &here().join(RULE_TESTS));
    assert!(good, "{said}");
}

#[test]
fn a_rule_with_another_threshold_fails_its_tests() {
    let folder = tempfile::tempdir().unwrap();
    let changed =
        text(RULES).replace("jobbers_queue_oldest_age_seconds) > 300", "jobbers_queue_oldest_age_seconds) > 3000");
    assert_ne!(changed, text(RULES));
    let tests = folder.path().join("jobbers.tests.yaml");
    std::fs::write(folder.path().join("jobbers.rules.yaml"), changed).unwrap();
    std::fs::copy(here().join(RULE_TESTS), &tests).unwrap();
    let (good, said) = promtool(&["test", "rules"], &tests);
    assert!(!good && said.contains("JobbersQueueWaitsLong"), "{said}");
}

#[test]
fn every_alert_is_seen_silent_and_firing_in_a_test() {
    let tests = text(RULE_TESTS);
    for alert in alerts() {
        let name = &alert.alert;
        let silent = format!("{{alertname: {name}, eval_time: ");
        assert!(tests.contains(&silent), "{name} has no test in which it stays silent");
        let firing = format!("runbook_url: docs/runbook.md#{}\n", name.to_lowercase());
        assert!(tests.contains(&firing), "{name} has no test in which it fires");
    }
}

#[test]
fn every_alert_says_how_bad_it_is_and_where_to_go_on() {
    let known: BTreeSet<String> = dashboards().iter().map(|dashboard| uid(&dashboard.slug)).collect();
    let mut names = BTreeSet::new();
    for alert in alerts() {
        let name = &alert.alert;
        assert!(names.insert(name.clone()), "{name} stands twice");
        assert!(name.starts_with("Jobbers"), "{name}: dashboards show alerts whose names begin with Jobbers");
        let severity = alert.labels.get("severity").map(String::as_str);
        assert!(matches!(severity, Some("critical" | "warning" | "info")), "{name}: {severity:?}");
        assert!(alert.annotations.get("summary").is_some_and(|summary| summary.len() > 15), "{name} has no summary");
        let runbook = format!("docs/runbook.md#{}", name.to_lowercase());
        assert_eq!(alert.annotations.get("runbook_url"), Some(&runbook), "{name}");
        let dashboard = alert.annotations.get("dashboard_url").unwrap_or_else(|| panic!("{name} has no dashboard_url"));
        let uid = dashboard.trim_start_matches("/d/").split('?').next().unwrap();
        assert!(known.contains(uid), "{name}: there is no dashboard {uid}");
    }
}

#[test]
fn every_alert_has_a_section_of_the_runbook_and_every_section_an_alert() {
    let sections = sections(&text(RUNBOOK));
    let titles: BTreeSet<&str> = sections.iter().map(|(title, _)| title.as_str()).collect();
    let alerts = alerts();
    let names: BTreeSet<&str> = alerts.iter().map(|alert| alert.alert.as_str()).collect();
    assert_eq!(titles, names);
    for (title, body) in &sections {
        for part in ["**Means.**", "**Look.**", "**Do.**"] {
            assert!(body.contains(part), "docs/runbook.md, {title}: {part} is missing");
        }
    }
}

#[test]
fn the_runbook_names_only_panels_and_alerts_that_exist() {
    let mut known: BTreeSet<String> = alerts().into_iter().map(|alert| alert.alert).collect();
    known.insert("Runbook".to_owned());
    for dashboard in dashboards() {
        known.insert(dashboard.title);
        for row in dashboard.rows {
            known.insert(row.title);
            known.extend(row.panels.into_iter().map(|panel| panel.title));
        }
    }
    // Text in single asterisks is a dashboard, a row or the beginning of a panel's title.
    let text = text(RUNBOOK).replace("**", "").replace('\n', " ");
    for name in text.split('*').skip(1).step_by(2) {
        let found =
            known.iter().any(|title| title.starts_with(name) || title.to_lowercase().starts_with(&name.to_lowercase()));
        assert!(found, "docs/runbook.md names *{name}*, which no dashboard has");
    }
}
