//! How an access key is issued, gets another secret, is revoked, and may be deleted. The HTTP API and the commands that use the store's
//! address both decide it here.

use std::time::Duration;

use jobbers_api::access::key::NewKeyRequest;
use jobbers_common::{
    access::{AccessKey, MAX_SECRETS, Scope, StoredSecret},
    time::Timestamp,
};

use crate::credentials::key_text::KeyText;

mod bootstrap;

pub use self::bootstrap::{BootstrapError, bootstrap, first_key};

/// For how long the earlier secrets of a key stay valid unless a request says otherwise.
pub const KEEP: Duration = Duration::from_hours(24);

/// Why a key stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyRefusal {
    /// A new secret would not sign any client in.
    #[error("key {id} {why}: create another one")]
    Ended {
        /// The key.
        id: String,
        /// `was revoked` or `has expired`.
        why: &'static str,
    },
    /// It has as many secrets as a key may have.
    #[error("key {0} has {MAX_SECRETS} valid secrets: keep the earlier ones for 0 seconds to end them")]
    TooManySecrets(String),
    /// It signs clients in.
    #[error("key {0} is in use: revoke it first")]
    InUse(String),
}

/// A new key, and its text.
#[must_use]
pub fn issued(request: NewKeyRequest, by: &str, now: Timestamp) -> (KeyText, AccessKey) {
    issued_with(KeyText::generate(), request, by, now)
}

/// The key with this text.
#[must_use]
pub fn issued_with(text: KeyText, request: NewKeyRequest, by: &str, now: Timestamp) -> (KeyText, AccessKey) {
    let NewKeyRequest { name, role, scopes, queues, tasks, boards, expires_in } = request;
    let key = AccessKey {
        id: text.id().clone(),
        name,
        role,
        scopes,
        queues,
        tasks,
        boards,
        secrets: vec![StoredSecret { digest: text.digest(), created_at: now, expires_at: None }],
        created_at: now,
        created_by: by.to_owned(),
        last_used_at: None,
        expires_at: expires_in.map(|span| now.after(span)),
        revoked_at: None,
    };
    (text, key)
}

/// A key with a new secret, and its text. Its other secrets end after `keep`, unless they end before.
///
/// # Errors
/// [`KeyRefusal::Ended`], [`KeyRefusal::TooManySecrets`].
pub fn rotated(stored: &AccessKey, keep: Duration, now: Timestamp) -> Result<(KeyText, AccessKey), KeyRefusal> {
    let id = stored.id.to_string();
    if stored.revoked_at.is_some() {
        return Err(KeyRefusal::Ended { id, why: "was revoked" });
    }
    if stored.expires_at.is_some_and(|end| end <= now) {
        return Err(KeyRefusal::Ended { id, why: "has expired" });
    }
    let mut kept: Vec<StoredSecret> = stored.valid_secrets(now).filter(|_| !keep.is_zero()).cloned().collect();
    if kept.len() >= MAX_SECRETS {
        return Err(KeyRefusal::TooManySecrets(id));
    }
    let end = now.after(keep);
    for secret in &mut kept {
        secret.expires_at = Some(secret.expires_at.map_or(end, |earlier| earlier.min(end)));
    }
    let text = KeyText::for_id(&stored.id);
    let newest = StoredSecret { digest: text.digest(), created_at: now, expires_at: None };
    let secrets = std::iter::once(newest).chain(kept).collect();
    Ok((text, AccessKey { secrets, ..stored.clone() }))
}

/// A key that signs no client in any more. It stays stored, so that a store does not become open with its last key.
#[must_use]
pub fn revoked(stored: &AccessKey, now: Timestamp) -> AccessKey {
    AccessKey { revoked_at: stored.revoked_at.or(Some(now)), secrets: Vec::new(), ..stored.clone() }
}

/// Checks that a key signs no client in, and so may be deleted.
///
/// # Errors
/// [`KeyRefusal::InUse`].
pub fn check_deletable(key: &AccessKey, now: Timestamp) -> Result<(), KeyRefusal> {
    let is_used = key.valid_secrets(now).next().is_some();
    if is_used { Err(KeyRefusal::InUse(key.id.to_string())) } else { Ok(()) }
}

/// A scope that a key grants and `other` does not.
#[must_use]
pub fn granted_beyond(key: &AccessKey, other: &AccessKey) -> Option<Scope> {
    Scope::all().find(|scope| key.grants(*scope) && !other.grants(*scope))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> AccessKey {
        let request = NewKeyRequest { name: "tests".to_owned(), role: Some("viewer".to_owned()), ..Default::default() };
        issued(request, "tests", Timestamp::from_micros(1_000_000_000)).1
    }

    #[test]
    fn a_rotation_keeps_earlier_secrets_for_a_while_and_never_longer_than_before() {
        let (stored, hour) = (key(), Duration::from_hours(1));
        let now = stored.created_at;
        let ends = |key: &AccessKey| key.secrets.iter().map(|secret| secret.expires_at).collect::<Vec<_>>();
        let (second, once) = rotated(&stored, hour, now).unwrap();
        assert_eq!(ends(&once), [None, Some(now.after(hour))]);
        assert_eq!(once.secrets[0].digest, second.digest());
        let (_, twice) = rotated(&once, 2 * hour, now).unwrap();
        assert_eq!(ends(&twice), [None, Some(now.after(2 * hour)), Some(now.after(hour))]);
        let (_, thrice) = rotated(&twice, hour, now).unwrap();
        assert!(rotated(&thrice, hour, now).is_err(), "four are valid");
        assert_eq!(rotated(&thrice, Duration::ZERO, now).unwrap().1.secrets.len(), 1);
        assert_eq!(rotated(&thrice, hour, now.after(hour)).unwrap().1.secrets.len(), 2);
    }

    #[test]
    fn a_key_that_has_ended_gets_no_secret_and_can_be_deleted() {
        let (stored, now) = (key(), key().created_at);
        assert!(check_deletable(&stored, now).is_err(), "it is in use");
        let over = revoked(&stored, now);
        assert_eq!(revoked(&over, now.after(Duration::from_secs(1))).revoked_at, Some(now), "it was revoked once");
        let expired = AccessKey { expires_at: Some(now), ..stored };
        for ended in [over, expired] {
            assert!(matches!(rotated(&ended, KEEP, now), Err(KeyRefusal::Ended { .. })));
            assert_eq!(check_deletable(&ended, now), Ok(()));
        }
    }

    #[test]
    fn what_a_key_grants_beyond_another_is_found() {
        let of = |role: &str| AccessKey { role: Some(role.to_owned()), ..key() };
        assert_eq!(granted_beyond(&of("viewer"), &of("operator")), None);
        assert_eq!(granted_beyond(&of("submitter"), &of("viewer")), Some(Scope::TasksSubmit));
        let by_scopes = AccessKey { role: None, scopes: vec!["keys:write".to_owned()], ..key() };
        assert!(granted_beyond(&by_scopes, &of("operator")).is_some());
        assert_eq!(granted_beyond(&by_scopes, &of("admin")), None);
    }
}
