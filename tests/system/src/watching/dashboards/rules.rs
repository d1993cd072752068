//! The shipped alert rules, made quick enough for a test: windows of seconds, no `for`, and thresholds that a minute can
//! reach. What each rule asks stays as it is.

use std::path::{Path, PathBuf};

/// The shipped file.
pub(super) fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dashboards/alerts/jobbers.rules.yaml")
}

/// The windows of the shipped rules; all of them become [`WINDOW`].
const WINDOWS: [&str; 7] = ["2m", "5m", "10m", "15m", "30m", "1h", "6h"];
const WINDOW: &str = "10s";

/// Thresholds in units of time, which become seconds: alert, what is written, what it becomes.
const THRESHOLDS: &[(&str, &str, &str)] = &[
    ("JobbersQueueWaitsLong", "> 300", "> 5"),
    ("JobbersScheduleLate", "> 10", "> 3"),
    ("JobbersBacklogGrowing", "> 3600", "> 30"),
    ("JobbersStartsTooLateFast", "le=\"10000\"", "le=\"1000\""),
    ("JobbersStartsTooLateSlow", "le=\"10000\"", "le=\"1000\""),
    ("JobbersWorkersFull", "> 10000", "> 1000"),
    ("JobbersThreadsStuck", "> 900", "> 5"),
    ("JobbersDeadLettersForgotten", "> 7 * 86400", "> 5"),
    ("JobbersAuditLogNotWritten", "> 900", "> 5"),
    ("JobbersConfigurationDiffers", "> 60", "> 3"),
    ("JobbersCleanerFails", "> 86400", "> 5"),
    ("JobbersBoardNotTaken", "> 300", "> 3"),
    ("JobbersBoardConflicts", "> 100", "> 20"),
    ("JobbersWorkflowNotSubmitted", "> 300", "> 5"),
    ("JobbersWorkflowsNotMoved", "> 60", "> 3"),
    ("JobbersTasksWaitLong", "> 86400", "> 5"),
    ("JobbersSchedulesNotFired", "> 30", "> 3"),
];

/// The names of all alerts.
pub(super) fn alerts() -> Vec<String> {
    let rules = std::fs::read_to_string(shipped()).unwrap();
    rules.lines().filter_map(|line| alert_of(line).map(str::to_owned)).collect()
}

fn alert_of(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("- alert: ")
}

/// Writes the quick rules into a folder.
pub(super) fn hasten(folder: &Path) -> PathBuf {
    let mut quick = String::new();
    let mut alert = "";
    let rules = std::fs::read_to_string(shipped()).unwrap();
    let mut changed: Vec<bool> = vec![false; THRESHOLDS.len()];
    for line in rules.lines() {
        alert = alert_of(line).unwrap_or(alert);
        if line.trim_start().starts_with("for: ") {
            continue;
        }
        let mut line = WINDOWS.iter().fold(line.to_owned(), |line, window| {
            line.replace(&format!("[{window}]"), &format!("[{WINDOW}]"))
                .replace(&format!("offset {window})"), &format!("offset {WINDOW})"))
        });
        for (index, (_, from, to)) in THRESHOLDS.iter().enumerate().filter(|(_, (of, ..))| *of == alert) {
            changed[index] |= line.contains(from);
            line = line.replace(from, to);
        }
        quick.push_str(&line);
        quick.push('\n');
    }
    for ((alert, from, _), changed) in THRESHOLDS.iter().zip(changed) {
        assert!(changed, "{alert} has no {from:?} any more");
    }
    let path = folder.join("quick.rules.yaml");
    std::fs::write(&path, quick).unwrap();
    path
}
