//! Lists of tasks, in pages.
//!
//! A page walks sections, and a live section queue by queue. Each stretch is one range of one partial index that begins
//! after the cursor's place, so a deep page costs as much as the first. Conditions without an index are checked row by
//! row, and a page that has checked enough rows ends early.

use jobbers_common::{
    engine::{Error, ListRequest, Page, Result},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::QueueName,
    task::Task,
};

use crate::sqlite::{
    kernel::{
        finished::{self, WalkDirection},
        record,
        view::View,
    },
    sql,
    store::error::OrStore,
};

/// How many rows a page looks at before it ends, full or not.
const LOOKED_AT: usize = 1_000;

/// The live sections, in order.
const SECTIONS: [(Status, &str); 4] = [
    (Status::Started, sql::LIST_STARTED),
    (Status::Submitted, sql::LIST_SUBMITTED),
    (Status::Scheduled, sql::LIST_SCHEDULED),
    (Status::Waiting, sql::LIST_WAITING),
];

/// A place in a list: everything up to it has been listed. Its text is the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ListCursor {
    section: usize,
    /// Empty before the first queue, and among finished tasks.
    queue: String,
    /// The place in the queue: the columns that order the section.
    major: i64,
    minor: i64,
    id: String,
}

impl ListCursor {
    fn before(section: usize, queue: &str) -> Self {
        Self { section, queue: queue.to_owned(), major: -1, minor: -1, id: String::new() }
    }

    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split('~').collect();
        let [section, queue, major, minor, id] = fields[..] else { return None };
        Some(Self {
            section: section.parse().ok().filter(|section| *section <= SECTIONS.len())?,
            queue: queue.to_owned(),
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
            id: id.to_owned(),
        })
    }

    /// `~` is in no name.
    fn write(&self) -> String {
        let Self { section, queue, major, minor, id } = self;
        format!("{section}~{queue}~{major}~{minor}~{id}")
    }
}

/// A page being filled.
struct Walker<'a> {
    view: &'a View<'a>,
    request: &'a ListRequest,
    tasks: Vec<Task>,
    looked_at: usize,
}

/// One page.
pub(crate) fn list(view: &View<'_>, request: &ListRequest) -> Result<Page> {
    let cursor = match &request.cursor {
        None => ListCursor::before(0, ""),
        Some(text) => {
            ListCursor::parse(text).ok_or_else(|| Error::Invalid("this cursor is not from this store".to_owned()))?
        }
    };
    let mut walker = Walker { view, request, tasks: Vec::new(), looked_at: 0 };
    let next = walker.walk(cursor)?;
    Ok(Page { tasks: walker.tasks, next: next.map(|cursor| cursor.write()) })
}

impl Walker<'_> {
    /// Fills the page from `cursor` on. Returns the place where the page ends, if there is more.
    fn walk(&mut self, mut cursor: ListCursor) -> Result<Option<ListCursor>> {
        for (section, (status, sql)) in SECTIONS.into_iter().enumerate().skip(cursor.section) {
            if !self.request.filter.wants(status) {
                continue;
            }
            for (name, queue) in self.queues_with(status)? {
                let is_entered = cursor.section == section && *name.as_str() == *cursor.queue;
                if cursor.section == section && *name.as_str() < *cursor.queue {
                    continue;
                }
                let start = if is_entered { cursor.clone() } else { ListCursor::before(section, name.as_str()) };
                if let Some(end) = self.walk_queue(sql, queue, start)? {
                    return Ok(Some(end));
                }
            }
        }
        if cursor.section < SECTIONS.len() {
            cursor = ListCursor { major: i64::MAX, ..ListCursor::before(SECTIONS.len(), "") };
        }
        self.walk_finished(cursor)
    }

    /// The queues with tasks at a status, in the order of names.
    fn queues_with(&self, status: Status) -> Result<Vec<(QueueName, i64)>> {
        let Some(only) = self.only_queue()? else { return Ok(Vec::new()) };
        let tallies = self.view.tallies(only)?.into_iter().filter(|(_, at, _)| *at == status);
        let mut queues =
            tallies.map(|(key, _, _)| Ok((self.view.queue_name(key)?, key))).collect::<Result<Vec<_>>>()?;
        queues.sort();
        Ok(queues)
    }

    /// The queue of the filter, if it has one; `None` if that queue does not exist.
    fn only_queue(&self) -> Result<Option<Option<i64>>> {
        match &self.request.filter.queue {
            None => Ok(Some(None)),
            Some(queue) => Ok(self.view.find_queue(queue)?.map(Some)),
        }
    }

    fn walk_queue(&mut self, sql: &str, queue: i64, mut cursor: ListCursor) -> Result<Option<ListCursor>> {
        let mut wanted = self.room();
        loop {
            let mut statement = self.view.prepare(sql)?;
            let mut rows =
                statement.query((queue, cursor.major, cursor.minor, &cursor.id, sql::count(wanted))).or_store()?;
            let mut found = 0;
            while let Some(row) = rows.next().or_store()? {
                found += 1;
                if !self.take(row.get("key").or_store()?)? {
                    return Ok(Some(cursor));
                }
                cursor.major = row.get("major").or_store()?;
                cursor.minor = row.get("minor").or_store()?;
                cursor.id = row.get("id").or_store()?;
            }
            if found < wanted {
                return Ok(None);
            }
            wanted = more(wanted);
        }
    }

    fn walk_finished(&mut self, mut cursor: ListCursor) -> Result<Option<ListCursor>> {
        let Some(only) = self.only_queue()? else { return Ok(None) };
        let mut wanted = self.room();
        loop {
            let wants = |status| self.request.filter.wants(status);
            let found = finished::first(self.view, only, wants, WalkDirection::Latest(cursor.major), wanted)?;
            for task in &found {
                if !self.take(task.key)? {
                    return Ok(Some(cursor));
                }
                cursor.major = task.revision;
            }
            if found.len() < wanted {
                return Ok(None);
            }
            wanted = more(wanted);
        }
    }

    /// How many rows to fetch next: one more than the page takes, so that a page that is exactly full knows it is the
    /// last.
    fn room(&self) -> usize {
        self.request.limit - self.tasks.len() + 1
    }

    /// Checks a task, and adds it to the page if it matches. Returns `false` if the page ends before it: it is full, or
    /// has checked enough rows.
    fn take(&mut self, key: i64) -> Result<bool> {
        if self.looked_at == LOOKED_AT {
            return Ok(false);
        }
        self.looked_at += 1;
        let Some(task) = record::find_match(self.view, key, &self.request.filter)? else { return Ok(true) };
        if self.tasks.len() == self.request.limit {
            return Ok(false);
        }
        self.tasks.push(task);
        Ok(true)
    }
}

/// How many rows to fetch after this number of rows with few matches.
fn more(rows: usize) -> usize {
    (4 * rows).min(MAX_BATCH)
}
