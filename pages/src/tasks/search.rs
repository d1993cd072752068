//! What the page of tasks asks for, and the same for the API and for the command line.

use std::collections::BTreeMap;

use jobbers_api::{
    problem::{Code, Problem},
    task::{
        list::{FilterRequest, TaskPageView},
        selection::TaskAct,
    },
};
use jobbers_common::lifecycle::Status;
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::{
    elements::words::{shell, to},
    session::ask::ApiRefusal,
};

/// The choices of statuses, as the API takes them, and their names.
const STATUSES: [(&str, &str); 14] = [
    ("", "any"),
    ("waiting,scheduled,submitted,started", "not over"),
    ("failed,stalled,dropped", "ended badly"),
    ("waiting", "waiting"),
    ("scheduled", "scheduled"),
    ("submitted", "submitted"),
    ("started", "started"),
    ("completed", "completed"),
    ("failed", "failed"),
    ("stalled", "stalled"),
    ("dropped", "dropped"),
    ("aborted", "aborted"),
    ("cancelled", "cancelled"),
    ("submitted,started", "ready or running"),
];

/// What the address asks for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Search {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    condition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    submitted_after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    submitted_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cursor: Option<String>,
}

impl Search {
    /// The address of a page of so many tasks in the API.
    pub(super) fn request(&self, limit: usize) -> String {
        let said = serde_html_form::to_string(self).unwrap_or_default();
        format!("/tasks?limit={limit}&{said}")
    }

    /// The same from this cursor on.
    pub(super) fn at(&self, cursor: Option<String>) -> Self {
        Self { cursor, ..self.clone() }
    }

    pub(super) fn form(&self) -> Markup {
        let field = |label: &str, name: &str, value: &Option<String>, hint: &str| {
            html! {
                label { (label) input type="search" name=(name) value=[value.as_deref()] placeholder=(hint) size="14"; }
            }
        };
        let chosen = self.status.as_deref().unwrap_or_default();
        html! {
            form.filter {
                label { "Status" select name="status" {
                    @for (value, label) in STATUSES { option value=(value) selected[value == chosen] { (label) } }
                } }
                (field("Queue", "queue", &self.queue, ""))
                (field("Name", "name", &self.name, ""))
                (field("Label", "label", &self.label, "team=billing"))
                (field("Parameters hold", "where", &self.condition, "customer=42"))
                (field("Worker", "worker", &self.worker, ""))
                (field("Submitted after", "submitted_after", &self.submitted_after, "2026-11-21T08:00:00Z"))
                (field("Submitted before", "submitted_before", &self.submitted_before, ""))
                (field("Finished after", "finished_after", &self.finished_after, ""))
                (field("Finished before", "finished_before", &self.finished_before, ""))
                (field("Error holds", "error", &self.error, "timeout"))
                button { "Find" }
                a.button href="tasks" { "All" }
            }
        }
    }

    pub(super) fn more(&self, page: &TaskPageView) -> Markup {
        let at = |cursor: Option<String>| to("tasks", &self.at(cursor));
        html! {
            nav.pages aria-label="Parts of the list" {
                @if self.cursor.is_some() { a.button href=(at(None)) { "First page" } }
                @if let Some(next) = &page.next_cursor {
                    a.button rel="next" href=(at(Some(next.clone()))) { "Next page" }
                }
            }
        }
    }

    /// The same for all tasks to which this can be done; `None` if there are none, or the API can't find them by a filter.
    pub(super) fn for_act(&self, act: TaskAct) -> Option<Self> {
        let wanted: Vec<&str> =
            self.status.as_deref().unwrap_or_default().split(',').filter(|word| !word.is_empty()).collect();
        let mut statuses =
            Status::ALL.into_iter().filter(|status| wanted.contains(&status.as_str()) && act.takes(*status)).collect();
        let asks_for_others = !wanted.is_empty() && Vec::is_empty(&statuses);
        let is_restricted = self.flags().iter().any(|(_, value)| value.is_some());
        if self.condition.is_some() || asks_for_others || !is_restricted {
            return None;
        }
        let has_end = self.finished_after.is_some() || self.finished_before.is_some();
        act.restrict(&mut statuses, has_end).ok()?;
        let statuses: Vec<&str> = statuses.iter().map(|status| status.as_str()).collect();
        Some(Self { status: Some(statuses.join(",")), cursor: None, ..self.clone() })
    }

    /// What it asks for that the API can act by, by the names of the command's flags.
    fn flags(&self) -> [(&'static str, Option<&str>); 10] {
        let Self { status, queue, name, label, worker, submitted_after, submitted_before, .. } = self;
        let Self { finished_after, finished_before, error, .. } = self;
        [
            ("status", status),
            ("queue", queue),
            ("name", name),
            ("label", label),
            ("worker", worker),
            ("submitted-after", submitted_after),
            ("submitted-before", submitted_before),
            ("finished-after", finished_after),
            ("finished-before", finished_before),
            ("error", error),
        ]
        .map(|(flag, value)| (flag, value.as_deref()))
    }

    /// The flags of the command that acts on the same tasks, and leaves out those to which it can't be done.
    pub(super) fn arguments(&self, act: TaskAct) -> String {
        // Without a status the command takes those that it can.
        let status = self.status.as_ref().and_then(|_| self.for_act(act)?.status);
        let flags = Self { status, ..self.clone() };
        let flag = |(name, value): (_, Option<&str>)| value.map(|value| format!(" --{name} {}", shell(value)));
        flags.flags().into_iter().filter_map(flag).collect()
    }

    /// The filter of a body of the API.
    pub(super) fn filter(&self) -> Result<FilterRequest, ApiRefusal> {
        let label = self.label.as_deref().map(|label| label.split_once('=').unwrap_or((label, "")));
        let labels: BTreeMap<&str, &str> = label.into_iter().collect();
        let statuses = self.status.as_deref().unwrap_or_default().split(',').filter(|word| !word.is_empty());
        let said = serde_json::json!({
            "status": statuses.collect::<Vec<_>>(),
            "queue": self.queue,
            "name": self.name,
            "labels": labels,
            "worker": self.worker,
            "submitted_after": self.submitted_after,
            "submitted_before": self.submitted_before,
            "finished_after": self.finished_after,
            "finished_before": self.finished_before,
            "error": self.error,
        });
        serde_json::from_value(said).map_err(|error| Problem::new(Code::InvalidParameter, error.to_string()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(status: Option<&str>) -> Search {
        Search { status: status.map(str::to_owned), queue: Some("a b".to_owned()), ..Search::default() }
    }

    #[test]
    fn an_act_leaves_out_tasks_to_which_it_can_t_be_done() {
        let statuses = |asked, act| search(asked).for_act(act).map(|search| search.status.unwrap());
        assert_eq!(statuses(Some("submitted,started"), TaskAct::Delete).as_deref(), Some("submitted"));
        assert_eq!(statuses(Some("completed"), TaskAct::Resubmit), None);
        assert_eq!(statuses(Some("nonsense"), TaskAct::Delete), None);
        assert_eq!(statuses(None, TaskAct::Cancel).as_deref(), Some("waiting,scheduled,submitted,started"));
        let over = Search { finished_before: Some("2026-01-01T00:00:00Z".to_owned()), ..search(None) };
        assert!(over.for_act(TaskAct::Cancel).is_none() && over.for_act(TaskAct::Delete).is_some());
        assert!(Search::default().for_act(TaskAct::Delete).is_none(), "not all tasks there are");
        let held = Search { condition: Some("n=1".to_owned()), ..search(None) };
        assert!(held.for_act(TaskAct::Delete).is_none(), "no filter of the API finds parameters");
    }

    #[test]
    fn the_command_acts_on_the_same_tasks() {
        assert_eq!(search(None).arguments(TaskAct::Resubmit), " --queue 'a b'");
        assert_eq!(search(Some("submitted,started")).arguments(TaskAct::Delete), " --status submitted --queue 'a b'");
    }
}
