//! Finds the archive: here, with all that has failed so far, or at another manager.

use std::{sync::Arc, time::Duration};

use jobbers_api::problem::Problem;
use jobbers_archive::Archive;
use jobbers_common::limits::MAX_BATCH;

use super::{
    holding::{DeadLetters, Keeper, Note, duty},
    view::unavailable,
};

/// How long a request waits for letters that are on their way to the archive.
const CATCH_UP: Duration = Duration::from_secs(2);
/// How long a request waits until a manager keeps the archive.
const TAKE_OVER: Duration = Duration::from_secs(2);

/// Where the archive is, if it is not held by this manager.
#[derive(Debug)]
pub(crate) enum NotHere {
    /// At the manager with this address.
    At(String),
    /// It is not known, or can't be used.
    Nowhere(Box<Problem>),
}

/// Makes the keeper empty the outbox first, so that a client that saw a task fail finds its letter. A file that can't be
/// written does not block requests for long.
async fn catch_up(letters: &DeadLetters) {
    let deadline = tokio::time::Instant::now() + CATCH_UP;
    loop {
        let drained = letters.drained.notified();
        tokio::pin!(drained);
        drained.as_mut().enable();
        // Behind what can't be read, there may be more.
        let limit = (letters.unreadable.lock().len() + 1).min(MAX_BATCH);
        if letters.engine.dead_letters(0, limit).await.map_or(true, |outbox| outbox.copies.is_empty()) {
            return;
        }
        letters.begin();
        if tokio::time::timeout_at(deadline, drained).await.is_err() {
            return;
        }
    }
}

/// The archive with all that has failed so far.
pub(crate) async fn held_up_to_date(letters: &DeadLetters) -> Result<Arc<Archive>, NotHere> {
    let archive = held(letters).await?;
    catch_up(letters).await;
    Ok(archive)
}

/// Who keeps the archive, where that is another manager: what is known may be a tick old, and whom it names may have ended.
async fn keeper_now(letters: &DeadLetters) -> Keeper {
    let known = letters.keeper.lock().clone();
    if !matches!(known, Keeper::Other(_)) {
        return known;
    }
    match letters.engine.duty(&duty()).await {
        Ok(Some(had)) if had.holder != letters.holder => Keeper::other(&had.note),
        Ok(_) => {
            letters.begin();
            Keeper::Unknown
        }
        Err(_) => known,
    }
}

/// The archive. Just after a start, and when the keeper has ended, this manager is about to take the archive over, and that
/// is waited for.
async fn held(letters: &DeadLetters) -> Result<Arc<Archive>, NotHere> {
    let deadline = tokio::time::Instant::now() + TAKE_OVER;
    loop {
        let found = letters.found.notified();
        tokio::pin!(found);
        found.as_mut().enable();
        if let Some(archive) = letters.held() {
            return Ok(archive);
        }
        if let Keeper::Other(Note { url, .. }) = keeper_now(letters).await {
            return Err(elsewhere(letters, url));
        }
        let is_about_to = letters.path.is_some() && letters.trouble.lock().is_none() && !letters.drain.is_cancelled();
        if !is_about_to || tokio::time::timeout_at(deadline, found).await.is_err() {
            return Err(NotHere::Nowhere(Box::new(no_keeper(letters))));
        }
    }
}

/// At the manager at `url`, unless that is the address of this one.
fn elsewhere(letters: &DeadLetters, url: String) -> NotHere {
    if url.trim_end_matches('/') != letters.url.trim_end_matches('/') {
        return NotHere::At(url);
    }
    NotHere::Nowhere(Box::new(unavailable(&format!(
        "the manager that has kept the archive says it is at {url}, where this one is: either it has just ended, \
         and another follows within seconds, or two managers have one advertise_url"
    ))))
}

fn no_keeper(letters: &DeadLetters) -> Problem {
    if let Some(trouble) = letters.trouble.lock().clone() {
        return trouble.into();
    }
    unavailable(match &letters.path {
        None => "this manager keeps no archive of dead letters, and no other manager does at the moment",
        Some(_) => "no manager keeps the archive of dead letters at the moment; one will within seconds",
    })
}
