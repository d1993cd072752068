//! What a task was given, found out and keeps, as a page shows it: laid out, and the beginning alone if it is large.

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use jobbers_api::{
    dead_letter::WholeLetterView,
    problem::{Code, Problem},
    task::view::TaskView,
    wire::path::path,
};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    frame::{action, button},
    words::{cut, number, shell, text, to},
};
use crate::session::ask::{Api, ApiRefusal, Query};

/// How many bytes of a page a payload takes.
const SHOWN_BYTES: usize = 10 * 1024;

/// Which of a task's payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PayloadPart {
    Parameters,
    Checkpoint,
    Result,
}

impl PayloadPart {
    const fn name(self) -> &'static str {
        match self {
            Self::Parameters => "Parameters",
            Self::Checkpoint => "Checkpoint",
            Self::Result => "Result",
        }
    }

    fn of(self, task: &TaskView) -> (Option<&RawValue>, Option<&str>) {
        let (raw, content_type) = match self {
            Self::Parameters => (&task.parameters, &task.parameters_content_type),
            Self::Checkpoint => (&task.checkpoint, &task.checkpoint_content_type),
            Self::Result => (&task.result, &task.result_content_type),
        };
        (raw.as_deref(), content_type.as_deref())
    }
}

/// Where a task is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// The store.
    Task,
    /// The archive of dead letters.
    Letter,
}

/// A card with a payload; nothing if the task has none.
pub(crate) fn card(task: &TaskView, source: Source, part: PayloadPart) -> Markup {
    let (Some(raw), content_type) = part.of(task) else { return html! {} };
    let raw = raw.get();
    let laid_out = laid_out(&raw[..raw.floor_char_boundary(SHOWN_BYTES)]);
    let shown = text(&laid_out);
    let first = cut(&shown, SHOWN_BYTES);
    let is_whole = first.is_none() && raw.len() <= SHOWN_BYTES;
    let download = address(task, source, part);
    html! {
        section.card {
            h2 {
                (part.name()) " "
                @if let Some(content_type) = content_type { small { (text(content_type)) ", as base64 " } }
                @if !is_whole {
                    small { "the beginning of " (number(raw.len() as u64)) " bytes " }
                }
                @if !task.sensitive { small { a href=(download) { "download" } } }
            }
            pre tabindex="0" { (first.unwrap_or(&shown)) @if !is_whole { "…" } }
        }
    }
}

/// In the place of what is hidden of a sensitive task: how to see it.
pub(crate) fn hidden(id: &str, command: &str) -> Markup {
    let words = html! {
        "What the task is given, found out and says is shown for this once, and the audit log has who saw it. "
        code { "jobbers " (command) " " (shell(id)) " --reveal" }
    };
    html! {
        section.card {
            h2 { "Hidden" }
            p { "This task is sensitive: its parameters, result, checkpoint and messages are hidden." }
            div.actions { (action("Reveal", &words, &button("reveal", "Reveal it", false))) }
        }
    }
}

/// Where a payload is downloaded.
pub(crate) fn address(task: &TaskView, source: Source, part: PayloadPart) -> String {
    to("download", &Params { id: task.id.to_string(), source, part })
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Params {
    id: String,
    source: Source,
    part: PayloadPart,
}

/// `GET /ui/download?id=&source=&part=`: the bytes of a payload, as a file.
pub(crate) async fn download(
    api: Api,
    Query(Params { id, source, part }): Query<Params>,
) -> Result<Response, ApiRefusal> {
    let task: TaskView = match source {
        Source::Task => api.get(&path(["tasks", &id])).await?,
        Source::Letter => api.get::<WholeLetterView>(&path(["dead-letter-queue", &id])).await?.task,
    };
    let (Some(raw), content_type) = part.of(&task) else {
        return Err(Problem::new(Code::NotFound, format!("task {id} has no {}", part.name().to_lowercase())).into());
    };
    let name = part.name().to_lowercase();
    let bytes = match content_type {
        None => raw.get().as_bytes().to_vec(),
        Some(_) => {
            let text: String = serde_json::from_str(raw.get()).unwrap_or_default();
            BASE64_STANDARD.decode(text).map_err(|error| Problem::new(Code::Internal, error.to_string()))?
        }
    };
    let (kind, end) =
        if content_type.is_none() { ("application/json", "json") } else { ("application/octet-stream", "bin") };
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}.{end}\"")),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, bytes).into_response())
}

/// JSON with line breaks and indents. Its numbers and texts stay the characters they were.
fn laid_out(json: &str) -> String {
    let (mut out, mut depth, mut is_text, mut is_escaped) =
        (String::with_capacity(json.len() * 2), 0_usize, false, false);
    let mut letters = json.chars().peekable();
    while let Some(c) = letters.next() {
        if is_text {
            out.push(c);
            is_text = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            continue;
        }
        match c {
            '"' => {
                is_text = true;
                out.push(c);
            }
            '{' | '[' => {
                out.push(c);
                while letters.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if let Some(end) = letters.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    indent(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                indent(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                indent(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

fn indent(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_and_its_values_stay() {
        let json = r#"{"a" :[1.00,1e400, {} ,[ ]],"b\"{":"x, \\","c":{"d":null}}"#;
        let out = "{\n  \"a\": [\n    1.00,\n    1e400,\n    {},\n    []\n  ],\n  \"b\\\"{\": \"x, \\\\\",\n  \"c\": {\n    \"d\": null\n  }\n}";
        assert_eq!(laid_out(json), out);
    }
}
