//! A key as the store keeps it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{
    ID_LENGTH, is_of_key,
    pattern::Pattern,
    scope::{AccessRole, Scope},
};
use crate::{
    name::{KeyId, QueueName, TaskName},
    time::Timestamp,
};

/// How many secrets of one key may be valid at a time: a new one and those that it replaces.
pub const MAX_SECRETS: usize = 4;
/// How many patterns a restriction has at most.
const MAX_PATTERNS: usize = 100;
/// How many bytes the name of a key, or of its maker, may have.
const MAX_LABEL_BYTES: usize = 128;

/// An access key, without the text that a client signs in with. Stored, so fields are only ever added, with a default.
///
/// Roles and scopes are stored by their names. A program that does not know a name, because it is older than what wrote it,
/// grants nothing by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessKey {
    /// Its id, which its text contains.
    pub id: KeyId,
    /// What people call it.
    pub name: String,
    /// The name of its [`AccessRole`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The names of [`Scope`]s that it has besides those of its role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The queues that it is restricted to; none for no restriction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<Pattern>,
    /// The names of tasks that it is restricted to; none for no restriction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Pattern>,
    /// The boards that it is restricted to; none for no restriction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boards: Vec<Pattern>,
    /// Its secrets, the newest first. Without one it signs no client in.
    #[serde(default)]
    pub secrets: Vec<StoredSecret>,
    /// When it was created.
    pub created_at: Timestamp,
    /// Who created it.
    pub created_by: String,
    /// When it was used last, cut down to the hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// From when on it signs no client in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked. A revoked key stays stored, so that a store whose last key was revoked does not become open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

/// A secret of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSecret {
    /// Its digest.
    pub digest: Digest,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it signs no client in, once another has replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// The SHA-256 of a secret; in text, hexadecimal. A secret has 260 random bits, so a quick digest does not help to find it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest(pub [u8; 32]);

impl AccessKey {
    /// Whether it grants a scope, by its role or by itself.
    #[must_use]
    pub fn grants(&self, scope: Scope) -> bool {
        let role = self.role.as_deref().and_then(AccessRole::find);
        role.is_some_and(|role| role.has(scope)) || self.scopes.iter().any(|name| name == scope.as_str())
    }

    /// Whether it is restricted to queues, to tasks or to boards. Then it reaches nothing else.
    #[must_use]
    pub const fn is_restricted(&self) -> bool {
        self.reaches_some_tasks() || !self.boards.is_empty()
    }

    /// Whether it is restricted and reaches some tasks.
    #[must_use]
    pub const fn reaches_some_tasks(&self) -> bool {
        !self.queues.is_empty() || !self.tasks.is_empty()
    }

    /// Whether it reaches a board.
    #[must_use]
    pub fn reaches_board(&self, board: &str) -> bool {
        !self.is_restricted() || Self::is_among(&self.boards, board)
    }

    /// Whether it reaches tasks of a queue, as far as its restriction to queues goes.
    #[must_use]
    pub fn reaches_queue(&self, queue: &QueueName) -> bool {
        self.queues.is_empty() || Self::is_among(&self.queues, queue.as_str())
    }

    /// Whether it reaches tasks of a name, as far as its restriction to names goes.
    #[must_use]
    pub fn reaches_name(&self, name: &TaskName) -> bool {
        self.tasks.is_empty() || Self::is_among(&self.tasks, name.as_str())
    }

    /// Whether it reaches tasks of this name in this queue.
    #[must_use]
    pub fn reaches(&self, queue: &QueueName, name: &TaskName) -> bool {
        self.reaches_queue(queue) && self.reaches_name(name)
    }

    /// Whether one of the patterns matches a name.
    #[must_use]
    pub fn is_among(patterns: &[Pattern], name: &str) -> bool {
        patterns.iter().any(|pattern| pattern.matches(name))
    }

    /// Its secrets that sign a client in at a time; none once it is revoked or has expired.
    pub fn valid_secrets(&self, now: Timestamp) -> impl Iterator<Item = &StoredSecret> {
        let is_over = move |end: Option<Timestamp>| end.is_some_and(|end| end <= now);
        let is_ended = self.revoked_at.is_some() || is_over(self.expires_at);
        let secrets: &[StoredSecret] = if is_ended { &[] } else { &self.secrets };
        secrets.iter().filter(move |secret| !is_over(secret.expires_at))
    }

    /// Checks it for itself.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence.
    pub fn validate(&self) -> Result<(), String> {
        let id = self.id.as_str();
        if !is_of_key(id, ID_LENGTH) {
            return Err(format!("the id of a key has {ID_LENGTH} characters of 0-9 and a-z without i, l, o and u"));
        }
        for (what, label) in [("name", &self.name), ("maker", &self.created_by)] {
            if label.is_empty() || label.len() > MAX_LABEL_BYTES || label.chars().any(char::is_control) {
                return Err(format!("the {what} of a key has 1 to {MAX_LABEL_BYTES} bytes and no control characters"));
            }
        }
        if let Some(role) = self.role.as_deref().filter(|role| AccessRole::find(role).is_none()) {
            let known = AccessRole::ALL.map(AccessRole::as_str).join(", ");
            return Err(format!("role {role:?} does not exist: {known}"));
        }
        if let Some(scope) = self.scopes.iter().find(|scope| Scope::find(scope).is_none()) {
            let known: Vec<&str> = Scope::all().map(Scope::as_str).collect();
            return Err(format!("scope {scope:?} does not exist: {}", known.join(", ")));
        }
        if self.role.is_none() && self.scopes.is_empty() {
            return Err("a key has a role or scopes".to_owned());
        }
        if [&self.queues, &self.tasks, &self.boards].iter().any(|patterns| patterns.len() > MAX_PATTERNS) {
            return Err(format!(
                "a key is restricted by at most {MAX_PATTERNS} patterns of queues, and as many of tasks and of boards"
            ));
        }
        if self.secrets.len() > MAX_SECRETS {
            return Err(format!("a key has at most {MAX_SECRETS} secrets; wait until an earlier one has expired"));
        }
        Ok(())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut digest = [0; 32];
        let pairs = text.as_bytes().chunks(2);
        if text.len() != 2 * digest.len() || !text.is_ascii() {
            return Err(de::Error::custom("a digest has 64 hexadecimal digits"));
        }
        for (byte, pair) in digest.iter_mut().zip(pairs) {
            let pair = str::from_utf8(pair).map_err(de::Error::custom)?;
            *byte = u8::from_str_radix(pair, 16).map_err(de::Error::custom)?;
        }
        Ok(Self(digest))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key() -> AccessKey {
        let at = Timestamp::from_micros(1_000_000);
        AccessKey {
            id: KeyId::new("0123456789").unwrap(),
            name: "ci".to_owned(),
            role: Some("submitter".to_owned()),
            scopes: vec!["queues:read".to_owned()],
            queues: vec![],
            tasks: vec![],
            boards: vec![],
            secrets: vec![StoredSecret { digest: Digest([7; 32]), created_at: at, expires_at: None }],
            created_at: at,
            created_by: "tests".to_owned(),
            last_used_at: None,
            expires_at: None,
            revoked_at: None,
        }
    }

    #[test]
    fn a_key_grants_what_its_role_has_and_what_it_names() {
        let key = key();
        assert!(key.grants(Scope::TasksSubmit) && key.grants(Scope::QueuesRead));
        assert!(!key.grants(Scope::QueuesWrite) && !key.grants(Scope::TasksLease));
        let of_another_version = AccessKey { role: Some("auditor".to_owned()), scopes: vec![], ..key };
        assert!(Scope::all().all(|scope| !of_another_version.grants(scope)));
    }

    #[test]
    fn a_restriction_holds_for_both_the_queue_and_the_name() {
        let patterns = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<Pattern>>();
        let reaches =
            |key: &AccessKey, queue, name| key.reaches(&QueueName::new(queue).unwrap(), &TaskName::new(name).unwrap());
        assert!(!key().is_restricted() && reaches(&key(), "any", "any"));
        let restricted = AccessKey { queues: patterns(&["mail", "team-a.*"]), tasks: patterns(&["send*"]), ..key() };
        assert!(restricted.is_restricted());
        assert!(reaches(&restricted, "mail", "send") && reaches(&restricted, "team-a.x", "send.all"));
        for (queue, name) in [("mail", "other"), ("other", "send"), ("team-a", "send")] {
            assert!(!reaches(&restricted, queue, name), "{queue} {name}");
        }
        let stored = serde_json::to_string(&restricted).unwrap();
        assert_eq!(serde_json::from_str::<AccessKey>(&stored).unwrap(), restricted);
    }

    #[test]
    fn a_restricted_key_reaches_the_boards_that_it_names_and_no_others() {
        let patterns = |text: &str| vec![text.parse().unwrap()];
        assert!(key().reaches_board("masstasker"));
        let of_boards = AccessKey { boards: patterns("mass*"), ..key() };
        assert!(of_boards.is_restricted() && !of_boards.reaches_some_tasks());
        assert!(of_boards.reaches_board("masstasker") && !of_boards.reaches_board("taskstore"));
        let of_queues = AccessKey { queues: patterns("mail"), ..key() };
        assert!(!of_queues.reaches_board("masstasker") && of_queues.reaches_some_tasks());
        let many = AccessKey { boards: vec!["x".parse().unwrap(); MAX_PATTERNS + 1], ..key() };
        assert!(many.validate().unwrap_err().contains("of boards"));
    }

    #[test]
    fn a_secret_is_valid_until_the_first_end_that_counts_for_it() {
        let (begin, second) = (key().created_at, Duration::from_secs(1));
        let valid = |key: &AccessKey, now| key.valid_secrets(now).count();
        assert_eq!(valid(&key(), begin), 1);
        let mut rotated = key();
        rotated.secrets[0].expires_at = Some(begin.after(second));
        assert_eq!((valid(&rotated, begin), valid(&rotated, begin.after(second))), (1, 0));
        let expiring = AccessKey { expires_at: Some(begin.after(second)), ..key() };
        assert_eq!((valid(&expiring, begin), valid(&expiring, begin.after(second))), (1, 0));
        assert_eq!(valid(&AccessKey { revoked_at: Some(begin), ..key() }, begin), 0);
    }

    #[test]
    fn a_key_survives_being_stored_and_a_wrong_one_is_refused() {
        let stored = serde_json::to_string(&key()).unwrap();
        assert_eq!(serde_json::from_str::<AccessKey>(&stored).unwrap(), key());
        for digest in ["", "00", &"0g".repeat(32), &"é".repeat(32)] {
            serde_json::from_value::<Digest>(digest.into()).unwrap_err();
        }
        assert_eq!(key().validate(), Ok(()));
        for (wrong, word) in [
            (AccessKey { id: KeyId::new("short").unwrap(), ..key() }, "id"),
            (AccessKey { name: "a\nb".to_owned(), ..key() }, "name"),
            (AccessKey { created_by: String::new(), ..key() }, "maker"),
            (AccessKey { role: Some("root".to_owned()), ..key() }, "viewer"),
            (AccessKey { scopes: vec!["tasks:all".to_owned()], ..key() }, "tasks:read"),
            (AccessKey { role: None, scopes: vec![], ..key() }, "role or scopes"),
            (AccessKey { secrets: vec![key().secrets[0].clone(); 5], ..key() }, "at most 4"),
        ] {
            let refusal = wrong.validate().unwrap_err();
            assert!(refusal.contains(word), "{refusal}");
        }
    }
}
