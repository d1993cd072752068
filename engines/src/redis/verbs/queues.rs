//! The names of the queues, in pieces. Only the store knows which queues exist; no process keeps a list.

use std::{collections::BTreeSet, sync::Arc};

use jobbers_common::{
    engine::{Error, Result},
    limits::{MAX_BATCH, MAX_QUEUES_PER_CLAIM},
    name::QueueName,
    queue::{Config, pattern},
};
use redis::{Cmd, Value};

use crate::redis::{
    kernel::{
        reply::{array, text},
        script,
    },
    server::{failure::malformed, store::Store},
};

/// Where a walk over queues begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum From<'a> {
    Start,
    At(&'a QueueName),
    After(&'a QueueName),
}

impl<'a> From<'a> {
    /// At a queue, if one is given.
    pub(crate) fn at(queue: Option<&'a QueueName>) -> Self {
        queue.map_or(Self::Start, Self::At)
    }

    /// After a queue, if one is given.
    pub(crate) fn after(queue: Option<&'a QueueName>) -> Self {
        queue.map_or(Self::Start, Self::After)
    }

    /// Whether the walk meets a queue.
    fn is_before(self, queue: &QueueName) -> bool {
        match self {
            Self::Start => true,
            Self::At(from) => from <= queue,
            Self::After(from) => from < queue,
        }
    }

    /// The beginning of a range of names, in Redis's notation.
    fn bound(self) -> String {
        match self {
            Self::Start => "-".to_owned(),
            Self::At(queue) => format!("[{queue}"),
            Self::After(queue) => format!("({queue}"),
        }
    }
}

/// A piece of all queues.
#[derive(Debug, Default)]
pub(crate) struct QueuesPiece {
    /// In the order of their names.
    pub(crate) names: Vec<QueueName>,
    /// The queue at which the walk continues; `None` at its end.
    pub(crate) next: Option<QueueName>,
}

impl QueuesPiece {
    /// One queue alone, if the walk has not passed it.
    pub(crate) fn only(queue: &QueueName, from: Option<&QueueName>) -> Self {
        let names = if from.is_none_or(|from| from <= queue) { vec![queue.clone()] } else { Vec::new() };
        Self { names, next: None }
    }

    /// The queue at a place, or the one at which the walk continues.
    pub(crate) fn at(&self, place: usize) -> Option<&QueueName> {
        self.names.get(place).or(self.next.as_ref())
    }
}

/// Up to `limit` queues with something in a part, by its letter (`keys.rs`), or of all queues for an empty one; in the
/// order of their names. May return fewer, even none, before the end, and queues whose part is empty by now.
pub(crate) async fn walk(store: &Store, part: &str, from: From<'_>, limit: usize) -> Result<QueuesPiece> {
    match part {
        "l" | "s" | "f" => holders(store, part, from, limit).await,
        _ => with_part(store, part, from, limit).await,
    }
}

/// By the index of the queues that have leases, scheduled or finished tasks: the cost depends only on these queues.
async fn holders(store: &Store, part: &str, from: From<'_>, limit: usize) -> Result<QueuesPiece> {
    let (mut cursor, mut names) = ("0".to_owned(), Vec::new());
    loop {
        let add = |command: &mut Cmd| {
            command.arg(part).arg(&cursor);
        };
        let mut answer = array(store.run(&store.bulk, &script::HOLDERS, add).await?)?.into_iter();
        cursor = text(answer.next().unwrap_or(Value::Nil))?;
        for name in answer {
            let name = read_name(text(name)?)?;
            if from.is_before(&name) {
                names.push(name);
            }
        }
        if cursor == "0" {
            break;
        }
    }
    names.sort_unstable();
    names.dedup();
    let next = names.get(limit).cloned();
    names.truncate(limit);
    Ok(QueuesPiece { names, next })
}

/// By all names, of which it checks a bounded number. It uses no index, so it also finds what an index has lost.
pub(crate) async fn with_part(store: &Store, part: &str, from: From<'_>, limit: usize) -> Result<QueuesPiece> {
    let add = |command: &mut Cmd| {
        command.arg(from.bound()).arg(limit).arg(part);
    };
    let mut answer = array(store.run(&store.bulk, &script::QUEUES, add).await?)?.into_iter();
    let next = text(answer.next().unwrap_or(Value::Nil))?;
    let next = if next.is_empty() { None } else { Some(read_name(next)?) };
    let names = answer.map(|name| read_name(text(name)?)).collect::<Result<_>>()?;
    Ok(QueuesPiece { names, next })
}

/// The next queue in the order of names; `None` after the last.
pub(crate) async fn next(store: &Store, from: From<'_>) -> Result<Option<QueueName>> {
    Ok(walk(store, "", from, 1).await?.names.pop())
}

/// The queues that the patterns of the roles match.
pub(crate) async fn matched(store: &Store, config: &Config) -> Result<Arc<BTreeSet<QueueName>>> {
    let mut found = BTreeSet::new();
    for pattern in config.patterns() {
        let (mut next, mut of_pattern) = (QueueName::new(pattern.prefix()).ok(), Vec::new());
        loop {
            let piece = with_part(store, "", From::at(next.as_ref()), MAX_BATCH).await?;
            of_pattern.extend(pattern::matched(pattern, piece.names.into_iter().map(Ok::<_, Error>))?);
            next = piece.next.filter(|next| next.as_str().starts_with(pattern.prefix()));
            if next.is_none() || of_pattern.len() > MAX_QUEUES_PER_CLAIM {
                break;
            }
        }
        found.extend(of_pattern);
    }
    Ok(Arc::new(found))
}

/// Creates queues that do not exist; at least one. The configuration keeps its version.
pub(crate) async fn create(store: &Store, queues: &[QueueName]) -> Result<()> {
    let add = |command: &mut Cmd| {
        queues.iter().for_each(|queue| {
            command.arg(0).arg(queue.as_str());
        });
    };
    store.run(&store.bulk, &script::CREATE_QUEUES, add).await.map(drop)
}

/// Reads a queue's name.
pub(crate) fn read_name(name: String) -> Result<QueueName> {
    QueueName::new(name).map_err(|_| malformed("expected the name of a queue"))
}
