//! The errors of codecs, and what they mean for the task whose payload it is.

use std::time::Duration;

/// The kind of the error of a payload that can't be decoded.
pub(crate) const UNDECODABLE: &str = "undecodable_payload";
/// The kind of the error of a predecessor's result whose codec this worker does not have.
pub(crate) const UNKNOWN_CODEC: &str = "unknown_codec";
/// How long a task waits that was given back for the lack of a codec.
pub(crate) const WITHOUT_CODEC: Duration = Duration::from_secs(10);

/// Why a payload can't be encoded or decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// It is encoded by a codec that this program does not have.
    #[error("it is encoded by the codec {0:?}, which this program does not have")]
    Unknown(String),
    /// It is not what the codec wrote, or the codec has another key under the same id.
    #[error("the codec {id:?} can't decode it: {problem}")]
    Undecodable {
        /// The codec's id.
        id: String,
        /// The codec's words.
        problem: String,
    },
    /// The codec can't encode it.
    #[error("the codec {id:?} can't encode it: {problem}")]
    Unencodable {
        /// The codec's id.
        id: String,
        /// The codec's words.
        problem: String,
    },
    /// The form in which encoded payloads are stored is damaged.
    #[error("it is encoded, and damaged: {0}")]
    Damaged(String),
}

/// What a task says that failed because of this error.
pub(crate) fn message(error: &CodecError) -> String {
    format!("the payload can't be read: {error}")
}
