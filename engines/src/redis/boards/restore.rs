//! Tasks of a board that another store held.

use jobbers_common::{
    engine::{
        Error, Result,
        backup::{BoardPiece, Restored},
    },
    name::BoardName,
};
use redis::Cmd;

use super::record::{biased, content, revision};
use crate::redis::{
    kernel::{
        reply::{array, text},
        script,
    },
    server::{
        failure::malformed,
        pressure::{self, TASK_BYTES},
        store::Store,
    },
};

/// The marks of a board's commits.
pub(crate) async fn marks(store: &Store, board: &BoardName) -> Result<Vec<String>> {
    let add = |command: &mut Cmd| {
        command.arg(board.as_str());
    };
    array(store.run(&store.bulk, &script::BOARD_MARKS, add).await?)?.into_iter().map(text).collect()
}

/// Stores tasks under their revisions, and raises the board's counter.
pub(crate) async fn restore(store: &Store, piece: &BoardPiece) -> Result<Vec<Restored>> {
    let build = |_| {
        let mut command = store.command(&script::BOARD_RESTORE);
        command.arg(piece.board.as_str()).arg(revision(piece.counter())).arg(piece.marks.len()).arg(&piece.marks);
        for task in &piece.tasks {
            command.arg(revision(task.revision)).arg(biased(task.at.0)).arg(biased(task.owner)).arg(&task.group);
            command.arg(content(&task.content));
        }
        command
    };
    let growth = piece.tasks.iter().map(|task| TASK_BYTES + task.content.bytes()).sum();
    let call = || pressure::call(store, &script::BOARD_RESTORE, growth, &build);
    let mut words = array(call().await?)?;
    if words.is_empty() {
        if store.prepare().await? {
            return Err(Error::unavailable("Redis lost its data; the store has been created again"));
        }
        words = array(call().await?)?;
    }
    // The first word is the present.
    if words.len() != piece.tasks.len() + 1 {
        return Err(malformed("expected the present and an answer per task"));
    }
    words.into_iter().skip(1).map(|word| read_answer(&text(word)?)).collect()
}

fn read_answer(answer: &str) -> Result<Restored> {
    match answer {
        "d" => Ok(Restored::Done),
        "a" => Ok(Restored::Already),
        "c" => Ok(Restored::Conflict),
        _ => Err(malformed("expected the result for a task")),
    }
}
