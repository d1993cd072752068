//! What is done with the tasks that are chosen on their page, or with all that match its search. Each act asks first, and says
//! to how many tasks it is done.

use axum::{http::Method, response::Response};
use jobbers_api::{
    problem::{Code, Problem},
    task::{
        cancel::{CancelReport, CancelRequest},
        delete::{DeleteReport, DeleteRequest},
        list::TaskPageView,
        reschedule::{RescheduleReport, RescheduleRequest},
        resubmit::{ResubmitReport, ResubmitRequest},
        selection::TaskAct,
    },
    value::Asked,
};
use jobbers_common::{limits::MAX_BATCH, name::TaskId};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::search::Search;
use crate::{
    elements::{
        done::back_saying,
        frame::{Answered, Screen, button, post_form},
        words::{line, many, text, to},
    },
    session::ask::{Api, ApiRefusal, Form, Query},
};

/// Most requests of one act on all that match, and of the count before it: 10,000 tasks.
const MOST_CALLS: usize = 10;

/// What is to be done, and with which tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Act {
    Cancel,
    RunNow,
    Resubmit,
    Delete,
    CancelAll,
    RunAllNow,
    ResubmitAll,
    DeleteAll,
}

impl Act {
    const OF_ALL: [(Self, &'static str); 4] = [
        (Self::CancelAll, "Cancel all that match…"),
        (Self::RunAllNow, "Run all that match now…"),
        (Self::ResubmitAll, "Send all that match again…"),
        (Self::DeleteAll, "Delete all that match…"),
    ];

    const fn act(self) -> TaskAct {
        match self {
            Self::Cancel | Self::CancelAll => TaskAct::Cancel,
            Self::RunNow | Self::RunAllNow => TaskAct::Reschedule,
            Self::Resubmit | Self::ResubmitAll => TaskAct::Resubmit,
            Self::Delete | Self::DeleteAll => TaskAct::Delete,
        }
    }

    fn is_of_all(self) -> bool {
        Self::OF_ALL.iter().any(|(act, _)| *act == self)
    }

    /// Its name in a form and in an address.
    const fn name(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::RunNow => "run_now",
            Self::Resubmit => "resubmit",
            Self::Delete => "delete",
            Self::CancelAll => "cancel_all",
            Self::RunAllNow => "run_all_now",
            Self::ResubmitAll => "resubmit_all",
            Self::DeleteAll => "delete_all",
        }
    }

    /// The command that does the same.
    fn command(self, search: &Search) -> String {
        let name = match self.act() {
            TaskAct::Cancel => "cancel",
            TaskAct::Reschedule => "reschedule",
            TaskAct::Resubmit => "resubmit",
            TaskAct::Delete => "delete",
        };
        let which = if self.is_of_all() { search.arguments(self.act()) } else { " ID…".to_owned() };
        format!("jobbers {name}{which}")
    }

    /// The question, and what the answer yes does.
    fn question(self, count: &str) -> (String, &'static str) {
        match self.act() {
            TaskAct::Cancel => (
                format!("Cancel {count}?"),
                "Those that run are asked to stop; the others never run. Those that are over stay as they are.",
            ),
            TaskAct::Reschedule => (
                format!("Run {count} now?"),
                "Those that are scheduled join the ends of their queues, whatever they wait for. Others stay as they are.",
            ),
            TaskAct::Resubmit => (
                format!("Send {count} again?"),
                "Those that are over and did not complete run again, with their attempts counted from the start.",
            ),
            TaskAct::Delete => (
                format!("Delete {count}?"),
                "They are gone with their results, and so are the tasks that depend only on them. Those that run stay.",
            ),
        }
    }
}

/// What an act did, in the address to which the browser is sent back.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Done {
    #[serde(skip_serializing_if = "Option::is_none")]
    did: Option<Act>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<u64>,
    /// How many tasks it was not done to.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<u64>,
    /// Whether more may match.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<bool>,
}

impl Done {
    /// The sentence, and the command that does the same.
    pub(super) fn note(&self, search: &Search) -> Markup {
        let Some(did) = self.did else { return html! {} };
        let (count, left) = (many(self.n.unwrap_or_default(), "task"), self.left.unwrap_or_default());
        let (done, why) = match did.act() {
            TaskAct::Cancel => ("cancelled, or asked to stop", "not: over before, or unknown"),
            TaskAct::Reschedule => ("run as soon as a worker is free", "not: not scheduled, or unknown"),
            TaskAct::Resubmit => ("sent again", "not: not over, completed, unknown, or refused"),
            TaskAct::Delete => ("deleted", "not: running, or unknown"),
        };
        html! {
            p.done role="status" {
                (count) " " (done) "."
                @if left > 0 { " " (many(left, "task")) " " (why) "." }
                @if self.more == Some(true) { " More may match: do it again." }
                " " code { (text(&did.command(search))) }
            }
        }
    }
}

/// What can be done with chosen tasks.
pub(super) fn of_chosen() -> Markup {
    html! {
        div.actions {
            button name="act" value="cancel" { "Cancel the chosen…" }
            button name="act" value="run_now" { "Run the chosen now…" }
            button name="act" value="resubmit" { "Send the chosen again…" }
            button name="act" value="delete" { "Delete the chosen…" }
        }
    }
}

/// What can be done with all tasks that match.
pub(super) fn of_matching(search: &Search) -> Markup {
    let possible = Act::OF_ALL.into_iter().filter(|(act, _)| search.for_act(act.act()).is_some());
    let buttons: Vec<Markup> =
        possible.map(|(act, label)| html! { button name="act" value=(act.name()) { (label) } }).collect();
    if buttons.is_empty() {
        return html! {};
    }
    post_form(Some("actions"), &html! { @for button in &buttons { (button) } })
}

#[derive(Debug, Deserialize)]
pub(crate) struct Chosen {
    act: Act,
    #[serde(default)]
    id: Vec<String>,
    /// Whether the question was answered.
    sure: Option<String>,
}

/// `POST /ui/tasks`: an act is asked first.
pub(crate) async fn change(screen: Screen, Query(search): Query<Search>, Form(chosen): Form<Chosen>) -> Answered {
    let Chosen { act, id: ids, sure } = chosen;
    let ids: Vec<Asked<TaskId>> =
        ids.into_iter().map(|id| id.parse().map_or_else(|_| Asked::Illegal(id), Asked::Legal)).collect();
    let search = search.at(None);
    if sure.is_none() {
        return question(&screen, &search, act, &ids).await;
    }
    let done = match act.is_of_all() {
        true => do_to_matching(&screen.api, &search, act).await?,
        false => do_to(&screen.api, act, ids).await?,
    };
    Ok(back_saying(&to("tasks", &search), &done))
}

/// What would be done, and to which tasks.
async fn question(screen: &Screen, search: &Search, act: Act, ids: &[Asked<TaskId>]) -> Result<Response, ApiRefusal> {
    let (n, has_more) = match act.is_of_all() {
        true => count(&screen.api, search, act).await?,
        false => (ids.len() as u64, false),
    };
    let counted = many(n, "task");
    let (title, what) = act.question(&if has_more { format!("{counted} or more") } else { counted });
    let back = to("tasks", search);
    let body = html! {
        h1 { (title) }
        p { (what) }
        @if n == 0 && act.is_of_all() { p { "No task matches to which this can be done: " a href=(back) { "go back" } "." } }
        @else if n == 0 { p { "No task is chosen: " a href=(back) { "go back" } " and choose some." } }
        @else {
            @if act.is_of_all() { p.soft { "All that match when you say yes, also those that came since." } }
            @else { section.card { ul { @for id in ids { li { code { (line(&id.to_string())) } } } } } }
            (post_form(Some("actions"), &html! {
                @for id in ids { input type="hidden" name="id" value=(id); }
                input type="hidden" name="sure" value="yes";
                (button(act.name(), "Yes", act.act() != TaskAct::Resubmit))
                a.button href=(back) { "No" }
            }))
            p.soft { code { (text(&act.command(search))) } }
        }
    };
    Ok(screen.page("Tasks", &title, &body))
}

/// How many tasks match to which this can be done, and whether there are more than were counted.
async fn count(api: &Api, search: &Search, act: Act) -> Result<(u64, bool), ApiRefusal> {
    let Some(mut search) = search.for_act(act.act()) else { return Ok((0, false)) };
    let mut n = 0;
    for _ in 0..MOST_CALLS {
        let page: TaskPageView = api.get(&search.request(MAX_BATCH)).await?;
        if let Some(total) = page.total {
            return Ok((total, false));
        }
        n += page.tasks.len() as u64;
        search.cursor = page.next_cursor;
        if search.cursor.is_none() {
            return Ok((n, false));
        }
    }
    Ok((n, true))
}

async fn do_to_matching(api: &Api, search: &Search, act: Act) -> Result<Done, ApiRefusal> {
    let mut done = Done { did: Some(act), ..Done::default() };
    let Some(search) = search.for_act(act.act()) else { return Ok(Done { n: Some(0), ..done }) };
    let (mut n, mut left, mut cursor) = (0, 0, None);
    for _ in 0..MOST_CALLS {
        let (filter, limit) = (Some(search.filter()?), Some(MAX_BATCH));
        let asked = match act.act() {
            TaskAct::Cancel => cancel(api, CancelRequest { ids: None, filter, limit, cursor }).await?,
            TaskAct::Reschedule => {
                reschedule(api, RescheduleRequest { filter, limit, cursor, ..RescheduleRequest::default() }).await?
            }
            TaskAct::Resubmit => {
                resubmit(api, ResubmitRequest { filter, limit, cursor, ..ResubmitRequest::default() }).await?
            }
            TaskAct::Delete => delete(api, DeleteRequest { ids: None, filter, limit, cursor, cascade: true }).await?,
        };
        n += asked.done;
        left += asked.left;
        cursor = asked.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    done.n = Some(n);
    done.left = (left > 0).then_some(left);
    done.more = cursor.map(|_| true);
    Ok(done)
}

async fn do_to(api: &Api, act: Act, ids: Vec<Asked<TaskId>>) -> Result<Done, ApiRefusal> {
    let ids = Some(ids);
    let asked = match act.act() {
        TaskAct::Cancel => cancel(api, CancelRequest { ids, filter: None, limit: None, cursor: None }).await?,
        TaskAct::Reschedule => reschedule(api, RescheduleRequest { ids, ..RescheduleRequest::default() }).await?,
        TaskAct::Resubmit => resubmit(api, ResubmitRequest { ids, ..ResubmitRequest::default() }).await?,
        TaskAct::Delete => {
            delete(api, DeleteRequest { ids, filter: None, limit: None, cursor: None, cascade: true }).await?
        }
    };
    if asked.done == 0
        && let Some(refusal) = asked.refusal
    {
        return Err(refusal.into());
    }
    Ok(Done { did: Some(act), n: Some(asked.done), left: (asked.left > 0).then_some(asked.left), more: None })
}

/// What one request of the API did.
struct ActReport {
    done: u64,
    left: u64,
    next_cursor: Option<String>,
    /// Why it was not done to the first task to which it was not, if that is known.
    refusal: Option<Problem>,
}

async fn cancel(api: &Api, request: CancelRequest) -> Result<ActReport, ApiRefusal> {
    let report: CancelReport = api.call_with(Method::POST, "/tasks/cancel", &request).await?;
    let CancelReport { cancelled, requested, already_over, unknown, next_cursor, .. } = report;
    Ok(ActReport { done: cancelled + requested, left: already_over + unknown, next_cursor, refusal: None })
}

async fn reschedule(api: &Api, request: RescheduleRequest) -> Result<ActReport, ApiRefusal> {
    let report: RescheduleReport = api.call_with(Method::POST, "/tasks/reschedule", &request).await?;
    let RescheduleReport { rescheduled, not_scheduled, unknown, next_cursor, .. } = report;
    Ok(ActReport { done: rescheduled, left: not_scheduled + unknown, next_cursor, refusal: None })
}

async fn resubmit(api: &Api, request: ResubmitRequest) -> Result<ActReport, ApiRefusal> {
    let report: ResubmitReport = api.call_with(Method::POST, "/tasks/resubmit", &request).await?;
    let ResubmitReport { resubmitted, refused, next_cursor, tasks } = report;
    let refusal = tasks.into_iter().find_map(|task| {
        let code = Code::ALL.iter().find(|code| Some(code.as_str()) == task.code.as_deref())?;
        Some(Problem::new(*code, task.detail.unwrap_or_default()))
    });
    Ok(ActReport { done: resubmitted, left: refused, next_cursor, refusal })
}

async fn delete(api: &Api, request: DeleteRequest) -> Result<ActReport, ApiRefusal> {
    let report: DeleteReport = api.call_with(Method::POST, "/tasks/delete", &request).await?;
    let DeleteReport { deleted, running, unknown, next_cursor, .. } = report;
    Ok(ActReport { done: deleted, left: running + unknown, next_cursor, refusal: None })
}
