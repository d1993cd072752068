//! Stores what a journal holds.
//!
//! What is stored already is left as it is, so an import that was cut short is repeated. What differs from what is stored
//! is a conflict: it is named, and nothing is overwritten.

use std::sync::Arc;

use jobbers_archive::Archive;
use jobbers_common::{
    engine::{
        Engine, Error as StoreError, PutMode, PutRun, PutSchedule,
        backup::{Backup, Edges, Restored, StoredTask},
    },
    limits::MAX_BATCH_DEPENDENCIES,
    payload::Payload,
    queue::{Config, QueueConfig, RoleConfig},
    schedule::entry::ScheduleEntry,
};

pub use super::report::{EntryTally, ImportReport};
use super::{
    Journal, Result,
    entry::{JournalEntry, Queue, RouteLine, WorkflowEntry},
    import_boards::{BoardImport, counters},
    letters::LetterImport,
    report::EntryOutcome,
};

/// The most tasks, and about the most bytes of their payloads, that are stored by one call.
const TASKS_AT_ONCE: usize = 200;
const BYTES_AT_ONCE: usize = 4 * 1024 * 1024;

/// Stores all entries of a journal; dead letters in the archive, or not at all without one. `watch` is called with the number of entries so far.
///
/// # Errors
/// Those of the store, the archive and the file. Safe to repeat.
pub async fn import(
    engine: &Arc<dyn Engine>,
    archive: Option<&Archive>,
    journal: &Journal,
    watch: impl FnMut(u64),
) -> Result<ImportReport> {
    let backup = Arc::clone(engine).backup();
    let boards = BoardImport::new(Arc::clone(&backup), counters(engine).await?, &journal.boards);
    let (report, tasks) = (ImportReport::default(), ImportBatch::default());
    let letters = LetterImport::new(archive);
    let mut import = Import { engine, backup, watch, count: 0, report, tasks, boards, letters };
    journal.each(async |entry| import.take(entry).await).await?;
    import.flush().await?;
    import.letters.flush(&mut import.report)?;
    import.link(journal).await?;
    Ok(import.report)
}

/// Tasks that are stored together.
#[derive(Default)]
struct ImportBatch {
    tasks: Vec<StoredTask>,
    bytes: usize,
}

impl ImportBatch {
    fn is_full(&self) -> bool {
        self.tasks.len() >= TASKS_AT_ONCE || self.bytes >= BYTES_AT_ONCE
    }

    fn holds(&self, stored: &StoredTask) -> bool {
        self.tasks.iter().any(|it| it.task.id == stored.task.id)
    }

    fn push(&mut self, stored: StoredTask) {
        let payloads = [&stored.task.parameters, &stored.task.result, &stored.task.checkpoint];
        self.bytes += payloads.into_iter().flatten().map(Payload::len).sum::<usize>();
        self.tasks.push(stored);
    }
}

struct Import<'a, F> {
    engine: &'a Arc<dyn Engine>,
    backup: Arc<dyn Backup>,
    watch: F,
    count: u64,
    report: ImportReport,
    tasks: ImportBatch,
    boards: BoardImport<'a>,
    letters: LetterImport<'a>,
}

impl<F: FnMut(u64)> Import<'_, F> {
    async fn take(&mut self, entry: JournalEntry) -> Result<()> {
        self.count += 1;
        (self.watch)(self.count);
        let kind = entry.kind();
        let outcome = match entry {
            JournalEntry::Task(stored) => return self.take_task(*stored).await,
            JournalEntry::DeadLetter(letter) => return self.letters.take(*letter, &mut self.report),
            JournalEntry::Change(change) => return self.letters.take_change(*change, &mut self.report),
            JournalEntry::BoardTask(of) => return self.boards.take(*of, &mut self.report).await,
            JournalEntry::Board(board) => return self.boards.end(board, &mut self.report).await,
            JournalEntry::Queue(queue) => self.put_queue(queue).await?,
            JournalEntry::Role(role) => self.put_role(role).await?,
            JournalEntry::Route(route) => self.put_route(route).await?,
            JournalEntry::Schedule(entry) => self.put_schedule(*entry).await?,
            JournalEntry::Workflow(workflow) => self.put_workflow(*workflow).await?,
        };
        self.report.note(kind, outcome);
        Ok(())
    }

    async fn take_task(&mut self, stored: StoredTask) -> Result<()> {
        if self.tasks.is_full() || self.tasks.holds(&stored) {
            self.flush().await?;
        }
        self.tasks.push(stored);
        Ok(())
    }

    /// Stores the tasks that were gathered.
    async fn flush(&mut self) -> Result<()> {
        let ImportBatch { tasks, .. } = std::mem::take(&mut self.tasks);
        let ids: Vec<_> = tasks.iter().map(|stored| stored.task.id.clone()).collect();
        for (id, restored) in ids.into_iter().zip(self.backup.restore(tasks).await?) {
            let outcome = match restored {
                Restored::Done => EntryOutcome::Stored,
                Restored::Already => EntryOutcome::Already,
                Restored::Conflict => EntryOutcome::Conflict(format!("task {id}: another submission has this id")),
                Restored::Held(holder) => {
                    EntryOutcome::Conflict(format!("task {id}: task {holder} holds its unique key"))
                }
                Restored::UnknownQueue(queue) => EntryOutcome::Conflict(format!(
                    "task {id}: its queue {queue} is neither in the journal nor in the store"
                )),
            };
            self.report.note("task", outcome);
        }
        Ok(())
    }

    /// Gives the tasks that wait their edges: all tasks are stored by now.
    async fn link(&mut self, journal: &Journal) -> Result<()> {
        let mut gathered: Vec<Edges> = Vec::new();
        let backup = &self.backup;
        let gather = async |entry| {
            let JournalEntry::Task(stored) = entry else { return Ok(()) };
            let Some(edges) = stored.edges() else { return Ok(()) };
            let count: usize = gathered.iter().map(|task| task.waits_for.len()).sum();
            if gathered.len() >= TASKS_AT_ONCE || count + edges.waits_for.len() > MAX_BATCH_DEPENDENCIES {
                backup.link(std::mem::take(&mut gathered)).await?;
            }
            gathered.push(edges);
            Ok(())
        };
        journal.each(gather).await?;
        backup.link(gathered).await?;
        Ok(())
    }

    async fn put_queue(&self, queue: Queue) -> Result<EntryOutcome> {
        let Queue { name, settings } = queue;
        let before = self.engine.config().await?;
        self.engine.create_queues(std::slice::from_ref(&name)).await?;
        let Some(settings) = settings else { return Ok(EntryOutcome::Already) };
        if *before.settings_of(&name) == settings {
            return Ok(EntryOutcome::Already);
        }
        let untouched = PutMode::Unchanged(QueueConfig::new(name.clone()));
        match self.engine.put_queue(settings, untouched).await {
            Ok(_) => Ok(EntryOutcome::Stored),
            Err(StoreError::Changed { .. }) => Ok(EntryOutcome::Conflict(format!("queue {name} has other settings"))),
            Err(error) => Err(error.into()),
        }
    }

    async fn put_role(&self, role: RoleConfig) -> Result<EntryOutcome> {
        let (name, config) = (role.name.clone(), self.engine.config().await?);
        let mode = match config.roles.get(&name) {
            Some(known) if *known == role => return Ok(EntryOutcome::Already),
            Some(known) if Config::initial().roles.get(&name) != Some(known) => {
                return Ok(EntryOutcome::Conflict(format!("role {name} has other queues or settings")));
            }
            Some(known) => PutMode::Unchanged(known.clone()),
            None => PutMode::Create,
        };
        self.engine.put_role(role, mode).await?;
        Ok(EntryOutcome::Stored)
    }

    async fn put_route(&self, route: RouteLine) -> Result<EntryOutcome> {
        let RouteLine { tasks, rule } = route;
        match self.engine.config().await?.routes.get(&tasks) {
            Some(known) if *known == rule => return Ok(EntryOutcome::Already),
            Some(_) => return Ok(EntryOutcome::Conflict(format!("the routing rule of {tasks} is another"))),
            None => {}
        }
        match self.engine.put_route(tasks.clone(), rule).await {
            Ok(_) => Ok(EntryOutcome::Stored),
            Err(error @ StoreError::RulesOverlap { .. }) => {
                Ok(EntryOutcome::Conflict(format!("the routing rule of {tasks}: {error}")))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn put_schedule(&self, entry: ScheduleEntry) -> Result<EntryOutcome> {
        let name = entry.schedule.name.clone();
        match self.engine.schedule(&name).await? {
            Some(known) if known.entry.schedule == entry.schedule => return Ok(EntryOutcome::Already),
            Some(_) => return Ok(EntryOutcome::Conflict(format!("schedule {name} has other settings"))),
            None => {}
        }
        self.engine.put_schedule(entry, PutSchedule::Create).await?;
        Ok(EntryOutcome::Stored)
    }

    async fn put_workflow(&self, workflow: WorkflowEntry) -> Result<EntryOutcome> {
        let WorkflowEntry { run, definition } = workflow;
        match self.engine.workflow(&run.id).await? {
            Some(known) if known.run.digest == run.digest => return Ok(EntryOutcome::Already),
            Some(known) => {
                return Ok(EntryOutcome::Conflict(format!("workflow {}: another one has this id", known.run.id)));
            }
            None => {}
        }
        self.engine.put_workflow(run, PutRun::Create(definition)).await?;
        Ok(EntryOutcome::Stored)
    }
}
