//! Lists of tasks, in pages.
//!
//! Each script reads a bounded number of queues, entries or records; this module merges the results.

use std::collections::HashSet;

use jobbers_common::{
    engine::{Error, ListRequest, Page, Result, TaskFilter},
    lifecycle::Status,
    name::{QueueName, TaskId},
    task::Task,
};
use redis::{Cmd, Value};

use crate::redis::{
    kernel::{
        layout::{ENTRY, FINISHED},
        reply::{array, number, text},
        script,
        state::{Seen, read_view},
        values::status_of,
    },
    server::store::Store,
    verbs::{
        matching::by_error,
        queues::{self, From, QueuesPiece},
    },
};

/// How many pieces one page reads. A filter that few tasks match then gives a short page and a cursor.
const PIECES: usize = 16;
/// The number of queues that one script reads.
const QUEUES_A_PIECE: usize = 200;
/// Lists of finished tasks that one script searches.
const LISTS_A_PIECE: usize = 20;
/// At least so many of their entries are looked at for tasks that ended in certain ways: most entries say how.
const ENTRIES_A_PIECE: usize = 200;
/// The number of leases after which a script stops.
const LEASES_A_PIECE: usize = 500;
/// The number of records that one script returns: their results may be large.
const VIEWS_A_PIECE: usize = 200;

/// A section of the list, by the letter of the part of the queue it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Started,
    Submitted,
    Scheduled,
    Waiting,
    Over,
}

impl Section {
    const ALL: [Self; 5] = [Self::Started, Self::Submitted, Self::Scheduled, Self::Waiting, Self::Over];

    const fn letter(self) -> &'static str {
        match self {
            Self::Started => "l",
            Self::Submitted => "r",
            Self::Scheduled => "s",
            Self::Waiting => "d",
            Self::Over => "f",
        }
    }

    fn is_wanted(self, filter: &TaskFilter) -> bool {
        match self {
            Self::Started => filter.wants(Status::Started),
            Self::Submitted => filter.wants(Status::Submitted),
            Self::Scheduled => filter.wants(Status::Scheduled),
            Self::Waiting => filter.wants(Status::Waiting),
            Self::Over => Status::ALL.into_iter().any(|status| status.is_finished() && filter.wants(status)),
        }
    }
}

/// Where a list continues: in a section, from a queue on, after a task. As a cursor `section|queue|after|id`.
#[derive(Debug, Clone)]
struct ListCursor {
    section: Section,
    queue: Option<QueueName>,
    after: String,
    id: String,
}

impl ListCursor {
    const fn start_of(section: Section) -> Self {
        Self { section, queue: None, after: String::new(), id: String::new() }
    }

    fn read(cursor: &str) -> Result<Self> {
        let foreign = || Error::Invalid("this cursor is not from this store".to_owned());
        let [section, queue, after, id]: [&str; 4] =
            cursor.split('|').collect::<Vec<_>>().try_into().map_err(|_| foreign())?;
        let section = Section::ALL.into_iter().find(|known| known.letter() == section).ok_or_else(foreign)?;
        let queue = if queue.is_empty() { None } else { Some(QueueName::new(queue).map_err(|_| foreign())?) };
        let number = after.strip_prefix('-').unwrap_or(after);
        if number.len() > 20 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(foreign());
        }
        if !id.is_empty() {
            TaskId::new(id).map_err(|_| foreign())?;
        }
        Ok(Self { section, queue, after: after.to_owned(), id: id.to_owned() })
    }

    fn write(&self) -> String {
        let queue = self.queue.as_ref().map_or("", QueueName::as_str);
        format!("{}|{queue}|{}|{}", self.section.letter(), self.after, self.id)
    }

    fn after(section: Section, seen: &Seen) -> Self {
        Self {
            section,
            queue: Some(seen.task.queue.clone()),
            after: seen.place.clone(),
            id: seen.task.id.as_str().to_owned(),
        }
    }
}

/// The tasks that match, in pages.
pub(crate) async fn list(store: &Store, request: &ListRequest) -> Result<Page> {
    request.validate()?;
    let mut page = read_page(store, request).await?;
    keep_latest(&mut page.tasks);
    Ok(page)
}

/// A task that moves on while a page is read is found in two sections, and is where it was found last.
fn keep_latest(tasks: &mut Vec<Task>) {
    let mut found = HashSet::new();
    tasks.reverse();
    tasks.retain(|task| found.insert(task.id.clone()));
    tasks.reverse();
}

async fn read_page(store: &Store, request: &ListRequest) -> Result<Page> {
    let mut cursor = match &request.cursor {
        Some(cursor) => ListCursor::read(cursor)?,
        None => ListCursor::start_of(Section::Started),
    };
    let mut page = Page::default();
    for _ in 0..PIECES {
        let left = request.limit - page.tasks.len();
        let next;
        if !cursor.section.is_wanted(&request.filter) {
            next = start_of_next(cursor.section);
        } else {
            let (seen, after) = match cursor.section {
                Section::Over => over(store, &request.filter, &cursor, left).await?,
                section => {
                    let queues = queues_from(store, &request.filter, section, cursor.queue.as_ref()).await?;
                    match section {
                        Section::Started => started(store, &queues, &cursor, left).await?,
                        _ => live(store, &queues, &cursor, left).await?,
                    }
                }
            };
            next = after;
            let matching = seen.into_iter().filter(|seen| request.filter.matches_except_error(&seen.task)).collect();
            let matching = by_error(store, &request.filter, matching).await?.into_iter().map(|seen| seen.task);
            page.tasks.extend(matching.map(|task| Task { parameters: None, result: None, checkpoint: None, ..task }));
        }
        match next {
            None => return Ok(page),
            Some(after) => cursor = after,
        }
        if page.tasks.len() == request.limit {
            break;
        }
    }
    page.next = Some(cursor.write());
    Ok(page)
}

fn start_of_next(section: Section) -> Option<ListCursor> {
    let at = Section::ALL.iter().position(|known| *known == section)?;
    Section::ALL.get(at + 1).map(|next| ListCursor::start_of(*next))
}

/// Some queues that have tasks in a section, from one on.
async fn queues_from(
    store: &Store,
    filter: &TaskFilter,
    section: Section,
    from: Option<&QueueName>,
) -> Result<QueuesPiece> {
    match &filter.queue {
        Some(queue) => Ok(QueuesPiece::only(queue, from)),
        // The latest of all queues are wanted, so pieces can't be used.
        None if section == Section::Over => queues::walk(store, section.letter(), From::at(from), usize::MAX).await,
        None => queues::walk(store, section.letter(), From::at(from), QUEUES_A_PIECE).await,
    }
}

/// Where a section continues after the queues before a place.
fn start_at(section: Section, queues: &QueuesPiece, place: usize) -> Option<ListCursor> {
    match queues.at(place) {
        Some(queue) => Some(ListCursor { queue: Some(queue.clone()), ..ListCursor::start_of(section) }),
        None => start_of_next(section),
    }
}

/// A piece of a section of waiting tasks, and where it continues.
async fn live(
    store: &Store,
    queues: &QueuesPiece,
    cursor: &ListCursor,
    limit: usize,
) -> Result<(Vec<Seen>, Option<ListCursor>)> {
    let goes_on = cursor.queue.is_some() && cursor.queue.as_ref() == queues.names.first();
    if queues.names.is_empty() {
        return Ok((Vec::new(), start_at(cursor.section, queues, 0)));
    }
    let add = |command: &mut Cmd| {
        command.arg(cursor.section.letter()).arg(limit);
        match goes_on {
            true => command.arg(&cursor.after).arg(&cursor.id),
            false => command.arg("").arg(""),
        };
        queues.names.iter().for_each(|queue| {
            command.arg(queue.as_str());
        });
    };
    let mut answer = array(store.run(&store.bulk, &script::LIST_LIVE, add).await?)?.into_iter();
    let done = count(answer.next())?;
    let goes_on_after = text(answer.next().unwrap_or(Value::Nil))?;
    let seen = answer.map(read_view).collect::<Result<Vec<_>>>()?;
    let goes_on_in = queues.names.get(done).filter(|_| !goes_on_after.is_empty());
    if let Some(queue) = goes_on_in {
        let cursor =
            ListCursor { queue: Some(queue.clone()), after: goes_on_after, ..ListCursor::start_of(cursor.section) };
        return Ok((seen, Some(cursor)));
    }
    let next = match seen.last() {
        Some(last) if done < queues.names.len() => Some(ListCursor::after(cursor.section, last)),
        // Only leftovers of deleted keys in this queue's piece, or the next piece of queues.
        _ => start_at(cursor.section, queues, done.max(1)),
    };
    Ok((seen, next))
}

/// Entries of the running tasks of some queues, queue by queue, in each by their fences: at least `limit`, or all. Each
/// with the place of its queue; and the number of queues read.
async fn leases(store: &Store, queues: &[QueueName], limit: usize) -> Result<(Vec<(usize, String)>, usize)> {
    let (mut done, mut walk, mut unsorted, mut entries) = (0, "0".to_owned(), Vec::new(), Vec::new());
    while done < queues.len() && entries.len() < limit {
        let add = |command: &mut Cmd| {
            command.arg(LEASES_A_PIECE).arg(&walk);
            queues[done..].iter().for_each(|queue| {
                command.arg(queue.as_str());
            });
        };
        let mut answer = array(store.run(&store.bulk, &script::LEASES, add).await?)?.into_iter();
        let whole = done + count(answer.next())?;
        walk = text(answer.next().unwrap_or(Value::Nil))?;
        for (queue, found) in (done..).zip(answer) {
            unsorted.extend(texts(array(found)?)?);
            if queue < whole {
                unsorted.sort_unstable();
                unsorted.dedup();
                entries.extend(unsorted.drain(..).map(|entry| (queue, entry)));
            }
        }
        done = whole;
    }
    Ok((entries, done))
}

/// A piece of the running tasks, and where it continues.
async fn started(
    store: &Store,
    queues: &QueuesPiece,
    cursor: &ListCursor,
    limit: usize,
) -> Result<(Vec<Seen>, Option<ListCursor>)> {
    let goes_on = cursor.queue.is_some() && cursor.queue.as_ref() == queues.names.first();
    let (mut entries, done) = leases(store, &queues.names, limit).await?;
    if goes_on {
        entries.retain(|(queue, entry)| *queue > 0 || revision_of(entry) > cursor.after.as_str());
    }
    let is_cut = entries.len() > limit;
    entries.truncate(limit);
    let next = match entries.last() {
        Some((queue, last)) if is_cut => {
            let after = revision_of(last).to_owned();
            Some(ListCursor {
                queue: Some(queues.names[*queue].clone()),
                after,
                ..ListCursor::start_of(cursor.section)
            })
        }
        _ => start_at(cursor.section, queues, done),
    };
    let entries: Vec<String> = entries.into_iter().map(|(_, entry)| entry).collect();
    Ok((views(store, &entries).await?, next))
}

/// A piece of the finished tasks: the latest of all queues.
async fn over(
    store: &Store,
    filter: &TaskFilter,
    cursor: &ListCursor,
    limit: usize,
) -> Result<(Vec<Seen>, Option<ListCursor>)> {
    let (mut entries, mut horizon) = (Vec::new(), String::new());
    let queues = queues_from(store, filter, cursor.section, None).await?;
    let is_by_status = Status::ALL.into_iter().any(|status| status.is_finished() && !filter.wants(status));
    let most = if is_by_status { limit.max(ENTRIES_A_PIECE) } else { limit };
    for some in queues.names.chunks(LISTS_A_PIECE) {
        let add = |command: &mut Cmd| {
            command.arg(most).arg(&cursor.after);
            some.iter().for_each(|queue| {
                command.arg(queue.as_str());
            });
        };
        let mut answer = array(store.run(&store.bulk, &script::LIST_OVER, add).await?)?.into_iter();
        horizon = horizon.max(text(answer.next().unwrap_or(Value::Nil))?);
        entries.extend(texts(answer.collect())?);
    }
    entries.retain(|entry| revision_of(entry) >= horizon.as_str());
    entries.sort_unstable_by(|one, other| other.cmp(one));
    let wanted = entries.iter().enumerate().filter(|(_, entry)| may_match(filter, entry)).take(limit);
    let (places, found): (Vec<usize>, Vec<String>) = wanted.map(|(place, entry)| (place, without_mark(entry))).unzip();
    // All of them were looked at, unless there were as many as wanted.
    let looked_at = if found.len() == limit { places.last().map_or(0, |place| place + 1) } else { entries.len() };
    let is_cut = looked_at < entries.len() || !horizon.is_empty();
    let next = entries[..looked_at].last().filter(|_| is_cut).map(|last| {
        let after = revision_of(last).to_owned();
        ListCursor { after, ..ListCursor::start_of(cursor.section) }
    });
    Ok((views(store, &found).await?, next))
}

/// Whether the task of an entry may have a wanted status. The record has to be read where the mark does not say.
fn may_match(filter: &TaskFilter, entry: &str) -> bool {
    let mark = entry.get(FINISHED.range("mark")).unwrap_or_default();
    status_of(mark.as_bytes()).map_or(true, |status| filter.wants(status))
}

/// An entry of a list of finished tasks as the other entries are: revision and id.
fn without_mark(entry: &str) -> String {
    let id = FINISHED.range("mark").end;
    [revision_of(entry), entry.get(id..).unwrap_or_default()].concat()
}

/// The revision an entry begins with.
fn revision_of(entry: &str) -> &str {
    entry.get(ENTRY.range("revision")).unwrap_or_default()
}

/// The views of entries, for tasks that still have these revisions.
async fn views(store: &Store, entries: &[String]) -> Result<Vec<Seen>> {
    let mut seen = Vec::with_capacity(entries.len());
    for some in entries.chunks(VIEWS_A_PIECE) {
        let add = |command: &mut Cmd| {
            command.arg(some);
        };
        let answer = array(store.run(&store.bulk, &script::VIEWS, add).await?)?;
        seen.extend(answer.into_iter().map(read_view).collect::<Result<Vec<_>>>()?);
    }
    Ok(seen)
}

fn texts(words: Vec<Value>) -> Result<Vec<String>> {
    words.into_iter().map(text).collect()
}

fn count(word: Option<Value>) -> Result<usize> {
    Ok(usize::try_from(number(word.unwrap_or(Value::Nil))?).unwrap_or(usize::MAX))
}
