//! Submitting a task: a form made from the schema that its workers registered, or plain JSON.

use axum::http::Method;
use jobbers_api::{
    problem::{Code, Problem},
    registry::{RegisteredTaskView, RegistryView},
    task_request::TaskRequest,
    task_view::SubmittedView,
};
use jobbers_common::duration;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    ask::{Api, Form, Query, Refusal},
    done::{Did, back},
    frame::{Answered, Screen, post_form},
    words::{line, number, prose, text, to},
};

/// What precedes the name of a parameter in the name of its field.
const PREFIX: &str = "p.";

#[derive(Debug, Deserialize)]
pub(super) struct Params {
    name: Option<String>,
    version: Option<u32>,
}

/// How a parameter is asked for.
#[derive(Debug, Clone, PartialEq)]
enum Input<'a> {
    Text,
    Number { is_whole: bool },
    Switch,
    Choice(Vec<&'a str>),
    Json,
}

impl<'a> Input<'a> {
    /// The input that fits a property's schema.
    fn of(schema: &'a Value) -> Self {
        let choices = schema["enum"].as_array().map(|all| all.iter().filter_map(Value::as_str).collect::<Vec<_>>());
        if let Some(choices) = choices.filter(|choices| choices.len() == schema["enum"].as_array().map_or(0, Vec::len))
        {
            return Self::Choice(choices);
        }
        let of_many = || schema["type"].as_array()?.iter().filter_map(Value::as_str).find(|word| *word != "null");
        match schema["type"].as_str().or_else(of_many) {
            Some("string") => Self::Text,
            Some("integer") => Self::Number { is_whole: true },
            Some("number") => Self::Number { is_whole: false },
            Some("boolean") => Self::Switch,
            _ => Self::Json,
        }
    }

    /// The JSON of what was typed.
    fn json(&self, typed: &str) -> String {
        match self {
            Self::Text | Self::Choice(_) => Value::from(typed).to_string(),
            Self::Number { .. } | Self::Switch | Self::Json => typed.trim().to_owned(),
        }
    }
}

/// The parameters that a schema names, with their schemas; `None` if it does not describe an object by its fields.
fn properties(task: &RegisteredTaskView) -> Option<Vec<(&str, &Value)>> {
    let properties = task.parameters.as_ref()?["properties"].as_object()?;
    Some(properties.iter().map(|(name, schema)| (name.as_str(), schema)).collect())
}

fn find<'a>(registry: &'a RegistryView, name: &str, version: Option<u32>) -> Option<&'a RegisteredTaskView> {
    let fitting = registry.tasks.iter().filter(|task| task.name.as_str() == name);
    fitting.filter(|task| version.is_none_or(|version| version == task.version)).max_by_key(|task| task.version)
}

/// `GET /ui/submit`, and with `name=` and `version=` the form of a task.
pub(super) async fn show(screen: Screen, Query(Params { name, version }): Query<Params>) -> Answered {
    let registry: RegistryView = screen.api.get("/tasks/registry").await?;
    let body = match &name {
        None => choice(&registry),
        Some(name) => form(name, version, find(&registry, name, version)),
    };
    Ok(screen.page("Submit", "Submit a task", &body))
}

fn choice(registry: &RegistryView) -> Markup {
    html! {
        h1 { "Submit a task" }
        section.card {
            h2 { "What live workers can run" }
            @if registry.tasks.is_empty() { p.soft { "No live worker has said what it can run." } }
            table {
                @for task in &registry.tasks {
                    @let version = task.version.to_string();
                    tr {
                        td {
                            a href=(to("submit", &[("name", task.name.as_str()), ("version", &version)])) {
                                (task.name) "@" (task.version)
                            }
                        }
                        td.wrap { (line(&task.description)) }
                        td.n { (number(task.workers.into())) " workers" }
                    }
                }
            }
        }
        section.card {
            h2 { "Another task" }
            form.filter { label { "Name" input name="name" required; } button { "Next" } }
        }
    }
}

fn form(name: &str, version: Option<u32>, known: Option<&RegisteredTaskView>) -> Markup {
    let fields = known.and_then(properties);
    let version = known.map(|task| task.version).or(version).unwrap_or(1);
    html! {
        h1 { "Submit " (line(name)) "@" (version) }
        @if let Some(task) = known { @if !task.description.is_empty() { p { (prose(&text(&task.description))) } } }
        @else { p.soft { "No live worker can run it: the task waits until one can." } }
        (post_form(Some("card"), &html! {
            input type="hidden" name="name" value=(name);
            input type="hidden" name="version" value=(version);
            h2 { "Parameters" }
            @match (&fields, known) {
                (Some(fields), Some(task)) => div.fields {
                    @for (field, schema) in fields { (parameter(task, field, schema)) }
                },
                _ => label { "JSON" textarea name="parameters" { "{}" } },
            }
            h2 { "How" }
            div.fields {
                label { "Queue" input name="queue" placeholder="as the rules say"; }
                label { "Priority" input type="number" min="0" max="9" name="priority" placeholder="5"; }
                label { "Not before" input name="delay" placeholder="in 10s, 5m, 1h"; }
                label { "Id" input name="id" placeholder="a new one"; }
            }
            p { button { "Submit" } " " span.soft { "One task is stored. " code { "jobbers submit " (line(name)) } } }
        }))
    }
}

fn parameter(task: &RegisteredTaskView, name: &str, schema: &Value) -> Markup {
    let required = task.parameters.as_ref().and_then(|all| all["required"].as_array());
    let is_required = required.is_some_and(|all| all.iter().any(|it| it.as_str() == Some(name)));
    let (field, about) = (format!("{PREFIX}{name}"), schema["description"].as_str().unwrap_or_default());
    let preset = &schema["default"];
    html! {
        label {
            span { (line(name)) @if !is_required { " (optional)" } @if !about.is_empty() { ": " (prose(&line(about))) } }
            @match Input::of(schema) {
                Input::Text => { input name=(field) required[is_required] value=[preset.as_str()]; }
                Input::Number { is_whole } => {
                    @let step = if is_whole { "1" } else { "any" };
                    input type="number" step=(step) name=(field) required[is_required] value=[preset.as_number()];
                }
                Input::Switch => {
                    select name=(field) {
                        @if !is_required { option value="" { "–" } }
                        option selected[preset.as_bool() == Some(true)] { "true" }
                        option selected[preset.as_bool() == Some(false)] { "false" }
                    }
                }
                Input::Choice(all) => {
                    select name=(field) {
                        @if !is_required { option value="" { "–" } }
                        @for one in all { option value=(one) selected[preset.as_str() == Some(one)] { (line(one)) } }
                    }
                }
                Input::Json => {
                    textarea name=(field) required[is_required] placeholder="JSON" {
                        @if !preset.is_null() { (preset.to_string()) }
                    }
                }
            }
        }
    }
}

/// `POST /ui/submit`.
pub(super) async fn submit(api: Api, Form(fields): Form<Vec<(String, String)>>) -> Answered {
    let said = |name: &str| fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.trim());
    let name = said("name").ok_or_else(|| refused("the form names no task"))?;
    let version: u32 =
        said("version").map_or(Ok(1), str::parse).map_err(|error| refused(format!("version: {error}")))?;
    let registry: RegistryView = api.get("/tasks/registry").await?;
    let parameters = match said("parameters") {
        Some(json) => json.to_owned(),
        None => parameters(find(&registry, name, Some(version)), &fields),
    };
    let parameters =
        RawValue::from_string(parameters).map_err(|error| refused(format!("the parameters are no JSON: {error}")))?;
    let parse = |what: &str, error: &dyn std::fmt::Display| refused(format!("{what}: {error}"));
    let request = TaskRequest {
        id: said("id").map(str::parse).transpose().map_err(|error| parse("id", &error))?,
        version,
        queue: said("queue").map(str::parse).transpose().map_err(|error| parse("queue", &error))?,
        priority: said("priority").map(str::parse).transpose().map_err(|error| parse("priority", &error))?,
        delay: said("delay").map(duration::parse).transpose().map_err(|error| parse("not before", &error))?,
        parameters: Some(&parameters),
        ..TaskRequest::new(name.parse().map_err(|error| parse("name", &error))?)
    };
    let submitted: SubmittedView = api.call_with(Method::POST, "/tasks", &request).await?;
    Ok(back("task", Some(("id", submitted.id.as_str())), Did::Submitted, None))
}

/// The parameters as JSON, each of them read as its schema says.
fn parameters(task: Option<&RegisteredTaskView>, fields: &[(String, String)]) -> String {
    let known = task.and_then(properties).unwrap_or_default();
    let given = fields.iter().filter_map(|(field, typed)| Some((field.strip_prefix(PREFIX)?, typed)));
    let entries = given.map(|(name, typed)| {
        let schema = known.iter().find(|(field, _)| *field == name).map(|(_, schema)| *schema);
        format!("{}:{}", Value::from(name), schema.map_or(Input::Text, Input::of).json(typed))
    });
    format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
}

fn refused(detail: impl Into<String>) -> Refusal {
    Problem::new(Code::InvalidRequest, detail).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn task() -> RegisteredTaskView {
        let task = json!({
            "name": "t", "version": 1, "workers": 1, "queues": [], "roles": [],
            "parameters": {"type": "object", "properties": {
                "to": {"type": "string"}, "n": {"type": "integer"}, "big": {"type": ["null", "number"]},
                "on": {"type": "boolean"}, "size": {"enum": ["s", "m"]}, "rest": {"type": "array"},
            }},
        });
        serde_json::from_value(task).unwrap()
    }

    #[test]
    fn what_is_typed_becomes_json_of_its_type() {
        let typed = [
            ("to", "7"),
            ("n", " 12345678901234567890123 "),
            ("big", "1e400"),
            ("on", "true"),
            ("size", "s"),
            ("rest", "[1]"),
        ];
        let mut fields: Vec<_> = typed.iter().map(|(name, typed)| (format!("p.{name}"), (*typed).to_owned())).collect();
        fields.push(("queue".to_owned(), "q".to_owned()));
        let json = parameters(Some(&task()), &fields);
        assert_eq!(json, r#"{"to":"7","n":12345678901234567890123,"big":1e400,"on":true,"size":"s","rest":[1]}"#);
    }

    #[test]
    fn a_schema_without_fields_asks_for_json() {
        for schema in
            [json!(true), json!({"type": "array"}), json!({"anyOf": [{"type": "string"}]}), json!({"enum": [1, 2]})]
        {
            assert_eq!(Input::of(&schema), Input::Json, "{schema}");
        }
        assert_eq!(Input::of(&json!({"enum": ["a"]})), Input::Choice(vec!["a"]));
    }
}
