//! Dead letters: by cause, and those that the address asks for; sending them again, deleting them.

use axum::http::Method;
use jobbers_api::{
    dead_letter::{
        ChangeView, DeleteRequest, GroupView, LetterPageView, ResubmitRequest, StatsView,
        operation::{OperationPageView, WholeOperationView},
    },
    problem::{Code, Problem},
};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    elements::{
        done::{Did, back},
        frame::{Answered, Screen, action, button, missing},
        words::{Tone, abridged, line, many, number, queue, said, shell, state, text, to, when},
    },
    session::ask::{Api, ApiRefusal, Form, Query},
};

/// How many letters are on a page, and how many causes.
const ROWS: usize = 30;
const CAUSES: usize = 10;

/// What the address asks for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Search {
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_before: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Params {
    cursor: Option<String>,
    did: Option<Did>,
    n: Option<u64>,
}

impl Search {
    fn is_empty(&self) -> bool {
        to("", self).is_empty()
    }

    /// The flags of the commands that mean the same letters.
    fn flags(&self) -> String {
        let Self { queue, name, version, error, fingerprint, failed_after, failed_before } = self;
        let flags = [
            ("queue", queue),
            ("name", name),
            ("version", version),
            ("error", error),
            ("fingerprint", fingerprint),
            ("failed-after", failed_after),
            ("failed-before", failed_before),
        ];
        let said = flags.map(|(flag, value)| {
            value.as_deref().map(|value| format!(" --{flag} {}", shell(value))).unwrap_or_default()
        });
        let said = said.concat();
        if said.is_empty() { " --all".to_owned() } else { said }
    }

    /// The letters it means, in a body of the API.
    fn selection<T: for<'de> Deserialize<'de>>(&self) -> Result<T, ApiRefusal> {
        let refused = |detail: String| ApiRefusal::from(Problem::new(Code::InvalidParameter, detail));
        let version = self
            .version
            .as_deref()
            .map(|version| version.parse::<u32>().map_err(|error| refused(format!("version: {error}"))));
        let said = serde_json::json!({
            "queue": self.queue,
            "name": self.name,
            "version": version.transpose()?,
            "error": self.error,
            "fingerprint": self.fingerprint,
            "failed_after": self.failed_after,
            "failed_before": self.failed_before,
            "all": true,
        });
        serde_json::from_value(said).map_err(|error| refused(error.to_string()))
    }
}

/// `GET /ui/letters`.
pub(crate) async fn show(
    screen: Screen,
    Query(search): Query<Search>,
    Query(Params { cursor, did, n }): Query<Params>,
) -> Answered {
    let stats: StatsView = screen.api.get(&to("/dead-letter-queue/stats", &search)).await?;
    let asked = serde_html_form::to_string(&search).unwrap_or_default();
    let at = cursor.as_deref().map(|cursor| to("", &[("cursor", cursor)]).replacen('?', "&", 1)).unwrap_or_default();
    let page: LetterPageView = screen.api.get(&format!("/dead-letter-queue?limit={ROWS}&{asked}{at}")).await?;
    let operations: Result<OperationPageView, ApiRefusal> =
        screen.api.get("/dead-letter-queue/operations?limit=5").await;
    let body = html! {
        @if let Some(did) = did { (did.note("", n)) }
        h1 { "Dead letters " small { (number(stats.total)) } }
        p.soft { "Tasks that failed for good and were kept: what failed, why, and sending it again." }
        (form(&search))
        section.card #causes data-live { h2 { "By cause" } (causes(&screen, &stats)) }
        @if stats.total > 0 { (actions(&search, stats.total)) }
        section.card #letters data-live { h2 { "The latest" } (table(&screen, &page)) }
        (more(&search, cursor.as_deref(), page.next_cursor.as_deref()))
        section.card #operations data-live { h2 { "Sent again" } (operation_table(&screen, &operations)) }
    };
    Ok(screen.page("Dead letters", "Dead letters", &body))
}

fn form(search: &Search) -> Markup {
    let field = |label: &str, name: &str, value: &Option<String>, hint: &str| {
        html! {
            label { (label) input type="search" name=(name) value=[value.as_deref()] placeholder=(hint) size="14"; }
        }
    };
    html! {
        form.filter {
            (field("Queue", "queue", &search.queue, ""))
            (field("Name", "name", &search.name, ""))
            (field("Version", "version", &search.version, ""))
            (field("Error holds", "error", &search.error, "timeout"))
            (field("Cause", "fingerprint", &search.fingerprint, ""))
            (field("Failed after", "failed_after", &search.failed_after, "2026-11-21T08:00:00Z"))
            (field("Failed before", "failed_before", &search.failed_before, ""))
            button { "Find" }
            a.button href="letters" { "All" }
        }
    }
}

fn causes(screen: &Screen, stats: &StatsView) -> Markup {
    let now = screen.now();
    html! {
        @if stats.groups.is_empty() { p.soft { "None." } }
        @else {
            table {
                tr { th.n { "Letters" } th { "Error" } th.wide { "Task" } th { "Queue" } th.wide { "First" } th { "Last" } }
                @for group in stats.groups.iter().take(CAUSES) {
                    @let version = group.version.to_string();
                    @let of = [("queue", group.queue.as_str()), ("name", group.name.as_str()), ("version", &version)];
                    @let cause = [of.as_slice(), &[("fingerprint", group.fingerprint.as_str())]].concat();
                    tr {
                        td.n { (number(group.count)) }
                        td.wrap { a href=(to("letters", &cause)) { code { (line(cause_of(group))) } } }
                        td.wide { (abridged(group.name.as_str())) "@" (group.version) }
                        td { (queue(&group.queue)) }
                        td.wide { (when(group.first_seen, now)) }
                        td { (when(group.last_seen, now)) }
                    }
                }
            }
            @if stats.groups.len() > CAUSES { p.soft { "And " (stats.groups.len() - CAUSES) " more causes." } }
        }
    }
}

/// One of the errors of a group, or their kind where they are hidden.
pub(crate) fn cause_of(group: &GroupView) -> &str {
    if group.example.is_empty() { &group.fingerprint } else { &group.example }
}

fn table(screen: &Screen, page: &LetterPageView) -> Markup {
    html! {
        @if page.dead_letters.is_empty() { p.soft { "None." } }
        @else {
            table {
                tr {
                    th { "Task" } th.wide { "Name" } th.wide { "Queue" } th { "Failed" } th.n.wide { "Attempts" }
                    th { "Error" }
                }
                @for letter in &page.dead_letters {
                    tr {
                        td { a.id href=(to("letter", &[("id", letter.id.as_str())])) { (abridged(letter.id.as_str())) } }
                        td.wide { (abridged(letter.name.as_str())) "@" (letter.version) }
                        td.wide { (queue(&letter.queue)) }
                        td { (when(letter.failed_at, screen.now())) }
                        td.n.wide { (letter.attempt) }
                        td.wrap { code { (line(said(&letter.error, letter.sensitive))) } }
                    }
                }
            }
        }
    }
}

fn more(search: &Search, cursor: Option<&str>, next: Option<&str>) -> Markup {
    let asked = serde_html_form::to_string(search).unwrap_or_default();
    html! {
        nav.pages aria-label="Parts of the list" {
            @if cursor.is_some() { a.button href=(to("letters", search)) { "First page" } }
            @if let Some(next) = next {
                a.button rel="next" href=(format!("{}&{asked}", to("letters", &[("cursor", next)]))) { "Next page" }
            }
        }
    }
}

fn operation_table(screen: &Screen, operations: &Result<OperationPageView, ApiRefusal>) -> Markup {
    let operations = match operations {
        Ok(page) => &page.operations,
        Err(refusal) => return missing(refusal),
    };
    html! {
        @if operations.is_empty() { p.soft { "Nothing was sent again lately." } }
        table {
            @for one in operations {
                tr {
                    td { a.id href=(to("operation", &[("id", one.id.as_str())])) { (line(&one.id)) } }
                    td { (when(one.created_at, screen.now())) }
                    td { (state(if one.finished_at.is_some() { Tone::Good } else { Tone::Warn }, one.state.as_str())) }
                    td.n { (number(one.resubmitted)) " of " (number(one.total)) }
                }
            }
        }
    }
}

fn actions(search: &Search, total: u64) -> Markup {
    let scope = if search.is_empty() { "all" } else { "those found" };
    let again = html! {
        "This sends " b { (many(total, "dead letter")) } " (" (scope) ") again, the oldest first. Each is sent once. "
        code { "jobbers dlq resubmit" (text(&search.flags())) }
    };
    let delete = html! {
        "This deletes " b { (many(total, "dead letter")) } " (" (scope)
        "). It can't be undone. Tasks in the store are not changed. "
        code { "jobbers dlq delete" (text(&search.flags())) }
    };
    html! {
        div.actions {
            (action("Send again", &again, &html! {
                div.fields {
                    label { "At most a second" input name="rate" inputmode="decimal" placeholder="no limit" size="8"; }
                    label { "Into the queue" input name="to_queue" placeholder="where they were" size="16"; }
                    label {
                        "Parameters to change, as JSON"
                        input name="parameters" placeholder=r#"{"retry": false}"# size="24";
                    }
                }
                label.check { input type="checkbox" name="keep_attempts" value="yes"; " go on counting their attempts" }
                (button("resubmit", "Send them again", false))
            }))
            (action("Delete", &delete, &html! {
                input type="hidden" name="shown" value=(total);
                label {
                    "Type " (total) " to delete them "
                    input name="typed" inputmode="numeric" autocomplete="off" required;
                }
                (button("delete", "Delete", true))
            }))
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(crate) enum Change {
    Resubmit {
        rate: Option<String>,
        to_queue: Option<String>,
        parameters: Option<String>,
        keep_attempts: Option<String>,
    },
    Delete {
        shown: String,
        typed: String,
    },
}

/// `POST /ui/letters`.
pub(crate) async fn change(Query(search): Query<Search>, api: Api, Form(change): Form<Change>) -> Answered {
    let refused = |detail: String| ApiRefusal::from(Problem::new(Code::InvalidRequest, detail));
    match change {
        Change::Resubmit { rate, to_queue, parameters, keep_attempts } => {
            let request = ResubmitRequest {
                rate: rate
                    .map(|rate| rate.trim().parse().map_err(|_| refused(format!("{rate:?} is no rate"))))
                    .transpose()?,
                to_queue: to_queue
                    .map(|name| name.trim().parse())
                    .transpose()
                    .map_err(|error| refused(format!("the queue: {error}")))?,
                parameters: parameters
                    .map(|patch| RawValue::from_string(patch.trim().to_owned()))
                    .transpose()
                    .map_err(|error| refused(format!("the parameters: {error}")))?,
                reset_retry_count: keep_attempts.is_none(),
                ..search.selection()?
            };
            let operation: WholeOperationView =
                api.call_with(Method::POST, "/dead-letter-queue/resubmit", &request).await?;
            Ok(back(
                "operation",
                Some(("id", &operation.entry.id)),
                Did::LettersSent,
                Some(operation.entry.resubmitted),
            ))
        }
        Change::Delete { shown, typed } => {
            let found: StatsView = api.get(&to("/dead-letter-queue/stats", &search)).await?;
            let is_meant = typed.trim() == shown && shown.parse::<u64>().is_ok_and(|shown| found.total <= shown);
            if !is_meant {
                return Ok(back(&to("letters", &search), None, Did::Moved, Some(found.total)));
            }
            let deleted: ChangeView =
                api.call_with(Method::DELETE, "/dead-letter-queue", &search.selection::<DeleteRequest>()?).await?;
            Ok(back(&to("letters", &search), None, Did::LettersDeleted, Some(deleted.changed)))
        }
    }
}
