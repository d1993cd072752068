//! The outcome of a native task as a board's task that the client reads.

use jobbers_api::wire::payload::shown;
use jobbers_boards::masstasker::wrapper;
use jobbers_common::{
    engine::boards::{
        Create,
        task::{Content, When},
    },
    lifecycle::Status,
    limits::MAX_BOARD_COMMIT_BYTES,
    name::TaskId,
    task::Task,
};
use serde::Serialize;
use serde_json::value::RawValue;

use super::request::{LABEL, first_revision};
use crate::config::bridges::{BridgeSettings, FrontBoard};

/// How a request ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RequestEnd {
    /// The native task is over.
    Over(Box<Task>),
    /// It is over and was pruned: only how it ended is known.
    Pruned(Status),
    /// It was deleted before it ended, or longer ago than is remembered.
    Deleted,
    /// It was never submitted, and will not be.
    Refused(String),
}

/// The JSON of a reply.
#[derive(Debug, Serialize)]
struct Reply<'a> {
    /// The id that the client knows: the task's when the bridge took it first.
    task: Option<u64>,
    /// The native task. A refused request has none.
    jobbers_task: Option<&'a TaskId>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_content_type: Option<String>,
    /// The task completed, and its result was pruned before this reply was written.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    result_gone: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureReply<'a>>,
}

/// Why a task did not complete.
#[derive(Debug, Serialize)]
struct FailureReply<'a> {
    kind: &'static str,
    message: &'a str,
}

impl RequestEnd {
    /// The status in the reply.
    pub(super) const fn status(&self) -> &'static str {
        match self {
            Self::Over(task) => task.status.as_str(),
            Self::Pruned(status) => status.as_str(),
            Self::Deleted => "deleted",
            Self::Refused(_) => "refused",
        }
    }

    const fn is_success(&self) -> bool {
        match self {
            Self::Over(task) => matches!(task.status, Status::Completed),
            Self::Pruned(status) => matches!(status, Status::Completed),
            Self::Deleted | Self::Refused(_) => false,
        }
    }

    fn failure(&self) -> Option<FailureReply<'_>> {
        if self.is_success() {
            return None;
        }
        let (kind, message) = match self {
            Self::Over(task) => match task.errors.last() {
                Some(error) => (error.kind.as_str(), error.message.as_str()),
                None => (self.status(), "it ended without an error of its own"),
            },
            Self::Pruned(_) => (self.status(), "its errors were pruned before this reply was written"),
            Self::Deleted => (self.status(), "the task was deleted before it ended"),
            Self::Refused(reason) => (self.status(), reason.as_str()),
        };
        Some(FailureReply { kind, message })
    }

    fn reply(&self, id: &TaskId) -> String {
        let result = match self {
            Self::Over(task) => task.result.as_ref(),
            _ => None,
        };
        let (result, result_content_type) = shown(result);
        let reply = Reply {
            task: first_revision(id),
            jobbers_task: (!matches!(self, Self::Refused(_))).then_some(id),
            status: self.status(),
            result,
            result_content_type,
            result_gone: matches!(self, Self::Pruned(Status::Completed)),
            error: self.failure(),
        };
        // Texts, numbers and JSON that was read: always JSON.
        serde_json::to_string(&reply).unwrap_or_default()
    }
}

/// What takes the place of a request that ended; `None` if it is only deleted.
pub(super) fn outcome(settings: &BridgeSettings, request: &Content, id: &TaskId, end: &RequestEnd) -> Option<Create> {
    let mut labels = request.labels.clone();
    labels.remove(LABEL);
    let error = end.failure().map(|failure| format!("{}: {}", failure.kind, failure.message)).unwrap_or_default();
    let (group, content) = match (&settings.failed_group, &settings.reply_group) {
        (Some(group), _) if !end.is_success() => {
            let moved = Content { labels, ..request.clone() };
            // As large as a commit may be, it is moved as it is.
            let has_room = moved.bytes() + error.len() < MAX_BOARD_COMMIT_BYTES / 2;
            (group, if has_room { Content { error, ..moved } } else { moved })
        }
        (_, Some(group)) => {
            let (data_type, data) = match settings.board {
                FrontBoard::MassTasker => wrapper::wrap(&end.reply(id)),
                FrontBoard::TaskStore => (String::new(), end.reply(id).into()),
            };
            (group, Content { data, data_type, labels, error })
        }
        (_, None) => return None,
    };
    Some(Create { group: group.clone(), at: When::NOW, content })
}

#[cfg(test)]
mod tests {
    use jobbers_common::payload::Payload;
    use serde_json::{Value, json};

    use super::*;
    use crate::bridge::tests::{over, settings};

    fn id() -> TaskId {
        TaskId::new("bridge:taskstore:42").unwrap()
    }

    fn request() -> Content {
        let labels =
            [("mine", "1"), (LABEL, "bridge:taskstore:42")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        Content {
            data: "{}".into(),
            data_type: "x/jobs.Resize".to_owned(),
            labels: labels.into(),
            ..Content::default()
        }
    }

    fn reply(settings: &BridgeSettings, end: &RequestEnd) -> (Value, Content) {
        let created = outcome(settings, &request(), &id(), end).unwrap();
        assert_eq!((created.group.as_str(), created.at), ("replies", When::NOW));
        let text = wrapper::unwrap(&created.content.data_type, &created.content.data);
        let value = serde_json::from_slice(text.as_deref().unwrap_or(&created.content.data)).unwrap();
        (value, created.content)
    }

    #[tokio::test]
    async fn a_reply_says_which_task_ended_how_with_what_result() {
        let task = over(Some(Payload::json(&b"{\"n\": 1.0}"[..]))).await;
        let settings = settings();
        let (value, content) = reply(&settings, &RequestEnd::Over(task.clone()));
        let expected =
            json!({"task": 42, "jobbers_task": "bridge:taskstore:42", "status": "completed", "result": {"n": 1.0}});
        assert_eq!(value, expected);
        assert_eq!((content.data_type.as_str(), content.error.as_str()), ("", ""));
        assert_eq!(content.labels, [("mine".to_owned(), "1".to_owned())].into(), "the client's own labels");
        let settings = BridgeSettings { board: FrontBoard::MassTasker, ..settings };
        let (value, content) = reply(&settings, &RequestEnd::Over(task));
        assert_eq!((value, content.data_type.as_str()), (expected, "type.googleapis.com/google.protobuf.StringValue"));
    }

    #[tokio::test]
    async fn bytes_come_as_base64_and_a_pruned_result_is_said_to_be_gone() {
        let bytes = Payload { content_type: Some("image/png".into()), bytes: (&b"\x00\x01"[..]).into() };
        let (value, _) = reply(&settings(), &RequestEnd::Over(over(Some(bytes)).await));
        assert_eq!((&value["result"], &value["result_content_type"]), (&json!("AAE="), &json!("image/png")));
        let (value, content) = reply(&settings(), &RequestEnd::Pruned(Status::Completed));
        assert_eq!((&value["status"], &value["result_gone"]), (&json!("completed"), &json!(true)));
        assert_eq!((&value["error"], content.error.as_str()), (&Value::Null, ""));
    }

    #[test]
    fn a_reply_to_what_did_not_complete_has_an_error() {
        for (end, kind, said) in [
            (RequestEnd::Pruned(Status::Failed), "failed", "its errors were pruned before this reply was written"),
            (RequestEnd::Deleted, "deleted", "the task was deleted before it ended"),
            (RequestEnd::Refused("no".to_owned()), "refused", "no"),
        ] {
            let (value, content) = reply(&settings(), &end);
            assert_eq!(value["error"], json!({"kind": kind, "message": said}));
            assert_eq!(content.error, format!("{kind}: {said}"));
            assert_eq!(value["jobbers_task"].is_null(), matches!(end, RequestEnd::Refused(_)));
        }
    }

    #[tokio::test]
    async fn a_failed_group_gets_the_task_as_it_was() {
        let settings = BridgeSettings { failed_group: Some("dead".to_owned()), ..settings() };
        let moved = outcome(&settings, &request(), &id(), &RequestEnd::Deleted).unwrap();
        let labels = [("mine".to_owned(), "1".to_owned())].into();
        let error = "deleted: the task was deleted before it ended".to_owned();
        assert_eq!((moved.group.as_str(), moved.content), ("dead", Content { labels, error, ..request() }));
        assert_eq!(
            outcome(&settings, &request(), &id(), &RequestEnd::Pruned(Status::Completed)).unwrap().group,
            "replies"
        );
        let silent = BridgeSettings { reply_group: None, ..settings };
        assert_eq!(outcome(&silent, &request(), &id(), &RequestEnd::Over(over(None).await)), None, "only deleted");
    }
}
