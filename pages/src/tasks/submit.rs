//! Submitting a task: a form made from the schema that its workers registered, or plain JSON. The form of another task is
//! filled with its parameters. What is refused comes back with what was typed.

use axum::{
    http::{Method, StatusCode},
    response::Response,
};
use jobbers_api::{
    problem::{Code, Problem},
    task::{
        request::TaskRequest,
        view::{PolicyView, SubmittedView, TaskView},
    },
    wire::path::path,
    worker::registry::{RegisteredTaskView, RegistryView},
};
use jobbers_common::values::duration;
use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use self::{
    form::Filled,
    input::{Fields, UnreadableParameter},
};
use crate::{
    elements::{
        done::{Did, back},
        frame::{Answered, Screen, page_without_store},
        payload::{self, PayloadPart, Source},
        words::{number, shell, summary, task as task_link, text, to},
    },
    session::ask::{Api, ApiRefusal, Form, Query},
};

mod form;
mod input;

/// Most bytes of parameters that are edited in a page: a form has room for three times as many, as they may have to be escaped.
const EDITED_BYTES: usize = 256 * 1024;

#[derive(Debug, Deserialize)]
pub(crate) struct Params {
    name: Option<String>,
    version: Option<u32>,
    /// A task whose parameters are to be edited.
    from: Option<String>,
}

fn find<'a>(registry: &'a RegistryView, name: &str, version: Option<u32>) -> Option<&'a RegisteredTaskView> {
    let fitting = registry.tasks.iter().filter(|task| task.name.as_str() == name);
    fitting.filter(|task| version.is_none_or(|version| version == task.version)).max_by_key(|task| task.version)
}

/// What live workers can run; nothing for a key that may submit tasks, and not look at workers.
async fn known_tasks(api: &Api) -> Result<RegistryView, ApiRefusal> {
    match api.get("/tasks/registry").await {
        Err(refusal) if refusal.status == StatusCode::FORBIDDEN => Ok(RegistryView { tasks: Vec::new() }),
        answer => answer,
    }
}

/// `GET /ui/submit`; with `name=` and `version=` the form of a task, with `from=` that of another one, to be edited.
pub(crate) async fn show(screen: Screen, Query(params): Query<Params>) -> Answered {
    let registry = known_tasks(&screen.api).await?;
    let body = match &params {
        Params { from: Some(from), .. } => {
            edit(&screen.api.get(&path(["tasks", from])).await?, &registry, &screen.api.address())
        }
        Params { name: Some(name), version, .. } => {
            let known = find(&registry, name, *version);
            let version = known.map(|task| task.version).or(*version).unwrap_or(1);
            Filled { name, version, known, from: None, fields: None, refusal: None }.page()
        }
        Params { name: None, .. } => choice(&registry),
    };
    Ok(screen.page("Submit", "Submit a task", &body))
}

/// The form of a task, with its parameters; why not, if they can't be edited here.
fn edit(task: &TaskView, registry: &RegistryView, address: &str) -> Markup {
    let known = find(registry, task.name.as_str(), Some(task.version));
    let raw = task.parameters.as_deref().map(RawValue::get);
    if task.parameters_content_type.is_some() || raw.is_some_and(|raw| raw.len() > EDITED_BYTES) {
        return elsewhere(task, address);
    }
    let mut fields = input::fill(known, raw.unwrap_or("{}"));
    fields.push(("queue".to_owned(), task.queue.to_string()));
    fields.push(("priority".to_owned(), task.priority.to_string()));
    let form = Filled {
        name: task.name.as_str(),
        version: task.version,
        known,
        from: Some(task.id.as_str()),
        fields: Some(&fields),
        refusal: None,
    };
    html! {
        @if task.sensitive { p.done { "Its parameters are hidden, for it is sensitive: put them in. The new task is sensitive too." } }
        @else if raw.is_none() { p.done { "Its queue did not keep its parameters when it completed: put them in." } }
        (form.page())
    }
}

/// How parameters are edited that a page can't show whole.
fn elsewhere(task: &TaskView, address: &str) -> Markup {
    let name = shell(task.name.as_str());
    html! {
        h1 { "Edit and send again" }
        section.card {
            p {
                a href=(payload::address(task, Source::Task, PayloadPart::Parameters)) { "Download the parameters" } ": "
                @match &task.parameters_content_type {
                    Some(kind) => { "they are " (text(kind)) ", which a page can't edit." }
                    None => { "they are too long for a page." }
                }
                " Change them, and submit them from a terminal:"
            }
            @if task.parameters_content_type.is_none() {
                pre tabindex="0" { "jobbers submit " (name) " --task-version " (task.version) " - < parameters.json" }
            } @else {
                pre tabindex="0" {
                    "curl -s -X POST " (address) "/tasks -H 'content-type: application/json' -d @task.json"
                }
                p.soft { "With the bytes as base64 in " code { "parameters" } " and their type in " code { "parameters_content_type" } "." }
            }
            p { "Back to " (task_link(&task.id)) }
        }
    }
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
                        td.wrap { (summary(&task.description)) }
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

/// `POST /ui/submit`.
pub(crate) async fn submit(screen: Result<Screen, ApiRefusal>, api: Api, Form(fields): Form<Fields>) -> Answered {
    let registry = known_tasks(&api).await;
    let sent = match &registry {
        Ok(registry) => send(&api, registry, &fields).await,
        Err(refusal) => Err(refusal.clone()),
    };
    match sent {
        Ok(submitted) => Ok(back("task", Some(("id", submitted.id.as_str())), Did::Submitted, None)),
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => Err(refusal),
        Err(refusal) => Ok(again(screen.ok().as_ref(), registry.ok().as_ref(), &fields, &refusal)),
    }
}

fn said<'a>(fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
    fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.trim())
}

/// The form as it was sent, and why it was refused.
fn again(
    screen: Option<&Screen>,
    registry: Option<&RegistryView>,
    fields: &[(String, String)],
    refusal: &ApiRefusal,
) -> Response {
    let name = said(fields, "name").unwrap_or_default();
    let version = said(fields, "version").and_then(|version| version.parse().ok()).unwrap_or(1);
    let known = registry.and_then(|registry| find(registry, name, Some(version)));
    // A task that is gone gives nothing more to the new one.
    let code = refusal.problem.code.to_string();
    let is_gone = [Code::UnknownTask, Code::Gone].iter().any(|gone| gone.as_str() == code);
    let from = said(fields, "from").filter(|_| !is_gone);
    let body = Filled { name, version, known, from, fields: Some(fields), refusal: Some(refusal) }.page();
    let mut response = match screen {
        Some(screen) => screen.page("Submit", "Submit a task", &body),
        None => page_without_store("Submit", "Submit a task", &body),
    };
    *response.status_mut() = refusal.status;
    response
}

/// A task to submit, with the policy of another one.
#[derive(Debug, Serialize)]
struct Again<'a> {
    #[serde(flatten)]
    request: TaskRequest<'a>,
    #[serde(flatten)]
    policy: Option<PolicyView>,
}

/// Submits what a form says.
async fn send(api: &Api, registry: &RegistryView, fields: &[(String, String)]) -> Result<SubmittedView, ApiRefusal> {
    let said = |name: &str| said(fields, name);
    let name = said("name").ok_or_else(|| refused("the form names no task"))?;
    let version: u32 =
        said("version").map_or(Ok(1), str::parse).map_err(|error| refused(format!("version: {error}")))?;
    let parameters = input::read(find(registry, name, Some(version)), fields).map_err(unreadable)?;
    let parameters = RawValue::from_string(parameters).map_err(|error| refused(error.to_string()))?;
    let source: Option<TaskView> = match said("from") {
        Some(from) => Some(api.get(&path(["tasks", from])).await?),
        None => None,
    };
    let parse = |what: &str, error: &dyn std::fmt::Display| refused(format!("{what}: {error}"));
    let request = TaskRequest {
        id: said("id").map(str::parse).transpose().map_err(|error| parse("id", &error))?,
        version,
        queue: said("queue").map(str::parse).transpose().map_err(|error| parse("queue", &error))?,
        priority: said("priority").map(str::parse).transpose().map_err(|error| parse("priority", &error))?,
        delay: said("delay").map(duration::parse).transpose().map_err(|error| parse("not before", &error))?,
        parameters: Some(&parameters),
        concurrency_key: source.as_ref().and_then(|source| source.concurrency_key.clone()),
        sensitive: source.as_ref().and_then(|source| source.sensitive.then_some(true)),
        labels: source.as_ref().map(|source| source.labels.clone()).unwrap_or_default(),
        ..TaskRequest::new(name.parse().map_err(|error| parse("name", &error))?)
    };
    let again = Again { request, policy: source.map(|source| source.policy) };
    api.call_with(Method::POST, "/tasks", &again).await
}

fn refused(detail: impl Into<String>) -> ApiRefusal {
    Problem::new(Code::InvalidRequest, detail).into()
}

fn unreadable(UnreadableParameter { parameter, why }: UnreadableParameter) -> ApiRefusal {
    match parameter {
        None => {
            let problem = Problem::new(Code::InvalidRequest, format!("the parameters are no JSON: {why}"));
            problem.at("/parameters").into()
        }
        Some(name) => {
            let pointer = format!("/parameters/{}", name.replace('~', "~0").replace('/', "~1"));
            Problem::new(Code::InvalidRequest, format!("parameter {name} is no JSON: {why}")).at(pointer).into()
        }
    }
}
