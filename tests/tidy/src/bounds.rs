//! `docs/reference/bounds.md` gives the numbers of the code.

use crate::workspace::{Complaints, file};

const DOCUMENT: &str = "docs/reference/bounds.md";

/// The beginning of a row, and where its number is: a constant in a source, or a key of the shipped configuration.
const NUMBERS: &[(&str, &str, &str)] = &[
    ("an open connection", "process/src/server.rs", "CONNECTION_BYTES"),
    ("a request, or a call", "manager/src/front/middleware.rs", "REQUEST_BYTES"),
    ("a request, or a call", "boards/src/masstasker/connections.rs", "CALL_BYTES"),
    ("a byte of a body", "manager/src/handlers/extract.rs", "BODY_FACTOR"),
    ("a byte of a body", "boards/src/masstasker/connections.rs", "MESSAGE_FACTOR"),
    ("a value that is read", "common/src/values/counted.rs", "VALUE_BYTES"),
    ("a caller that waits", "manager/src/app.rs", "WAITING_BYTES"),
    ("a caller that waits", "boards/src/masstasker/query.rs", "WAITING_BYTES"),
    ("an answer over", "process/src/server/answer.rs", "SMALL_ANSWER"),
    ("connections of a listener", "manager/manager.default.toml", "max_connections"),
    ("the head of a request", "manager/src/listening/server.rs", "BUFFER_BYTES"),
    ("a body |", "manager/manager.default.toml", "max_body_bytes"),
    ("values of a JSON body", "common/src/values/counted.rs", "MAX_VALUES"),
    ("a form for a page", "manager/src/front/forms.rs", "MAX_FORM_BYTES"),
    ("a form for a page", "pages/src/session/ask.rs", "MAX_FIELDS"),
    ("a message over gRPC", "manager/manager.default.toml", "masstasker_max_message_bytes"),
    ("calls at a time", "boards/src/masstasker/connections.rs", "MOST_CALLS"),
    ("what a sentence", "common/terms/src/values/text.rs", "MAX_SENTENCE_BYTES"),
    ("tasks of a batch", "common/terms/src/limits.rs", "MAX_WORKFLOW_NODES"),
    ("bodies and flowcharts", "manager/src/background/long.rs", "LONG_BYTES"),
    ("bodies and flowcharts", "manager/src/api/workflows.rs", "MANY_NODES"),
    ("a JSON Schema", "manager/src/submissions/parameter_schema/bounds.rs", "MAX_PARTS"),
    ("a JSON Schema", "manager/src/submissions/parameter_schema/bounds.rs", "MAX_PATTERNS"),
    ("a JSON Schema", "manager/src/submissions/parameter_schema/bounds.rs", "MAX_PLACE_BYTES"),
    ("a pattern of", "manager/src/submissions/parameter_schema/bounds.rs", "MAX_PATTERN_BYTES"),
    ("a check of parameters", "manager/src/submissions/parameter_schema/cost.rs", "MAX_STEPS"),
    ("readers of", "process/src/telemetry/listener.rs", "MEMORY"),
    ("a list of tasks |", "common/terms/src/limits.rs", "MAX_BATCH"),
    ("a list of tasks with", "manager/src/api/lists/search.rs", "PIECE_BYTES"),
    ("leased tasks", "manager/src/api/leases.rs", "ANSWER_BYTES"),
    ("lists of queues", "common/terms/src/limits.rs", "MAX_BATCH"),
    ("lists of roles", "manager/src/api/lists/pieces.rs", "PIECE_BYTES"),
    ("a workflow with its graph", "common/terms/src/limits.rs", "MAX_WORKFLOW_BYTES"),
    ("causes of dead letters", "archive/src/letters.rs", "MAX_GROUPS"),
    ("predecessors", "manager/src/api/tasks/show.rs", "PARENT_BYTES"),
    ("TaskStore: tasks of a group", "boards/src/taskstore/list.rs", "PAGE_BYTES"),
    ("TaskStore: tasks by id", "boards/src/taskstore/show.rs", "IDS_AT_ONCE"),
    ("TaskStore: names of groups", "boards/src/taskstore/show.rs", "MAX_GROUPS"),
    ("MassTasker: Debug", "boards/src/masstasker/debug.rs", "MOST_GROUPS"),
];

/// The value of a constant that is a number or a product of numbers, or of a key of a configuration.
fn value(source: &str, name: &str) -> Option<u64> {
    let constant = format!("const {name}: ");
    let key = format!("{name} = ");
    let line = source.lines().find(|line| line.contains(&constant) || line.starts_with(&key))?;
    let (_, value) = line.split_once(" = ")?;
    let number = |text: &str| text.trim().replace('_', "").parse::<u64>().ok();
    value.trim_end_matches(';').split('*').map(number).product()
}

#[test]
fn the_page_of_bounds_gives_the_numbers_of_the_code() {
    let page = file(DOCUMENT).expect("the page is there");
    let mut complaints = Complaints::default();
    for (row, path, name) in NUMBERS {
        let Some(value) = file(path).and_then(|source| value(&source, name)) else {
            complaints.add(path, format!("`{name}` is no number, or no longer here: correct tests/tidy/src/bounds.rs"));
            continue;
        };
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with(&format!("| {row}"))).collect();
        let gives = |line: &&str| line.split(|c: char| !c.is_ascii_digit()).any(|word| word == value.to_string());
        if !matches!(rows[..], [row] if gives(&row)) {
            complaints.add(DOCUMENT, format!("the row {row:?} is to give {value}, which is `{name}` in {path}"));
        }
    }
    complaints.settle();
}

#[test]
fn a_product_is_read_as_a_number() {
    assert_eq!(value("pub const A: usize = 4 * 1_024;", "A"), Some(4_096));
    assert_eq!(value("b = 12", "b"), Some(12));
    assert_eq!(value("const A: usize = B;", "A"), None);
}
