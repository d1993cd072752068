//! Changes that wait in the store, and on their way to the archive: a part of what the keeper of the dead letters does.
//!
//! A change is written to the archive first and forgotten by the store then, each repeatable, so a crash in between writes
//! it once more to no effect. A change without an outcome waits for it; after a while its manager is taken for dead.

use std::time::Duration;

use jobbers_common::{
    audit_log::{AuditEntry, ChangeOutcome, ChangeResult},
    engine::{Engine, Error, LoggedChange, LoggedKey},
    limits::{MAX_BATCH, MAX_LOGGED_CHANGES},
    name::ChangeId,
    time::Timestamp,
};
use ulid::Ulid;

/// How long a change waits for its outcome before it is unknown.
const UNKNOWN_AFTER: Duration = Duration::from_secs(5 * 60);
/// Most calls per tick; what is left waits for the next.
const CALLS_A_TICK: usize = 40;

/// Moves changes with an outcome, and those that wait for one too long: `put` inserts them into the archive.
///
/// # Errors
/// Those of the store, and of `put`. Safe to repeat.
pub(crate) async fn move_changes<E, F>(engine: &dyn Engine, put: impl Fn(Vec<AuditEntry>) -> F) -> Result<(), E>
where
    E: From<Error>,
    F: Future<Output = Result<(), E>>,
{
    let mut after = 0;
    for _ in 0..CALLS_A_TICK {
        let page = engine.logged_changes(after, MAX_BATCH).await?;
        let Some(last) = page.changes.last() else { break };
        after = last.number;
        let (entries, keys) = movable(&page.changes, page.now);
        if !entries.is_empty() {
            put(entries).await?;
            engine.forget_logged_changes(&keys).await?;
        }
    }
    Ok(())
}

/// The entries to move, and their keys.
fn movable(changes: &[LoggedChange], now: Timestamp) -> (Vec<AuditEntry>, Vec<LoggedKey>) {
    let (mut entries, mut keys) = (Vec::new(), Vec::new());
    for change in changes {
        let mut entry = match AuditEntry::of(change) {
            Ok(entry) => entry,
            Err(error) => {
                // It stays, because a newer program may read it.
                tracing::debug!(%error, "a logged change stays in the store");
                continue;
            }
        };
        if entry.outcome.is_none() {
            if now.since(change.begun_at) < UNKNOWN_AFTER {
                continue;
            }
            entry.outcome = Some(unknown("the manager did not log an outcome; it may have died"));
        }
        keys.push(change.key());
        entries.push(entry);
    }
    (entries, keys)
}

/// Makes room where no manager keeps an archive: the oldest changes, beyond half of what may wait, are written to the log of
/// this program and forgotten by the store.
pub(crate) async fn spill(engine: &dyn Engine) -> Result<(), Error> {
    let page = engine.logged_changes(0, MAX_BATCH).await?;
    let surplus = usize::try_from(page.total).unwrap_or(usize::MAX).saturating_sub(MAX_LOGGED_CHANGES / 2);
    let (entries, keys) = movable(&page.changes[..surplus.min(page.changes.len())], page.now);
    for entry in &entries {
        let change = serde_json::to_string(entry).unwrap_or_default();
        tracing::info!(change, "no manager keeps the audit log; this change is kept in this log alone");
    }
    engine.forget_logged_changes(&keys).await
}

/// What an operator should know before changes are refused.
pub(crate) async fn warning(engine: &dyn Engine) -> Option<String> {
    let waiting = engine.logged_changes(0, 1).await.ok()?.total;
    (waiting > MAX_LOGGED_CHANGES as u64 / 2).then(|| {
        format!(
            "{waiting} changes wait for the audit log, because no manager moves them to its archive; beyond \
             {MAX_LOGGED_CHANGES} changes are refused"
        )
    })
}

/// An outcome that is not known, and why.
pub(crate) fn unknown(why: &str) -> ChangeOutcome {
    ChangeOutcome { problem: Some(why.to_owned()), ..ChangeOutcome::of(ChangeResult::Unknown) }
}

/// The id of a new change.
pub(crate) fn new_id() -> ChangeId {
    #[expect(clippy::expect_used, reason = "letters and digits")]
    ChangeId::new(Ulid::generate().to_string()).expect("a legal id")
}

#[cfg(test)]
mod tests {
    use jobbers_common::engine::AuditLog;
    use std::sync::Arc;

    use jobbers_archive::{Archive, ChangeFilter, Options};
    use jobbers_common::time::{Clock, ManualClock};
    use jobbers_law::model::ModelEngine;

    use super::*;

    const RECORD: &str = "{\"way\":\"api\",\"operation\":\"pause_queue\"}";

    fn id(text: &str) -> ChangeId {
        ChangeId::new(text).unwrap()
    }

    async fn move_into(archive: &Archive, engine: &ModelEngine) {
        let put = |entries: Vec<AuditEntry>| async move {
            archive.put_changes(&entries).map(drop).map_err(|error| Error::Defect(error.to_string()))
        };
        move_changes(engine, put).await.unwrap();
    }

    #[tokio::test]
    async fn what_has_no_outcome_becomes_unknown_after_a_while_and_a_late_outcome_follows() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Archive::open(&folder.path().join("dead.db"), Options::default()).unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_000_000)));
        let engine = ModelEngine::new(Arc::clone(&clock) as Arc<dyn Clock>);
        let results = |archive: &Archive| {
            let entries = archive.changes(&ChangeFilter::default(), 9, None).unwrap().entries;
            entries.iter().map(|entry| (entry.id.to_string(), entry.result())).collect::<Vec<_>>()
        };
        engine.log_change(&id("a"), RECORD).await.unwrap();
        engine.log_change(&id("b"), RECORD).await.unwrap();
        engine.log_change(&id("c"), "of a newer program").await.unwrap();
        engine.log_outcome(&id("b"), "{\"result\":\"done\"}").await.unwrap();
        move_into(&archive, &engine).await;
        assert_eq!(results(&archive), [("b".to_owned(), ChangeResult::Done)]);
        clock.advance(UNKNOWN_AFTER);
        move_into(&archive, &engine).await;
        assert_eq!(results(&archive)[1], ("a".to_owned(), ChangeResult::Unknown));
        assert_eq!(engine.logged_changes(0, 9).await.unwrap().total, 1, "what can't be read stays");
        // The manager was alive after all.
        engine.log_change(&id("a"), RECORD).await.unwrap();
        engine.log_outcome(&id("a"), "{\"result\":\"refused\"}").await.unwrap();
        move_into(&archive, &engine).await;
        move_into(&archive, &engine).await;
        let mut found = results(&archive);
        found.sort_by_key(|(id, _)| id.clone());
        assert_eq!(found, [("a".to_owned(), ChangeResult::Refused), ("b".to_owned(), ChangeResult::Done)]);
    }
}
