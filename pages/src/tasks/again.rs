//! A task's submission to copy: as a command, with curl, in Python and in Rust.

use jobbers_api::{task::view::TaskView, wire::path::path};
use jobbers_common::lifecycle::Status;
use jobbers_process::printable;
use maud::{Markup, html};

use crate::elements::words::{shell, text};

/// Longer parameters are better taken from the download.
const MOST_BYTES: usize = 1_536;

/// What submits a task like this one to the manager at `address`.
pub(super) fn commands(task: &TaskView, address: &str) -> Markup {
    let raw = task.parameters.as_deref().map(|raw| raw.get()).filter(|_| task.parameters_content_type.is_none());
    let is_gone = task.parameters.is_none() && task.status == Status::Completed;
    let is_hidden = raw.is_none() && task.sensitive;
    let parameters = printable::json(raw.filter(|raw| raw.len() <= MOST_BYTES).unwrap_or("{}"));
    let body = body(task, &parameters);
    html! {
        @if is_hidden { p.soft { "Its parameters are hidden: put them in." } }
        @else if is_gone { p.soft { "Its queue did not keep its parameters when it completed: put them in." } }
        @else if raw.is_some_and(|raw| raw.len() > MOST_BYTES) { p.soft { "Its parameters are long: put them in." } }
        pre tabindex="0" { (text(&command(task, &parameters))) }
        pre tabindex="0" { (text(&curl(address, &body))) }
        div.actions {
            details.action { summary.button { "In Python" } pre tabindex="0" { (text(&python(address, &body))) } }
            details.action { summary.button { "In Rust" } pre tabindex="0" { (text(&rust(address, &body))) } }
        }
        p.soft { "The task as JSON: " a href=(format!("..{}", path(["tasks", task.id.as_str()]))) { "API" } }
    }
}

/// The body of the request.
fn body(task: &TaskView, parameters: &str) -> String {
    let sensitive = if task.sensitive { r#","sensitive":true"# } else { "" };
    format!(
        r#"{{"name":"{}","version":{},"queue":"{}","parameters":{parameters}{sensitive}}}"#,
        task.name, task.version, task.queue
    )
}

fn command(task: &TaskView, parameters: &str) -> String {
    let sensitive = if task.sensitive { " --sensitive" } else { "" };
    format!(
        "jobbers submit {} --task-version {} --queue {}{sensitive} {}",
        shell(task.name.as_str()),
        task.version,
        shell(task.queue.as_str()),
        shell(parameters)
    )
}

fn curl(address: &str, body: &str) -> String {
    format!("curl -s -X POST {address}/tasks -H 'content-type: application/json' -d {}", shell(body))
}

/// A program that needs nothing but the standard library.
fn python(address: &str, body: &str) -> String {
    let literal = body.replace('\\', r"\\").replace('\'', r"\'").replace('\n', r"\n").replace('\r', r"\r");
    format!(
        "import urllib.request\n\n\
         task = '{literal}'\n\
         request = urllib.request.Request(\n    \
             \"{address}/tasks\", task.encode(), {{\"content-type\": \"application/json\"}})\n\
         print(urllib.request.urlopen(request).read().decode())\n"
    )
}

/// A function that needs the crates `jobbers-api` and `serde_json`.
fn rust(address: &str, body: &str) -> String {
    // More marks than follow any quote in the text.
    let most = body.split('"').skip(1).map(|rest| rest.len() - rest.trim_start_matches('#').len()).max();
    let marks = "#".repeat(most.unwrap_or_default() + 1);
    // A text of Rust holds no bare carriage return; between JSON's values it means nothing.
    let body = body.replace('\r', "");
    format!(
        "use jobbers_api::{{client::Client, task::view::SubmittedView}};\n\n\
         async fn submit() -> Result<SubmittedView, Box<dyn std::error::Error>> {{\n    \
             let client = Client::new(\"{address}\", \"my-program/1.0\")?;\n    \
             let task = r{marks}\"{body}\"{marks};\n    \
             let task: &serde_json::value::RawValue = serde_json::from_str(task)?;\n    \
             Ok(client.post(\"/tasks\").json(task).send().await?.read()?)\n\
         }}\n"
    )
}
