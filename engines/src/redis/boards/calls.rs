//! Commits and takes on their way. Callers that come while a call is under way share the next one (`line.rs`), and each is
//! answered for itself.
//!
//! What stores something new goes in calls of its own: a full server refuses these as a whole, and must not refuse what
//! empties it. A call whose answer got lost is sent again under its id, by which the server recognises it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use jobbers_common::{
    engine::{
        Error, Result,
        boards::{Commit, CommitAnswer, Take, TakeAnswer},
    },
    limits::MAX_BATCH,
};
use parking_lot::Mutex;
use redis::{Cmd, Value};
use tokio::sync::oneshot;
use ulid::Ulid;

use super::wire::{adds, read_commit, read_take, write_commit, write_take};
use crate::redis::{
    kernel::{
        reply::{array, bytes},
        script,
        values::time,
    },
    server::{
        cycles::SlotNumbers,
        failure::malformed,
        line::{Line, Request},
        pressure::{self, TASK_BYTES},
        primary::node::ANSWER_WITHIN,
        store::Store,
    },
};

/// Requests share a call up to so many bytes, so that it is carried out and answered soon.
const SHARED_BYTES: usize = 4 * 1024 * 1024;
/// For how many tasks a selection by group or label counts, so that few of them share a call.
const OF_A_SELECTION: usize = MAX_BATCH / 4;

/// What a caller wants.
#[derive(Debug)]
enum Verb {
    Commit(Commit, oneshot::Sender<Result<CommitAnswer>>),
    Take(Take, oneshot::Sender<Result<TakeAnswer>>),
}

/// A request in line.
#[derive(Debug)]
pub(super) struct BoardRequest {
    verb: Verb,
    /// Whether it stores something new.
    adds: bool,
    /// About how many tasks it is about.
    size: usize,
    /// What is sent of it.
    bytes: usize,
}

/// What sends the calls of one line.
#[derive(Debug)]
pub(super) struct BoardCalls {
    store: Arc<Store>,
    /// Where the server remembers calls.
    slots: Mutex<SlotNumbers>,
    /// Tells the places of one line from those of the other.
    name: &'static str,
}

/// The lines of all boards.
#[derive(Debug)]
pub(crate) struct Lines {
    adding: Line<BoardRequest>,
    freeing: Line<BoardRequest>,
}

impl Lines {
    /// Opens the lines; they close with this.
    pub(crate) fn start(store: &Arc<Store>) -> Self {
        let calls = |name| Arc::new(BoardCalls { store: Arc::clone(store), slots: Mutex::default(), name });
        Self { adding: Line::start(calls("a")), freeing: Line::start(calls("f")) }
    }

    /// Carries a commit out.
    pub(super) async fn commit(&self, commit: Commit) -> Result<CommitAnswer> {
        let (answer, answered) = oneshot::channel();
        let size = size_of(&commit);
        let (adds, bytes) = (adds(&commit), commit.bytes());
        self.ask(BoardRequest { verb: Verb::Commit(commit, answer), adds, size, bytes }).await;
        answered.await.map_err(|_| gone())?
    }

    /// Carries a take out.
    pub(super) async fn take(&self, take: Take) -> Result<TakeAnswer> {
        let (answer, answered) = oneshot::channel();
        let size = take.require.len() + 1;
        self.ask(BoardRequest { verb: Verb::Take(take, answer), adds: false, size, bytes: 0 }).await;
        answered.await.map_err(|_| gone())?
    }

    async fn ask(&self, request: BoardRequest) {
        let line = if request.adds { &self.adding } else { &self.freeing };
        line.enter(request).await;
    }
}

/// How many tasks a commit is about, as far as it names them: a group or a label may mean thousands.
fn size_of(commit: &Commit) -> usize {
    let selections = commit.delete.iter().chain(commit.update.iter().map(|update| &update.which));
    let selected: usize = selections.map(|which| if which.revision().is_some() { 1 } else { OF_A_SELECTION }).sum();
    commit.require.len() + selected + commit.create.len()
}

fn gone() -> Error {
    Error::unavailable("the engine is shutting down")
}

impl Request for BoardRequest {
    type Sender = BoardCalls;

    fn fitting(line: &[Self]) -> usize {
        let (mut size, mut bytes) = (0, 0);
        let fits = line.iter().take_while(|request| {
            size += request.size;
            bytes += request.bytes;
            size <= MAX_BATCH && bytes <= SHARED_BYTES
        });
        fits.count().max(1)
    }

    async fn send(calls: &BoardCalls, mut call: Vec<Self>) {
        // A caller that has gone takes nothing.
        call.retain(Self::is_awaited);
        if call.is_empty() {
            return;
        }
        match send(calls, &call).await {
            Ok(answers) => call.into_iter().zip(answers).for_each(|(request, answer)| request.answer(Ok(answer))),
            Err(error) => call.into_iter().for_each(|request| request.answer(Err(error.clone()))),
        }
    }
}

impl BoardRequest {
    fn is_awaited(&self) -> bool {
        match &self.verb {
            Verb::Commit(_, answer) => !answer.is_closed(),
            Verb::Take(_, answer) => !answer.is_closed(),
        }
    }

    fn write(&self, random: u64, until: i64, command: &mut Cmd) {
        match &self.verb {
            Verb::Commit(commit, _) => write_commit(commit, command),
            Verb::Take(take, _) => write_take(take, random, until, command),
        }
    }

    /// Answers the caller. One that has gone does not want to know.
    fn answer(self, outcome: Result<Value>) {
        match self.verb {
            Verb::Commit(commit, answer) => drop(answer.send(outcome.and_then(|value| read_commit(value, &commit)))),
            Verb::Take(_, answer) => drop(answer.send(outcome.and_then(read_take))),
        }
    }
}

/// Sends a call, and sets the store up first if it has to be. Returns an answer per request.
async fn send(calls: &BoardCalls, call: &[BoardRequest]) -> Result<Vec<Value>> {
    let mut words = array(send_once(calls, call).await?)?;
    if words.is_empty() {
        if calls.store.prepare().await? {
            return Err(Error::unavailable("Redis lost its data; the store has been created again"));
        }
        words = array(send_once(calls, call).await?)?;
    }
    if words.len() != call.len() + 1 {
        return Err(malformed("expected the present and an answer per request"));
    }
    let answers = words.split_off(1);
    calls.store.note_present(time(&bytes(words.pop().unwrap_or(Value::Nil))?)?);
    Ok(answers)
}

async fn send_once(calls: &BoardCalls, call: &[BoardRequest]) -> Result<Value> {
    let BoardCalls { store, slots, name } = calls;
    let adds = call.iter().any(|request| request.adds);
    let script = if adds { &script::BOARD_ADD } else { &script::BOARD_FREE };
    let (id, slot) = (Ulid::generate().to_string(), slots.lock().take());
    let until = store.present_after(ANSWER_WITHIN).as_micros();
    let random: u64 = rand::random();
    let was_sent = AtomicBool::new(false);
    let build = |_| {
        let mut command = store.command(script);
        command.arg(format!("{}:{name}{slot}", store.instance)).arg(&id);
        command.arg(u8::from(was_sent.swap(true, Ordering::Relaxed))).arg(call.len());
        for (place, request) in call.iter().enumerate() {
            request.write(random.rotate_left(u32::try_from(place % 64).unwrap_or(0)), until, &mut command);
        }
        command
    };
    let answer = if adds {
        let growth = call.iter().map(|request| request.bytes + TASK_BYTES * request.size).sum();
        pressure::call(store, script, growth, &build).await?
    } else {
        store.work.call(Some(script), &build).await?
    };
    // A call that was given up keeps its place: the server may come to it later.
    slots.lock().give_back(slot);
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use jobbers_common::{engine::boards::Selection, name::BoardName};

    use super::*;

    fn commit(delete: Vec<Selection>) -> BoardRequest {
        let commit = Commit { delete, ..Commit::new(BoardName::new("b").unwrap(), 1) };
        let size = size_of(&commit);
        BoardRequest { verb: Verb::Commit(commit, oneshot::channel().0), adds: false, size, bytes: 0 }
    }

    #[test]
    fn few_commits_share_a_call_that_may_find_many_tasks() {
        let line: Vec<BoardRequest> = (0..20).map(|_| commit(vec![Selection::Group(String::new())])).collect();
        assert_eq!(BoardRequest::fitting(&line), 4);
        let line: Vec<BoardRequest> = (0..20).map(|n| commit(vec![Selection::Revision(n)])).collect();
        assert_eq!(BoardRequest::fitting(&line), 20);
        let line: Vec<BoardRequest> = (0..2).map(|_| commit((0..5_000).map(Selection::Revision).collect())).collect();
        assert_eq!(BoardRequest::fitting(&line), 1, "a large one goes alone");
    }
}
