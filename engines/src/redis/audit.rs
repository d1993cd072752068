//! The audit: the pieces of a store, and the order in which they are checked.
//!
//! First the places in queues, then the tasks by their records, then what else refers to them, then the counts, so that
//! repairs on the way are counted. Boards come last (`boards/audit.rs`).

use jobbers_common::{
    engine::{AuditRequest, Audited, Error, Finding, Flaw, Result},
    limits::DEFAULT_LEASE,
    name::QueueName,
};
use redis::{Cmd, Value};

use super::{
    boards::audit::BoardAuditPiece,
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
/// The most entries that one script call checks: tasks that are searched for in their queues' lists, and other entries.
const SEARCHED_A_CALL: usize = 12;
const ENTRIES_A_CALL: usize = 300;

/// The side hashes of tasks, by id.
const BESIDE: [&str; 6] = ["b", "h", "x", "u", "k:of", "g"];
/// What tasks keep of their predecessors.
const OF_PARENTS: [&str; 3] = ["from", "held", "kept"];
/// The parts of a queue that hold tasks; the lists come last, just before what relies on them.
const PARTS: [&str; 11] = ["r", "p", "y", "h", "s", "d", "l", "j", "z", "q", "f"];

/// What one script call checks, in the order of the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AuditPiece {
    Place(QueueName, usize),
    Sum,
    Tasks,
    Beside(usize),
    Keys,
    Outbox,
    Order,
    Edges,
    EdgesOut,
    Timeouts,
    Parents(usize),
    Counts(QueueName),
    Board(BoardAuditPiece),
}

impl AuditPiece {
    /// The piece after it, at present.
    async fn next(self, store: &Store) -> Result<Option<Self>> {
        Ok(match self {
            Self::Place(queue, part) => Some(Self::first_place(store, part, From::After(&queue)).await?),
            Self::Sum => Some(Self::Tasks),
            Self::Tasks => Some(Self::Beside(0)),
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
            None => Ok(BoardAuditPiece::first(store).await?.map(Self::Board)),
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
        Ok(Self::Sum)
    }

    /// Its name in the script: the kind, and the queue, hash or board.
    fn words(&self) -> (&'static str, String) {
        match self {
            Self::Sum => ("sum", String::new()),
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

    /// Whether it is a list, of which a walk counts the ghosts.
    fn is_list(&self) -> bool {
        matches!(self, Self::Place(_, part) if matches!(PARTS[*part], "q" | "f"))
    }

    /// Reads the words of [`AuditPiece::words`].
    fn read(what: &str, of: &str) -> Option<Self> {
        let queue = || QueueName::new(of).ok();
        match what {
            "sum" => Some(Self::Sum),
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
            what if what.starts_with("board_") => BoardAuditPiece::read(what, of).map(Self::Board),
            part => Some(Self::Place(queue()?, PARTS.iter().position(|known| *known == part)?)),
        }
    }
}

/// Where an audit continues. As a cursor `what|of|from|doubt`.
#[derive(Debug, PartialEq, Eq)]
struct AuditCursor {
    piece: AuditPiece,
    /// Where in the piece; empty at its beginning.
    from: String,
    /// Whether something in the lists of tasks was doubtful: then the tasks are searched for there, one by one.
    is_doubtful: bool,
}

impl AuditCursor {
    fn read(cursor: &str) -> Result<Self> {
        let foreign = || Error::Invalid("this cursor is not from this store".to_owned());
        let mut fields = cursor.split('|');
        let mut next = || fields.next().ok_or_else(foreign);
        let (what, of, from, doubt) = (next()?, next()?, next()?, next()?);
        let piece = AuditPiece::read(what, of).ok_or_else(foreign)?;
        let is_number = |text: &str| text.len() <= 20 && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_place = match from.split_once(':') {
            Some((revision, ghosts)) => piece.is_list() && is_number(revision) && is_number(ghosts),
            None => is_number(from),
        };
        if !is_place || !matches!(doubt, "" | "doubt") || fields.next().is_some() {
            return Err(foreign());
        }
        Ok(Self { piece, from: from.to_owned(), is_doubtful: !doubt.is_empty() })
    }

    fn write(&self) -> String {
        let (what, of) = self.piece.words();
        format!("{what}|{of}|{}|{}", self.from, if self.is_doubtful { "doubt" } else { "" })
    }
}

/// Checks some pieces, and repairs on request.
pub(super) async fn audit(store: &Store, request: &AuditRequest) -> Result<Audited> {
    request.validate()?;
    let mut cursor = match &request.cursor {
        Some(cursor) => AuditCursor::read(cursor)?,
        None => AuditCursor {
            piece: AuditPiece::first_place(store, 0, From::Start).await?,
            from: String::new(),
            is_doubtful: false,
        },
    };
    let (mut audited, mut most) = (Audited::default(), SEARCHED_A_CALL);
    for _ in 0..CALLS {
        if audited.looked_at >= request.limit as u64 {
            break;
        }
        let most_now = if cursor.piece == AuditPiece::Tasks { most } else { ENTRIES_A_CALL };
        let looked = look_over(store, &cursor, request.limit.min(most_now), request.repair, &mut audited).await?;
        cursor.from = looked.from;
        if cursor.piece == AuditPiece::Tasks {
            most = if looked.doubtful > 0 { SEARCHED_A_CALL } else { ENTRIES_A_CALL };
        } else {
            cursor.is_doubtful |= looked.doubtful > 0;
        }
        if cursor.from.is_empty() {
            let Some(next) = cursor.piece.next(store).await? else { return Ok(audited) };
            cursor.piece = next;
        }
    }
    audited.next = Some(cursor.write());
    Ok(audited)
}

/// What one script call answers besides what it found.
struct Looked {
    /// Where the piece continues, empty at its end.
    from: String,
    /// Entries of lists that may be wrong; of tasks, those that were searched for in a list.
    doubtful: u64,
}

/// One script call for at most about `most` entries.
async fn look_over(
    store: &Store,
    cursor: &AuditCursor,
    most: usize,
    repair: bool,
    audited: &mut Audited,
) -> Result<Looked> {
    let script = if repair { &script::REPAIR } else { &script::AUDIT };
    let (what, of) = match cursor.piece {
        AuditPiece::Tasks => ("tasks", if cursor.is_doubtful { "searched" } else { "counted" }.to_owned()),
        ref piece => piece.words(),
    };
    let add = |command: &mut Cmd| {
        command.arg(what).arg(&of).arg(&cursor.from).arg(most).arg(micros(DEFAULT_LEASE));
    };
    let mut answer = array(store.run(&store.bulk, script, add).await?)?.into_iter();
    let mut next = || answer.next().unwrap_or(Value::Nil);
    let (from, looked_at, doubtful) = (text(next())?, number(next())?, number(next())?);
    audited.looked_at += looked_at;
    for finding in answer {
        audited.findings.push(read_finding(finding)?);
    }
    Ok(Looked { from, doubtful })
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
        let places = (0..PARTS.len()).map(|part| AuditPiece::Place(queue.clone(), part));
        let hashes = (0..BESIDE.len()).map(AuditPiece::Beside).chain((0..OF_PARENTS.len()).map(AuditPiece::Parents));
        let others = [
            AuditPiece::Sum,
            AuditPiece::Tasks,
            AuditPiece::Keys,
            AuditPiece::Outbox,
            AuditPiece::Order,
            AuditPiece::Edges,
            AuditPiece::EdgesOut,
            AuditPiece::Counts(queue.clone()),
        ];
        for piece in places.chain(hashes).chain(others) {
            for is_doubtful in [false, true] {
                let cursor = AuditCursor { piece: piece.clone(), from: "17".to_owned(), is_doubtful };
                assert_eq!(AuditCursor::read(&cursor.write()), Ok(cursor));
            }
        }
        for foreign in [
            "",
            "tasks",
            "tasks||x|",
            "r|default",
            "w|default|0|",
            "beside|t|0|",
            "tasks||0",
            "tasks||0||",
            "tasks||0|0",
            "r|default|1:2|",
            "q|default|1:2:3|",
            "r||0|",
        ] {
            assert!(matches!(AuditCursor::read(foreign), Err(Error::Invalid(_))), "{foreign}");
        }
    }
}
