//! What a task reads of the tasks it waited for.

use jobbers_common::{
    engine::{Engine, Error, Parent, Parents, ParentsRequest},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::TaskId,
    payload::Payload,
};

use crate::{
    payload::{
        codec::{
            CodecError, ContentKind,
            error::{UNDECODABLE, UNKNOWN_CODEC},
        },
        encoding::Decode,
    },
    tasks::{context::Context, error::TaskError},
};

/// How many bytes of results one call of the store reads.
const BYTES_AT_ONCE: usize = 4 * 1024 * 1024;

/// A task that this one waited for, with a result of type `R`.
///
/// ```
/// use jobbers_worker::{ParentEnd, canvas::ResultsOf, prelude::*};
///
/// /// Collects what a group could do: `group(parts).with_failures().then(&summary)`.
/// #[task]
/// async fn summary(ctx: Context, pages: ResultsOf<u64>) -> Result<String, TaskError> {
///     let ends: Vec<ParentEnd<u64>> = pages.ends(&ctx).await?;
///     let words: u64 = ends.iter().filter_map(|end| end.result).sum();
///     let missing = ends.iter().filter(|end| end.result.is_none()).count();
///     Ok(format!("{words} words, and {missing} pages are missing"))
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParentEnd<R> {
    /// Its id.
    pub id: TaskId,
    /// How it ended. `None` if the store no longer knows it.
    pub status: Option<Status>,
    /// Its result, if it completed.
    pub result: Option<R>,
}

impl Context {
    /// The result of a task that this one waited for: by its id, or by the name of its node in the same workflow. It is read
    /// from the store now. A store keeps it until this task is over, whatever the retention of its queue.
    ///
    /// # Errors
    /// Fatal, of the kind `no_parent`, if this task did not wait for that one; of the kind `no_result`, if that one did not
    /// complete; and if its result can't be read as an `R`. To be retried, if the store can't be reached.
    pub async fn parent<R: Decode>(&self, name: &str) -> Result<R, TaskError> {
        result_of(self.find_parent(name).await?)
    }

    /// The same for a task that may have ended in any way, such as one that this one handles the error of.
    ///
    /// # Errors
    /// As [`Context::parent`], except that it is no error if the other task did not complete.
    pub async fn parent_end<R: Decode>(&self, name: &str) -> Result<ParentEnd<R>, TaskError> {
        end_of(self.find_parent(name).await?)
    }

    /// The results of all tasks that this one waited for, in the order in which its submission named them.
    ///
    /// # Errors
    /// As [`Context::parent`].
    pub async fn parents<R: Decode>(&self) -> Result<Vec<R>, TaskError> {
        self.each_parent(usize::MAX, result_of).await
    }

    /// The same for tasks that may have ended in any way.
    ///
    /// # Errors
    /// As [`Context::parent_end`].
    pub async fn parent_ends<R: Decode>(&self) -> Result<Vec<ParentEnd<R>>, TaskError> {
        self.each_parent(usize::MAX, end_of).await
    }

    /// The results of the first `count` tasks that this one waited for.
    pub(crate) async fn first_parents<R: Decode>(&self, count: usize) -> Result<Vec<R>, TaskError> {
        self.all_there(self.each_parent(count, result_of).await?, count)
    }

    /// How the first `count` tasks ended that this one waited for.
    pub(crate) async fn first_parent_ends<R: Decode>(&self, count: usize) -> Result<Vec<ParentEnd<R>>, TaskError> {
        self.all_there(self.each_parent(count, end_of).await?, count)
    }

    fn all_there<R>(&self, found: Vec<R>, count: usize) -> Result<Vec<R>, TaskError> {
        if found.len() == count {
            return Ok(found);
        }
        let message = format!("task {} waited for {} tasks, and is to read {count} results", self.id(), found.len());
        Err(TaskError::fatal(message).kind("no_parent"))
    }

    /// Reads the first `count` predecessors, or all if they are fewer.
    async fn each_parent<R>(
        &self,
        count: usize,
        read: impl Fn(Parent) -> Result<R, TaskError>,
    ) -> Result<Vec<R>, TaskError> {
        let mut found = Vec::new();
        loop {
            let limit = (count - found.len()).min(MAX_BATCH);
            if limit == 0 {
                return Ok(found);
            }
            let all = ParentsRequest::all(self.id().clone(), limit, BYTES_AT_ONCE);
            let request = ParentsRequest { from: found.len(), ..all };
            let Parents { total, parents } = self.store()?.parents(request).await.map_err(trouble)?;
            let has_more = !parents.is_empty();
            for parent in parents {
                found.push(read(self.decoded(parent)?)?);
            }
            if !has_more || found.len() >= total {
                return Ok(found);
            }
        }
    }

    async fn find_parent(&self, name: &str) -> Result<Parent, TaskError> {
        let beside = self.id().as_str().rsplit_once('/').map(|(run, _)| format!("{run}/{name}"));
        let ids = beside.into_iter().chain([name.to_owned()]).filter_map(|id| TaskId::new(id).ok());
        for id in ids {
            let request = ParentsRequest::one(self.id().clone(), id);
            let found = self.store()?.parents(request).await.map_err(trouble)?.parents;
            if let Some(parent) = found.into_iter().next() {
                return self.decoded(parent);
            }
        }
        let message = format!("task {} did not wait for {name}: name it in depends_on", self.id());
        Err(TaskError::fatal(message).kind("no_parent"))
    }

    /// A predecessor with its result as it was returned.
    fn decoded(&self, parent: Parent) -> Result<Parent, TaskError> {
        let Some(result) = parent.result else { return Ok(parent) };
        let decoded = self.client()?.codecs().decode(result, ContentKind::Result);
        let result = decoded.map_err(|error| {
            let message = format!("the result of task {}: {error}", parent.id);
            match error {
                // A worker with that codec can read it.
                CodecError::Unknown(_) => TaskError::retry(message).kind(UNKNOWN_CODEC),
                _ => TaskError::fatal(message).kind(UNDECODABLE),
            }
        })?;
        Ok(Parent { result: Some(result), ..parent })
    }

    fn store(&self) -> Result<&dyn Engine, TaskError> {
        let engine = self.client()?.engine();
        engine.map(AsRef::as_ref).ok_or_else(|| TaskError::fatal("this client has no store"))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "given to `map_err`")]
fn trouble(error: Error) -> TaskError {
    TaskError::retry(format!("the results of predecessors can't be read: {error}"))
}

fn result_of<R: Decode>(parent: Parent) -> Result<R, TaskError> {
    let Parent { id, status, result } = parent;
    let why = match (status, result) {
        (Some(Status::Completed), result) => return decode(&id, result.as_ref()),
        (Some(status), _) => format!("it is {status}"),
        (None, _) => "the store no longer knows it".to_owned(),
    };
    Err(TaskError::fatal(format!("task {id} has no result: {why}")).kind("no_result"))
}

fn end_of<R: Decode>(parent: Parent) -> Result<ParentEnd<R>, TaskError> {
    let Parent { id, status, result } = parent;
    let result = match status {
        Some(Status::Completed) => Some(decode(&id, result.as_ref())?),
        _ => None,
    };
    Ok(ParentEnd { id, status, result })
}

/// A task without content has no result stored; it is read as `null`.
fn decode<R: Decode>(id: &TaskId, result: Option<&Payload>) -> Result<R, TaskError> {
    let none = Payload::json(&b"null"[..]);
    R::decode(result.unwrap_or(&none))
        .map_err(|problem| TaskError::fatal(format!("the result of task {id} does not fit: {problem}")))
}
