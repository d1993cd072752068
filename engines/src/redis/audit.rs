//! The audit: the pieces of a store, and the order in which they are checked.
//!
//! First the tasks by their records, then their references, then the counts, so that repairs on the way are counted. Boards
//! come last (`boards/audit.rs`).

use jobbers_common::{
    engine::{AuditRequest, Audited, Error, Finding, Flaw, Result},
    limits::DEFAULT_LEASE,
    name::QueueName,
};
use redis::{Cmd, Value};

use super::{
    boards::audit::BoardPiece,
    kernel::{
        reply::{array, number, text, tuple},
        script,
        values::micros,
    },
    server::{failure::malformed, store::Store},
    verbs::queues::{self, From},
};

/// The most script calls for one piece: most pieces of a store with many queues are empty.
const CALLS: usize = 16;
/// The most entries that one script call checks: tasks, each of which is searched for in its queue's lists, and other
/// entries.
const TASKS_A_CALL: usize = 12;
const ENTRIES_A_CALL: usize = 300;

/// The side hashes of tasks, by id.
const BESIDE: [&str; 6] = ["b", "h", "x", "u", "k:of", "g"];
/// What tasks keep of their predecessors.
const OF_PARENTS: [&str; 3] = ["from", "held", "kept"];
/// The parts of a queue that hold tasks.
const PARTS: [&str; 10] = ["q", "r", "p", "y", "h", "s", "d", "l", "f", "z"];

/// What one script call checks, in the order of the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Tasks,
    Place(QueueName, usize),
    Beside(usize),
    Keys,
    Outbox,
    Order,
    Edges,
    EdgesOut,
    Timeouts,
    Parents(usize),
    Counts(QueueName),
    Board(BoardPiece),
}

impl Piece {
    /// The piece after it, at present.
    async fn next(self, store: &Store) -> Result<Option<Self>> {
        Ok(match self {
            Self::Place(queue, part) => Some(Self::first_place(store, part, From::After(&queue)).await?),
            Self::Tasks => Some(Self::first_place(store, 0, From::Start).await?),
            Self::Beside(hash) if hash + 1 < BESIDE.len() => Some(Self::Beside(hash + 1)),
            Self::Beside(_) => Some(Self::Keys),
            Self::Keys => Some(Self::Outbox),
            Self::Outbox => Some(Self::Order),
            Self::Order => Some(Self::Edges),
            Self::Edges => Some(Self::EdgesOut),
            Self::EdgesOut => Some(Self::Timeouts),
            Self::Timeouts => Some(Self::Parents(0)),
            Self::Parents(hash) if hash + 1 < OF_PARENTS.len() => Some(Self::Parents(hash + 1)),
            Self::Parents(_) => Self::counts_or_boards(store, From::Start).await?,
            Self::Counts(queue) => Self::counts_or_boards(store, From::After(&queue)).await?,
            Self::Board(piece) => piece.next(store).await?.map(Self::Board),
        })
    }

    /// The counts of the next queue; the first board after the last of them.
    async fn counts_or_boards(store: &Store, from: From<'_>) -> Result<Option<Self>> {
        match queues::next(store, from).await? {
            Some(queue) => Ok(Some(Self::Counts(queue))),
            None => Ok(BoardPiece::first(store).await?.map(Self::Board)),
        }
    }

    /// The next queue that has a part, or the first that has a later one; after these, the piece that follows. Queues
    /// without are passed a thousand in a call.
    async fn first_place(store: &Store, part: usize, from: From<'_>) -> Result<Self> {
        let mut walked = queues::with_part(store, PARTS[part], from, 1).await?;
        let mut part = part;
        loop {
            if let Some(queue) = walked.names.into_iter().next() {
                return Ok(Self::Place(queue, part));
            }
            let from = walked.next.as_ref().map_or(From::Start, From::At);
            if walked.next.is_none() {
                part += 1;
            }
            let Some(letter) = PARTS.get(part) else { break };
            walked = queues::with_part(store, letter, from, 1).await?;
        }
        Ok(Self::Beside(0))
    }

    /// Its name in the script: the kind, and the queue, hash or board.
    fn words(&self) -> (&'static str, String) {
        match self {
            Self::Tasks => ("tasks", String::new()),
            Self::Place(queue, part) => (PARTS[*part], queue.to_string()),
            Self::Beside(hash) => ("beside", BESIDE[*hash].to_owned()),
            Self::Keys => ("keys", String::new()),
            Self::Outbox => ("outbox", String::new()),
            Self::Order => ("order", String::new()),
            Self::Edges => ("edges", String::new()),
            Self::EdgesOut => ("edges_out", String::new()),
            Self::Timeouts => ("timeouts", String::new()),
            Self::Parents(hash) => (OF_PARENTS[*hash], String::new()),
            Self::Counts(queue) => ("counts", queue.to_string()),
            Self::Board(piece) => piece.words(),
        }
    }

    /// How many entries one script call checks.
    const fn most(&self) -> usize {
        match self {
            Self::Tasks => TASKS_A_CALL,
            _ => ENTRIES_A_CALL,
        }
    }

    /// Reads the words of [`Piece::words`].
    fn read(what: &str, of: &str) -> Option<Self> {
        let queue = || QueueName::new(of).ok();
        match what {
            "tasks" => Some(Self::Tasks),
            "beside" => BESIDE.iter().position(|hash| *hash == of).map(Self::Beside),
            "keys" => Some(Self::Keys),
            "outbox" => Some(Self::Outbox),
            "order" => Some(Self::Order),
            "edges" => Some(Self::Edges),
            "edges_out" => Some(Self::EdgesOut),
            "timeouts" => Some(Self::Timeouts),
            "counts" => queue().map(Self::Counts),
            what if OF_PARENTS.contains(&what) => OF_PARENTS.iter().position(|hash| *hash == what).map(Self::Parents),
            what if what.starts_with("board_") => BoardPiece::read(what, of).map(Self::Board),
            part => Some(Self::Place(queue()?, PARTS.iter().position(|known| *known == part)?)),
        }
    }
}

/// Where an audit continues: in a piece, from there. As a cursor `what|of|from`.
fn read_cursor(cursor: &str) -> Result<(Piece, String)> {
    let foreign = || Error::Invalid("this cursor is not from this store".to_owned());
    let mut fields = cursor.split('|');
    let (Some(what), Some(of), Some(from), None) = (fields.next(), fields.next(), fields.next(), fields.next()) else {
        return Err(foreign());
    };
    if from.len() > 20 || !from.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(foreign());
    }
    Ok((Piece::read(what, of).ok_or_else(foreign)?, from.to_owned()))
}

/// Checks some pieces, and repairs on request.
pub(super) async fn audit(store: &Store, request: &AuditRequest) -> Result<Audited> {
    request.validate()?;
    let (mut piece, mut from) = match &request.cursor {
        Some(cursor) => read_cursor(cursor)?,
        None => (Piece::Tasks, String::new()),
    };
    let mut audited = Audited::default();
    for _ in 0..CALLS {
        if audited.looked_at >= request.limit as u64 {
            break;
        }
        from = look_over(store, &piece, &from, request, &mut audited).await?;
        if from.is_empty() {
            let Some(next) = piece.next(store).await? else { return Ok(audited) };
            piece = next;
        }
    }
    let (what, of) = piece.words();
    audited.next = Some(format!("{what}|{of}|{from}"));
    Ok(audited)
}

/// One script call; returns where the piece continues, empty at its end.
async fn look_over(
    store: &Store,
    piece: &Piece,
    from: &str,
    request: &AuditRequest,
    audited: &mut Audited,
) -> Result<String> {
    let script = if request.repair { &script::REPAIR } else { &script::AUDIT };
    let (what, of) = piece.words();
    let add = |command: &mut Cmd| {
        command.arg(what).arg(&of).arg(from).arg(request.limit.min(piece.most())).arg(micros(DEFAULT_LEASE));
    };
    let mut answer = array(store.run(&store.bulk, script, add).await?)?.into_iter();
    let mut next = || answer.next().unwrap_or(Value::Nil);
    let (from, looked_at) = (text(next())?, number(next())?);
    audited.looked_at += looked_at;
    for finding in answer {
        audited.findings.push(read_finding(finding)?);
    }
    Ok(from)
}

fn read_finding(value: Value) -> Result<Finding> {
    let [flaw, subject, detail, repaired] = tuple(value)?;
    let flaw = Flaw::named(&text(flaw)?).ok_or_else(|| malformed("expected a flaw"))?;
    Ok(Finding { flaw, subject: text(subject)?, detail: text(detail)?, repaired: number(repaired)? == 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_says_where_to_go_on() {
        let queue = QueueName::new("mail").unwrap();
        let places = (0..PARTS.len()).map(|part| Piece::Place(queue.clone(), part));
        let hashes = (0..BESIDE.len()).map(Piece::Beside).chain((0..OF_PARENTS.len()).map(Piece::Parents));
        let others = [
            Piece::Tasks,
            Piece::Keys,
            Piece::Outbox,
            Piece::Order,
            Piece::Edges,
            Piece::EdgesOut,
            Piece::Counts(queue.clone()),
        ];
        for piece in places.chain(hashes).chain(others) {
            let (what, of) = piece.words();
            assert_eq!(read_cursor(&format!("{what}|{of}|17")), Ok((piece, "17".to_owned())));
        }
        for foreign in ["", "tasks", "tasks||x", "r|default", "w|default|0", "beside|t|0", "tasks||0|0", "r||0"] {
            assert!(matches!(read_cursor(foreign), Err(Error::Invalid(_))), "{foreign}");
        }
    }
}
