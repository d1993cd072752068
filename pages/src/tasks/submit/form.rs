//! The form of a task: empty, with the parameters of another task, or as it came back because something was refused.

use jobbers_api::worker::registry::RegisteredTaskView;
use maud::{Markup, html};
use serde_json::Value;

use super::input::{AS_JSON, Input, TYPED, WHOLE, properties};
use crate::{
    elements::{
        frame::{post_form, refused_form},
        words::{line, prose, task as task_link, text},
    },
    session::ask::ApiRefusal,
};

/// What a form shows.
#[derive(Debug)]
pub(super) struct Filled<'a> {
    pub(super) name: &'a str,
    pub(super) version: u32,
    pub(super) known: Option<&'a RegisteredTaskView>,
    /// The task whose parameters are edited.
    pub(super) from: Option<&'a str>,
    /// What is in the fields; `None`: what the schema has as defaults.
    pub(super) fields: Option<&'a [(String, String)]>,
    pub(super) refusal: Option<&'a ApiRefusal>,
}

impl Filled<'_> {
    fn field(&self, name: &str) -> Option<&str> {
        self.fields?.iter().find(|(field, _)| field == name).map(|(_, typed)| typed.as_str())
    }

    /// The place that was refused, as a JSON pointer.
    fn pointer(&self) -> &str {
        self.refusal.and_then(|refusal| refusal.problem.pointer.as_deref()).unwrap_or_default()
    }

    /// Whether this parameter is what was refused.
    fn is_refused(&self, parameter: &str) -> bool {
        let mut places = self.pointer().split('/').skip(1);
        let escaped = parameter.replace('~', "~0").replace('/', "~1");
        places.next() == Some(WHOLE) && places.next() == Some(escaped.as_str())
    }

    /// The fields of parameters that the schema does not name.
    fn others(&self) -> impl Iterator<Item = (&str, &str)> {
        let known = self.known.and_then(properties).unwrap_or_default();
        let fields = self.fields.into_iter().flatten();
        fields.filter_map(move |(field, typed)| {
            let name = field.strip_prefix(TYPED).or_else(|| field.strip_prefix(AS_JSON))?;
            (!known.iter().any(|(property, _)| *property == name)).then_some((field.as_str(), typed.as_str()))
        })
    }

    pub(super) fn page(&self) -> Markup {
        let Self { name, version, known, from, .. } = self;
        html! {
            h1 { @if from.is_some() { "Edit and send again: " } @else { "Submit " } (line(name)) "@" (version) }
            @if let Some(refusal) = self.refusal { (refused_form("submitted", refusal)) }
            @if let Some(task) = known { @if !task.description.is_empty() { p { (prose(&text(&task.description))) } } }
            @else { p.soft { "No live worker can run it: the task waits until one can." } }
            @if let Some(from) = from {
                p.soft {
                    "A new task is stored, with the labels, the concurrency key and the policy of " (task_link(from))
                    ", which stays as it is."
                }
            }
            (post_form(Some("card"), &self.content()))
        }
    }

    fn content(&self) -> Markup {
        let meta = |label: &str, name: &str, hint: &str| {
            html! { label { (label) input name=(name) placeholder=(hint) value=[self.field(name)]; } }
        };
        html! {
            input type="hidden" name="name" value=(self.name);
            input type="hidden" name="version" value=(self.version);
            @if let Some(from) = self.from { input type="hidden" name="from" value=(from); }
            h2 { "Parameters" }
            (self.parameters())
            h2 { "How" }
            div.fields {
                (meta("Queue", "queue", "as the rules say"))
                label { "Priority"
                    input type="number" min="0" max="9" name="priority" placeholder="5" value=[self.field("priority")];
                }
                (meta("Not before", "delay", "in 10s, 5m, 1h"))
                (meta("Id", "id", "a new one"))
            }
            p {
                button { "Submit" } " "
                span.soft { "One task is stored. " code { "jobbers submit " (line(self.name)) } }
            }
        }
    }

    fn parameters(&self) -> Markup {
        let whole = self.field(WHOLE);
        let fields = self.known.and_then(properties).filter(|_| whole.is_none());
        let refused = self.pointer().split('/').nth(1) == Some(WHOLE);
        let (invalid, described) = (refused.then_some("true"), refused.then_some("refusal"));
        let is_alone = fields.is_none() && self.others().next().is_none();
        html! {
            @if is_alone {
                label { "JSON"
                    textarea name=(WHOLE) aria-invalid=[invalid] aria-describedby=[described] { (whole.unwrap_or("{}")) }
                }
            } @else {
                div.fields {
                    @for (name, schema) in fields.into_iter().flatten() { (self.parameter(name, schema)) }
                    @for (field, typed) in self.others() { (self.other(field, typed)) }
                }
            }
        }
    }

    fn parameter(&self, name: &str, schema: &Value) -> Markup {
        let required = self.known.and_then(|task| task.parameters.as_ref()?["required"].as_array());
        let is_required = required.is_some_and(|all| all.iter().any(|it| it.as_str() == Some(name)));
        let about = schema["description"].as_str().unwrap_or_default();
        let as_json = format!("{AS_JSON}{name}");
        html! {
            label {
                span { (line(name)) @if !is_required { " (optional)" } @if !about.is_empty() { ": " (prose(&line(about))) } }
                @match self.field(&as_json) {
                    Some(json) => (self.json_field(name, &as_json, json, is_required)),
                    None => (self.input(name, schema, is_required)),
                }
            }
        }
    }

    fn json_field(&self, name: &str, field: &str, json: &str, is_required: bool) -> Markup {
        let refused = self.is_refused(name);
        html! {
            textarea name=(field) required[is_required] placeholder="JSON"
                aria-invalid=[refused.then_some("true")] aria-describedby=[refused.then_some("refusal")] { (json) }
        }
    }

    fn input(&self, name: &str, schema: &Value, is_required: bool) -> Markup {
        let (field, preset) = (format!("{TYPED}{name}"), &schema["default"]);
        let preset_text = match preset {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let typed = match self.fields {
            Some(_) => self.field(&field).map(str::to_owned),
            None => preset_text,
        };
        let typed = typed.as_deref();
        let refused = self.is_refused(name);
        let (invalid, described) = (refused.then_some("true"), refused.then_some("refusal"));
        let choice = |choices: &[&str]| {
            html! {
                select name=(field) aria-invalid=[invalid] aria-describedby=[described] {
                    @if !is_required { option value="" { "–" } }
                    @for one in choices { option value=(one) selected[typed == Some(*one)] { (line(one)) } }
                }
            }
        };
        match Input::of(schema) {
            Input::Text => html! {
                input name=(field) required[is_required] value=[typed] aria-invalid=[invalid] aria-describedby=[described];
            },
            Input::Number { is_whole } => html! {
                input type="number" step=(if is_whole { "1" } else { "any" }) name=(field) required[is_required]
                    value=[typed] aria-invalid=[invalid] aria-describedby=[described];
            },
            Input::Switch => choice(&["true", "false"]),
            Input::Choice(all) => choice(&all),
            Input::Json => {
                let json = match self.fields {
                    None if !preset.is_null() => preset.to_string(),
                    _ => typed.unwrap_or_default().to_owned(),
                };
                self.json_field(name, &field, &json, is_required)
            }
        }
    }

    /// A parameter that the schema does not name.
    fn other(&self, field: &str, typed: &str) -> Markup {
        let name = field.strip_prefix(TYPED).or_else(|| field.strip_prefix(AS_JSON)).unwrap_or(field);
        html! {
            label {
                span { (line(name)) @if self.known.is_some() { ": the task's schema does not name it" } }
                @if field.starts_with(TYPED) { input name=(field) value=(typed); }
                @else { (self.json_field(name, field, typed, false)) }
            }
        }
    }
}
