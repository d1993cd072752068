//! Ways from one dashboard to the next, and to the manager.

use serde_json::{Value, json};

use super::identity::{TAG, uid};
use crate::source::Target;

/// What is chosen goes along.
const CHOSEN: &str = "${datasource:queryparam}&${cluster:queryparam}&${manager:queryparam}&${__url_time_range}";

/// The row of links above the panels: all dashboards of the product, the runbook among them.
pub(super) fn among_dashboards() -> Vec<Value> {
    vec![json!({
        "title": "Jobbers",
        "type": "dashboards",
        "tags": [TAG],
        "asDropdown": false,
        "icon": "external link",
        "includeVars": true,
        "keepTime": true,
        "targetBlank": false,
        "tooltip": "",
        "url": "",
    })]
}

/// A link from a line of a series or a cell of a table. The row's labels are taken where they are: on the series, or in
/// the table's fields. They are percent-encoded: names may hold a slash.
pub(super) fn data_link(target: Target, in_table: bool) -> Value {
    let label = |name: &str| {
        let of = if in_table { "__data.fields" } else { "__field.labels" };
        format!("${{{of}.{name}:percentencode}}")
    };
    let (queue, task) = (label("queue"), label("task"));
    let dashboard = |slug: &str, variables: &str| format!("/d/{}?{variables}&{CHOSEN}", uid(slug));
    let (title, url, new_page) = match target {
        Target::Queue => ("The queue", dashboard("queue", &format!("var-queue={queue}")), false),
        Target::Task => ("The task", dashboard("task", &format!("var-queue={queue}&var-task={task}")), false),
        Target::DeadLetters => ("Its dead letters", dashboard("dead-letters", &format!("var-queue={queue}")), false),
        Target::QueueApi => ("The queue in the manager", format!("${{manager}}/queues/{queue}"), true),
        Target::TasksApi => ("Its tasks in the manager", format!("${{manager}}/tasks?queue={queue}"), true),
        Target::FailuresApi => {
            ("Its failed tasks in the manager", format!("${{manager}}/tasks?queue={queue}&status=failed"), true)
        }
        Target::WorkersApi => ("The workers in the manager", "${manager}/workers".to_owned(), true),
    };
    json!({"title": title, "url": url, "targetBlank": new_page})
}
