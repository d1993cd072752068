//! Identifiers: short strings of `[A-Za-z0-9._:/-]`, checked once at the edge and trusted afterwards. A task's id may also
//! have `= % + @`, so that the path of a file is one, such as `sales/day=2026-11-26/part%200`.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};

use crate::limits::MAX_NAME_BYTES;

/// Why a string is no identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {found:?} is not valid: 1 to 128 characters of A-Z a-z 0-9 . _ : / -{}", also(.more))]
pub struct NameError {
    /// Which identifier was meant, e.g. `task id`.
    pub kind: &'static str,
    /// The offending text, cut to 160 characters.
    pub found: String,
    /// What such an identifier may have beside what all may have.
    more: &'static str,
}

/// The further characters, as the end of a list.
fn also(more: &str) -> String {
    more.chars().flat_map(|c| [' ', c]).collect()
}

/// The characters that all identifiers may have.
const LEGAL: [bool; 256] = {
    let (mut legal, mut byte) = ([false; 256], 0);
    while byte < 128_u8 {
        legal[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'/' | b'-');
        byte += 1;
    }
    legal
};

fn check(kind: &'static str, more: &'static str, text: &str) -> Result<(), NameError> {
    let is_legal = |byte: u8| LEGAL[usize::from(byte)] || more.as_bytes().contains(&byte);
    if !text.is_empty() && text.len() <= MAX_NAME_BYTES && text.bytes().all(is_legal) {
        return Ok(());
    }
    Err(NameError { kind, found: text.chars().take(160).collect(), more })
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        name!($(#[$doc])* $name, $kind, "");
    };
    ($(#[$doc:meta])* $name:ident, $kind:literal, $more:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks `text` and takes it as an identifier.
            ///
            /// # Errors
            #[doc = concat!("[`NameError`] unless it is 1 to 128 bytes of `[A-Za-z0-9._:/", $more, "-]`.")]
            pub fn new(text: impl AsRef<str>) -> Result<Self, NameError> {
                check($kind, $more, text.as_ref())?;
                Ok(Self(text.as_ref().into()))
            }

            /// The identifier's text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct NameVisitor;

                impl Visitor<'_> for NameVisitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a string")
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        $name::new(text).map_err(E::custom)
                    }
                }

                // What is borrowed need not be copied before it is checked.
                deserializer.deserialize_str(NameVisitor)
            }
        }
    };
}

name!(
    /// A task's id: unique in the store; a monotonic ULID unless the client chose one. Percent-encode it in URLs.
    TaskId,
    "task id",
    "=%+@"
);
name!(
    /// The name a task function is registered under, e.g. `text.wordcount`.
    TaskName,
    "task name"
);
name!(
    /// A queue's name.
    QueueName,
    "queue name"
);
name!(
    /// A role's name: which queues a worker serves, and in which order.
    RoleName,
    "role name"
);
name!(
    /// One running worker process. New at each start, so a restarted worker never inherits leases.
    WorkerId,
    "worker id"
);

name!(
    /// A job that only one process does at a time, such as keeping the archive of dead letters.
    DutyName,
    "duty name"
);
name!(
    /// A schedule's name.
    ScheduleName,
    "schedule name"
);
name!(
    /// A namespace of tasks with a revision counter of its own.
    BoardName,
    "board name"
);
name!(
    /// A run of a workflow: a ULID unless the client chose one. The ids of its tasks begin with it.
    WorkflowId,
    "workflow id"
);
name!(
    /// What a workflow is called: many runs may have one name.
    WorkflowName,
    "workflow name"
);
name!(
    /// A node of a workflow. The id of its task ends in it.
    NodeName,
    "node name"
);
name!(
    /// A signal from outside, among those of its task.
    SignalName,
    "signal name"
);
name!(
    /// A label of a task ([`crate::task::label`]), e.g. `team`.
    LabelName,
    "label name"
);
name!(
    /// An access key. Its text contains it.
    KeyId,
    "key id"
);
name!(
    /// A change that is logged: a ULID.
    ChangeId,
    "change id"
);
name!(
    /// A process that may have duties. New at each start.
    HolderId,
    "holder id"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_take_the_documented_characters_and_nothing_else() {
        assert!(TaskId::new("export/2026-11:a.b_c-1").is_ok());
        assert!(TaskId::new("x".repeat(128)).is_ok());
        assert!(QueueName::new("exports/2026-11:a.b_c-1").is_ok());
        for bad in ["", "a b", "ä", "a\n", "a\0", "{a}", &"x".repeat(129)] {
            assert!(TaskId::new(bad).is_err(), "{bad:?}");
            assert!(QueueName::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_task_may_be_called_like_a_file_and_a_queue_may_not() {
        let file = "sales/day=2026-11-26/user@shop/part%200+1.parquet";
        assert!(TaskId::new(file).is_ok());
        assert!(QueueName::new(file).unwrap_err().to_string().ends_with("0-9 . _ : / -"));
        assert!(TaskId::new("a b").unwrap_err().to_string().ends_with("0-9 . _ : / - = % + @"));
    }
}
