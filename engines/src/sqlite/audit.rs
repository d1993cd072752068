//! The audit: SQLite's own check of the file, then the tasks, their side records, the counts, and the boards.
//!
//! A look is a question to a [`View`]; the writer then repairs, after it looked again. Nothing is repaired in a file
//! whose pages are damaged: there the damage may cause the findings, and a write may overwrite what a rescue could
//! still read. The cursor carries this knowledge on from the check of the file, which comes first.

use jobbers_common::engine::{AuditRequest, Audited, Error, Flaw, Result};
use rusqlite::{Connection, OptionalExtension, ToSql};

use self::piece::{AuditPiece, BESIDE, CheckedPiece, DAMAGED, Mend};
use super::{
    boards::audit as boards,
    follow::{dependency::inspect, gates, waiting_bytes},
    kernel::{chore::Chore, due, record, row, step::Step, view::View},
    sql,
    store::error::{OrStore, corrupt},
    verbs::prune,
};

pub(super) mod piece;

/// How many lines of SQLite's own check are reported for each table.
const MOST_SAID: usize = 10;

/// Checks one piece. A part that can't be read because of damage is a finding, and the next piece follows.
pub(super) fn look(view: &View<'_>, request: &AuditRequest) -> Result<CheckedPiece> {
    let foreign = || Error::Invalid("this cursor is not from this store".to_owned());
    let cursor = request.cursor.as_deref().unwrap_or_default();
    let (was_damaged, cursor) = cursor.strip_prefix(DAMAGED).map_or((false, cursor), |rest| (true, rest));
    let piece = if cursor.is_empty() { AuditPiece::START } else { AuditPiece::read(cursor).ok_or_else(foreign)? };
    let looked = match &piece {
        AuditPiece::File(after) => file(view, after),
        AuditPiece::Tasks(after) => tasks(view, *after, request.limit),
        AuditPiece::Beside(place, after) => beside(view, *place, *after, request.limit),
        AuditPiece::Gates(queue, after) => gates(view, *queue, after, request.limit),
        AuditPiece::Counts(after) => counts(view, *after),
        AuditPiece::BoardTasks(after) => boards::tasks(view, *after, request.limit),
        AuditPiece::Boards(after) => boards::counts(view, *after),
    };
    let mut look = match looked {
        Err(Error::Corrupt(text)) => {
            let mut look = CheckedPiece { next: piece.skipped(view), ..CheckedPiece::default() };
            look.note_damage(piece.subject(), format!("not all of this can be read: {text}"));
            look
        }
        looked => looked?,
    };
    look.is_damaged |= was_damaged;
    Ok(look)
}

/// The findings about a file whose counters can't be read, because of `why`: SQLite's check of its pages.
pub(super) fn look_at_pages(conn: &Connection, why: &str) -> CheckedPiece {
    let mut look = CheckedPiece { looked_at: 1, ..CheckedPiece::default() };
    look.note_damage("file", why);
    for text in check(conn, "quick_check", sql::count(MOST_SAID)) {
        look.note_damage("file", text);
    }
    look
}

/// The complaints of SQLite's check `pragma` of `what`, including its own failure.
fn check(conn: &Connection, pragma: &str, what: impl ToSql) -> Vec<String> {
    let mut said = Vec::new();
    let checked = conn.pragma(None, pragma, what, |row| row.get(0).map(|text: String| said.push(text)));
    said.extend(checked.err().map(|error| error.to_string()));
    said.retain(|text| text != "ok");
    said
}

/// SQLite's check of a table: its pages, and for tasks that each index matches the rows.
fn file(view: &View<'_>, after: &str) -> Result<CheckedPiece> {
    let table = view.prepare(sql::AUDIT_TABLES)?.query_row([after], |row| row.get::<_, String>(0)).optional();
    let Some(table) = table.or_store()? else {
        return Ok(CheckedPiece { next: Some(AuditPiece::Tasks(0)), ..CheckedPiece::default() });
    };
    let mut look = CheckedPiece { looked_at: 1, ..CheckedPiece::default() };
    let said = check(view.conn, "integrity_check", &table);
    if table == "task" && said.iter().all(|text| text.contains(" index ")) {
        for text in said {
            look.note(Flaw::FileDamaged, &table, text, Some(Mend::Reindex));
        }
    } else {
        let more = said.len().saturating_sub(MOST_SAID);
        for text in said.into_iter().take(MOST_SAID) {
            look.note_damage(&table, text);
        }
        if more > 0 {
            look.note_damage(&table, format!("and {more} more complaints"));
        }
    }
    look.next = Some(AuditPiece::File(table));
    Ok(look)
}

/// Tasks: whether each can be read, is in a queue that exists, and has its parameters.
fn tasks(view: &View<'_>, after: i64, limit: usize) -> Result<CheckedPiece> {
    let mut look = CheckedPiece::default();
    let mut statement = view.prepare(sql::AUDIT_TASKS)?;
    let mut whole = view.prepare(sql::LIST_TASK)?;
    let mut rows = statement.query((after, sql::count(limit))).or_store()?;
    let mut last = after;
    while let Some(found) = rows.next().or_store()? {
        let (key, id): (i64, String) = (found.get("key").or_store()?, found.get("id").or_store()?);
        look.looked_at += 1;
        last = key;
        if view.queue_name(found.get("queue").or_store()?).is_err() {
            look.note(Flaw::QueueUnknown, id, "its queue does not exist", None);
            continue;
        }
        let mut tasks = whole.query([key]).or_store()?;
        let read = tasks.next().or_store()?.map_or_else(|| Err(corrupt("a task", "gone")), |it| record::task(it, view));
        if let Err(error) = read {
            look.note(Flaw::Unreadable, &id, error.to_string(), None);
        }
        if found.get("lacks_parameters").or_store()? {
            look.note(Flaw::ParametersLost, &id, "its parameters are gone", None);
        }
        if found.get("waits").or_store()?
            && let Some((detail, can_be_mended)) = inspect::find_flaw(view, key)?
        {
            look.note(Flaw::Unplaced, id, detail, can_be_mended.then_some(Mend::Signal(key)));
        }
    }
    let is_whole = look.looked_at < limit as u64;
    look.next = Some(if is_whole { AuditPiece::Beside(0, 0) } else { AuditPiece::Tasks(last) });
    Ok(look)
}

/// Side records of tasks: whether their tasks exist.
fn beside(view: &View<'_>, place: usize, after: i64, limit: usize) -> Result<CheckedPiece> {
    let (table, statement, _) = BESIDE[place];
    let mut look = CheckedPiece::default();
    let mut statement = view.prepare(statement)?;
    let mut rows = statement.query((after, sql::count(limit))).or_store()?;
    let mut last = after;
    while let Some(found) = rows.next().or_store()? {
        last = found.get("subject").or_store()?;
        look.looked_at += 1;
        if !found.get::<_, bool>("may_stay").or_store()? {
            let detail = match table {
                "holder" => "a task that is over holds the results of its predecessors",
                "held_result" => "no task holds this result",
                _ => "it belongs to a task that is not there",
            };
            look.note(Flaw::Orphan, format!("{table} {last}"), detail, Some(Mend::Delete(place, last)));
        }
    }
    look.next = Some(match (look.looked_at < limit as u64, place + 1) {
        (false, _) => AuditPiece::Beside(place, last),
        (true, next) if next < BESIDE.len() => AuditPiece::Beside(next, 0),
        (true, _) => AuditPiece::Gates(0, String::new()),
    });
    Ok(look)
}

/// Gates with tasks of a queue behind them: whether a claim would look at the open ones.
fn gates(view: &View<'_>, queue: i64, after: &str, limit: usize) -> Result<CheckedPiece> {
    let mut look = CheckedPiece::default();
    let looked_at = gates::page_of_gates(view, queue, after, limit)?;
    let last = looked_at.last().map(|(gate, _)| gate.clone());
    look.looked_at = looked_at.len() as u64;
    for (gate, _) in looked_at.iter().filter(|(_, is_forgotten)| *is_forgotten) {
        let detail = format!("tasks of queue {queue} stand behind it, it is open, and no claim would look");
        look.note(Flaw::Misplaced, gate, detail, Some(Mend::LookAnew(queue)));
    }
    look.next = Some(match (last, view.next_queue(queue)?) {
        (Some(last), _) if looked_at.len() == limit => AuditPiece::Gates(queue, last),
        (_, Some((next, _))) => AuditPiece::Gates(next, String::new()),
        (_, None) => AuditPiece::Counts(0),
    });
    Ok(look)
}

/// Statuses of a queue with a wrong tally: `(status, tallied, found)`.
fn miscounted(view: &View<'_>, queue: i64) -> Result<Vec<(u8, i64, i64)>> {
    let mut statement = view.prepare(sql::AUDIT_COUNTS)?;
    let rows = statement
        .query_map([queue], |row| Ok((row.get("status")?, row.get("tallied")?, row.get("found")?)))
        .or_store()?;
    rows.collect::<rusqlite::Result<_>>().or_store()
}

/// Whether a chore has work in a queue and would not look at it in time.
fn is_overlooked(view: &View<'_>, queue: i64) -> Result<bool> {
    for chore in Chore::ALL {
        let first = match chore {
            Chore::Promote => {
                view.prepare(sql::NEXT_DUE)?.query_row([queue], |row| row.get(0)).optional().or_store()?
            }
            Chore::Reclaim => {
                view.prepare(sql::NEXT_EXPIRY)?.query_row([queue], |row| row.get(0)).optional().or_store()?
            }
            Chore::Prune => prune::next_past_retention(view, queue, &view.catalog.retention(queue))?,
        };
        let Some(first): Option<i64> = first else { continue };
        let mut noted = view.prepare(sql::FIND_DUE)?;
        let noted: Option<i64> = noted.query_row((chore.code(), queue), |row| row.get(0)).optional().or_store()?;
        if noted.is_none_or(|noted| noted > first) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The counts of one queue.
fn counts(view: &View<'_>, after: i64) -> Result<CheckedPiece> {
    let Some((queue, name)) = view.next_queue(after)? else {
        return Ok(CheckedPiece { next: Some(AuditPiece::BoardTasks(0)), ..CheckedPiece::default() });
    };
    let mut look = CheckedPiece { looked_at: 1, next: Some(AuditPiece::Counts(queue)), ..CheckedPiece::default() };
    for (code, tallied, found) in miscounted(view, queue)? {
        let detail = format!("{tallied} tasks are counted as {} and {found} are there", row::status(code)?);
        look.note(Flaw::Miscounted, name.as_str(), detail, Some(Mend::Recount(queue)));
    }
    if is_overlooked(view, queue)? {
        let detail = "a chore has something to do in it, and would not look";
        look.note(Flaw::Misplaced, name.as_str(), detail, Some(Mend::LookForDue(queue)));
    }
    if view.catalog.limited.get(&queue).is_some_and(|config| config.max_bytes.is_some()) {
        let read = |row: &rusqlite::Row<'_>| Ok((row.get("counted")?, row.get("sum")?, row.get("wrong")?));
        let (counted, sum, wrong): (i64, i64, i64) =
            view.prepare(sql::AUDIT_BYTES)?.query_row([queue], read).or_store()?;
        if counted != sum || wrong != 0 {
            let detail = format!(
                "{counted} waiting bytes are counted, its tasks weigh {sum}, {wrong} of them another than noted"
            );
            look.note(Flaw::Miscounted, name.as_str(), detail, Some(Mend::RecountBytes(queue)));
        }
    }
    Ok(look)
}

/// Repairs the findings of a look that can be repaired.
pub(super) fn repair(step: &mut Step<'_>, mut look: CheckedPiece) -> Result<Audited> {
    let mut mended = Vec::new();
    // The check of the file is not finished when it reaches an index.
    if look.findings.iter().any(|(_, mend)| *mend == Some(Mend::Reindex)) {
        look.is_damaged |= !check(step.conn, "quick_check", 1_i64).is_empty();
    }
    let may_mend = look.can_be_mended();
    for (finding, mend) in &mut look.findings {
        let Some(mend) = mend.filter(|_| may_mend) else { continue };
        if !mended.contains(&mend) {
            carry_out(step, mend)?;
            mended.push(mend);
        }
        finding.repaired = true;
    }
    Ok(look.into_audited())
}

fn carry_out(step: &mut Step<'_>, mend: Mend) -> Result<()> {
    match mend {
        Mend::Delete(place, task) => {
            step.prepare(BESIDE[place].2)?.execute([task]).or_store()?;
        }
        Mend::LookAnew(queue) => {
            gates::recheck(step, queue)?;
        }
        Mend::Recount(queue) => {
            let view = step.view()?;
            for (code, _, found) in miscounted(&view, queue)? {
                step.prepare(sql::PUT_TALLY)?.execute((queue, code, found)).or_store()?;
            }
        }
        Mend::Signal(task) => inspect::mend(step, task)?,
        Mend::LookForDue(queue) => due::look_again(step, queue)?,
        Mend::RecountBytes(queue) => waiting_bytes::recount(step, queue)?,
        Mend::Relabel(task) => boards::relabel(step, task)?,
        Mend::CountBoard(board) => boards::count_again(step, board)?,
        Mend::Reindex => step.conn.execute_batch("REINDEX task").or_store()?,
    }
    Ok(())
}
