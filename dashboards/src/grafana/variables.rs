//! What a reader chooses above the panels.

use serde_json::{Value, json};

use super::identity::data_source;
use crate::source::Variable;

/// The data source, the cluster, what the dashboard is narrowed by, and the manager's address for links.
pub(super) fn list(variables: &[Variable]) -> Vec<Value> {
    let mut list =
        vec![data_source_choice(), choice("cluster", "Cluster", "label_values(jobbers_build_info, cluster)")];
    list.extend(variables.iter().map(|variable| match variable {
        Variable::Queue => choice("queue", "Queue", r#"label_values(jobbers_queue_depth{cluster=~"$cluster"}, queue)"#),
        Variable::Task => {
            choice("task", "Task", r#"label_values(tasks_selected_total{cluster=~"$cluster", queue=~"$queue"}, task)"#)
        }
        Variable::Role => {
            choice("role", "Role", r#"label_values(jobbers_worker_slots_limit{cluster=~"$cluster"}, role)"#)
        }
        Variable::Instance => {
            choice("instance", "Instance", r#"label_values(jobbers_build_info{cluster=~"$cluster"}, instance)"#)
        }
    }));
    list.push(manager());
    list
}

fn data_source_choice() -> Value {
    json!({
        "name": "datasource",
        "label": "Data source",
        "description": "The Prometheus that scrapes the processes",
        "type": "datasource",
        "query": "prometheus",
        "current": {},
        "hide": 0,
        "includeAll": false,
        "multi": false,
        "options": [],
        "refresh": 1,
        "regex": "",
        "skipUrlSync": false,
    })
}

/// Several values of a label; all of them to begin with, those without the label too.
fn choice(name: &str, label: &str, values: &str) -> Value {
    json!({
        "name": name,
        "label": label,
        "type": "query",
        "datasource": data_source(),
        "definition": values,
        "query": {"qryType": 1, "query": values, "refId": "PrometheusVariableQueryEditor-VariableQuery"},
        "allValue": ".*",
        "current": {"selected": true, "text": ["All"], "value": ["$__all"]},
        "hide": 0,
        "includeAll": true,
        "multi": true,
        "options": [],
        "refresh": 2,
        "regex": "",
        "skipUrlSync": false,
        "sort": 5,
    })
}

/// Where the links to the manager's API lead to.
fn manager() -> Value {
    const ADDRESS: &str = "http://localhost:8000";
    json!({
        "name": "manager",
        "label": "Manager",
        "description": "The manager's address as your browser reaches it; links to its API begin with it",
        "type": "textbox",
        "query": ADDRESS,
        "current": {"selected": true, "text": ADDRESS, "value": ADDRESS},
        "hide": 0,
        "options": [{"selected": true, "text": ADDRESS, "value": ADDRESS}],
        "skipUrlSync": false,
    })
}
