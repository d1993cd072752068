//! The audit: which pieces a store has, and in what order they are looked over.
//!
//! First the tasks by their records, then what refers to them, the counts last: what is mended on the way is counted.

use jobbers_common::{
    engine::{AuditRequest, Audited, Error, Finding, Flaw, Result},
    limits::DEFAULT_LEASE,
    name::QueueName,
};
use redis::{Cmd, Value};

use super::{
    arrange,
    failure::malformed,
    record::micros,
    reply::{array, number, text, tuple},
    script,
    store::Store,
};

/// Calls of the script that one piece makes at most: most pieces of a store with many queues are empty.
const CALLS: usize = 16;
/// Entries that one call of the script looks over at most: of tasks, each of which is searched for in its queue's lists, and
/// of anything else.
const TASKS_A_CALL: usize = 25;
const ENTRIES_A_CALL: usize = 400;

/// What lies beside the tasks, by id.
const BESIDE: [&str; 5] = ["b", "h", "x", "u", "k:of"];
/// What a queue has of its tasks.
const PARTS: [&str; 10] = ["q", "r", "p", "y", "h", "s", "d", "l", "f", "z"];

/// What is looked over by one call of the script. In the order of the audit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    Tasks,
    Place(QueueName, usize),
    Beside(usize),
    Keys,
    Outbox,
    Order,
    Counts(QueueName),
}

impl Piece {
    /// All pieces of a store with these queues.
    fn all<'a>(queues: impl Iterator<Item = &'a QueueName> + Clone) -> Vec<Self> {
        let places = queues.clone().flat_map(|queue| (0..PARTS.len()).map(|part| Self::Place(queue.clone(), part)));
        let beside = (0..BESIDE.len()).map(Self::Beside);
        let pieces = std::iter::once(Self::Tasks).chain(places).chain(beside);
        pieces.chain([Self::Keys, Self::Outbox, Self::Order]).chain(queues.cloned().map(Self::Counts)).collect()
    }

    /// As the script knows it: what, and of which queue or hash.
    fn words(&self) -> (&'static str, &str) {
        match self {
            Self::Tasks => ("tasks", ""),
            Self::Place(queue, part) => (PARTS[*part], queue.as_str()),
            Self::Beside(hash) => ("beside", BESIDE[*hash]),
            Self::Keys => ("keys", ""),
            Self::Outbox => ("outbox", ""),
            Self::Order => ("order", ""),
            Self::Counts(queue) => ("counts", queue.as_str()),
        }
    }

    /// How many entries one call of the script looks over.
    const fn most(&self) -> usize {
        match self {
            Self::Tasks => TASKS_A_CALL,
            _ => ENTRIES_A_CALL,
        }
    }

    /// Reads what [`Piece::words`] wrote.
    fn read(what: &str, of: &str) -> Option<Self> {
        let queue = || QueueName::new(of).ok();
        match what {
            "tasks" => Some(Self::Tasks),
            "beside" => BESIDE.iter().position(|hash| *hash == of).map(Self::Beside),
            "keys" => Some(Self::Keys),
            "outbox" => Some(Self::Outbox),
            "order" => Some(Self::Order),
            "counts" => queue().map(Self::Counts),
            part => Some(Self::Place(queue()?, PARTS.iter().position(|known| *known == part)?)),
        }
    }
}

/// Where an audit goes on: in a piece, from there. As a cursor `what|of|from`.
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

/// Looks over some pieces, and mends what is asked for.
pub(super) async fn audit(store: &Store, request: &AuditRequest) -> Result<Audited> {
    request.validate()?;
    let (start, mut from) = match &request.cursor {
        Some(cursor) => read_cursor(cursor)?,
        None => (Piece::Tasks, String::new()),
    };
    let config = arrange::read(store).await?;
    let mut audited = Audited::default();
    let mut calls = 0;
    for piece in Piece::all(config.queues.keys()) {
        if piece < start {
            continue;
        }
        if piece > start {
            from.clear();
        }
        loop {
            if calls == CALLS || audited.looked_at >= request.limit as u64 {
                let (what, of) = piece.words();
                audited.next = Some(format!("{what}|{of}|{from}"));
                return Ok(audited);
            }
            calls += 1;
            from = look_over(store, &piece, &from, request, &mut audited).await?;
            if from.is_empty() {
                break;
            }
        }
    }
    Ok(audited)
}

/// One call of the script; answers where the piece goes on, nothing at its end.
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
        command.arg(what).arg(of).arg(from).arg(request.limit.min(piece.most())).arg(micros(DEFAULT_LEASE));
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
    let flaw = Flaw::named(&text(flaw)?).ok_or_else(|| malformed("a flaw was due"))?;
    Ok(Finding { flaw, subject: text(subject)?, detail: text(detail)?, repaired: number(repaired)? == 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_says_where_to_go_on() {
        let queues = ["a", "b"].map(|name| QueueName::new(name).unwrap());
        let pieces = Piece::all(queues.iter());
        assert!(pieces.is_sorted(), "pieces follow each other in the order they compare by");
        for piece in pieces {
            let (what, of) = piece.words();
            assert_eq!(read_cursor(&format!("{what}|{of}|17")), Ok((piece, "17".to_owned())));
        }
        for foreign in ["", "tasks", "tasks||x", "r|default", "w|default|0", "beside|t|0", "tasks||0|0", "r||0"] {
            assert!(matches!(read_cursor(foreign), Err(Error::Invalid(_))), "{foreign}");
        }
    }
}
