//! Codecs: what a program does with payloads on their way to the store and back, such as to encrypt them.
//!
//! A codec maps bytes to bytes. It runs in the programs that submit and run tasks, so a store and a manager hold only what it
//! wrote. [`Codecs`] is what a client or a worker has: a codec that writes, and earlier ones that only read. How an encoded
//! payload looks in the store is in [`envelope`].

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use jobbers_common::{outcome::panic::words_of, payload::Payload};

mod envelope;
pub(crate) mod error;

use self::envelope::Encoded;
pub use self::error::CodecError;

/// Why a codec can't encode or decode.
pub type CodecProblem = Box<dyn std::error::Error + Send + Sync>;

/// Most characters of a codec's id.
const MOST_ID: usize = 64;

/// Encodes payloads on their way to the store, and decodes them on their way back: see [`Client::codec`](crate::Client::codec) and
/// [`Worker::codec`](crate::Worker::codec). It runs on the threads of the program's runtime, so it must not block.
///
/// [The example](https://docs.rs/crate/jobbers-worker/latest/source/examples/encrypted.rs) encrypts by AES-GCM.
///
/// ```
/// use jobbers_worker::{Codec, CodecProblem, ContentKind};
///
/// /// Hides payloads from a glance, and from nothing else.
/// struct Hidden(u8);
///
/// impl Codec for Hidden {
///     fn id(&self) -> &str { "hidden" }
///
///     fn encode(&self, clear: &[u8], _: ContentKind, _: &str) -> Result<Vec<u8>, CodecProblem> {
///         Ok(clear.iter().map(|byte| byte ^ self.0).collect())
///     }
///
///     fn decode(&self, encoded: &[u8], kind: ContentKind) -> Result<Vec<u8>, CodecProblem> {
///         self.encode(encoded, kind, "")
///     }
/// }
/// ```
pub trait Codec: Send + Sync + 'static {
    /// Its id, which is stored beside all that it encoded: 1 to 64 ASCII letters, digits, `.`, `_` and `-`. A key that replaces
    /// another is a codec with another id.
    fn id(&self) -> &str;

    /// Encodes some bytes of a task. The same bytes of the same kind and task must be encoded alike by each program: a task that is
    /// submitted again under its id is the same submission only if its parameters are the same bytes in the store.
    ///
    /// # Errors
    /// In words. Nothing is stored then, least of all the clear bytes.
    fn encode(&self, clear: &[u8], kind: ContentKind, task: &str) -> Result<Vec<u8>, CodecProblem>;

    /// Decodes what [`Codec::encode`] returned for this kind.
    ///
    /// # Errors
    /// In words, without the bytes: logs and the store keep them in clear.
    fn decode(&self, encoded: &[u8], kind: ContentKind) -> Result<Vec<u8>, CodecProblem>;
}

/// What is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContentKind {
    /// Parameters of a task.
    Parameters,
    /// The result of a task.
    Result,
    /// A checkpoint of an attempt.
    Checkpoint,
    /// The message of an attempt's progress.
    Progress,
    /// The message of a failed attempt.
    Error,
}

impl ContentKind {
    /// Its name, to bind what is encoded to its kind.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Result => "result",
            Self::Checkpoint => "checkpoint",
            Self::Progress => "progress",
            Self::Error => "error",
        }
    }
}

/// The codecs of a program: the first encodes, and all decode.
///
/// To replace a key, give every program the new codec to read by, `Codecs::new(old).reading(new)`; then let them write by it,
/// `Codecs::new(new).reading(old)`; and leave the old one out once no task, result or dead letter of its time is kept.
#[derive(Clone, Default)]
pub struct Codecs(Arc<[Arc<dyn Codec>]>);

impl Codecs {
    /// This codec alone.
    #[must_use]
    pub fn new(codec: impl Codec) -> Self {
        Self([Arc::new(codec) as Arc<dyn Codec>].into())
    }

    /// The same with a codec that decodes what other programs encoded, or this one did earlier.
    #[must_use]
    pub fn reading(self, codec: impl Codec) -> Self {
        Self(self.0.iter().map(Arc::clone).chain([Arc::new(codec) as Arc<dyn Codec>]).collect())
    }

    /// Checks the ids.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (place, codec) in self.0.iter().enumerate() {
            let id = codec.id();
            if !is_legal(id) {
                return Err(format!(
                    "{id:?} is no id of a codec: it has 1 to {MOST_ID} ASCII letters, digits, `.`, `_` and `-`"
                ));
            }
            if self.0.iter().take(place).any(|other| other.id() == id) {
                return Err(format!("two codecs have the id {id:?}"));
            }
        }
        Ok(())
    }

    /// A payload as it is stored.
    pub(crate) fn encode(&self, payload: Payload, kind: ContentKind, task: &str) -> Result<Payload, CodecError> {
        let Some(codec) = self.0.first() else { return Ok(payload) };
        let encoded = encode(&**codec, &envelope::frame(&payload), kind, task)?;
        Ok(Encoded { codec: codec.id(), bytes: encoded }.into_payload())
    }

    /// A payload as the program wrote it.
    pub(crate) fn decode(&self, payload: Payload, kind: ContentKind) -> Result<Payload, CodecError> {
        if !payload.is_encoded() {
            return Ok(payload);
        }
        let Encoded { codec, bytes } = Encoded::of_payload(&payload)?;
        let clear = self.decode_bytes(codec, &bytes, kind)?;
        envelope::unframe(clear).map_err(|problem| CodecError::Undecodable { id: codec.to_owned(), problem })
    }

    /// A message as it is stored, in at most `most` bytes: as much of its beginning is kept as has room.
    pub(crate) fn encode_text(
        &self,
        text: String,
        most: usize,
        kind: ContentKind,
        task: &str,
    ) -> Result<String, CodecError> {
        let Some(codec) = self.0.first().filter(|_| !text.is_empty()) else { return Ok(text) };
        let mut room = text.len();
        loop {
            let kept = &text[..text.floor_char_boundary(room)];
            let encoded = encode(&**codec, kept.as_bytes(), kind, task)?;
            let written = Encoded { codec: codec.id(), bytes: encoded }.into_text();
            let over = written.len().saturating_sub(most);
            if over == 0 {
                return Ok(written);
            }
            if room == 0 {
                let problem = format!("no message has room in {most} bytes");
                return Err(CodecError::Unencodable { id: codec.id().to_owned(), problem });
            }
            room = kept.len().saturating_sub(over.div_ceil(4) * 3);
        }
    }

    /// A message for a reader: what was written, or why it can't be shown.
    pub(crate) fn show_text(&self, text: String, kind: ContentKind) -> String {
        let Some(encoded) = Encoded::of_text(&text) else { return text };
        let clear = encoded.and_then(|Encoded { codec, bytes }| self.decode_bytes(codec, &bytes, kind));
        match clear {
            Ok(clear) => String::from_utf8_lossy(&clear).into_owned(),
            Err(error) => format!("({error})"),
        }
    }

    fn decode_bytes(&self, id: &str, bytes: &[u8], kind: ContentKind) -> Result<Vec<u8>, CodecError> {
        let codec = self.0.iter().find(|codec| codec.id() == id).ok_or_else(|| CodecError::Unknown(id.to_owned()))?;
        let decoded = without_panic(|| codec.decode(bytes, kind));
        decoded.map_err(|problem| CodecError::Undecodable { id: id.to_owned(), problem })
    }
}

impl<C: Codec> From<C> for Codecs {
    fn from(codec: C) -> Self {
        Self::new(codec)
    }
}

impl fmt::Debug for Codecs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|codec| codec.id())).finish()
    }
}

fn is_legal(id: &str) -> bool {
    (1..=MOST_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn encode(codec: &dyn Codec, clear: &[u8], kind: ContentKind, task: &str) -> Result<Vec<u8>, CodecError> {
    let id = codec.id();
    let encoded = match is_legal(id) {
        true => without_panic(|| codec.encode(clear, kind, task)),
        false => Err("its id is not legal".to_owned()),
    };
    encoded.map_err(|problem| CodecError::Unencodable { id: id.to_owned(), problem })
}

/// Calls a codec; its panic is a problem like others.
fn without_panic(call: impl FnOnce() -> Result<Vec<u8>, CodecProblem>) -> Result<Vec<u8>, String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(answer) => answer.map_err(|problem| problem.to_string()),
        Err(panic) => Err(format!("it panicked: {}", words_of(&*panic).unwrap_or("without a message"))),
    }
}

#[cfg(test)]
mod tests;
