//! `POST /update`: a request becomes one commit.
//!
//! All that is wrong with a request is reported at once, as the original does: missing and owned ids by the store, ids that
//! no task can have and requests that contradict themselves by this front. So a request that has such faults is committed
//! too, with a requirement that no board fulfils: it changes nothing, and the store reports the rest.

use std::collections::HashSet;

use axum::{
    body::Bytes,
    extract::{RawQuery, State},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use jobbers_common::engine::boards::{
    Commit, CommitAnswer, Committed, Conflicts, Create, Placed, Selection, Update,
    task::{Content, When},
};

use super::{
    answer::{BASE64, Changed, CommitFailure, TaskStoreTask},
    dialect::Unit,
    encoding::decode,
    front::Front,
    id::{NO_REVISION, revision},
    refusal::{Refusal, Result},
    request::{TaskInfo, UpdateRequest},
};

/// The handler.
pub(super) async fn update(State(front): State<Front>, RawQuery(query): RawQuery, body: Bytes) -> Result<Response> {
    let share = front.memory.share();
    let nothing = "no data provided for task update: send JSON, or a field `update`";
    let request: UpdateRequest = decode(&share, &body, query.as_deref(), "update", nothing)?;
    let (owner, bugs) = (i64::from(request.client), bugs(&request));
    let updated = request.updates.iter().filter(|task| !is_add(task)).map(|task| task.id);
    let mut named = request.deletes.iter().chain(&request.depends).copied().chain(updated);
    let is_hopeless = !bugs.is_empty() || named.any(|id| revision(id).is_none());
    let changes = front.changes(&request)?;
    let commit = if is_hopeless { front.probe(&request) } else { front.commit(&request, &changes) };
    match front.boards.commit(commit).await? {
        CommitAnswer::Done(committed) => Ok(front.changed(&request, &changes, &committed, owner)),
        CommitAnswer::Conflict(conflicts) => Ok(Changed::failed(front.unit, &failure(&request, &conflicts, bugs))),
        // Not without a mark, and this has none.
        CommitAnswer::AlreadyDone => Ok(Changed::nothing(front.unit)),
    }
}

/// An update without an id adds a task.
const fn is_add(task: &TaskInfo) -> bool {
    task.id <= 0
}

/// The contents and times of a request's additions, then those of its updates.
type Changes = Vec<(Content, When)>;

/// What contradicts itself in a request.
fn bugs(request: &UpdateRequest) -> Vec<String> {
    let mut bugs = Vec::new();
    if request.adds.is_empty() && request.updates.is_empty() && request.deletes.is_empty() {
        bugs.push("the update is empty: add, update or delete a task".to_owned());
    }
    for (list, tasks) in [("adds", &request.adds), ("updates", &request.updates)] {
        let added = tasks.iter().enumerate().filter(|(_, task)| list == "adds" || is_add(task));
        let without_group = added.filter(|(_, task)| task.group.is_empty());
        bugs.extend(without_group.map(|(at, _)| format!("{list}[{at}] adds a task without a group")));
    }
    let deleted: HashSet<i64> = request.deletes.iter().copied().collect();
    let mut updated = HashSet::new();
    for task in request.updates.iter().filter(|task| !is_add(task)) {
        if !updated.insert(task.id) {
            bugs.push(format!("task {} is updated twice", task.id));
        } else if deleted.contains(&task.id) {
            bugs.push(format!("task {} is updated and deleted", task.id));
        }
    }
    bugs
}

/// Why nothing changed. Ids that no task can have are missing, whatever the store says.
fn failure(request: &UpdateRequest, conflicts: &Conflicts, bugs: Vec<String>) -> CommitFailure {
    let missing = |ids: &mut dyn Iterator<Item = i64>, found: &[&[u64]]| {
        let found: HashSet<u64> = found.iter().copied().flatten().copied().collect();
        ids.filter(|id| revision(*id).is_none_or(|id| found.contains(&id))).collect()
    };
    let mut updates = request.updates.iter().filter(|task| !is_add(task)).map(|task| task.id);
    CommitFailure {
        // Of a task that is also deleted, the store is asked once.
        changes: missing(&mut updates, &[&conflicts.updated, &conflicts.deleted]),
        deletes: missing(&mut request.deletes.iter().copied(), &[&conflicts.deleted]),
        depends: missing(&mut request.depends.iter().copied(), &[&conflicts.required]),
        owned: conflicts.owned.iter().filter_map(|id| i64::try_from(*id).ok()).collect(),
        bugs,
    }
}

impl Front {
    fn changes(&self, request: &UpdateRequest) -> Result<Changes> {
        let lists = [("adds", &request.adds), ("updates", &request.updates)];
        let tasks = lists.into_iter().flat_map(|(list, tasks)| tasks.iter().enumerate().map(move |it| (list, it)));
        tasks.map(|(list, (at, task))| Ok((self.content(task, list, at)?, self.time(task)))).collect()
    }

    fn content(&self, task: &TaskInfo, list: &str, at: usize) -> Result<Content> {
        let data = match task.data_encoding.as_str() {
            "" => Bytes::copy_from_slice(task.data.as_bytes()),
            BASE64 => STANDARD
                .decode(&task.data)
                .map_err(|error| Refusal::bad_request(format!("{list}[{at}].data is not base64: {error}")))?
                .into(),
            other => {
                let text = format!("{list}[{at}].data_encoding is {other:?}; leave it out, or write \"base64\"");
                return Err(Refusal::bad_request(text));
            }
        };
        let (found, most) = (data.len(), self.max_data_bytes);
        if found > most {
            let text = format!("{list}[{at}].data has {found} bytes; at most {most} are allowed (max_payload_bytes)");
            return Err(Refusal::bad_request(text));
        }
        Ok(Content { data, ..Content::default() })
    }

    /// Where a task has both times, as one that was read here, the one that the dialect of this address knows counts.
    fn time(&self, task: &TaskInfo) -> When {
        let time = match self.unit {
            Unit::Milliseconds => task.timespec.or(task.duration),
            Unit::Nanoseconds => task.duration.or(task.timespec),
        };
        self.unit.when(time.unwrap_or(0))
    }

    fn commit(&self, request: &UpdateRequest, changes: &Changes) -> Commit {
        let (adds, updates) = changes.split_at(request.adds.len());
        let updates = || request.updates.iter().zip(updates);
        let create = |(task, (content, at)): (&TaskInfo, &(Content, When))| Create {
            group: task.group.clone(),
            at: *at,
            content: content.clone(),
        };
        let update = |(task, (content, at)): (&TaskInfo, &(Content, When))| {
            let which = Selection::Revision(revision(task.id)?);
            Some(Update { which, group: None, at: Some(*at), content: Some(content.clone()) })
        };
        let added = updates().filter(|(task, _)| is_add(task));
        Commit {
            check_owner: true,
            require: request.depends.iter().filter_map(|id| revision(*id)).collect(),
            delete: request.deletes.iter().filter_map(|id| revision(*id)).map(Selection::Revision).collect(),
            update: updates().filter_map(update).collect(),
            create: request.adds.iter().zip(adds).chain(added).map(create).collect(),
            ..Commit::new(self.board.clone(), i64::from(request.client))
        }
    }

    /// A commit that reports what the store has against a request, and changes nothing.
    fn probe(&self, request: &UpdateRequest) -> Commit {
        let mut taken: HashSet<u64> = request.deletes.iter().filter_map(|id| revision(*id)).collect();
        let delete = taken.iter().copied().map(Selection::Revision).collect();
        let ids = request.updates.iter().filter_map(|task| revision(task.id));
        let update = |id| Update { which: Selection::Revision(id), group: None, at: None, content: None };
        let require = request.depends.iter().filter_map(|id| revision(*id));
        Commit {
            check_owner: true,
            require: require.chain([NO_REVISION]).collect(),
            delete,
            update: ids.filter(|id| taken.insert(*id)).map(update).collect(),
            ..Commit::new(self.board.clone(), i64::from(request.client))
        }
    }

    /// The answer after a commit: the added tasks, then the updated ones, in the order of the request.
    fn changed(&self, request: &UpdateRequest, changes: &Changes, committed: &Committed, owner: i64) -> Response {
        let (mut created, mut updated) = (committed.created.iter(), committed.updated.iter());
        let kinds = request.adds.iter().map(|_| true).chain(request.updates.iter().map(is_add));
        let view = |(is_add, (content, _)): (bool, &(Content, When))| {
            let Placed { revision, group, at } = if is_add { created.next()? } else { updated.next()? };
            Some((*revision, group.clone(), content.data.clone(), *at))
        };
        let placed: Vec<_> = kinds.zip(changes).filter_map(view).collect();
        let views: Vec<TaskStoreTask<'_>> = placed
            .iter()
            .map(|(revision, group, data, at)| TaskStoreTask::new(self.unit, *revision, group, data, *at, owner))
            .collect();
        Changed::done(self.unit, &views)
    }
}
