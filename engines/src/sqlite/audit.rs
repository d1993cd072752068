//! The audit: the file by SQLite's own check, then the tasks, what lies beside them, and the counts.
//!
//! Looking is a question to a [`View`]; what is to be mended is then done by the writer, which looks again.

use jobbers_common::engine::{AuditRequest, Audited, Error, Finding, Flaw, Result};
use rusqlite::OptionalExtension;

use super::{
    error::{OrStore, corrupt},
    gates, row, sql,
    step::Step,
    view::View,
    weight,
};

/// What lies beside the tasks: its table, how it is looked over, and how an entry is deleted.
const BESIDE: [(&str, &str, &str); 7] = [
    ("large_parameters", sql::AUDIT_LARGE_PARAMETERS, sql::DELETE_LARGE_PARAMETERS),
    ("checkpoint", sql::AUDIT_CHECKPOINTS, sql::DELETE_CHECKPOINT),
    ("failure", sql::AUDIT_FAILURES, sql::DELETE_FAILURES),
    ("stranger", sql::AUDIT_STRANGERS, sql::FORGET_STRANGER),
    ("uniqueness", sql::AUDIT_UNIQUENESS, sql::DELETE_UNIQUENESS),
    ("unique_key", sql::AUDIT_UNIQUE_KEYS, sql::DELETE_UNIQUE_KEYS),
    ("weight", sql::AUDIT_WEIGHTS, sql::DELETE_WEIGHT),
];

/// What is looked over by one call, and after what it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// The table after the one of this name.
    File(String),
    /// Tasks after this key.
    Tasks(i64),
    /// Entries of a table of [`BESIDE`], of tasks after this key.
    Beside(usize, i64),
    /// Gates of a queue, or of the first one after it that has any, after the one of this name.
    Gates(i64, String),
    /// The queue after the one of this key.
    Counts(i64),
}

impl Piece {
    const START: Self = Self::File(String::new());

    fn write(&self) -> String {
        match self {
            Self::File(table) => format!("file|{table}"),
            Self::Tasks(key) => format!("tasks|{key}"),
            Self::Beside(place, key) => format!("{}|{key}", BESIDE[*place].0),
            Self::Gates(queue, gate) => format!("gates|{queue}|{gate}"),
            Self::Counts(key) => format!("counts|{key}"),
        }
    }

    fn read(cursor: &str) -> Option<Self> {
        let (what, after) = cursor.split_once('|')?;
        let key = || after.parse().ok();
        match what {
            "file" => Some(Self::File(after.to_owned())),
            "tasks" => Some(Self::Tasks(key()?)),
            "counts" => Some(Self::Counts(key()?)),
            "gates" => {
                let (queue, gate) = after.split_once('|')?;
                Some(Self::Gates(queue.parse().ok()?, gate.to_owned()))
            }
            table => Some(Self::Beside(BESIDE.iter().position(|(known, ..)| *known == table)?, key()?)),
        }
    }
}

/// How a finding is mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mend {
    /// Delete what a table of [`BESIDE`] has of this task.
    Delete(usize, i64),
    /// Have claims look at the gates of a queue anew.
    LookAnew(i64),
    /// Count the tasks of a queue anew.
    Recount(i64),
    /// Count the bytes that wait in a queue anew.
    Weigh(i64),
    /// Build the indexes of `task` anew.
    Reindex,
}

/// A piece looked over: what was found, and how that is mended, if it can be.
#[derive(Debug, Clone, Default)]
pub(super) struct Look {
    looked_at: u64,
    findings: Vec<(Finding, Option<Mend>)>,
    next: Option<Piece>,
}

impl Look {
    fn note(&mut self, flaw: Flaw, subject: impl Into<String>, detail: impl Into<String>, mend: Option<Mend>) {
        let finding = Finding { flaw, subject: subject.into(), detail: detail.into(), repaired: false };
        self.findings.push((finding, mend));
    }

    /// Whether there is anything that can be mended.
    pub(super) fn can_be_mended(&self) -> bool {
        self.findings.iter().any(|(_, mend)| mend.is_some())
    }

    pub(super) fn into_audited(self) -> Audited {
        Audited {
            looked_at: self.looked_at,
            findings: self.findings.into_iter().map(|(finding, _)| finding).collect(),
            next: self.next.map(|piece| piece.write()),
        }
    }
}

/// Looks over one piece.
pub(super) fn look(view: &View<'_>, request: &AuditRequest) -> Result<Look> {
    let foreign = || Error::Invalid("this cursor is not from this store".to_owned());
    let piece = request.cursor.as_deref().map_or(Ok(Piece::START), |text| Piece::read(text).ok_or_else(foreign))?;
    match piece {
        Piece::File(after) => file(view, &after),
        Piece::Tasks(after) => tasks(view, after, request.limit),
        Piece::Beside(place, after) => beside(view, place, after, request.limit),
        Piece::Gates(queue, after) => gates(view, queue, &after, request.limit),
        Piece::Counts(after) => counts(view, after),
    }
}

/// SQLite's check of a table: its pages, and for tasks that each index has what the rows say.
fn file(view: &View<'_>, after: &str) -> Result<Look> {
    let table = view.prepare(sql::AUDIT_TABLES)?.query_row([after], |row| row.get::<_, String>(0)).optional();
    let Some(table) = table.or_store()? else { return Ok(Look { next: Some(Piece::Tasks(0)), ..Look::default() }) };
    let mut said = Vec::new();
    let note = |row: &rusqlite::Row<'_>| row.get(0).map(|text: String| said.push(text));
    view.conn.pragma(None, "integrity_check", &table, note).or_store()?;
    said.retain(|text| text != "ok");
    let mut look = Look { looked_at: 1, ..Look::default() };
    let only_indexes = table == "task" && said.iter().all(|text| text.contains(" index "));
    for text in said {
        look.note(Flaw::FileDamaged, &table, text, only_indexes.then_some(Mend::Reindex));
    }
    look.next = Some(Piece::File(table));
    Ok(look)
}

/// Tasks: whether each can be read, is in a queue that exists, and has its parameters.
fn tasks(view: &View<'_>, after: i64, limit: usize) -> Result<Look> {
    let mut look = Look::default();
    let mut statement = view.prepare(sql::AUDIT_TASKS)?;
    let mut whole = view.prepare(sql::LIST_TASK)?;
    let mut rows = statement.query((after, sql::count(limit))).or_store()?;
    let mut last = after;
    while let Some(found) = rows.next().or_store()? {
        let (key, id): (i64, String) = (found.get(0).or_store()?, found.get(1).or_store()?);
        look.looked_at += 1;
        last = key;
        if view.catalog.name(found.get(2).or_store()?).is_err() {
            look.note(Flaw::QueueUnknown, id, "its queue does not exist", None);
            continue;
        }
        let mut tasks = whole.query([key]).or_store()?;
        let read =
            tasks.next().or_store()?.map_or_else(|| Err(corrupt("a task", "gone")), |it| row::task(it, &view.catalog));
        if let Err(error) = read {
            look.note(Flaw::Unreadable, &id, error.to_string(), None);
        }
        if found.get(3).or_store()? {
            look.note(Flaw::ParametersLost, id, "its parameters are gone", None);
        }
    }
    let is_whole = look.looked_at < limit as u64;
    look.next = Some(if is_whole { Piece::Beside(0, 0) } else { Piece::Tasks(last) });
    Ok(look)
}

/// What lies beside tasks: whether those are there.
fn beside(view: &View<'_>, place: usize, after: i64, limit: usize) -> Result<Look> {
    let (table, statement, _) = BESIDE[place];
    let mut look = Look::default();
    let mut statement = view.prepare(statement)?;
    let mut rows = statement.query((after, sql::count(limit))).or_store()?;
    let mut last = after;
    while let Some(found) = rows.next().or_store()? {
        last = found.get(0).or_store()?;
        look.looked_at += 1;
        if !found.get::<_, bool>(1).or_store()? {
            let (subject, detail) = (format!("{table} {last}"), "it belongs to a task that is not there");
            look.note(Flaw::Orphan, subject, detail, Some(Mend::Delete(place, last)));
        }
    }
    look.next = Some(match (look.looked_at < limit as u64, place + 1) {
        (false, _) => Piece::Beside(place, last),
        (true, next) if next < BESIDE.len() => Piece::Beside(next, 0),
        (true, _) => Piece::Gates(0, String::new()),
    });
    Ok(look)
}

/// Gates behind which tasks of a queue stand: whether a claim would look at those that are open.
fn gates(view: &View<'_>, queue: i64, after: &str, limit: usize) -> Result<Look> {
    let mut look = Look::default();
    let looked_at = gates::look_over(view, queue, after, limit)?;
    let last = looked_at.last().map(|(gate, _)| gate.clone());
    look.looked_at = looked_at.len() as u64;
    for (gate, _) in looked_at.iter().filter(|(_, is_forgotten)| *is_forgotten) {
        let detail = format!("tasks of queue {queue} stand behind it, it is open, and no claim would look");
        look.note(Flaw::Misplaced, gate, detail, Some(Mend::LookAnew(queue)));
    }
    look.next = Some(match (last, view.catalog.next_queue(queue)) {
        (Some(last), _) if looked_at.len() == limit => Piece::Gates(queue, last),
        (_, Some((next, _))) => Piece::Gates(next, String::new()),
        (_, None) => Piece::Counts(0),
    });
    Ok(look)
}

/// Statuses of a queue whose tally is not what there is: `(status, tallied, found)`.
fn miscounted(view: &View<'_>, queue: i64) -> Result<Vec<(u8, i64, i64)>> {
    let mut statement = view.prepare(sql::AUDIT_COUNTS)?;
    let rows = statement.query_map([queue], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).or_store()?;
    rows.collect::<rusqlite::Result<_>>().or_store()
}

/// The counts of one queue.
fn counts(view: &View<'_>, after: i64) -> Result<Look> {
    let Some((queue, name)) = view.catalog.next_queue(after) else { return Ok(Look::default()) };
    let mut look = Look { looked_at: 1, next: Some(Piece::Counts(queue)), ..Look::default() };
    for (code, tallied, found) in miscounted(view, queue)? {
        let detail = format!("{tallied} tasks are counted as {} and {found} are there", row::status(code)?);
        look.note(Flaw::Miscounted, name.as_str(), detail, Some(Mend::Recount(queue)));
    }
    if view.catalog.limited.get(&queue).is_some_and(|config| config.max_bytes.is_some()) {
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let (counted, sum, wrong): (i64, i64, i64) =
            view.prepare(sql::AUDIT_BYTES)?.query_row([queue], read).or_store()?;
        if counted != sum || wrong != 0 {
            let detail = format!(
                "{counted} waiting bytes are counted, its tasks weigh {sum}, {wrong} of them another than noted"
            );
            look.note(Flaw::Miscounted, name.as_str(), detail, Some(Mend::Weigh(queue)));
        }
    }
    Ok(look)
}

/// Mends what a look has found and can be mended.
pub(super) fn repair(step: &mut Step<'_>, mut look: Look) -> Result<Audited> {
    let mut mended = Vec::new();
    for (finding, mend) in &mut look.findings {
        let Some(mend) = *mend else { continue };
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
        Mend::LookAnew(queue) => gates::look_anew(step, queue)?,
        Mend::Recount(queue) => {
            let view = step.view()?;
            for (code, _, found) in miscounted(&view, queue)? {
                step.prepare(sql::PUT_TALLY)?.execute((queue, code, found)).or_store()?;
            }
        }
        Mend::Weigh(queue) => weight::weigh_anew(step, queue)?,
        Mend::Reindex => step.conn.execute_batch("REINDEX task").or_store()?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_says_where_to_go_on() {
        let beside = (0..BESIDE.len()).map(|place| Piece::Beside(place, 7));
        for piece in [
            Piece::START,
            Piece::File("task".to_owned()),
            Piece::Tasks(9),
            Piece::Gates(3, "ka|b".to_owned()),
            Piece::Counts(3),
        ]
        .into_iter()
        .chain(beside)
        {
            assert_eq!(Piece::read(&piece.write()), Some(piece));
        }
        for foreign in ["", "tasks", "tasks|x", "gates|3", "gates|x|k", "elsewhere|1", "failure|"] {
            assert_eq!(Piece::read(foreign), None, "{foreign}");
        }
    }
}
