//! What `scripts/lib/boards/board_calls.lua` is sent, and what it answers.

use jobbers_common::{
    engine::{
        Error, Result,
        boards::{
            Commit, CommitAnswer, Committed, Conflicts, Create, Placed, Selection, Take, TakeAnswer,
            task::{BoardTime, When},
            validate::{changed_twice, validate_changes},
        },
    },
    limits::{MAX_BOARD_CHANGES, MAX_BOARD_COMMIT_BYTES},
};
use redis::{Cmd, Value};

use super::record::{biased, content, labels, read_task, revision, time};
use crate::redis::{
    kernel::reply::{array, bytes, digits, number, text},
    server::failure::malformed,
};

type Words = std::vec::IntoIter<Value>;

fn next(words: &mut Words) -> Value {
    words.next().unwrap_or(Value::Nil)
}

/// Writes a commit.
pub(super) fn write_commit(commit: &Commit, command: &mut Cmd) {
    match only_change(commit) {
        Some(SingleChange::Create(create)) => {
            command.arg("n").arg(commit.board.as_str()).arg(biased(commit.owner)).arg(&create.group);
            command.arg(when(create.at)).arg(content(&create.content));
            return;
        }
        Some(SingleChange::Delete(of)) => {
            command.arg("d").arg(commit.board.as_str()).arg(biased(commit.owner)).arg(u8::from(commit.check_owner));
            command.arg(revision(of));
            return;
        }
        None => {}
    }
    command.arg("c").arg(commit.board.as_str()).arg(biased(commit.owner)).arg(u8::from(commit.check_owner));
    command.arg(given(commit.once.as_deref()));
    write_revisions(&commit.require, command);
    command.arg(commit.delete.len());
    commit.delete.iter().for_each(|which| write_selection(which, command));
    command.arg(commit.update.len());
    for update in &commit.update {
        write_selection(&update.which, command);
        command.arg(given(update.group.as_deref())).arg(update.at.map(when).unwrap_or_default());
        command.arg(update.content.as_ref().map(content).unwrap_or_default());
    }
    command.arg(commit.create.len());
    for create in &commit.create {
        command.arg("").arg(&create.group).arg(when(create.at)).arg(content(&create.content));
    }
}

/// What most commits do.
enum SingleChange<'a> {
    Create(&'a Create),
    Delete(u64),
}

/// The change of a commit that creates one task, or deletes one by its revision, and does nothing else.
fn only_change(commit: &Commit) -> Option<SingleChange<'_>> {
    if commit.once.is_some() || !commit.require.is_empty() || !commit.update.is_empty() {
        return None;
    }
    match (commit.delete.as_slice(), commit.create.as_slice()) {
        ([], [create]) => Some(SingleChange::Create(create)),
        ([Selection::Revision(revision)], []) => Some(SingleChange::Delete(*revision)),
        _ => None,
    }
}

/// What may be missing, with a letter in front if it is there.
fn given(text: Option<&str>) -> String {
    text.map(|text| format!("={text}")).unwrap_or_default()
}

fn when(when: When) -> String {
    match when {
        When::At(at) => format!("a{}", biased(at.0)),
        When::In(span) => format!("i{}", biased(span)),
    }
}

fn write_revisions(revisions: &[u64], command: &mut Cmd) {
    command.arg(revisions.len());
    revisions.iter().for_each(|of| {
        command.arg(revision(*of));
    });
}

fn write_selection(which: &Selection, command: &mut Cmd) {
    match which {
        Selection::Revision(of) => command.arg(format!("r{}", revision(*of))),
        Selection::Group(group) => command.arg(format!("g{group}")),
        Selection::AnyLabel(of) => command.arg(format!("l{}", labels(of))),
    };
}

/// Whether a commit stores something new, so that a full server has to refuse it.
pub(super) fn adds(commit: &Commit) -> bool {
    commit.once.is_some() || commit.contents().next().is_some()
}

/// Reads the outcome of a commit.
pub(super) fn read_commit(answer: Value, commit: &Commit) -> Result<CommitAnswer> {
    let mut words = array(answer)?.into_iter();
    match text(next(&mut words))?.as_str() {
        "d" => read_committed(&mut words, commit).map(CommitAnswer::Done),
        "a" => Ok(CommitAnswer::AlreadyDone),
        "x" => {
            let mut list = || read_revisions(array(next(&mut words))?.into_iter());
            let (required, deleted, updated, owned) = (list()?, list()?, list()?, list()?);
            Ok(CommitAnswer::Conflict(Conflicts { required, deleted, updated, owned }))
        }
        "w" => Err(changed_twice(digits(&bytes(next(&mut words))?)?)),
        "m" => Err(validate_changes(MAX_BOARD_CHANGES + 1).err().unwrap_or_else(|| malformed("expected a refusal"))),
        "b" => Err(Error::Invalid(format!(
            "a commit writes at most {MAX_BOARD_COMMIT_BYTES} bytes: its selections found too many tasks for its contents"
        ))),
        _ => Err(malformed("expected what became of a commit")),
    }
}

fn read_revisions(words: Words) -> Result<Vec<u64>> {
    words.map(|word| digits(&bytes(word)?)).collect()
}

fn read_committed(words: &mut Words, commit: &Commit) -> Result<Committed> {
    let now = time(&bytes(next(words))?)?;
    let deleted = usize::try_from(number(next(words))?).unwrap_or(usize::MAX);
    let first = bytes(next(words))?;
    let mut revision = if first.is_empty() { 0 } else { digits(&first)? };
    let mut place = |group: String, at: BoardTime| {
        revision += 1;
        Placed { revision: revision - 1, group, at }
    };
    let mut updated = Vec::new();
    while let Some(group) = words.next() {
        updated.push(place(text(group)?, time(&bytes(next(words))?)?));
    }
    let created = commit.create.iter().map(|create| place(create.group.clone(), create.at.resolve(now))).collect();
    Ok(Committed { created, updated, deleted })
}

/// Writes a take. Its caller waits until a time in microseconds, or without end if that is 0.
pub(super) fn write_take(take: &Take, random: u64, until: i64, command: &mut Cmd) {
    command.arg("t").arg(take.board.as_str()).arg(&take.group).arg(biased(take.owner)).arg(take.order.choice());
    command.arg(random >> 32).arg(random & 0xffff_ffff);
    command.arg(take.now.map(|now| biased(now.0)).unwrap_or_default());
    let span = |lease: u64| biased(i64::try_from(lease).unwrap_or(i64::MAX));
    command.arg(take.lease.map(span).unwrap_or_default()).arg(until);
    write_revisions(&take.require, command);
}

/// Reads what a take found.
pub(super) fn read_take(answer: Value) -> Result<TakeAnswer> {
    let mut words = array(answer)?.into_iter();
    let letter = text(next(&mut words))?;
    if letter == "l" {
        return Err(Error::unavailable("Redis came to this take only after its answer was given up"));
    }
    let (now, counter) = (time(&bytes(next(&mut words))?)?, digits(&bytes(next(&mut words))?)?);
    let mut answer = TakeAnswer { task: None, missing: Vec::new(), next_at: None, now, revision: counter };
    match letter.as_str() {
        "f" => {
            let revision = digits(&bytes(next(&mut words))?)?;
            answer.task = Some(read_task(revision, bytes(next(&mut words))?)?);
        }
        "n" => {
            let first = bytes(next(&mut words))?;
            answer.next_at = if first.is_empty() { None } else { Some(time(&first)?) };
        }
        "r" => answer.missing = read_revisions(words)?,
        _ => return Err(malformed("expected what a take found")),
    }
    Ok(answer)
}
