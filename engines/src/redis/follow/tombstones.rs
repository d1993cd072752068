//! Tombstones: what is remembered of pruned tasks whose clients chose their ids.

use jobbers_common::{
    engine::{Error, Result},
    name::{QueueName, TaskId},
    task::tombstone::{Tombstone, TombstoneHealth},
};
use redis::{Cmd, Value};

use crate::redis::{
    kernel::{
        layout::TOMBSTONE,
        record::stamp,
        reply::{bytes, number, tuple},
        script,
        values::{part, status_of, time},
    },
    server::store::Store,
};

/// The tombstone of a task.
pub(crate) async fn find(store: &Store, id: &TaskId) -> Result<Option<Tombstone>> {
    let add = |command: &mut Cmd| {
        command.arg(id.as_str());
    };
    match store.run(&store.work, &script::TOMBSTONE, add).await? {
        Value::Nil => Ok(None),
        answer => decode(id, &bytes(answer)?).map(Some),
    }
}

fn decode(id: &TaskId, from: &[u8]) -> Result<Tombstone> {
    let corrupt = |what: &str| Error::Corrupt(format!("a tombstone's {what} can't be read"));
    let fixed = part(from, ..TOMBSTONE.len(), "tombstone")?;
    let queue = std::str::from_utf8(&from[TOMBSTONE.len()..]).map_err(|_| corrupt("queue"))?;
    let fingerprint = fixed[const { TOMBSTONE.range("fingerprint") }].try_into();
    Ok(Tombstone {
        id: id.clone(),
        queue: QueueName::new(queue).map_err(|_| corrupt("queue"))?,
        status: status_of(&fixed[const { TOMBSTONE.range("state") }])?,
        finished_at: stamp(&fixed[const { TOMBSTONE.range("finished_at") }]),
        forget_at: stamp(&fixed[const { TOMBSTONE.range("forget_at") }]),
        fingerprint: u128::from_be_bytes(fingerprint.map_err(|_| corrupt("fingerprint"))?),
    })
}

/// The tombstones in numbers.
pub(crate) async fn health(store: &Store) -> Result<TombstoneHealth> {
    let [count, cut_at] = tuple(store.run(&store.work, &script::TOMBSTONES, |_| {}).await?)?;
    let cut_at = bytes(cut_at)?;
    let cut_at = if cut_at.is_empty() { None } else { Some(time(&cut_at)?) };
    Ok(TombstoneHealth { count: number(count)?, cut_at })
}
