//! Whole tasks out of this store, and those of another.

use async_trait::async_trait;
use jobbers_common::{
    engine::{
        Error, Result,
        backup::{
            Backup, BoardPiece, Edges, Restored, StoredTask, SubmissionRecord, TakenKey, validate_dump, validate_link,
            validate_restore,
        },
    },
    lifecycle::Status,
    limits::{DEPENDENCIES_A_PIECE, KEPT_PARAMETER_BYTES, MAX_DEPENDENCIES, SIGNALS_A_STEP},
    name::{BoardName, TaskId},
    payload::Payload,
    queue::gate::ConcurrencyKey,
    task::Task,
    time::Timestamp,
};
use rusqlite::{OptionalExtension, params};

use super::{
    SqliteEngine, boards,
    follow::{
        dependency::{backlog, link, pieces},
        parents, tombstones, unique,
    },
    kernel::{
        chore::Chore,
        row::{self, stored_metadata},
        step::Step,
        view::View,
    },
    read::tasks,
    sql,
    store::{
        error::{OrStore, corrupt},
        quota::TASK_BYTES,
    },
    verbs::resubmit,
};

#[async_trait]
impl Backup for SqliteEngine {
    async fn settle_edges(&self) -> Result<()> {
        while self.writer.run(SIGNALS_A_STEP, backlog::settle_some).await? {}
        Ok(())
    }

    async fn dump(&self, ids: &[TaskId]) -> Result<Vec<Option<StoredTask>>> {
        validate_dump(ids)?;
        let ids = ids.to_vec();
        self.read(move |view| ids.iter().map(|id| dump_one(view, id)).collect()).await
    }

    async fn restore(&self, tasks: Vec<StoredTask>) -> Result<Vec<Restored>> {
        validate_restore(&tasks)?;
        let tasks: Vec<StoredTask> = tasks.into_iter().map(StoredTask::at_rest).collect();
        let (count, growth) = (tasks.len(), tasks.iter().map(growth).sum());
        let restore = move |step: &mut Step<'_>| tasks.iter().map(|stored| restore_one(step, stored)).collect();
        self.writer.grow(count, growth, restore).await
    }

    async fn link(&self, tasks: Vec<Edges>) -> Result<u64> {
        validate_link(&tasks)?;
        let edges = tasks.iter().map(|task| task.waits_for.len()).sum();
        let linked = self.writer.run(edges, move |step| link::link_restored(step, &tasks)).await?;
        while self.writer.run(DEPENDENCIES_A_PIECE, pieces::link_some).await? {}
        Ok(linked)
    }

    async fn board_marks(&self, board: &BoardName) -> Result<Vec<String>> {
        let board = board.clone();
        self.read(move |view| boards::restore::marks(view, &board)).await
    }

    async fn restore_board(&self, piece: BoardPiece) -> Result<Vec<Restored>> {
        piece.validate()?;
        let bytes: usize = piece.tasks.iter().map(|task| task.content.bytes()).sum();
        let (count, growth) = (piece.tasks.len() + 1, piece.tasks.len() as u64 * TASK_BYTES + bytes as u64);
        self.writer.grow(count, growth, move |step| boards::restore::restore(step, &piece)).await
    }
}

/// About how many bytes a task adds.
fn growth(stored: &StoredTask) -> u64 {
    let Task { parameters, result, checkpoint, .. } = &stored.task;
    let payloads = [parameters, result, checkpoint].into_iter().flatten();
    TASK_BYTES + payloads.map(|payload| payload.len() as u64).sum::<u64>()
}

fn dump_one(view: &View<'_>, id: &TaskId) -> Result<Option<StoredTask>> {
    let Some(task) = tasks::read(view, id, MAX_DEPENDENCIES)? else { return Ok(None) };
    let mut statement = view.prepare(sql::DUMP_TASK)?;
    let mut rows = statement.query([id.as_str()]).or_store()?;
    // Another transaction may have deleted it since.
    let Some(found) = rows.next().or_store()? else { return Ok(None) };
    let mut columns = row::Columns::of(found);
    let (_, fingerprint, position) =
        (columns.take::<i64>("key")?, columns.take("fingerprint")?, columns.take::<i64>("position")?.unsigned_abs());
    let (has_key, until) =
        (columns.take("has_key")?, columns.take::<Option<i64>>("until")?.map(Timestamp::from_micros));
    let became = columns.take::<Option<String>>("last_id")?.zip(columns.take::<Option<[u8; 16]>>("last_fingerprint")?);
    let became = became.map(|(id, fingerprint)| {
        let id = TaskId::new(id).map_err(|error| corrupt("a unique key", error))?;
        Ok::<_, Error>(SubmissionRecord { id, fingerprint: u128::from_be_bytes(fingerprint) })
    });
    let key = if has_key { Some(TakenKey { until, became: became.transpose()? }) } else { None };
    let has_place = matches!(task.status, Status::Waiting | Status::Submitted | Status::Started);
    let position = if has_place { position } else { 0 };
    let parents = parents::held_by(view, id)?;
    Ok(Some(StoredTask { task, fingerprint: u128::from_be_bytes(fingerprint), position, key, parents }))
}

/// The fingerprint of the submission that has an id, be its task stored or remembered.
fn known(step: &Step<'_>, id: &TaskId) -> Result<Option<u128>> {
    let found = step
        .prepare(sql::FIND_SUBMISSION)?
        .query_row([id.as_str()], |row| row.get("fingerprint"))
        .optional()
        .or_store()?;
    match found {
        Some(fingerprint) => Ok(Some(u128::from_be_bytes(fingerprint))),
        None => Ok(tombstones::find(step.conn, id, step.now)?.map(|tombstone| tombstone.fingerprint)),
    }
}

fn restore_one(step: &mut Step<'_>, stored: &StoredTask) -> Result<Restored> {
    let StoredTask { task, fingerprint, key: taken, parents, .. } = stored;
    if let Some(known) = known(step, &task.id)? {
        return Ok(if known == *fingerprint { Restored::Already } else { Restored::Conflict });
    }
    let Some(queue) = step.find_queue(&task.queue)? else { return Ok(Restored::UnknownQueue(task.queue.clone())) };
    let holder = match (&task.unique, taken) {
        (Some(unique), Some(_)) => unique::held_by_another(step, &task.id, &task.name, unique)?,
        _ => None,
    };
    if let Some(holder) = &holder
        && stored.holds_key(step.now)
    {
        return Ok(Restored::Held(holder.clone()));
    }
    let key = insert(step, stored, queue)?;
    tombstones::forget(step, task.id.as_str())?;
    if let (Some(unique), taken) = (&task.unique, taken.as_ref().filter(|_| holder.is_none())) {
        unique::keep(step, key, unique)?;
        if let Some(taken) = taken {
            unique::restore(step, key, &task.name, unique, taken)?;
        }
    }
    if let Some(dependencies) = &task.dependencies {
        link::restore(step, key, dependencies)?;
    }
    if !task.status.is_finished() {
        parents::restore(step, key, 0, parents.iter())?;
    }
    resubmit::restore_history(step, key, task)?;
    match task.status {
        Status::Scheduled => step.note_due(Chore::Promote, queue, task.ready_at.as_micros()),
        status if status.is_finished() => {
            step.note_due(Chore::Prune, queue, 0);
            step.note_finished(task.id.clone());
        }
        _ => {}
    }
    step.note_entered(key, queue, task.status)?;
    Ok(Restored::Done)
}

/// Stores the row of a task, and parameters beside it if they are large. Returns its key.
fn insert(step: &mut Step<'_>, stored: &StoredTask, queue: i64) -> Result<i64> {
    let StoredTask { task, fingerprint, .. } = stored;
    let place = stored.place();
    step.ledger.revision = step.ledger.revision.max(place.max(task.revision).cast_signed());
    let overrides = match task.overrides.is_empty() {
        true => None,
        false => Some(serde_json::to_string(&task.overrides).map_err(|error| Error::Invalid(error.to_string()))?),
    };
    let micros = |at: Option<Timestamp>| at.map(Timestamp::as_micros);
    let (parameters_type, parameters) = columns_of(task.parameters.as_ref());
    let (result_type, result) = columns_of(task.result.as_ref());
    let is_large = parameters.is_some_and(|bytes| bytes.len() > KEPT_PARAMETER_BYTES);
    step.prepare(sql::INSERT_RESTORED)?
        .execute(params![
            task.id.as_str(),
            &fingerprint.to_be_bytes()[..],
            task.name.as_str(),
            task.version,
            queue,
            9 - task.priority.get(),
            task.status.code(),
            task.revision.cast_signed(),
            place.cast_signed(),
            task.attempt,
            task.crashes,
            task.blames,
            task.suspicion.losses(),
            task.submitted_at.as_micros(),
            task.ready_at.as_micros(),
            micros(task.started_at),
            micros(task.heartbeat_at),
            micros(task.completed_at),
            task.worker.as_ref().map(|worker| worker.as_str()),
            task.dead_letter,
            task.progress.as_ref().map(|progress| progress.fraction),
            task.progress.as_ref().map(|progress| progress.message.as_str()),
            overrides,
            task.trace.as_deref(),
            task.last_span.as_deref(),
            parameters_type,
            parameters.filter(|_| !is_large),
            result_type,
            result,
            task.concurrency_key.as_ref().map(ConcurrencyKey::as_str),
            task.id_is_chosen,
            task.dependencies.is_some(),
            stored_metadata(&task.metadata)?,
            task.suspicion.ran_s(),
        ])
        .or_store()?;
    let key = step.conn.last_insert_rowid();
    if is_large {
        step.prepare(sql::INSERT_LARGE_PARAMETERS)?.execute((key, parameters)).or_store()?;
    }
    Ok(key)
}

fn columns_of(payload: Option<&Payload>) -> (Option<&str>, Option<&[u8]>) {
    payload.map_or((None, None), |payload| (payload.content_type.as_deref(), Some(&payload.bytes[..])))
}
