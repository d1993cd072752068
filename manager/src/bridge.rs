//! Bridges: native tasks serve a group of a board, and each outcome is posted to a reply group, once.
//!
//! Every manager runs every bridge of its configuration, and none is special. A bridge keeps nothing of its own that
//! matters: all it must know of a task is on the board. It does not decide what a native task is, nor run it.
//!
//! A task of the board goes through three steps, each of which is atomic in the store:
//!
//! 1. *Take.* One commit gives it a time in the future, so that clients see it as held, and a label with the id of its
//!    native task. The id is made from the board's name and the revision that the task had until then, which no task of
//!    this board ever has again. The owner of the change is [`jobbers_boards::BRIDGE_OWNER`], which no client is.
//! 2. *Submit.* The native task is submitted under that id. This is repeated without effect.
//! 3. *Answer.* When the native task is over, one commit deletes the board's task by its present revision and creates
//!    the reply.
//!
//! Why a crash between any two steps loses nothing and doubles nothing:
//!
//! - Before the take nothing has happened. Of several bridges that take one task, one commit finds the revision.
//! - After the take, the task becomes visible again when its lease ends. The bridge that takes it then finds the label and
//!   goes on with that id, whether or not it was submitted: so one board's task has one native task. The label counts only
//!   while a bridge was the last to change the task. A client that takes, moves or copies the task makes another request
//!   of it; the native task of the old label is then cancelled, and never answered.
//! - After the submission, the same holds: the store answers how the task ended, for as long as it remembers the id
//!   ([`jobbers_common::task::tombstone`]).
//! - The answer is one commit. It needs the task's present revision, so it succeeds once, however many bridges try.
//!
//! A bridge that finds another revision than its own asks whether a bridge still has the task under this native id. If so
//! it only lets go. If not, a client has changed or deleted the task: the native task is cancelled, and nothing is
//! answered. After an unknown outcome of a commit it keeps the revision it knows, and finds out in the same way.
//!
//! What a queue does not take in now goes back to its place on the board, and the bridge pauses. What can't ever be
//! submitted is answered at once with an error.
//!
//! Start reading at [`Bridge::round`]; then `intake.rs`, `ending.rs`.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{
        Error,
        boards::task::{BoardTime, Content},
    },
    name::{BoardName, TaskId},
};
use tokio::task::{AbortHandle, JoinSet};

use crate::app::App;

mod commit;
mod ending;
mod intake;
mod pace;
mod reply;
mod request;

use self::{pace::IntakePace, reply::RequestEnd};
use crate::config::bridges::{BridgeSettings, Bridges};

/// The pause after a failure of the store.
const RETRY: Duration = Duration::from_secs(1);
/// How often a group is looked at although no event said so.
const LOOK: Duration = Duration::from_secs(5);

/// Runs bridges until the manager stops.
pub(crate) async fn run(app: Arc<App>, bridges: Bridges) {
    let mut running = JoinSet::new();
    for (name, settings) in bridges {
        running.spawn(Bridge::new(Arc::clone(&app), name, settings).run());
    }
    while let Some(ended) = running.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "a bridge ended; its tasks are followed by other managers, or after a restart");
        }
    }
}

/// One bridge of one manager.
#[derive(Debug)]
struct Bridge {
    app: Arc<App>,
    name: String,
    settings: BridgeSettings,
    board: BoardName,
    /// What it has taken and not answered, by native task.
    held: HashMap<TaskId, HeldTask>,
    /// Each waits for the end of one native task.
    followers: JoinSet<(TaskId, RequestEnd)>,
    pace: IntakePace,
    /// The board's counter at the latest look.
    seen: u64,
    /// For how long no task of the group becomes visible by time alone.
    quiet: Duration,
    /// The error that was logged last, so that a store that is down is logged once.
    trouble: Option<Error>,
}

/// A task of the board that this bridge has taken.
#[derive(Debug)]
struct HeldTask {
    /// Its revision now.
    revision: u64,
    /// Its time now: the end of the lease.
    at: BoardTime,
    /// Its time before it was taken.
    place: BoardTime,
    /// What it says; without its data unless these are needed again.
    content: Content,
    /// When the lease is to be renewed.
    renew_at: Instant,
    /// When the lease is over at the latest, by this process's clock.
    ends_at: Instant,
    /// Who waits for the end of the native task; `None` until that is submitted.
    follower: Option<AbortHandle>,
    /// How it ended.
    end: Option<RequestEnd>,
}

impl Bridge {
    fn new(app: Arc<App>, name: String, settings: BridgeSettings) -> Self {
        Self {
            board: settings.board.board(),
            app,
            name,
            settings,
            held: HashMap::new(),
            followers: JoinSet::new(),
            pace: IntakePace::default(),
            seen: 0,
            quiet: Duration::ZERO,
            trouble: None,
        }
    }

    async fn run(mut self) {
        tracing::info!(bridge = %self.name, board = %self.board, group = %self.settings.group, "a bridge serves a group");
        let drain = self.app.drain.clone();
        while !drain.is_cancelled() {
            let moved = self.round().await;
            let is_well = self.note(moved.as_ref().err());
            if moved != Ok(true) {
                drain.run_until_cancelled(self.rest(is_well)).await;
            }
        }
        self.leave().await;
    }

    /// Answers what is over, renews leases and takes more. Returns whether there may be more to take.
    async fn round(&mut self) -> jobbers_common::engine::Result<bool> {
        self.collect();
        let answered = self.answer().await;
        // A full store takes no reply, and still renews leases.
        self.renew().await?;
        answered?;
        self.take().await
    }

    /// Waits until there is something to do.
    async fn rest(&mut self, is_well: bool) {
        if !is_well {
            return tokio::time::sleep(RETRY).await;
        }
        if self.held.values().any(|held| held.end.is_some()) {
            return;
        }
        let renew_at = self.held.values().map(|held| held.renew_at).min();
        let pause = self.pace.left();
        let has_room = self.held.len() < self.settings.max_in_flight;
        let quiet = self.quiet.min(LOOK);
        let until =
            [renew_at.map(|at| at.saturating_duration_since(Instant::now())), pause].into_iter().flatten().min();
        let arrival = self.app.boards.wait(&self.board, &self.settings.group, self.seen, quiet);
        tokio::select! {
            Some(ended) = self.followers.join_next() => {
                if let Ok((id, end)) = ended {
                    note_end(&mut self.held, &id, end);
                }
            }
            () = arrival, if has_room && pause.is_none() => {}
            () = tokio::time::sleep(until.unwrap_or(LOOK)) => {}
        }
    }

    /// Logs what keeps the bridge from its work, once until it changes. Returns whether all is well.
    fn note(&mut self, trouble: Option<&Error>) -> bool {
        let kind = std::mem::discriminant::<Error>;
        match (trouble, &self.trouble) {
            (None, Some(_)) => tracing::info!(bridge = %self.name, "the bridge works again"),
            (Some(error), before) if before.as_ref().is_none_or(|before| kind(before) != kind(error)) => {
                tracing::warn!(bridge = %self.name, %error, "the bridge can't work");
            }
            _ => {}
        }
        self.trouble = trouble.cloned();
        trouble.is_none()
    }
}

/// Notes how a native task ended, if its board's task is still held.
fn note_end(held: &mut HashMap<TaskId, HeldTask>, id: &TaskId, end: RequestEnd) {
    if let Some(held) = held.get_mut(id) {
        held.end = Some(end);
    }
}

#[cfg(test)]
mod tests;
