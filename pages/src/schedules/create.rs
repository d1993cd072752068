//! Creating a schedule of one task: the form, the slots that it would have, and the form again with what was typed if it is
//! refused.

use axum::{
    http::{Method, StatusCode},
    response::Response,
};
use jobbers_api::{
    problem::{Code, Problem},
    schedule::view::{PreviewView, ScheduleView},
    value::Rfc3339,
};
use jobbers_common::time::Timestamp;
use maud::{Markup, html};
use serde::Serialize;
use serde_json::value::RawValue;

use super::edit::OVERLAPS;
use crate::{
    elements::{
        done::{Did, back},
        frame::{Answered, Screen, button, page_without_store, post_form, refused_form},
        words::{to, when},
    },
    session::ask::{Api, ApiRefusal, Form},
};

const TITLE: &str = "Create a schedule";
/// How many slots are shown before it is created.
const AHEAD: &str = "10";
/// What is done about slots that no manager fired in time, by its names in the API.
const CATCH_UPS: [&str; 3] = ["latest", "none", "all"];

/// The fields as they were typed.
type Fields = Vec<(String, String)>;

/// The form, what is typed in it, and what came of it.
#[derive(Debug, Default)]
struct Filled<'a> {
    fields: &'a [(String, String)],
    slots: Option<(Vec<Rfc3339>, Timestamp)>,
    refusal: Option<&'a ApiRefusal>,
}

/// A schedule as the API reads it; what is typed is checked there.
#[derive(Debug, Serialize)]
struct NewSchedule<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(flatten)]
    timing: Timing<'a>,
    task: NewTask<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    catch_up: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Timing<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cron: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_zone: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    every: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct NewTask<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a RawValue>,
}

/// `GET /ui/new-schedule`.
pub(crate) async fn show(screen: Screen) -> Answered {
    Ok(screen.page("Schedules", TITLE, &Filled::default().page()))
}

/// `POST /ui/new-schedule`: shows the slots, or creates the schedule.
pub(crate) async fn create(screen: Result<Screen, ApiRefusal>, api: Api, Form(fields): Form<Fields>) -> Answered {
    let done = match typed(&fields, "act") {
        Some("preview") => slots(&api, &fields).await.map(Some),
        _ => match put(&api, &fields).await {
            Ok(one) => return Ok(back("schedule", Some(("name", one.name.as_str())), Did::ScheduleCreated, None)),
            Err(refusal) => Err(refusal),
        },
    };
    if let Err(refusal) = &done
        && refusal.status == StatusCode::UNAUTHORIZED
    {
        return Err(refusal.clone());
    }
    let screen = screen.ok();
    let refusal = done.as_ref().err();
    let now = screen.as_ref().map(Screen::now);
    let slots = done.as_ref().ok().cloned().flatten().zip(now);
    let body = Filled { fields: &fields, slots, refusal }.page();
    Ok(answer(screen.as_ref(), refusal, &body))
}

fn answer(screen: Option<&Screen>, refusal: Option<&ApiRefusal>, body: &Markup) -> Response {
    let mut response = match screen {
        Some(screen) => screen.page("Schedules", TITLE, body),
        None => page_without_store("Schedules", TITLE, body),
    };
    *response.status_mut() = refusal.map_or(StatusCode::OK, |refusal| refusal.status);
    response
}

fn typed<'a>(fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
    fields.iter().find(|(field, _)| field == name).map(|(_, typed)| typed.trim())
}

fn timing(fields: &[(String, String)]) -> Timing<'_> {
    let typed = |name| typed(fields, name);
    Timing { cron: typed("cron"), time_zone: typed("time_zone"), every: typed("every") }
}

/// The slots of what is typed. Nothing is stored.
async fn slots(api: &Api, fields: &[(String, String)]) -> Result<Vec<Rfc3339>, ApiRefusal> {
    #[derive(Serialize)]
    struct PreviewQuery<'a> {
        #[serde(flatten)]
        timing: Timing<'a>,
        count: &'a str,
    }
    let query = PreviewQuery { timing: timing(fields), count: AHEAD };
    api.get::<PreviewView>(&to("/schedule-preview", &query)).await.map(|found| found.slots)
}

async fn put(api: &Api, fields: &[(String, String)]) -> Result<ScheduleView, ApiRefusal> {
    let typed = |name| typed(fields, name);
    let refused = |field: &str, error: &dyn std::fmt::Display| {
        let problem = Problem::new(Code::InvalidRequest, format!("{field}: {error}"));
        ApiRefusal::from(problem.at(format!("/task/{field}")))
    };
    let version = typed("version").map(str::parse).transpose().map_err(|error| refused("version", &error))?;
    let parameters = typed("parameters").map(|text| RawValue::from_string(text.to_owned())).transpose();
    let parameters = parameters.map_err(|error| refused("parameters", &error))?;
    let task = NewTask { name: typed("task"), version, queue: typed("queue"), parameters: parameters.as_deref() };
    let schedule = NewSchedule {
        name: typed("name"),
        timing: timing(fields),
        task,
        overlap: typed("overlap"),
        catch_up: typed("catch_up"),
    };
    api.call_with(Method::POST, "/schedules", &schedule).await
}

impl Filled<'_> {
    /// The field that was refused.
    fn refused(&self) -> Option<&str> {
        let pointer = self.refusal?.problem.pointer.as_deref()?;
        let mut places = pointer.split('/').skip(1);
        match (places.next()?, places.next()) {
            ("task", Some("name") | None) => Some("task"),
            ("task", Some(field)) => Some(field),
            (field, _) => Some(field),
        }
    }

    fn page(&self) -> Markup {
        html! {
            h1 { (TITLE) }
            @if let Some(refusal) = self.refusal { (refused_form("created", refusal)) }
            @if let Some((slots, now)) = &self.slots {
                section.card #preview role="status" {
                    h2 { "Its next slots" }
                    @if slots.is_empty() { p.soft { "There are none." } }
                    (slot_table(slots, *now))
                    p.soft { "Nothing is created yet." }
                }
            }
            (post_form(Some("card"), &self.content()))
            p.soft { "A schedule that starts a workflow is made by " code { "jobbers schedules put NAME --workflow FILE" } "." }
        }
    }

    fn content(&self) -> Markup {
        html! {
            h2 { "When" }
            div.fields {
                (self.input("Name", "name", "nightly/report"))
                (self.input("Cron", "cron", "0 3 * * *"))
                (self.input("Time zone", "time_zone", "UTC"))
                (self.input("Or every", "every", "15m"))
            }
            h2 { "What it submits" }
            div.fields {
                (self.input("Task", "task", "its name"))
                (self.input("Version", "version", "1"))
                (self.input("Queue", "queue", "as the rules say"))
            }
            label { "Parameters, as JSON"
                textarea name="parameters" aria-invalid=[self.invalid("parameters")]
                    aria-describedby=[self.described("parameters")] { (typed(self.fields, "parameters").unwrap_or("{}")) }
            }
            h2 { "How" }
            div.fields {
                (self.choice("While a run is not over", "overlap", &OVERLAPS))
                (self.choice("Slots that were missed", "catch_up", &CATCH_UPS))
            }
            p {
                (button("create", "Create", false)) " "
                (button("preview", "Show its slots", false)) " "
                span.soft {
                    "It fires from its next slot on. "
                    code { "jobbers schedules put NAME --cron '0 3 * * *' TASK" }
                }
            }
        }
    }

    fn invalid(&self, name: &str) -> Option<&'static str> {
        self.refused().filter(|field| *field == name).map(|_| "true")
    }

    fn described(&self, name: &str) -> Option<&'static str> {
        self.invalid(name).map(|_| "refusal")
    }

    fn input(&self, label: &str, name: &str, hint: &str) -> Markup {
        html! {
            label { (label)
                input name=(name) placeholder=(hint) value=[typed(self.fields, name)]
                    aria-invalid=[self.invalid(name)] aria-describedby=[self.described(name)];
            }
        }
    }

    fn choice(&self, label: &str, name: &str, choices: &[&str]) -> Markup {
        let chosen = typed(self.fields, name);
        html! {
            label { (label)
                select name=(name) {
                    @for one in choices { option value=(one) selected[chosen == Some(*one)] { (one.replace('_', " ")) } }
                }
            }
        }
    }
}

/// Slots, each with its distance from the present.
pub(crate) fn slot_table(slots: &[Rfc3339], now: Timestamp) -> Markup {
    html! { table { @for slot in slots { tr { td { (slot.to_string()) } td { (when(*slot, now)) } } } } }
}
