//! Keeping the archive: having the duty, and moving letters from the store's outbox into the file.
//!
//! A letter is written to the archive first and taken off the outbox then, each repeatable, so a crash in between writes
//! it once more to no effect. A file that is full leaves letters on the outbox, and says so.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_archive::{Archive, Operation};
use jobbers_common::engine::{DeadKey, DeadTask, DutyClaim, Error};
use tokio::task::JoinSet;

use super::{DeadLetters, Keeper, Note, TTL, blocking, duty, sender};
use crate::app::App;

/// Letters moved by one call.
const LETTERS_A_CALL: usize = 250;
/// Most calls per tick; what is left waits for the next.
const CALLS_A_TICK: usize = 40;
/// How often letters past their retention, and old operations, are looked for.
const PRUNE_EVERY: Duration = Duration::from_secs(60);
/// Letters pruned at a time.
const PRUNE_LETTERS: usize = 10_000;
/// How long operations can be looked up after they were finished.
const KEEP_OPERATIONS: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Keeps the archive until the manager stops, then gives the duty back.
pub(crate) async fn run(app: Arc<App>, every: Duration) {
    let mut rounds = Rounds { app: Arc::clone(&app), sending: JoinSet::new(), under_way: HashSet::new(), pruned: None };
    let keeping = async {
        loop {
            rounds.round().await;
            let pause = every.mul_f64(rand::random_range(0.75..1.25));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = app.dead_letters.begun.notified() => {}
                Some(ended) = rounds.sending.join_next() => {
                    if let Ok(operation) = ended {
                        rounds.under_way.remove(&operation);
                    }
                }
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
    /// Operations that are being carried out; each answers its id.
    sending: JoinSet<String>,
    under_way: HashSet<String>,
    pruned: Option<Instant>,
}

/// Why a round ended early.
enum Trouble {
    Store(Error),
    Archive(jobbers_archive::Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<jobbers_archive::Error> for Trouble {
    fn from(error: jobbers_archive::Error) -> Self {
        Self::Archive(error)
    }
}

impl Rounds {
    async fn round(&mut self) {
        let outcome = self.try_round().await;
        let letters = &self.app.dead_letters;
        let trouble = match outcome {
            Ok(()) => None,
            // The chores tell of a store that is down.
            Err(Trouble::Store(error)) => {
                tracing::debug!(%error, "the store does not let dead letters be kept");
                return;
            }
            Err(Trouble::Archive(error)) => Some(error),
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
        for operation in blocking(archive, Archive::running_operations).await? {
            if self.under_way.insert(operation.id.clone()) {
                let (app, archive) = (Arc::clone(&self.app), Arc::clone(archive));
                let Operation { id, .. } = operation.clone();
                self.sending.spawn(async move {
                    sender::carry_out(&app, &archive, operation).await;
                    id
                });
            }
        }
        Ok(())
    }

    async fn drain_outbox(&self, archive: &Arc<Archive>) -> Result<(), Trouble> {
        for _ in 0..CALLS_A_TICK {
            let copies = self.app.engine.dead_letters(LETTERS_A_CALL).await?;
            if copies.is_empty() {
                break;
            }
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

    async fn prune(&mut self, archive: &Arc<Archive>) -> Result<(), Trouble> {
        if self.pruned.is_some_and(|at| at.elapsed() < PRUNE_EVERY) {
            return Ok(());
        }
        let now = self.app.engine.health().await?.now;
        blocking(archive, move |archive| archive.prune_operations(now.before(KEEP_OPERATIONS))).await?;
        let (retention, keep) = (self.app.dead_letters.retention, self.app.dead_letters.max_letters);
        if retention.is_some() || keep.is_some() {
            let past = retention.map(|age| now.before(age));
            let pruned = blocking(archive, move |archive| archive.prune(past, keep, PRUNE_LETTERS)).await?;
            self.app.dead_letters.meters.deleted(pruned);
            if pruned > 0 {
                tracing::info!(letters = pruned, "deleted dead letters by age or number");
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
    let opened = tokio::task::spawn_blocking(move || Archive::open(&path, options)).await;
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

fn other(note: &str) -> Keeper {
    serde_json::from_str(note).map_or(Keeper::Nobody, Keeper::Other)
}

async fn look_for_keeper(app: &App) -> Result<(), Error> {
    let had = app.engine.duty(&duty()).await?;
    *app.dead_letters.keeper.lock() = had.map_or(Keeper::Nobody, |had| other(&had.note));
    Ok(())
}
