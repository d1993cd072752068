//! Changes as the audit log keeps them: who changed what, from where, and with what outcome.
//!
//! A change is logged before it is carried out ([`ChangeRecord`]) and again with its outcome ([`ChangeOutcome`]). Both wait in
//! the store ([`crate::engine::audit_log`]) until the manager that keeps the dead letters moves them to its archive. Which
//! operations are changes, [`crate::access::Scope::is_audited`] decides.
//!
//! They are stored as JSON, so fields are only ever added, with a default. No record has a secret of a key, and none has
//! parameters of tasks. What is too long is cut, and [`ChangeOutcome::is_cut`] marks that.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    access::redact,
    engine::LoggedChange,
    error::{Error, Result},
    limits::MAX_LOGGED_BYTES,
    name::{ChangeId, KeyId},
    time::Timestamp,
    values::text::cut,
};

/// Longest text of a field, in bytes. Names and ids are shorter.
const MAX_FIELD_BYTES: usize = 1_024;
/// Most tasks that an outcome names.
pub const MAX_IDS_LOGGED: usize = 50;
/// Largest configuration, before or after, in bytes as JSON.
const MAX_CONFIG_BYTES: usize = 4 * 1024;

/// By which way a change came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// A request to a manager.
    Api,
    /// A page of a manager.
    Page,
    /// A command that writes to the store.
    Cli,
    /// A request or a page, from a person whom a trusted proxy names in a header.
    Header,
    /// A request or a page, from a client that its certificate names.
    Certificate,
}

/// The outcome of a change, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeResult {
    /// It was carried out.
    Done,
    /// The request was refused: it makes no sense, or what it names does not exist or allows no such change.
    Refused,
    /// It failed, and may have been carried out in part.
    Failed,
    /// The process that carried it out died, or its client went away: it may have been carried out.
    Unknown,
}

/// What is logged before a change is carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRecord {
    /// By which way it came.
    pub way: Way,
    /// The key that signed the client in; `None` while the store has no key, and for commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyId>,
    /// The name of that key; for commands, the user of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The address of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The operation, such as `pause_queue`.
    pub operation: String,
    /// What it names in its path: a queue, a role, a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The id of the request, as its answer and the log of the manager have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// The outcome of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeOutcome {
    /// The outcome in a word.
    pub result: ChangeResult,
    /// The status of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The code of the problem that was answered, or why the outcome is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// How long it took, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_us: Option<u64>,
    /// What it changed, where that is not in its path: the name of a queue that was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The configuration before the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The configuration after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// How many tasks or entries it changed, by the outcome for them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// Some of these tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// Whether something was left out because it is too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

/// A change in the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Its id.
    pub id: ChangeId,
    /// When it was logged, by the store's clock.
    pub at: Timestamp,
    /// What was logged before it was carried out.
    pub record: ChangeRecord,
    /// Its outcome; `None` while it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ChangeOutcome>,
}

impl ChangeResult {
    /// All results.
    pub const ALL: [Self; 4] = [Self::Done, Self::Refused, Self::Failed, Self::Unknown];

    /// The name in the file and on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    /// That of an answer with this status.
    #[must_use]
    pub const fn of_status(status: u16) -> Self {
        match status {
            0..400 => Self::Done,
            400..500 => Self::Refused,
            _ => Self::Failed,
        }
    }
}

impl fmt::Display for ChangeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Way {
    /// All ways.
    pub const ALL: [Self; 5] = [Self::Api, Self::Page, Self::Cli, Self::Header, Self::Certificate];

    /// The name in the file and on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Page => "page",
            Self::Cli => "cli",
            Self::Header => "header",
            Self::Certificate => "certificate",
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ChangeRecord {
    /// As it is stored.
    #[must_use]
    pub fn encode(mut self) -> String {
        let texts = [&mut self.by, &mut self.address, &mut self.object, &mut self.request];
        texts.into_iter().for_each(shorten);
        written(&self)
    }
}

impl ChangeOutcome {
    /// One of which nothing else is known.
    #[must_use]
    pub const fn of(result: ChangeResult) -> Self {
        Self {
            result,
            status: None,
            problem: None,
            took_us: None,
            object: None,
            before: None,
            after: None,
            counts: BTreeMap::new(),
            ids: Vec::new(),
            is_cut: false,
        }
    }

    /// As it is stored.
    #[must_use]
    pub fn encode(mut self) -> String {
        [&mut self.problem, &mut self.object].into_iter().for_each(shorten);
        self.is_cut |= self.ids.len() > MAX_IDS_LOGGED;
        self.ids.truncate(MAX_IDS_LOGGED);
        for config in [&mut self.before, &mut self.after] {
            if config.as_ref().is_some_and(|config| written(config).len() > MAX_CONFIG_BYTES) {
                (*config, self.is_cut) = (None, true);
            }
        }
        let text = written(&self);
        if text.len() <= MAX_LOGGED_BYTES {
            return text;
        }
        written(&Self { before: None, after: None, counts: BTreeMap::new(), ids: Vec::new(), is_cut: true, ..self })
    }
}

impl AuditEntry {
    /// A change that waits in the store.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for one that can't be read.
    pub fn of(logged: &LoggedChange) -> Result<Self> {
        let corrupt = |error| Error::Corrupt(format!("the logged change {} can't be read: {error}", logged.id));
        Ok(Self {
            id: logged.id.clone(),
            at: logged.begun_at,
            record: serde_json::from_str(&logged.record).map_err(corrupt)?,
            outcome: logged.outcome.as_deref().map(serde_json::from_str).transpose().map_err(corrupt)?,
        })
    }

    /// What it changed: what its path names, or what its outcome does.
    #[must_use]
    pub fn object(&self) -> Option<&str> {
        let later = self.outcome.as_ref().and_then(|outcome| outcome.object.as_deref());
        self.record.object.as_deref().or(later)
    }

    /// Its outcome in a word. One that is not known yet is [`ChangeResult::Unknown`].
    #[must_use]
    pub fn result(&self) -> ChangeResult {
        self.outcome.as_ref().map_or(ChangeResult::Unknown, |outcome| outcome.result)
    }
}

fn shorten(text: &mut Option<String>) {
    *text = text.take().map(|text| cut(text, MAX_FIELD_BYTES));
}

/// A value as JSON, without the secrets of keys.
fn written(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    redact(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record() -> ChangeRecord {
        ChangeRecord {
            way: Way::Api,
            key: Some(KeyId::new("0123456789").unwrap()),
            by: Some("ops".to_owned()),
            address: Some("[::1]:4711".to_owned()),
            operation: "pause_queue".to_owned(),
            object: Some("mail".to_owned()),
            request: Some("r".to_owned()),
        }
    }

    fn logged(record: ChangeRecord, outcome: Option<ChangeOutcome>) -> LoggedChange {
        let outcome = outcome.map(ChangeOutcome::encode);
        let id = ChangeId::new("01").unwrap();
        LoggedChange { number: 1, id, begun_at: Timestamp::from_micros(7), record: record.encode(), outcome }
    }

    #[test]
    fn a_change_is_read_as_it_was_logged() {
        let counts = BTreeMap::from([("deleted".to_owned(), 3)]);
        let outcome = ChangeOutcome {
            status: Some(200),
            took_us: Some(1),
            counts,
            before: Some(json!({"paused": false})),
            ids: vec!["a".to_owned()],
            ..ChangeOutcome::of(ChangeResult::Done)
        };
        let entry = AuditEntry::of(&logged(record(), Some(outcome.clone()))).unwrap();
        assert_eq!((&entry.record, entry.outcome.as_ref()), (&record(), Some(&outcome)));
        assert_eq!((entry.object(), entry.result()), (Some("mail"), ChangeResult::Done));
        assert_eq!(AuditEntry::of(&logged(record(), None)).unwrap().result(), ChangeResult::Unknown);
    }

    #[test]
    fn whatever_is_logged_is_bounded_and_says_what_was_cut() {
        let long = "é\"".repeat(100_000);
        let record = ChangeRecord { by: Some(long.clone()), object: Some(long.clone()), ..record() };
        let outcome = ChangeOutcome {
            before: Some(json!(long)),
            after: Some(json!("small")),
            ids: vec!["\u{1}".repeat(128); 1_000],
            counts: (0..1_000).map(|n| (n.to_string(), n)).collect(),
            object: Some(long.clone()),
            problem: Some(long),
            ..ChangeOutcome::of(ChangeResult::Failed)
        };
        let logged = logged(record, Some(outcome));
        assert!(logged.record.len() <= MAX_LOGGED_BYTES && logged.outcome.as_ref().unwrap().len() <= MAX_LOGGED_BYTES);
        let outcome = AuditEntry::of(&logged).unwrap().outcome.unwrap();
        assert!(outcome.is_cut && outcome.before.is_none());
    }

    #[test]
    fn no_secret_is_logged() {
        let key = format!("jb_0123456789_{}", "a".repeat(56));
        let outcome = ChangeOutcome { after: Some(json!({ "note": key })), ..ChangeOutcome::of(ChangeResult::Done) };
        let logged = logged(ChangeRecord { object: Some(key), ..record() }, Some(outcome));
        assert!(!logged.record.contains("aaaa") && !logged.outcome.unwrap().contains("aaaa"));
    }
}
