//! Boards in the audit: tasks against their labels, groups and boards, and the counts against the tasks.

use std::collections::BTreeMap;

use jobbers_common::engine::{Flaw, Result};
use rusqlite::OptionalExtension;

use super::row::read_labels;
use crate::sqlite::{
    audit::piece::{AuditPiece, CheckedPiece, Mend},
    kernel::{step::Step, view::View},
    sql,
    store::error::OrStore,
};

/// How many miscounted groups of a board are reported.
const MOST_GROUPS: usize = 10;

/// Tasks of boards: whether each can be read, and is found by its labels and its group.
pub(crate) fn tasks(view: &View<'_>, after: i64, limit: usize) -> Result<CheckedPiece> {
    let mut look = CheckedPiece::default();
    let mut statement = view.prepare(sql::AUDIT_BOARD_TASKS)?;
    let mut rows = statement.query((after, sql::count(limit))).or_store()?;
    let mut last = after;
    while let Some(found) = rows.next().or_store()? {
        last = found.get("key").or_store()?;
        look.looked_at += 1;
        let (revision, board): (i64, i64) = (found.get("revision").or_store()?, found.get("board").or_store()?);
        let Some(name) = found.get::<_, Option<String>>("name").or_store()? else {
            let detail = "it belongs to a board that does not exist";
            look.note(Flaw::Unreadable, format!("board_task {last}"), detail, None);
            continue;
        };
        let subject = format!("board {name}, task {revision}");
        let labels: Option<String> = found.get("labels").or_store()?;
        match labels.as_deref().map_or_else(|| Ok(BTreeMap::new()), read_labels) {
            Err(error) => look.note(Flaw::Unreadable, subject.clone(), error.to_string(), None),
            Ok(labels) if labels != indexed_labels(view, last, board)? => {
                let detail = "selections by label do not find it by the labels that it has";
                look.note(Flaw::Misplaced, subject.clone(), detail, Some(Mend::Relabel(last)));
            }
            Ok(_) => {}
        }
        if !found.get::<_, bool>("has_group").or_store()? {
            let detail = "its group is not among the groups of its board";
            look.note(Flaw::Miscounted, subject, detail, Some(Mend::CountBoard(board)));
        }
    }
    let is_whole = look.looked_at < limit as u64;
    look.next = Some(if is_whole { AuditPiece::Boards(0) } else { AuditPiece::BoardTasks(last) });
    Ok(look)
}

/// The labels by which selections find a task.
fn indexed_labels(view: &View<'_>, task: i64, board: i64) -> Result<BTreeMap<String, String>> {
    let mut statement = view.prepare(sql::BOARD_LABELS_OF_TASK)?;
    let rows = statement.query_map((task, board), |row| Ok((row.get("label")?, row.get("value")?))).or_store()?;
    rows.collect::<rusqlite::Result<_>>().or_store()
}

/// The counts of one board.
pub(crate) fn counts(view: &View<'_>, after: i64) -> Result<CheckedPiece> {
    type Counts = (i64, String, i64, i64, i64, i64);
    let mut statement = view.prepare(sql::AUDIT_BOARD)?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok((
            row.get("key")?,
            row.get("name")?,
            row.get("revision")?,
            row.get("counted")?,
            row.get("found")?,
            row.get("highest")?,
        ))
    };
    let found: Option<Counts> = statement.query_row([after], read).optional().or_store()?;
    let Some((board, name, revision, counted, there, highest)) = found else { return Ok(CheckedPiece::default()) };
    let mut look = CheckedPiece::default();
    (look.looked_at, look.next) = (1, Some(AuditPiece::Boards(board)));
    let mut note = |detail: String| {
        look.note(Flaw::Miscounted, format!("board {name}"), detail, Some(Mend::CountBoard(board)));
    };
    if counted != there {
        note(format!("by what was created and deleted it holds {counted} tasks, and {there} are there"));
    }
    if revision < highest {
        note(format!("its counter is at {revision}, and a task is at revision {highest}"));
    }
    let mut statement = view.prepare(sql::AUDIT_BOARD_GROUPS)?;
    let mut rows = statement.query((board, sql::count(MOST_GROUPS))).or_store()?;
    while let Some(found) = rows.next().or_store()? {
        let (group, tasks): (String, i64) = (found.get("name").or_store()?, found.get("tasks").or_store()?);
        let there: i64 = found.get("found").or_store()?;
        note(format!("{tasks} tasks are counted in group {group:?} and {there} are there"));
    }
    Ok(look)
}

/// Has selections find a task by its labels.
pub(crate) fn relabel(step: &Step<'_>, task: i64) -> Result<()> {
    let mut statement = step.prepare(sql::LABELS_OF_BOARD_TASK)?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get("board")?, row.get("labels")?));
    let found: Option<(i64, Option<String>)> = statement.query_row([task], read).optional().or_store()?;
    let Some((board, labels)) = found else { return Ok(()) };
    step.prepare(sql::DELETE_BOARD_LABELS)?.execute([task]).or_store()?;
    for (label, value) in labels.as_deref().map_or_else(|| Ok(BTreeMap::new()), read_labels)? {
        step.prepare(sql::INSERT_BOARD_LABEL)?.execute((task, label, value, board)).or_store()?;
    }
    Ok(())
}

/// Counts the tasks of a board again.
pub(crate) fn count_again(step: &Step<'_>, board: i64) -> Result<()> {
    for sql in [sql::RECOUNT_BOARD, sql::DROP_EMPTY_BOARD_GROUPS, sql::RECOUNT_BOARD_GROUPS] {
        step.prepare(sql)?.execute([board]).or_store()?;
    }
    Ok(())
}
