//! Keeping the archive: having the duty, and moving letters from the store's outbox into the file.
//!
//! A letter is written to the archive first and taken off the outbox then, each repeatable, so a crash in between writes
//! it once more to no effect. A full file leaves letters on the outbox, and a warning reports it.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_archive::Archive;
use jobbers_common::{
    audit_log::AuditEntry,
    engine::{DeadKey, DeadTask, Duty, DutyClaim, Error, Outbox, Unreadable},
    limits::MAX_DUTY_NOTE_BYTES,
    time::Timestamp,
};
use tokio::task::{self, JoinError, JoinSet};

use super::{
    calls::blocking,
    holding::{AuditLog, Before, DeadLetters, Keeper, KeeperContext, MoveTrouble, Note, REPORTED_FOR, TTL, duty},
    sender,
};
use crate::dead_letters::changes;

/// Letters moved by one call.
const LETTERS_A_CALL: usize = 250;
/// Most calls per tick; what is left waits for the next.
const CALLS_A_TICK: usize = 40;
/// How often letters past their retention, and old operations, are looked for.
const PRUNE_EVERY: Duration = Duration::from_secs(60);
/// Letters pruned by one call; as many calls as it takes.
const PRUNE_LETTERS: usize = 2_000;
/// How long nothing may have been written to the archive before its log is written back.
const WRITTEN_BACK_AFTER: Duration = Duration::from_secs(10);
/// How long an operation rests after it met a defect.
const REST: Duration = Duration::from_secs(30);
/// How long operations can be looked up after they were finished.
const KEEP_OPERATIONS: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Keeps the archive until the manager stops, then gives the duty back.
pub(crate) async fn run(context: Arc<dyn KeeperContext>, every: Duration) {
    let mut rounds = KeeperRounds::new(Arc::clone(&context));
    let keeping = async {
        loop {
            rounds.round().await;
            let pause = every.mul_f64(rand::random_range(0.75..1.25));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = context.letters().begun.notified() => {}
                Some(ended) = rounds.sending.join_next_with_id() => rounds.note_end(ended),
            }
        }
    };
    context.letters().drain.run_until_cancelled(keeping).await;
    rounds.sending.shutdown().await;
    if context.letters().held().is_some() {
        *context.letters().keeper.lock() = Keeper::Unknown;
        // So that another manager takes over at once; otherwise it would wait for the duty's end.
        context.letters().engine.release_duty(&duty(), &context.letters().holder).await.ok();
    }
}

struct KeeperRounds {
    context: Arc<dyn KeeperContext>,
    /// Operations that are being carried out, and which task does.
    sending: JoinSet<()>,
    under_way: HashMap<task::Id, String>,
    /// Operations that met a defect, and when.
    resting: HashMap<String, Instant>,
    pruned: Option<Instant>,
}

impl KeeperRounds {
    fn new(context: Arc<dyn KeeperContext>) -> Self {
        Self { context, sending: JoinSet::new(), under_way: HashMap::new(), resting: HashMap::new(), pruned: None }
    }

    /// An operation ended: it is done, or its task panicked.
    fn note_end(&mut self, ended: Result<(task::Id, ()), JoinError>) {
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, ())| *id);
        let Some(operation) = self.under_way.remove(&id) else { return };
        if let Err(error) = ended
            && error.is_panic()
        {
            tracing::error!(operation, %error, "a defect was met while letters were sent again; trying on later");
            self.resting.insert(operation, Instant::now());
        }
    }

    async fn round(&mut self) {
        let outcome = self.try_round().await;
        self.note_outcome(outcome);
        self.context.letters().found.notify_waiters();
    }

    fn note_outcome(&self, outcome: Result<(), MoveTrouble>) {
        let letters = self.context.letters();
        let trouble = match outcome {
            Ok(()) => None,
            // The chores log a store that is down.
            Err(MoveTrouble::Store(error @ Error::Unavailable { .. })) => {
                tracing::debug!(%error, "the store does not let dead letters be kept");
                return;
            }
            Err(trouble) => Some(trouble),
        };
        let before = std::mem::replace(&mut *letters.trouble.lock(), trouble.clone());
        match (before, trouble) {
            (None, Some(error)) => tracing::error!(%error, "dead letters can't be archived; they wait in the store"),
            (Some(_), None) => tracing::info!("dead letters are archived again"),
            _ => {}
        }
    }

    async fn try_round(&mut self) -> Result<(), MoveTrouble> {
        let context = Arc::clone(&self.context);
        let letters = context.letters();
        let Some(archive) = open(letters).await? else {
            // A manager without an archive still passes requests on.
            look_for_keeper(letters).await?;
            if matches!(*letters.keeper.lock(), Keeper::Unknown) {
                changes::spill(&*context.letters().engine).await?;
            }
            return Ok(());
        };
        if !claim(letters, &archive).await? {
            self.sending.abort_all();
            self.under_way.clear();
            return Ok(());
        }
        self.resume(&archive).await?;
        // Before the outbox, because it makes room in a full file.
        self.prune(&archive).await?;
        let moved =
            changes::move_changes(&*context.letters().engine, |entries| put_changes(Arc::clone(&archive), entries))
                .await;
        let drained = self.drain_outbox(&archive).await;
        blocking(&archive, |archive| archive.write_back_at_rest(WRITTEN_BACK_AFTER)).await?;
        if drained.is_ok() {
            letters.drained.notify_waiters();
        }
        // A file that can't be written can still be counted, and just then the count matters.
        if letters.meters.are_due() {
            let now = context.letters().engine.health().await?.now;
            let config = context.live().current().await?;
            letters.meters.count(&archive, now, config.queues.keys()).await?;
        }
        moved.and(drained)
    }

    /// Continues unfinished operations, whichever manager began them.
    async fn resume(&mut self, archive: &Arc<Archive>) -> Result<(), MoveTrouble> {
        self.resting.retain(|_, since| since.elapsed() < REST);
        for operation in blocking(archive, Archive::running_operations).await? {
            let id = &operation.id;
            let rests = self.resting.contains_key(id) && !operation.is_cancelled;
            if rests || self.under_way.values().any(|other| other == id) {
                continue;
            }
            let (context, archive, id) = (Arc::clone(&self.context), Arc::clone(archive), id.clone());
            let task = self.sending.spawn(async move { sender::carry_out(&*context, &archive, operation).await });
            self.under_way.insert(task.id(), id);
        }
        Ok(())
    }

    async fn drain_outbox(&self, archive: &Arc<Archive>) -> Result<(), MoveTrouble> {
        let (mut after, mut unreadable) = (0, Vec::new());
        for _ in 0..CALLS_A_TICK {
            let Outbox { copies, unreadable: more, last } =
                self.context.letters().engine.dead_letters(after, LETTERS_A_CALL).await?;
            unreadable.extend(more);
            let Some(last) = last else {
                self.note_unreadable(unreadable);
                break;
            };
            after = last;
            let keys: Vec<DeadKey> = copies.iter().map(DeadTask::key).collect();
            let added = blocking(archive, move |archive| archive.put(&copies)).await?;
            self.context.letters().engine.forget_dead_letters(&keys).await?;
            if added > 0 {
                tracing::info!(letters = added, "archived dead letters");
            }
            if !claim(self.context.letters(), archive).await? {
                break;
            }
        }
        Ok(())
    }

    /// Logs copies that can't be read, each once. They stay, because a newer program may read them.
    fn note_unreadable(&self, unreadable: Vec<Unreadable>) {
        let mut known = self.context.letters().unreadable.lock();
        for Unreadable { id, revision, why } in unreadable.iter().filter(|copy| !known.contains(copy)) {
            tracing::error!(task = id, revision, why, "a dead letter in the store can't be read; it stays there");
        }
        *known = unreadable;
    }

    async fn prune(&mut self, archive: &Arc<Archive>) -> Result<(), MoveTrouble> {
        if self.pruned.is_some_and(|at| at.elapsed() < PRUNE_EVERY) {
            return Ok(());
        }
        let now = self.context.letters().engine.health().await?.now;
        blocking(archive, move |archive| archive.prune_operations(now.before(KEEP_OPERATIONS))).await?;
        let (retention, keep) = (self.context.letters().retention, self.context.letters().max_letters);
        if retention.is_some() || keep.is_some() {
            let past = retention.map(|age| now.before(age));
            let mut letters = 0;
            loop {
                let pruned = blocking(archive, move |archive| archive.prune(past, keep, PRUNE_LETTERS)).await?;
                self.context.letters().meters.deleted(pruned);
                letters += pruned;
                if pruned < PRUNE_LETTERS as u64 || !claim(self.context.letters(), archive).await? {
                    break;
                }
            }
            if letters > 0 {
                tracing::info!(letters, "deleted dead letters by age or number");
            }
        }
        self.prune_changes(archive, now).await?;
        self.pruned = Some(Instant::now());
        Ok(())
    }
}

impl KeeperRounds {
    async fn prune_changes(&self, archive: &Arc<Archive>, now: Timestamp) -> Result<(), MoveTrouble> {
        let AuditLog { retention, max_entries: keep } = self.context.letters().log;
        let past = retention.map(|age| now.before(age));
        let mut changes = 0;
        loop {
            let pruned = blocking(archive, move |archive| archive.prune_changes(past, keep, PRUNE_LETTERS)).await?;
            changes += pruned;
            if pruned < PRUNE_LETTERS as u64 || !claim(self.context.letters(), archive).await? {
                break;
            }
        }
        if changes > 0 {
            tracing::info!(changes, "deleted changes of the audit log by age or number");
        }
        Ok(())
    }
}

async fn put_changes(archive: Arc<Archive>, entries: Vec<AuditEntry>) -> Result<(), MoveTrouble> {
    blocking(&archive, move |archive| archive.put_changes(&entries)).await?;
    Ok(())
}

/// The open archive; opens it if needed. `None` if this manager keeps none.
///
/// SQLite opens a file without write permission as read-only, and that connection stays read-only when the file can be
/// written again. So an archive that refused writes is opened again; until that succeeds, the old connection serves
/// readers.
async fn open(letters: &DeadLetters) -> jobbers_archive::Result<Option<Arc<Archive>>> {
    let known = letters.archive.lock().clone();
    let refused = letters.trouble.lock().as_ref().is_some_and(MoveTrouble::is_read_only_archive);
    if let Some(archive) = known.as_ref().filter(|_| !refused) {
        return Ok(Some(Arc::clone(archive)));
    }
    let (Some(path), options) = (letters.path.clone(), letters.options) else { return Ok(None) };
    let opened = task::spawn_blocking(move || Archive::open(&path, options)).await;
    let archive = opened.map_err(|error| jobbers_archive::Error::Unavailable(error.to_string()))??;
    let archive = Arc::new(archive);
    if known.is_none() {
        let path = archive.path().canonicalize().unwrap_or_else(|_| archive.path().to_owned());
        tracing::info!(archive = %path.display(), "opened the archive of dead letters");
    }
    *letters.archive.lock() = Some(Arc::clone(&archive));
    Ok(Some(archive))
}

/// Takes or renews the duty. Returns whether this manager holds it.
async fn claim(letters: &DeadLetters, archive: &Archive) -> Result<bool, Error> {
    let asked = Instant::now();
    let known = letters.before.lock().clone();
    let had = claim_as(letters, archive, known.clone()).await?;
    let is_ours = had.holder == letters.holder;
    let known = known.filter(|_| is_ours);
    let before = kept_before(&had, known.clone(), archive.id());
    letters.before.lock().clone_from(&before);
    if before != known {
        if let Some(Before { archive: other, url, .. }) = &before {
            tracing::warn!(
                before = url,
                other,
                "another archive held the dead letters before; give managers that are to follow one another one file"
            );
        }
        // So that the next keeper of this archive learns of the other one too.
        claim_as(letters, archive, before).await?;
    }
    let keeper = if is_ours { Keeper::Us(asked + TTL) } else { Keeper::other(&had.note) };
    let was_ours = matches!(std::mem::replace(&mut *letters.keeper.lock(), keeper), Keeper::Us(_));
    letters.found.notify_waiters();
    match (was_ours, is_ours) {
        (false, true) => tracing::info!("this manager keeps the archive of dead letters"),
        (true, false) => tracing::warn!("another manager keeps the archive of dead letters now"),
        _ => {}
    }
    Ok(is_ours)
}

async fn claim_as(letters: &DeadLetters, archive: &Archive, before: Option<Before>) -> Result<Duty, Error> {
    let note = |before| {
        let note = Note { url: letters.url.clone(), archive: archive.id().to_owned(), before };
        serde_json::to_string(&note).unwrap_or_default()
    };
    // Two very long addresses do not fit; the duty matters more.
    let whole = Some(note(before)).filter(|note| note.len() <= MAX_DUTY_NOTE_BYTES);
    let note = whole.unwrap_or_else(|| note(None));
    letters.engine.claim_duty(DutyClaim { duty: duty(), holder: letters.holder.clone(), note, ttl: TTL }).await
}

/// The other archive to report: that of the manager the duty was taken over from, or else the one that this manager,
/// or the one before it in the same archive, knows of; not for ever.
fn kept_before(had: &Duty, known: Option<Before>, archive: &str) -> Option<Before> {
    let now = had.expires_at.before(TTL);
    let note: Option<Note> = had.taken_from.as_ref().and_then(|note| serde_json::from_str(note).ok());
    let before = match note {
        Some(note) if note.archive != archive => {
            Some(Before { archive: note.archive, url: note.url, until: now.as_micros() })
        }
        Some(note) => note.before,
        None => known,
    };
    before.filter(|it| it.archive != archive && Timestamp::from_micros(it.until).after(REPORTED_FOR) > now)
}

async fn look_for_keeper(letters: &DeadLetters) -> Result<(), Error> {
    let had = letters.engine.duty(&duty()).await?;
    *letters.keeper.lock() = had.map_or(Keeper::Unknown, |had| Keeper::other(&had.note));
    Ok(())
}

#[cfg(test)]
mod tests;
