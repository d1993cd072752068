//! Attempts whose payloads a worker can't decode, and the messages of failures on their way to the store.
//!
//! A missing codec is a matter of this worker: another one may have it, so the task goes back untouched. Bytes that its codec
//! refuses are damaged, or the key is another under the same id. No retry helps then, and the stored bytes must outlive the
//! mistake: the task fails, and is a dead letter that can be sent again.

use jobbers_common::{
    engine::Outcome,
    limits::MAX_ERROR_BYTES,
    policy::error_kind::ErrorKind,
    task::{AttemptFailure, FailureKind},
};

use crate::{
    attempts::attempt::Attempt,
    payload::codec::{
        CodecError, ContentKind,
        error::{UNDECODABLE, WITHOUT_CODEC, message},
    },
};

/// The outcome of an attempt that has not begun, because of this error.
pub(crate) fn settle(attempt: &Attempt, error: &CodecError) -> Outcome {
    let task = &attempt.task;
    if let CodecError::Unknown(codec) = error {
        if attempt.shared.missing.note_codec(codec) {
            tracing::error!(
                name = %task.name, codec,
                "the worker has no codec of this id: give it to Worker::codec. Until then it gives such tasks back"
            );
        }
        return Outcome::Unstarted { delay: WITHOUT_CODEC };
    }
    attempt.begin();
    tracing::error!(id = %task.id, name = %task.name, %error, "a task can't be decoded, and failed");
    let failure = AttemptFailure::new(FailureKind::Fatal, message(error));
    let failure = failure.of(ErrorKind::lossy(UNDECODABLE));
    // Whatever its policy says: that speaks of what the function does, and it did nothing.
    Outcome::Failed { failure, dead_letter: true }
}

/// The outcome with its message encoded, if it is the task's own. What the worker itself reports, such as a timeout, has
/// nothing of a payload and stays clear.
pub(crate) fn encode_failure(attempt: &Attempt, mut outcome: Outcome) -> Outcome {
    let (Outcome::Retry { failure, .. }
    | Outcome::Failed { failure, .. }
    | Outcome::Stalled { failure, .. }
    | Outcome::Aborted { failure }) = &mut outcome
    else {
        return outcome;
    };
    if failure.kind.has_message_of_task() {
        let message = std::mem::take(&mut failure.message);
        let id = attempt.task.id.as_str();
        let encoded = attempt.shared.codecs().encode_text(message, MAX_ERROR_BYTES, ContentKind::Error, id);
        failure.message = encoded.unwrap_or_else(|error| format!("the message of this error: {error}"));
    }
    outcome
}
