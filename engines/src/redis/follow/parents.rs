//! Predecessors of tasks, and how they ended, for the tasks that waited for them.

use jobbers_common::{
    engine::{Parent, Parents, ParentsRequest, Result},
    name::TaskId,
};
use redis::{Cmd, Value};

use crate::redis::{
    kernel::{
        reply::{array, bytes, number, text, tuple},
        script,
        values::{read_payload, status_of},
    },
    server::{failure::malformed, store::Store},
};

/// Reads predecessors of a task.
pub(crate) async fn read(store: &Store, request: &ParentsRequest) -> Result<Parents> {
    request.validate()?;
    let ParentsRequest { of, only, from, limit, max_bytes } = request;
    let add = |command: &mut Cmd| {
        command.arg(of.as_str()).arg(only.as_ref().map_or("", TaskId::as_str)).arg(from).arg(limit).arg(max_bytes);
    };
    let [total, page] = tuple(store.run(&store.bulk, &script::PARENTS, add).await?)?;
    let mut words = array(page)?.into_iter();
    let mut parents = Vec::new();
    while let (Some(id), Some(found)) = (words.next(), words.next()) {
        parents.push(read_one(id, found)?);
    }
    Ok(Parents { total: usize::try_from(number(total)?).unwrap_or(usize::MAX), parents })
}

fn read_one(id: Value, found: Value) -> Result<Parent> {
    let id = TaskId::new(text(id)?).map_err(|_| malformed("expected a predecessor's id"))?;
    let found = bytes(found)?;
    let Some((state, result)) = found.split_first() else { return Ok(Parent { id, status: None, result: None }) };
    Ok(Parent { id, status: Some(status_of(&[*state])?), result: read_payload(result)? })
}
