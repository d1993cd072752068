//! A board's task as a request: which native task it asks for.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jobbers_boards::{
    BRIDGE_OWNER,
    masstasker::wrapper::{message_name, unwrap},
};
use jobbers_common::{
    engine::boards::task::{BoardTask, Content},
    limits::{MAX_BOARD_LABELS, MAX_JSON_DEPTH},
    name::{BoardName, TaskId, TaskName},
    submission::template::TaskTemplate,
};
use serde_json::{json, value::RawValue};

use crate::config::bridges::{BridgeSettings, PayloadForm};
use jobbers_api::wire::json::is_deeper_than;

/// The label of a board's task that has the id of its native task.
pub(super) const LABEL: &str = "jobbers-task";
/// How ids of native tasks begin that a bridge submits.
const PREFIX: &str = "bridge:";

/// The id of the native task for a board's task that had this revision when a bridge took it first. No board gives a
/// revision twice.
pub(super) fn native_id(board: &BoardName, revision: u64) -> Option<TaskId> {
    TaskId::new(format!("{PREFIX}{board}:{revision}")).ok()
}

/// The revision that a native task's id was made from: the id that the client knows.
pub(super) fn first_revision(id: &TaskId) -> Option<u64> {
    id.as_str().rsplit_once(':')?.1.parse().ok()
}

/// The native task in the label of a board's task.
fn labelled(board: &BoardName, content: &Content) -> Option<TaskId> {
    let id = TaskId::new(content.labels.get(LABEL)?).ok()?;
    let is_ours = first_revision(&id).and_then(|revision| native_id(board, revision)).as_ref() == Some(&id);
    is_ours.then_some(id)
}

/// What a board's task says about its native task.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NativeTask {
    /// A bridge changed it last, so this is its native task.
    Ours(TaskId),
    /// A client changed it since a bridge gave it this native task, which counts no more.
    Stale(TaskId),
    /// It has none.
    None,
}

/// Reads the label of a board's task.
pub(super) fn mark(board: &BoardName, task: &BoardTask) -> NativeTask {
    match labelled(board, &task.content) {
        Some(id) if task.owner == BRIDGE_OWNER => NativeTask::Ours(id),
        Some(id) => NativeTask::Stale(id),
        None => NativeTask::None,
    }
}

/// The same content with the label.
pub(super) fn with_label(content: &Content, id: &TaskId) -> Content {
    let mut labels = content.labels.clone();
    labels.insert(LABEL.to_owned(), id.to_string());
    Content { labels, ..content.clone() }
}

/// The native task that a board's task asks for.
///
/// # Errors
/// What is wrong with it, as a sentence for its client.
pub(super) fn template(settings: &BridgeSettings, content: &Content) -> Result<TaskTemplate, String> {
    if content.labels.len() >= MAX_BOARD_LABELS && !content.labels.contains_key(LABEL) {
        return Err(format!("a task for a bridge has at most {} labels", MAX_BOARD_LABELS - 1));
    }
    let wrapped = unwrap(&content.data_type, &content.data);
    let name = match &settings.task {
        Some(name) => name.clone(),
        None => task_name(settings, content, wrapped.is_some())?,
    };
    let data: &[u8] = wrapped.as_deref().unwrap_or(&content.data);
    let parameters = match settings.payload {
        PayloadForm::Json => json_object(data)?,
        PayloadForm::Base64 => {
            let of_type = if wrapped.is_some() { "" } else { content.data_type.as_str() };
            let parameters = json!({"data": BASE64_STANDARD.encode(data), "type": of_type});
            RawValue::from_string(parameters.to_string()).map_err(|error| error.to_string())?
        }
    };
    Ok(TaskTemplate { version: settings.version, queue: settings.queue.clone(), ..TaskTemplate::new(name, parameters) })
}

/// The type of the data says what is to be done, unless it only wraps text or bytes; else the group does.
fn task_name(settings: &BridgeSettings, content: &Content, is_wrapped: bool) -> Result<TaskName, String> {
    let of_type = message_name(&content.data_type);
    let text = if of_type.is_empty() || is_wrapped { &settings.group } else { of_type };
    TaskName::new(text).map_err(|error| error.to_string())
}

fn json_object(data: &[u8]) -> Result<Box<RawValue>, String> {
    let parameters: Box<RawValue> =
        serde_json::from_slice(data).map_err(|error| format!("the data must be a JSON object: {error}"))?;
    if !parameters.get().starts_with('{') {
        return Err("the data must be a JSON object".to_owned());
    }
    if is_deeper_than(parameters.get(), MAX_JSON_DEPTH) {
        return Err(format!("the data must be nested at most {MAX_JSON_DEPTH} deep"));
    }
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use jobbers_boards::masstasker::wrapper::wrap;
    use jobbers_common::engine::boards::task::BoardTime;

    use super::*;
    use crate::bridge::tests::settings;

    fn content(data_type: &str, data: &[u8]) -> Content {
        Content { data: data.to_vec().into(), data_type: data_type.to_owned(), ..Content::default() }
    }

    fn read(settings: &BridgeSettings, content: &Content) -> Result<(String, String), String> {
        template(settings, content).map(|it| (it.name.to_string(), it.parameters.as_str().to_owned()))
    }

    #[test]
    fn the_name_is_the_setting_or_the_type_or_the_group() {
        let mut settings = settings();
        let object = br#"{"n":1}"#;
        let name = |settings: &BridgeSettings, data_type: &str| read(settings, &content(data_type, object)).unwrap().0;
        assert_eq!(name(&settings, "type.googleapis.com/jobs.Resize"), "jobs.Resize");
        assert_eq!(name(&settings, ""), "work");
        settings.task = Some(TaskName::new("resize").unwrap());
        assert_eq!(name(&settings, "type.googleapis.com/jobs.Resize"), "resize");
    }

    #[test]
    fn json_is_carried_on_as_it_is_and_anything_else_is_refused() {
        let settings = settings();
        let (type_url, wrapped) = wrap(r#"{ "n": 1.0 }"#);
        let of_wrapped = read(&settings, &content(&type_url, &wrapped)).unwrap();
        assert_eq!(of_wrapped, ("work".to_owned(), r#"{ "n": 1.0 }"#.to_owned()));
        for (data, said) in [
            (&b"[1]"[..], "the data must be a JSON object"),
            (b"", "the data must be a JSON object: EOF while parsing a value at line 1 column 0"),
            (b"{} {}", "the data must be a JSON object: trailing characters at line 1 column 4"),
            (b"{\"a\":\"\xff\"}", "the data must be a JSON object: invalid unicode code point"),
            (format!("{{\"a\":{}{}}}", "[".repeat(64), "]".repeat(64)).as_bytes(), "nested at most 64 deep"),
        ] {
            let error = read(&settings, &content("", data)).unwrap_err();
            assert!(error.contains(said), "{said}: {error}");
        }
    }

    #[test]
    fn any_bytes_are_carried_as_base64_with_their_type() {
        let settings = BridgeSettings { payload: PayloadForm::Base64, ..settings() };
        let bytes = content("x/jobs.Resize", b"\x00\xff");
        let expected = r#"{"data":"AP8=","type":"x/jobs.Resize"}"#;
        assert_eq!(read(&settings, &bytes).unwrap(), ("jobs.Resize".to_owned(), expected.to_owned()));
        let (type_url, wrapped) = wrap("a");
        let of_wrapped = read(&settings, &content(&type_url, &wrapped)).unwrap();
        assert_eq!(of_wrapped, ("work".to_owned(), r#"{"data":"YQ==","type":""}"#.to_owned()));
    }

    #[test]
    fn what_no_task_can_be_called_is_refused() {
        let error = read(&settings(), &content("type.googleapis.com/a b", b"{}")).unwrap_err();
        assert!(error.contains("task name \"a b\" is not valid"), "{error}");
        let labels = (0..MAX_BOARD_LABELS).map(|n| (n.to_string(), String::new())).collect();
        let error = read(&settings(), &Content { labels, ..content("", b"{}") }).unwrap_err();
        assert_eq!(error, "a task for a bridge has at most 63 labels");
    }

    #[test]
    fn a_label_counts_while_a_bridge_was_the_last_to_change_the_task() {
        let board = BoardName::new("masstasker").unwrap();
        let id = native_id(&board, 42).unwrap();
        assert_eq!((id.as_str(), first_revision(&id)), ("bridge:masstasker:42", Some(42)));
        let task = |owner, label: &str| {
            let labels = [(LABEL.to_owned(), label.to_owned())].into();
            let content = Content { labels, ..Content::default() };
            BoardTask { revision: 50, group: "work".to_owned(), at: BoardTime(0), owner, content }
        };
        assert_eq!(mark(&board, &task(BRIDGE_OWNER, id.as_str())), NativeTask::Ours(id.clone()));
        assert_eq!(mark(&board, &task(0, id.as_str())), NativeTask::Stale(id));
        for other in ["payroll", "bridge:taskstore:42", "bridge:masstasker:042", "bridge:masstasker:x", ""] {
            assert_eq!(
                mark(&board, &task(0, other)),
                NativeTask::None,
                "{other}: not a native task of this board's bridges"
            );
        }
    }
}
