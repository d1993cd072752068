//! Deletes finished tasks: by retention, which a script decides, and by a filter, which is decided here.

use jobbers_common::{
    engine::{Error, PruneRequest, PruneScope, Pruned, Result},
    name::QueueName,
    queue::Config,
    task::tombstone::TombstonePolicy,
};
use redis::{Cmd, Value};

use super::{
    matching::by_error,
    queues::{self, From, QueuesPiece},
    settings,
};
use crate::redis::{
    kernel::{
        reply::{array, number, text, tuple},
        script,
        state::{Seen, read_view},
        values::micros,
    },
    server::{pressure, store::Store},
};

/// The number of queues that one script checks.
const QUEUES_A_PIECE: usize = 500;
/// The most scripts that one call runs: most queues need no trimming, and ghosts do not count.
const PIECES: usize = 16;

fn foreign() -> Error {
    Error::Invalid("this cursor is not from this store".to_owned())
}

/// Deletes finished tasks; checks up to [`PruneRequest::limit`] of them.
pub(crate) async fn prune(store: &Store, request: &PruneRequest) -> Result<Pruned> {
    request.validate()?;
    match &request.scope {
        PruneScope::Retention if request.dry_run => count(store, request).await,
        PruneScope::Retention => prune_retention(store, request).await,
        PruneScope::Matching { .. } => prune_matching(store, request).await,
    }
}

/// Where trimming continues, as a cursor `queue|place|tasks`. Only a dry run continues within a queue's list: at a
/// place, before which it has counted this number of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TrimPlace {
    queue: QueueName,
    place: u64,
    tasks: u64,
}

impl TrimPlace {
    fn start_of(queue: &QueueName) -> Self {
        Self { queue: queue.clone(), place: 0, tasks: 0 }
    }

    fn read(cursor: &str) -> Result<Self> {
        let fields: [&str; 3] = cursor.split('|').collect::<Vec<_>>().try_into().map_err(|_| foreign())?;
        let [queue, place, tasks] = fields;
        let number = |digits: &str| digits.parse().map_err(|_| foreign());
        Ok(Self { queue: QueueName::new(queue).map_err(|_| foreign())?, place: number(place)?, tasks: number(tasks)? })
    }

    fn write(&self) -> String {
        format!("{}|{}|{}", self.queue, self.place, self.tasks)
    }
}

/// The result of one script.
struct Trimmed {
    tasks: u64,
    queues: usize,
    place: u64,
    tasks_before: u64,
}

/// Deletes tasks past their queue's retention, and more if the server's memory is nearly used up.
async fn prune_retention(store: &Store, request: &PruneRequest) -> Result<Pruned> {
    let mut pruned = trim(store, request).await?;
    let left = request.limit.saturating_sub(usize::try_from(pruned.removed).unwrap_or(usize::MAX));
    if left > 0 {
        let (removed, is_pressed) = pressure::prune_early(store, left).await?;
        pruned.removed += removed;
        if is_pressed && pruned.next.is_none() {
            // Any place will do: deleted tasks are not found again.
            let first = queues::next(store, From::Start).await?;
            pruned.next = first.as_ref().map(|queue| TrimPlace::start_of(queue).write());
        }
    }
    Ok(pruned)
}

/// Deletes tasks past their queue's retention, in the queues where some may be.
async fn trim(store: &Store, request: &PruneRequest) -> Result<Pruned> {
    // Any place will do: deleted tasks are not found again.
    request.cursor.as_deref().map(TrimPlace::read).transpose()?;
    let (mut removed, limit) = (0, request.limit as u64);
    for _ in 0..PIECES {
        let due = queues_due(store).await?;
        let next = due.first().map(|queue| TrimPlace::start_of(queue).write());
        if removed >= limit {
            return Ok(Pruned { removed, next });
        }
        let config = settings::read(store).await?;
        // If the configuration has changed meanwhile, the tasks deleted so far were past their retention then. The
        // script also forgets tombstones, so it is called even if no queue is due.
        let piece = trim_piece(store, false, limit - removed, &config, (0, 0), &due).await?;
        removed += piece.map_or(0, |piece| piece.tasks);
        if due.is_empty() {
            return Ok(Pruned { removed, next: None });
        }
    }
    let next = queues_due(store).await?.first().map(|queue| TrimPlace::start_of(queue).write());
    Ok(Pruned { removed, next })
}

/// Some queues whose retention may have something to delete.
async fn queues_due(store: &Store) -> Result<Vec<QueueName>> {
    let add = |command: &mut Cmd| {
        command.arg(QUEUES_A_PIECE);
    };
    let names = array(store.run(&store.bulk, &script::PRUNING, add).await?)?;
    names.into_iter().map(|name| queues::read_name(text(name)?)).collect()
}

/// Counts the tasks past their queue's retention, queue by queue.
async fn count(store: &Store, request: &PruneRequest) -> Result<Pruned> {
    let mut place = request.cursor.as_deref().map(TrimPlace::read).transpose()?;
    let (mut counted, limit) = (0, request.limit as u64);
    for _ in 0..PIECES {
        let from = From::at(place.as_ref().map(|place| &place.queue));
        let walked = queues::walk(store, "f", from, QUEUES_A_PIECE).await?;
        let mut done = 0;
        if let Some(first) = walked.names.first() {
            let start = place.take().filter(|place| place.queue == *first);
            let start = start.unwrap_or_else(|| TrimPlace::start_of(first));
            let config = settings::read(store).await?;
            let piece =
                trim_piece(store, true, limit - counted, &config, (start.place, start.tasks), &walked.names).await?;
            // The configuration has changed: this piece is counted again.
            let Some(piece) = piece else {
                place = Some(start);
                continue;
            };
            counted += piece.tasks;
            done = piece.queues;
            place = walked.at(done).map(TrimPlace::start_of);
            if let (Some(place), true) = (&mut place, done < walked.names.len()) {
                (place.place, place.tasks) = (piece.place, piece.tasks_before);
            }
        }
        if done == walked.names.len() {
            place = walked.next.as_ref().map(TrimPlace::start_of);
        }
        if place.is_none() || counted >= limit {
            break;
        }
    }
    Ok(Pruned { removed: counted, next: place.map(|place| place.write()) })
}

/// One call of the script; nothing if the configuration has changed.
async fn trim_piece(
    store: &Store,
    is_dry: bool,
    limit: u64,
    config: &Config,
    (place, tasks_before): (u64, u64),
    queues: &[QueueName],
) -> Result<Option<Trimmed>> {
    let TombstonePolicy { age, count } = store.tombstones();
    let add = |command: &mut Cmd| {
        command.arg(limit).arg(u8::from(is_dry)).arg(config.version).arg(place).arg(tasks_before);
        command.arg(micros(age)).arg(count);
        for name in queues {
            let retention = &config.settings_of(name).retention;
            command.arg(name.as_str()).arg(retention.count).arg(micros(retention.age));
        }
    };
    let answer = store.run(&store.bulk, &script::TRIM, add).await?;
    if answer == Value::Nil {
        return Ok(None);
    }
    let [tasks, queues, place, tasks_before] = tuple(answer)?;
    Ok(Some(Trimmed {
        tasks: number(tasks)?,
        queues: usize::try_from(number(queues)?).unwrap_or(usize::MAX),
        place: number(place)?,
        tasks_before: number(tasks_before)?,
    }))
}

/// A cursor of pruning by a filter, `queue|revision`: the queue to continue in, and the revision to continue after.
fn read_cursor(cursor: &str) -> Result<(QueueName, String)> {
    let (queue, revision) = cursor.split_once('|').ok_or_else(foreign)?;
    if !matches!(revision.len(), 0 | 15) || !revision.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(foreign());
    }
    Ok((QueueName::new(queue).map_err(|_| foreign())?, revision.to_owned()))
}

/// A piece of one queue's finished tasks, oldest first.
struct PrunePiece {
    /// The revision after which the list continues; empty at its end.
    last: String,
    seen: Vec<Seen>,
    /// The bytes of each task's side records, if requested.
    side_bytes: Vec<u64>,
}

async fn piece(store: &Store, queue: &QueueName, after: &str, limit: usize, with_sizes: bool) -> Result<PrunePiece> {
    let add = |command: &mut Cmd| {
        command.arg(queue.as_str()).arg(after).arg(limit).arg(u8::from(with_sizes));
    };
    let mut answer = array(store.run(&store.bulk, &script::FINISHED, add).await?)?.into_iter();
    let last = text(answer.next().unwrap_or(Value::Nil))?;
    let side_bytes = array(answer.next().unwrap_or(Value::Nil))?.into_iter().map(number).collect::<Result<_>>()?;
    Ok(PrunePiece { last, seen: answer.map(read_view).collect::<Result<_>>()?, side_bytes })
}

/// Deletes the tasks that match a filter.
async fn prune_matching(store: &Store, request: &PruneRequest) -> Result<Pruned> {
    let PruneScope::Matching { filter, larger_than, .. } = &request.scope else { return Ok(Pruned::default()) };
    let (from, mut after) = match &request.cursor {
        Some(cursor) => read_cursor(cursor).map(|(queue, after)| (Some(queue), after))?,
        None => (None, String::new()),
    };
    let walked = match &filter.queue {
        Some(queue) => QueuesPiece::only(queue, from.as_ref()),
        None => queues::walk(store, "f", From::at(from.as_ref()), PIECES).await?,
    };
    let (mut pruned, mut left) = (Pruned::default(), request.limit);
    for queue in &walked.names {
        if from.as_ref() != Some(queue) {
            after.clear();
        }
        if left == 0 {
            pruned.next = Some(format!("{queue}|"));
            return Ok(pruned);
        }
        let piece = piece(store, queue, &after, left, larger_than.is_some()).await?;
        let doomed = by_error(store, filter, doomed(&piece, &request.scope)).await?;
        pruned.removed += if request.dry_run { doomed.len() as u64 } else { delete(store, queue, &doomed).await? };
        if !piece.last.is_empty() {
            pruned.next = Some(format!("{queue}|{}", piece.last));
            return Ok(pruned);
        }
        left = left.saturating_sub(piece.seen.len());
    }
    pruned.next = walked.next.map(|queue| format!("{queue}|"));
    Ok(pruned)
}

/// The tasks of a piece that match, if their latest errors do.
fn doomed<'a>(piece: &'a PrunePiece, scope: &PruneScope) -> Vec<&'a Seen> {
    let PruneScope::Matching { filter, finished_before, larger_than } = scope else { return Vec::new() };
    let matches = |place: usize, seen: &Seen| {
        let kept = seen.task.parameters.as_ref().map_or(0, |parameters| parameters.len() as u64);
        let bytes = kept + piece.side_bytes.get(place).copied().unwrap_or_default();
        filter.matches_except_error(&seen.task)
            && finished_before.is_none_or(|before| seen.task.completed_at.is_some_and(|at| at < before))
            && larger_than.is_none_or(|than| bytes > than)
    };
    piece.seen.iter().enumerate().filter(|(place, seen)| matches(*place, seen)).map(|(_, seen)| seen).collect()
}

async fn delete(store: &Store, queue: &QueueName, doomed: &[&Seen]) -> Result<u64> {
    if doomed.is_empty() {
        return Ok(0);
    }
    let TombstonePolicy { age, count } = store.tombstones();
    let add = |command: &mut Cmd| {
        command.arg(queue.as_str()).arg(micros(age)).arg(count);
        doomed.iter().for_each(|seen| {
            command.arg(seen.task.id.as_str()).arg(&seen.place);
        });
    };
    number(store.run(&store.bulk, &script::PRUNE, add).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_of_trimming_is_read_as_it_was_written() {
        let place = TrimPlace { queue: QueueName::new("mail").unwrap(), place: 1_000, tasks: 700 };
        assert_eq!(TrimPlace::read(&place.write()), Ok(place));
        for foreign in ["", "mail", "mail|1", "mail|x|1", "mail|1|2|3", "|1|2"] {
            assert!(matches!(TrimPlace::read(foreign), Err(Error::Invalid(_))), "{foreign}");
        }
    }
}
