//! Submissions with more dependencies than one step links: the step that stores the tasks leaves the others in pieces, and short
//! steps link these one after the other, so that no step holds a store for long. A task counts all its dependencies from the
//! start, so it waits until all of them are linked. The caller is answered once they are; if its process dies before, the
//! claims and ticks of others go on.

use std::collections::HashSet;

use jobbers_common::{
    engine::{Engine, Error, OnConflict, Result, Submit, Submitted},
    limits::MAX_BATCH,
    name::TaskId,
    submission::batch::linked_later,
};

/// Submits a batch by `store`, and links what that left by `link`, which says whether anything is left.
///
/// # Errors
/// Those of `store`, and [`Error::UnknownPredecessor`].
pub(crate) async fn submit<S, L>(
    engine: &dyn Engine,
    batch: Submit,
    store: impl FnOnce(Submit) -> S,
    link: impl Fn() -> L,
) -> Result<Vec<Submitted>>
where
    S: Future<Output = Result<Vec<Submitted>>>,
    L: Future<Output = Result<bool>>,
{
    if linked_later(&batch.tasks).all(|is_later| !is_later) {
        return store(batch).await;
    }
    check_predecessors(engine, &batch).await?;
    let mut submitted = store(batch).await?;
    // What can't be linked now is linked by others later: the tasks are accepted.
    while link().await.unwrap_or(false) {}
    for tasks in submitted.chunks_mut(MAX_BATCH) {
        let ids: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
        // They are accepted, whatever becomes of this question: without an answer they have the status of before.
        let Ok(statuses) = engine.statuses(&ids).await else { break };
        tasks.iter_mut().zip(statuses).for_each(|(task, status)| task.status = status.unwrap_or(task.status));
    }
    Ok(submitted)
}

/// Refuses the first task that waits for an unknown one, unless its submission may be a repetition: then its predecessors may be
/// gone.
async fn check_predecessors(engine: &dyn Engine, batch: &Submit) -> Result<()> {
    let unknown = find_unknown(engine, batch).await?;
    for task in &batch.tasks {
        let Some(edge) = task.depends_on.iter().find(|edge| unknown.contains(&edge.on)) else { continue };
        let is_known = !engine.statuses(std::slice::from_ref(&task.id)).await?.contains(&None);
        if !is_known || batch.on_conflict == OnConflict::Replace {
            return Err(Error::UnknownPredecessor { id: task.id.clone(), predecessor: edge.on.clone() });
        }
    }
    Ok(())
}

/// The predecessors that are neither in the batch nor stored or remembered.
async fn find_unknown(engine: &dyn Engine, batch: &Submit) -> Result<HashSet<TaskId>> {
    let mut seen: HashSet<&TaskId> = batch.tasks.iter().map(|task| &task.id).collect();
    let named = batch.tasks.iter().flat_map(|task| &task.depends_on).map(|edge| &edge.on);
    let outside: Vec<TaskId> = named.filter(|on| seen.insert(*on)).cloned().collect();
    let mut unknown = HashSet::new();
    for ids in outside.chunks(MAX_BATCH) {
        let statuses = engine.statuses(ids).await?;
        unknown.extend(ids.iter().zip(statuses).filter(|(_, status)| status.is_none()).map(|(id, _)| id.clone()));
    }
    Ok(unknown)
}
