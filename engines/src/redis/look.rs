//! One task, lists, counts, health.

use std::{collections::HashMap, time::Duration};

use jobbers_common::{
    engine::{DeadTask, Error, Health, ListRequest, Page, QueuePlace, QueueStats, Result, TaskFilter},
    gate::{Gate, ShutGate},
    lifecycle::Status,
    name::{QueueName, TaskId},
    task::Task,
};
use redis::{Cmd, FromRedisValue, Value};

use super::{
    arrange, dead,
    failure::malformed,
    record::time,
    reply::{array, bytes, digits, number, text, tuple},
    script,
    state::{Seen, read_task, read_view, status_of},
    store::Store,
};

/// How many pieces one page looks at. A filter that few tasks match then gives a short page and a place to go on.
const PIECES: usize = 16;
/// Queues that one piece asks.
const QUEUES_A_PIECE: usize = 200;

/// Everything known of a task.
pub(super) async fn get(store: &Store, id: &TaskId) -> Result<Option<Task>> {
    Ok(get_with_fingerprint(store, id).await?.map(|found| found.task))
}

/// The same, and the fingerprint of its submission.
pub(super) async fn get_with_fingerprint(store: &Store, id: &TaskId) -> Result<Option<DeadTask>> {
    let add = |command: &mut Cmd| {
        command.arg(id.as_str());
    };
    read_task(store.run(&store.work, &script::GET, add).await?)
}

/// Where a ready task stands in its queue.
pub(super) async fn place(store: &Store, id: &TaskId) -> Result<Option<QueuePlace>> {
    let add = |command: &mut Cmd| {
        command.arg(id.as_str());
    };
    let answer = store.run(&store.work, &script::PLACE, add).await?;
    if answer == Value::Nil {
        return Ok(None);
    }
    let mut words = array(answer)?.into_iter();
    let ahead = number(words.next().unwrap_or(Value::Nil))?;
    let rate_wait = read_wait(words.next().as_ref())?;
    let held_back = words.map(read_shut_gate).collect::<Result<_>>()?;
    Ok(Some(QueuePlace { ahead, rate_wait, held_back }))
}

/// Microseconds, or -1 for none.
fn read_wait(word: Option<&Value>) -> Result<Option<Duration>> {
    let Some(Value::Int(wait)) = word else { return Err(malformed("a number of microseconds was due")) };
    Ok(u64::try_from(*wait).ok().map(Duration::from_micros))
}

fn read_shut_gate(answer: Value) -> Result<ShutGate> {
    let mut words = array(answer)?.into_iter();
    let gate = Gate::parse(&text(words.next().unwrap_or(Value::Nil))?).ok_or_else(|| malformed("a gate was due"))?;
    let running = number(words.next().unwrap_or(Value::Nil))?;
    let rate_wait = read_wait(words.next().as_ref())?;
    let id = |word| TaskId::new(text(word)?).map_err(|_| malformed("a task's id was due"));
    Ok(ShutGate { gate, running, holders: words.map(id).collect::<Result<_>>()?, rate_wait })
}

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

/// Where a list goes on: in a section, from a queue on, after a task. As a cursor `section|queue|place|id`.
#[derive(Debug, Clone)]
struct Place {
    section: Section,
    queue: Option<QueueName>,
    after: String,
    id: String,
}

impl Place {
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

/// Tasks that match, a page at a time.
pub(super) async fn list(store: &Store, request: &ListRequest) -> Result<Page> {
    request.validate()?;
    let mut place = match &request.cursor {
        Some(cursor) => Place::read(cursor)?,
        None => Place::start_of(Section::Started),
    };
    let config = arrange::read(store).await?;
    let wanted = |name: &&QueueName| request.filter.queue.as_ref().is_none_or(|queue| queue == *name);
    let queues: Vec<&QueueName> = config.queues.keys().filter(wanted).collect();
    let mut page = Page::default();
    for _ in 0..PIECES {
        let left = request.limit - page.tasks.len();
        let next;
        if !place.section.is_wanted(&request.filter) {
            next = start_of_next(place.section);
        } else {
            let (seen, after) = match place.section {
                Section::Over => over(store, &queues, &place, left).await?,
                _ => live(store, &queues, &place, left).await?,
            };
            next = after;
            let matching = seen.into_iter().map(|seen| seen.task).filter(|task| request.filter.matches(task));
            page.tasks.extend(matching.map(|task| Task { parameters: None, result: None, checkpoint: None, ..task }));
        }
        match next {
            None => return Ok(page),
            Some(after) => place = after,
        }
        if page.tasks.len() == request.limit {
            break;
        }
    }
    page.next = Some(place.write());
    Ok(page)
}

fn start_of_next(section: Section) -> Option<Place> {
    let at = Section::ALL.iter().position(|known| *known == section)?;
    Section::ALL.get(at + 1).map(|next| Place::start_of(*next))
}

/// A piece of a section of live tasks, and where it goes on.
async fn live(store: &Store, queues: &[&QueueName], place: &Place, limit: usize) -> Result<(Vec<Seen>, Option<Place>)> {
    let from = place.queue.as_ref().map_or(0, |queue| queues.partition_point(|name| *name < queue));
    let goes_on = place.queue.as_ref().is_some_and(|queue| queues.get(from) == Some(&queue));
    let asked = &queues[from..(from + QUEUES_A_PIECE).min(queues.len())];
    if asked.is_empty() {
        return Ok((Vec::new(), start_of_next(place.section)));
    }
    let add = |command: &mut Cmd| {
        command.arg(place.section.letter()).arg(limit);
        match goes_on {
            true => command.arg(&place.after).arg(&place.id),
            false => command.arg("").arg(""),
        };
        asked.iter().for_each(|queue| {
            command.arg(queue.as_str());
        });
    };
    let mut answer = array(store.run(&store.bulk, &script::LIST_LIVE, add).await?)?.into_iter();
    let done = usize::try_from(number(answer.next().unwrap_or(Value::Nil))?).unwrap_or(usize::MAX);
    let seen = answer.map(read_view).collect::<Result<Vec<_>>>()?;
    let next = match (queues.get(from + done), seen.last()) {
        (None, _) => start_of_next(place.section),
        (Some(_), Some(last)) if done < asked.len() => Some(Place::after(place.section, last)),
        // Nothing but leftovers of deleted keys in this queue's piece, or the next piece of queues.
        (Some(_), _) => {
            let next = queues.get(from + done.max(1)).map(|queue| (*queue).clone());
            next.map_or_else(
                || start_of_next(place.section),
                |queue| Some(Place { queue: Some(queue), ..Place::start_of(place.section) }),
            )
        }
    };
    Ok((seen, next))
}

/// A piece of what is over.
async fn over(store: &Store, queues: &[&QueueName], place: &Place, limit: usize) -> Result<(Vec<Seen>, Option<Place>)> {
    if queues.is_empty() {
        return Ok((Vec::new(), None));
    }
    let add = |command: &mut Cmd| {
        command.arg(limit).arg(&place.after);
        queues.iter().for_each(|queue| {
            command.arg(queue.as_str());
        });
    };
    let mut answer = array(store.run(&store.bulk, &script::LIST_OVER, add).await?)?.into_iter();
    let after = text(answer.next().unwrap_or(Value::Nil))?;
    let seen = answer.map(read_view).collect::<Result<Vec<_>>>()?;
    let next = if after.is_empty() { None } else { Some(Place { after, ..Place::start_of(Section::Over) }) };
    Ok((seen, next))
}

/// Counts per queue.
pub(super) async fn queue_stats(store: &Store, queue: Option<&QueueName>) -> Result<Vec<QueueStats>> {
    let queues: Vec<QueueName> = match queue {
        Some(queue) => vec![queue.clone()],
        None => arrange::read(store).await?.queues.keys().cloned().collect(),
    };
    let mut stats = Vec::with_capacity(queues.len());
    for some in queues.chunks(QUEUES_A_PIECE) {
        let add = |command: &mut Cmd| {
            some.iter().for_each(|queue| {
                command.arg(queue.as_str());
            });
        };
        let answers = array(store.run(&store.bulk, &script::STATS, add).await?)?;
        for (name, answer) in some.iter().zip(answers) {
            match (read_stats(name, answer)?, queue) {
                (Some(counts), _) => stats.push(counts),
                (None, Some(_)) => return Err(Error::UnknownQueue(name.clone())),
                // Deleted between the two calls.
                (None, None) => {}
            }
        }
    }
    Ok(stats)
}

fn read_stats(name: &QueueName, answer: Value) -> Result<Option<QueueStats>> {
    let [known, waiting, scheduled, submitted, started, oldest, counters, waiting_bytes] = tuple(answer)?;
    if number(known)? == 0 {
        return Ok(None);
    }
    let (oldest, waiting_bytes) = (bytes(oldest)?, bytes(waiting_bytes)?);
    let mut stats = QueueStats {
        queue: name.clone(),
        tasks: [
            (Status::Waiting, number(waiting)?),
            (Status::Scheduled, number(scheduled)?),
            (Status::Submitted, number(submitted)?),
            (Status::Started, number(started)?),
        ]
        .into(),
        oldest_ready_at: if oldest.is_empty() { None } else { Some(time(&oldest)?) },
        accepted: 0,
        removed: 0,
        waiting_bytes: if waiting_bytes.is_empty() { None } else { Some(digits(&waiting_bytes)?) },
    };
    let mut counters = array(counters)?.into_iter();
    while let (Some(name), Some(count)) = (counters.next(), counters.next()) {
        let count = number(count)?;
        match text(name)?.as_str() {
            "accepted" => stats.accepted = count,
            "removed" => stats.removed = count,
            "ghosts" => {}
            digit => drop(stats.tasks.insert(status_of(digit.as_bytes())?, count)),
        }
    }
    stats.tasks.retain(|_, count| *count > 0);
    Ok(Some(stats))
}

/// What the server is and what it promises.
pub(super) async fn health(store: &Store) -> Result<Health> {
    let (info, mut warnings): (String, _) = match ask(store, &["INFO", "persistence", "memory"]).await {
        Ok(info) => (info, Vec::new()),
        // Refused to this user.
        Err(Error::Config(why)) => (String::new(), vec![format!("what Redis keeps can't be found out: {why}")]),
        Err(error) => return Err(error),
    };
    let field =
        |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap_or_default();
    let durability = if info.is_empty() {
        "unknown".to_owned()
    } else if field("aof_enabled") == "1" {
        // A managed server may not tell.
        let settings: HashMap<String, String> = ask(store, &["CONFIG", "GET", "appendfsync"]).await.unwrap_or_default();
        let appendfsync = settings.get("appendfsync").map_or("unknown", String::as_str);
        if appendfsync == "no" {
            warnings.push(
                "Redis writes its append-only file without ever syncing it: a crash of the machine loses acknowledged \
                 tasks; set appendfsync everysec or always"
                    .to_owned(),
            );
        }
        format!("appendonly, appendfsync {appendfsync}")
    } else {
        warnings.push(
            "Redis keeps no append-only file: a crash of the server loses acknowledged tasks; set appendonly yes"
                .to_owned(),
        );
        "no append-only file: what a snapshot holds survives".to_owned()
    };
    let policy = field("maxmemory_policy");
    if policy != "noeviction" && field("maxmemory") != "0" {
        warnings.push(format!("maxmemory-policy is {policy}: a full server deletes tasks; set it to noeviction"));
    }
    let number = |name: &str| field(name).parse::<u64>().unwrap_or_default();
    let (used, most) = (number("used_memory"), number("maxmemory"));
    if most > 0 && used.saturating_mul(10) >= most.saturating_mul(9) {
        let share = used.saturating_mul(100) / most;
        warnings.push(format!(
            "Redis uses {share} % of its maxmemory: when it is full, submissions are refused; settle or prune tasks, or \
             give it more"
        ));
    }
    for (name, what) in [("aof_last_write_status", "append-only file"), ("rdb_last_bgsave_status", "snapshot")] {
        if !matches!(field(name), "ok" | "") {
            warnings.push(format!("the last write of the {what} failed: see the server's log and disk"));
        }
    }
    let (now, outbox) = dead::outbox(store).await?;
    Ok(Health { engine: "redis", durability, warnings, now, outbox })
}

/// Sends a plain command and reads its answer.
async fn ask<T: FromRedisValue>(store: &Store, words: &[&str]) -> Result<T> {
    let build = |_| {
        let mut command = Cmd::new();
        words.iter().for_each(|word| {
            command.arg(*word);
        });
        command
    };
    let answer = store.work.call(None, build).await?;
    redis::from_redis_value(answer).map_err(|error| malformed(&error.to_string()))
}
