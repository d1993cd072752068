//! Writes all that a store and its archive of dead letters and changes hold.
//!
//! The walk over tasks goes the way that they go: waiting, scheduled, ready, running, over. So one that moves on meanwhile
//! is seen at least once, and perhaps twice. A task that goes back while it is read may be missed: an exact copy needs a
//! store that no process changes. So does a journal with boards: each change of their tasks gives them another address.

use std::{io::Write, path::Path, sync::Arc};

use super::{
    Counts, Header, Result, VERSION,
    entry::{BoardEntry, JournalEntry, Queue, RouteLine, TaskOfBoard, WorkflowEntry},
    writer::JournalWriter,
};
use jobbers_archive::{LetterReader, WholeLetter};
use jobbers_common::{
    audit_log::AuditEntry,
    engine::{
        Engine, ListRequest, RunQuery, TaskFilter,
        boards::{Boards, ListTasks, Take, TakeOrder},
        reads::first_queues,
    },
    lifecycle::Status,
    limits::MAX_BATCH,
    name::{BoardName, ChangeId, ScheduleName, TaskId},
    time::Timestamp,
};

/// Tasks that are read whole at once. Their payloads are in memory together.
const TASKS_AT_ONCE: usize = 100;
/// Runs that are read at once, with their definitions one by one.
const RUNS_AT_ONCE: usize = 100;
/// Dead letters that are read whole at once.
const LETTERS_AT_ONCE: usize = 100;

/// A journal that was written.
#[derive(Debug)]
pub struct Exported<W> {
    /// What it was written into.
    pub into: W,
    /// How many entries it has.
    pub counts: Counts,
    /// How many copies on the store's outbox can't be read, and are not in it.
    pub unreadable: usize,
}

/// Writes a journal of the store and of the dead letters and the audit log in `archive`; without it, of neither. `watch` is called with the number of entries so far.
///
/// # Errors
/// Those of the store, of the archive and of `into`.
pub async fn export<W: Write>(
    engine: &Arc<dyn Engine>,
    archive: Option<&Path>,
    into: W,
    watch: impl FnMut(u64),
) -> Result<Exported<W>> {
    let health = engine.health().await?;
    let header = Header {
        journal: VERSION,
        exported_at: shown(health.now),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        engine: health.engine.to_owned(),
    };
    // A task is read without the ends that are still to be signalled to it.
    Arc::clone(engine).backup().settle_edges().await?;
    let mut export = Export { engine, writer: JournalWriter::begin(into, &header)?, watch, count: 0 };
    export.configuration().await?;
    export.tasks().await?;
    export.schedules().await?;
    export.workflows().await?;
    export.boards().await?;
    let mut unreadable = 0;
    if let Some(archive) = archive {
        // A manager puts a letter into the archive before it takes it off the outbox, so none is missed in between.
        unreadable = export.outbox().await?;
        unreadable += export.logged_changes().await?;
        export.archive(archive)?;
    }
    let (into, counts) = export.writer.end()?;
    Ok(Exported { into, counts, unreadable })
}

/// A point in time as people and programs read it.
fn shown(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.as_micros()).map_or_else(|_| at.to_string(), |at| at.to_string())
}

struct Export<'a, W, F> {
    engine: &'a Arc<dyn Engine>,
    writer: JournalWriter<W>,
    watch: F,
    count: u64,
}

impl<W: Write, F: FnMut(u64)> Export<'_, W, F> {
    fn add(&mut self, entry: &JournalEntry) -> Result<()> {
        self.count += 1;
        (self.watch)(self.count);
        self.writer.add(entry)
    }

    async fn configuration(&mut self) -> Result<()> {
        let config = self.engine.config().await?;
        for stats in first_queues(&**self.engine, usize::MAX).await? {
            let settings = config.queues.get(&stats.queue).map(|settings| (**settings).clone());
            self.add(&JournalEntry::Queue(Queue { name: stats.queue, settings }))?;
        }
        for role in config.roles.values() {
            self.add(&JournalEntry::Role(role.clone()))?;
        }
        for (tasks, rule) in &config.routes {
            self.add(&JournalEntry::Route(RouteLine { tasks: tasks.clone(), rule: rule.clone() }))?;
        }
        Ok(())
    }

    async fn tasks(&mut self) -> Result<()> {
        let over: Vec<Status> = Status::ALL.into_iter().filter(|status| status.is_finished()).collect();
        let live = [Status::Waiting, Status::Scheduled, Status::Submitted, Status::Started];
        for statuses in live.map(|status| vec![status]).into_iter().chain([over]) {
            let filter = TaskFilter { statuses, ..TaskFilter::default() };
            let mut cursor = None;
            loop {
                let request = ListRequest { filter: filter.clone(), limit: MAX_BATCH, cursor };
                let page = self.engine.list(request).await?;
                let ids: Vec<TaskId> = page.tasks.into_iter().map(|task| task.id).collect();
                for ids in ids.chunks(TASKS_AT_ONCE) {
                    let stored = Arc::clone(self.engine).backup().dump(ids).await?;
                    // One that was deleted since it was listed is not in the journal.
                    for stored in stored.into_iter().flatten() {
                        self.add(&JournalEntry::Task(Box::new(stored)))?;
                    }
                }
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn schedules(&mut self) -> Result<()> {
        let mut after: Option<ScheduleName> = None;
        loop {
            let page = self.engine.list_schedules(after.as_ref(), MAX_BATCH).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.entry.schedule.name.clone());
            for stored in page {
                self.add(&JournalEntry::Schedule(Box::new(stored.entry)))?;
            }
        }
    }

    /// Dead letters that no manager has put into the archive yet. They stay on the outbox. Returns how many can't be read.
    async fn outbox(&mut self) -> Result<usize> {
        let (mut after, mut unreadable) = (0, 0);
        loop {
            let page = self.engine.dead_letters(after, LETTERS_AT_ONCE).await?;
            for dead in page.copies {
                self.add(&JournalEntry::DeadLetter(Box::new(WholeLetter::new(dead))))?;
            }
            unreadable += page.unreadable.len();
            let Some(last) = page.last else { return Ok(unreadable) };
            after = last;
        }
    }

    /// Changes that no manager has put into the archive yet. Returns how many can't be read.
    async fn logged_changes(&mut self) -> Result<usize> {
        let (mut after, mut unreadable) = (0, 0);
        loop {
            let page = self.engine.logged_changes(after, MAX_BATCH).await?;
            let Some(last) = page.changes.last() else { return Ok(unreadable) };
            after = last.number;
            for change in &page.changes {
                match AuditEntry::of(change) {
                    Ok(entry) => self.add(&JournalEntry::Change(Box::new(entry)))?,
                    Err(_) => unreadable += 1,
                }
            }
        }
    }

    fn archive(&mut self, path: &Path) -> Result<()> {
        let Some(reader) = LetterReader::open(path)? else { return Ok(()) };
        let mut after = None;
        loop {
            let page = reader.letters(after, LETTERS_AT_ONCE)?;
            let Some((last, _)) = page.last() else { break };
            after = Some(*last);
            for (_, letter) in page {
                self.add(&JournalEntry::DeadLetter(Box::new(letter)))?;
            }
        }
        let mut after: Option<(Timestamp, ChangeId)> = None;
        loop {
            let page = reader.changes(after.as_ref().map(|(at, id)| (*at, id)), MAX_BATCH)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some((last.at, last.id.clone()));
            for change in page {
                self.add(&JournalEntry::Change(Box::new(change)))?;
            }
        }
    }

    async fn boards(&mut self) -> Result<()> {
        let boards = Arc::clone(self.engine).boards();
        let mut after: Option<BoardName> = None;
        loop {
            let page = boards.boards(after.as_ref(), MAX_BATCH).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.board.clone());
            for counted in page {
                self.board(&*boards, counted.board).await?;
            }
        }
    }

    /// All tasks of a board, and then its counter, which is past all of theirs.
    async fn board(&mut self, boards: &dyn Boards, name: BoardName) -> Result<()> {
        let mut after: Option<String> = None;
        loop {
            let page = boards.groups(&name, after.as_deref(), MAX_BATCH).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.group.clone());
            for counted in page {
                self.group(boards, &name, counted.group).await?;
            }
        }
        let look = Take {
            board: name.clone(),
            group: String::new(),
            order: TakeOrder::FirstInFirstOut,
            owner: 0,
            now: None,
            lease: None,
            require: Vec::new(),
        };
        let revision = boards.take(look).await?.revision;
        let marks = Arc::clone(self.engine).backup().board_marks(&name).await?;
        self.add(&JournalEntry::Board(BoardEntry { name, revision, marks }))
    }

    async fn group(&mut self, boards: &dyn Boards, board: &BoardName, group: String) -> Result<()> {
        let mut list = ListTasks { board: board.clone(), group, visible_only: false, after: None, limit: MAX_BATCH };
        loop {
            let page = boards.list(list.clone()).await?;
            for task in page.tasks {
                self.add(&JournalEntry::BoardTask(Box::new(TaskOfBoard { board: board.clone(), task })))?;
            }
            list.after = page.next;
            if list.after.is_none() {
                return Ok(());
            }
        }
    }

    async fn workflows(&mut self) -> Result<()> {
        let mut after = None;
        loop {
            let query = RunQuery { state: None, after, oldest_first: true, limit: RUNS_AT_ONCE };
            let page = self.engine.list_workflows(query).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some((last.run.created_at, last.run.id.clone()));
            for stored in page {
                let run = stored.run;
                if let Some(definition) = self.engine.workflow_definition(&run.id).await? {
                    self.add(&JournalEntry::Workflow(Box::new(WorkflowEntry { run, definition })))?;
                }
            }
        }
    }
}
