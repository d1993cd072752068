//! Keeping the archive: having the duty, and moving letters from the store's outbox into the file.
//!
//! A letter is written to the archive first and taken off the outbox then, each repeatable, so a crash in between writes
//! it once more to no effect. A file that is full leaves letters on the outbox, and says so.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_archive::Archive;
use jobbers_common::engine::{DeadKey, DeadTask, DutyClaim, Error, Outbox, Unreadable};
use tokio::task::{self, JoinError, JoinSet};

use super::{DeadLetters, Keeper, Note, TTL, Trouble, blocking, duty, sender};
use crate::app::App;

/// Letters moved by one call.
const LETTERS_A_CALL: usize = 250;
/// Most calls per tick; what is left waits for the next.
const CALLS_A_TICK: usize = 40;
/// How often letters past their retention, and old operations, are looked for.
const PRUNE_EVERY: Duration = Duration::from_secs(60);
/// Letters pruned by one call; as many calls as it takes.
const PRUNE_LETTERS: usize = 2_000;
/// How long an operation rests that met a defect.
const REST: Duration = Duration::from_secs(30);
/// How long operations can be looked up after they were finished.
const KEEP_OPERATIONS: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Keeps the archive until the manager stops, then gives the duty back.
pub(crate) async fn run(app: Arc<App>, every: Duration) {
    let mut rounds = Rounds::new(Arc::clone(&app));
    let keeping = async {
        loop {
            rounds.round().await;
            let pause = every.mul_f64(rand::random_range(0.75..1.25));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = app.dead_letters.begun.notified() => {}
                Some(ended) = rounds.sending.join_next_with_id() => rounds.note_end(ended),
            }
        }
    };
    app.drain.run_until_cancelled(keeping).await;
    rounds.sending.shutdown().await;
    if app.dead_letters.held().is_some() {
        *app.dead_letters.keeper.lock() = Keeper::Nobody;
        // Another manager then takes over at once; else it would wait for the duty's end.
        app.engine.release_duty(&duty(), &app.dead_letters.holder).await.ok();
    }
}

struct Rounds {
    app: Arc<App>,
    /// Operations that are being carried out, and which task does.
    sending: JoinSet<()>,
    under_way: HashMap<task::Id, String>,
    /// Operations that met a defect, and when.
    resting: HashMap<String, Instant>,
    pruned: Option<Instant>,
}

impl Rounds {
    fn new(app: Arc<App>) -> Self {
        Self { app, sending: JoinSet::new(), under_way: HashMap::new(), resting: HashMap::new(), pruned: None }
    }

    /// An operation is not carried out any longer: it is done, or its task panicked.
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
        self.app.dead_letters.found.notify_waiters();
    }

    fn note_outcome(&self, outcome: Result<(), Trouble>) {
        let letters = &self.app.dead_letters;
        let trouble = match outcome {
            Ok(()) => None,
            // The chores tell of a store that is down.
            Err(Trouble::Store(error @ Error::Unavailable { .. })) => {
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

    async fn try_round(&mut self) -> Result<(), Trouble> {
        let app = Arc::clone(&self.app);
        let letters = &app.dead_letters;
        let Some(archive) = open(letters).await? else {
            // One without an archive still sends on whoever asks.
            look_for_keeper(&app).await?;
            return Ok(());
        };
        if !claim(&app, &archive).await? {
            self.sending.abort_all();
            self.under_way.clear();
            return Ok(());
        }
        self.resume(&archive).await?;
        // Before the outbox: in a file that is full it makes room.
        self.prune(&archive).await?;
        let drained = self.drain_outbox(&archive).await;
        if drained.is_ok() {
            letters.drained.notify_waiters();
        }
        // A file that can't be written can still be counted, and just then somebody looks.
        if letters.meters.are_due() {
            let now = app.engine.health().await?.now;
            letters.meters.count(&archive, now).await?;
        }
        drained
    }

    /// Goes on with operations that are not finished, whoever began them.
    async fn resume(&mut self, archive: &Arc<Archive>) -> Result<(), Trouble> {
        self.resting.retain(|_, since| since.elapsed() < REST);
        for operation in blocking(archive, Archive::running_operations).await? {
            let id = &operation.id;
            let rests = self.resting.contains_key(id) && !operation.is_cancelled;
            if rests || self.under_way.values().any(|other| other == id) {
                continue;
            }
            let (app, archive, id) = (Arc::clone(&self.app), Arc::clone(archive), id.clone());
            let task = self.sending.spawn(async move { sender::carry_out(&app, &archive, operation).await });
            self.under_way.insert(task.id(), id);
        }
        Ok(())
    }

    async fn drain_outbox(&self, archive: &Arc<Archive>) -> Result<(), Trouble> {
        let (mut after, mut unreadable) = (0, Vec::new());
        for _ in 0..CALLS_A_TICK {
            let Outbox { copies, unreadable: more, last } = self.app.engine.dead_letters(after, LETTERS_A_CALL).await?;
            unreadable.extend(more);
            let Some(last) = last else {
                self.note_unreadable(unreadable);
                break;
            };
            after = last;
            let keys: Vec<DeadKey> = copies.iter().map(DeadTask::key).collect();
            let added = blocking(archive, move |archive| archive.put(&copies)).await?;
            self.app.engine.forget_dead_letters(&keys).await?;
            if added > 0 {
                tracing::info!(letters = added, "archived dead letters");
            }
            if !claim(&self.app, archive).await? {
                break;
            }
        }
        Ok(())
    }

    /// Tells of copies that can't be read, each once. They stay where they are: a newer program may know them.
    fn note_unreadable(&self, unreadable: Vec<Unreadable>) {
        let mut known = self.app.dead_letters.unreadable.lock();
        for Unreadable { id, revision, why } in unreadable.iter().filter(|copy| !known.contains(copy)) {
            tracing::error!(task = id, revision, why, "a dead letter in the store can't be read; it stays there");
        }
        *known = unreadable;
    }

    async fn prune(&mut self, archive: &Arc<Archive>) -> Result<(), Trouble> {
        if self.pruned.is_some_and(|at| at.elapsed() < PRUNE_EVERY) {
            return Ok(());
        }
        let now = self.app.engine.health().await?.now;
        blocking(archive, move |archive| archive.prune_operations(now.before(KEEP_OPERATIONS))).await?;
        let (retention, keep) = (self.app.dead_letters.retention, self.app.dead_letters.max_letters);
        if retention.is_some() || keep.is_some() {
            let past = retention.map(|age| now.before(age));
            let mut letters = 0;
            loop {
                let pruned = blocking(archive, move |archive| archive.prune(past, keep, PRUNE_LETTERS)).await?;
                self.app.dead_letters.meters.deleted(pruned);
                letters += pruned;
                if pruned < PRUNE_LETTERS as u64 || !claim(&self.app, archive).await? {
                    break;
                }
            }
            if letters > 0 {
                tracing::info!(letters, "deleted dead letters by age or number");
            }
        }
        self.pruned = Some(Instant::now());
        Ok(())
    }
}

/// The open archive; opens it if it is not. `None`: this manager keeps none.
async fn open(letters: &DeadLetters) -> jobbers_archive::Result<Option<Arc<Archive>>> {
    if let Some(archive) = letters.archive.lock().clone() {
        return Ok(Some(archive));
    }
    let (Some(path), options) = (letters.path.clone(), letters.options) else { return Ok(None) };
    let opened = task::spawn_blocking(move || Archive::open(&path, options)).await;
    let archive = opened.map_err(|error| jobbers_archive::Error::Unavailable(error.to_string()))??;
    let archive = Arc::new(archive);
    tracing::info!(path = %archive.path().display(), "opened the archive of dead letters");
    *letters.archive.lock() = Some(Arc::clone(&archive));
    Ok(Some(archive))
}

/// Takes the duty, or keeps it. Answers whether it is ours.
async fn claim(app: &App, archive: &Archive) -> Result<bool, Error> {
    let letters = &app.dead_letters;
    let note = Note { url: letters.url.clone(), archive: archive.id().to_owned() };
    let claim = DutyClaim {
        duty: duty(),
        holder: letters.holder.clone(),
        note: serde_json::to_string(&note).unwrap_or_default(),
        ttl: TTL,
    };
    let asked = Instant::now();
    let had = app.engine.claim_duty(claim).await?;
    let keeper = if had.holder == letters.holder { Keeper::Us(asked + TTL) } else { other(&had.note) };
    let before = std::mem::replace(&mut *letters.keeper.lock(), keeper.clone());
    letters.found.notify_waiters();
    match (&before, &keeper) {
        (Keeper::Us(_), Keeper::Us(_)) => {}
        (before, Keeper::Us(_)) => {
            tracing::info!("this manager keeps the archive of dead letters");
            if let Keeper::Other(note) = before
                && note.archive != archive.id()
            {
                tracing::warn!(
                    before = note.url,
                    "another file held the dead letters before; give managers that are to follow one another one file"
                );
            }
        }
        (Keeper::Us(_), _) => tracing::warn!("another manager keeps the archive of dead letters now"),
        _ => {}
    }
    Ok(matches!(keeper, Keeper::Us(_)))
}

/// The manager that said this of itself.
pub(super) fn other(note: &str) -> Keeper {
    serde_json::from_str(note).map_or(Keeper::Nobody, Keeper::Other)
}

async fn look_for_keeper(app: &App) -> Result<(), Error> {
    let had = app.engine.duty(&duty()).await?;
    *app.dead_letters.keeper.lock() = had.map_or(Keeper::Nobody, |had| other(&had.note));
    Ok(())
}

#[cfg(test)]
mod tests {
    use jobbers_archive::{NewOperation, Options, Selection};
    use jobbers_common::{engine::model::ModelEngine, time::Timestamp};
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test]
    async fn an_operation_that_met_a_defect_rests_and_can_be_cancelled() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Arc::new(Archive::open(&folder.path().join("dead.db"), Options::default()).unwrap());
        let new =
            NewOperation { key: None, digest: 0, request: "?".to_owned(), selection: Selection::Tasks(Vec::new()) };
        let id = archive.begin(&new, Timestamp::from_micros(1)).unwrap().id;
        let engine = Arc::new(ModelEngine::with_system_clock());
        let app = App::new(&crate::Config::default(), engine, String::new(), CancellationToken::new());
        let mut rounds = Rounds::new(Arc::new(app));

        let task = rounds.sending.spawn(async { panic!("a defect") });
        rounds.under_way.insert(task.id(), id.clone());
        let ended = rounds.sending.join_next_with_id().await.unwrap();
        rounds.note_end(ended);
        assert!(rounds.under_way.is_empty());
        rounds.resume(&archive).await.map_err(|error| error.to_string()).unwrap();
        assert!(rounds.under_way.is_empty(), "it rests");
        archive.cancel(&id, Timestamp::from_micros(2)).unwrap();
        rounds.resume(&archive).await.map_err(|error| error.to_string()).unwrap();
        assert_eq!(rounds.under_way.len(), 1, "to be cancelled, it need not be well");
    }
}
