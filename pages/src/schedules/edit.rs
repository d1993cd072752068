//! Editing when a schedule fires, and what it does about a run that is not over. All else stays as it is.

use std::collections::BTreeMap;

use axum::http::HeaderValue;
use jobbers_api::{
    problem::{Code, Problem},
    schedule::{SETTINGS, view::ScheduleView},
    wire::path::path,
};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::{
    elements::{
        frame::{action, button},
        words::shell,
    },
    session::ask::{Api, ApiRefusal},
};

/// What is done about a slot while the latest run is not over, by its names in the API.
pub(crate) const OVERLAPS: [&str; 4] = ["allow", "skip", "buffer_one", "cancel_previous"];

/// What was typed.
#[derive(Debug, Deserialize)]
pub(crate) struct Edited {
    cron: Option<String>,
    time_zone: Option<String>,
    every: Option<String>,
    overlap: Option<String>,
    /// The tag of the settings that the form showed.
    tag: Option<String>,
}

/// The form; none for a schedule of which the API does not answer all settings: one that starts workflows, or sensitive tasks.
pub(crate) fn form(one: &ScheduleView, tag: &Markup) -> Markup {
    if one.workflow.is_some() || one.task.as_ref().is_some_and(|task| task.sensitive) {
        return html! {};
    }
    let field = |label: &str, name: &str, hint: &str, value: Option<&str>| {
        html! { label { (label) input name=(name) placeholder=(hint) value=[value]; } }
    };
    let overlap = one.overlap.to_string();
    let words = html! {
        "It fires at the new times from now on. What it started goes on, and all else stays as it is. "
        code { "jobbers schedules put " (shell(one.name.as_str())) }
    };
    action(
        "Edit",
        &words,
        &html! {
            div.fields {
                (field("Cron", "cron", "0 3 * * *", one.cron.as_deref()))
                (field("Time zone", "time_zone", "UTC", one.time_zone.as_deref()))
                (field("Or every", "every", "15m", one.every.as_deref()))
                label { "While a run is not over" select name="overlap" {
                    @for rule in OVERLAPS { option value=(rule) selected[rule == overlap] { (rule.replace('_', " ")) } }
                } }
            }
            (tag)
            (button("edit", "Change", false))
        },
    )
}

/// Replaces the settings, unless they have changed since the form showed them.
pub(crate) async fn edit(api: &Api, name: &str, edited: Edited) -> Result<(), ApiRefusal> {
    let at = path(["schedules", name]);
    let (mut settings, read) = api.get_tagged::<BTreeMap<String, Box<RawValue>>>(&at).await?;
    settings.retain(|field, _| SETTINGS.contains(&field.as_str()));
    let Edited { cron, time_zone, every, overlap, tag } = edited;
    for (field, typed) in [("cron", cron), ("time_zone", time_zone), ("every", every), ("overlap", overlap)] {
        settings.remove(field);
        if let Some(typed) = typed {
            let value = to_raw_value(typed.trim()).map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
            settings.insert(field.to_owned(), value);
        }
    }
    api.put::<ScheduleView>(&at, &settings, tag_of(tag.as_deref()).or(read)).await.map(drop)
}

/// A tag that a form carries.
pub(crate) fn tag_of(text: Option<&str>) -> Option<HeaderValue> {
    text.and_then(|text| HeaderValue::from_str(text.trim()).ok())
}
