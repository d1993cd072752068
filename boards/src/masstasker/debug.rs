//! Debug: a list of tasks, bounded by the size of a message.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use jobbers_common::{
    engine::boards::{
        GroupCount, ListTasks, TaskPage,
        task::{BoardTask, BoardTime},
    },
    limits::MAX_BATCH,
};
use prost::Message;
use tonic::Status;

use super::{
    front::Front,
    proto::{DebugRequest, DebugResponse},
    translate,
};

/// From how many groups one list is made at most.
const MOST_GROUPS: usize = 1_000;
/// How many tasks of a group are read at a time, at most.
const PAGE: usize = 32;
/// The first tasks of all groups are held at a time: at most so many times the bytes of a message.
const MOST_MESSAGES: usize = 4;

/// Lists a group, or all groups in the order of time and id.
///
/// # Errors
/// `RESOURCE_EXHAUSTED` when the list is larger than a message may be, or all groups are too many.
pub(super) async fn debug(front: &Front, request: DebugRequest) -> Result<DebugResponse, Status> {
    let _turn = front.settings.memory.turn().await;
    let limit = usize::try_from(request.limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    let mut walk = match request.group.as_str() {
        "" => MergedWalk::of_all(front).await?,
        group => MergedWalk::of_one(front, group).await?,
    };
    let mut tasks = Vec::new();
    let mut left = front.settings.max_message_bytes;
    while tasks.len() < limit {
        let Some(task) = walk.next(front).await? else { break };
        let task = translate::task(task);
        left = left.checked_sub(task.encoded_len() + ELEMENT_BYTES).ok_or_else(|| too_large(tasks.len()))?;
        tasks.push(task);
    }
    Ok(DebugResponse { tasks, num_tasks: walk.total })
}

/// What a task takes in a list beside its own bytes: its field and its length.
const ELEMENT_BYTES: usize = 6;

fn too_large(tasks: usize) -> Status {
    Status::resource_exhausted(format!("the list is larger than a message may be; {tasks} tasks fit: set a limit"))
}

/// A walk over groups, always to the earliest task that is left.
struct MergedWalk {
    groups: Vec<GroupBuffer>,
    /// The first task that is left of each group.
    heads: BinaryHeap<Reverse<(BoardTime, u64, usize)>>,
    total: u64,
    /// The bytes of the first task of each group when it was opened.
    head_bytes: usize,
}

/// What has been read of a group and not passed yet.
struct GroupBuffer {
    name: String,
    tasks: VecDeque<BoardTask>,
    after: Option<(BoardTime, u64)>,
    has_more: bool,
}

impl MergedWalk {
    async fn of_one(front: &Front, group: &str) -> Result<Self, Status> {
        let mut walk = Self { groups: Vec::new(), heads: BinaryHeap::new(), total: 0, head_bytes: 0 };
        let page = walk.open(front, group.to_owned()).await?;
        walk.total = page;
        Ok(walk)
    }

    async fn of_all(front: &Front) -> Result<Self, Status> {
        let mut walk = Self { groups: Vec::new(), heads: BinaryHeap::new(), total: 0, head_bytes: 0 };
        let mut after: Option<String> = None;
        loop {
            let page = front.boards.groups(&front.board, after.as_deref(), MAX_BATCH).await;
            let page = page.map_err(|error| translate::failure(&error))?;
            let Some(last) = page.last() else { return Ok(walk) };
            after = Some(last.group.clone());
            for GroupCount { group, tasks } in page {
                if walk.groups.len() == MOST_GROUPS {
                    return Err(Status::resource_exhausted(format!(
                        "there are more than {MOST_GROUPS} groups; ask for one group at a time"
                    )));
                }
                walk.total += tasks;
                walk.open(front, group).await?;
                if walk.head_bytes > front.settings.max_message_bytes * MOST_MESSAGES {
                    let detail = "the first tasks of all groups are too large; ask for one group at a time";
                    return Err(Status::resource_exhausted(detail));
                }
            }
        }
    }

    /// Adds a group, and returns how many tasks it holds.
    async fn open(&mut self, front: &Front, name: String) -> Result<u64, Status> {
        let mut group = GroupBuffer { name, tasks: VecDeque::new(), after: None, has_more: true };
        let total = group.read(front, 1).await?;
        self.head_bytes += group.tasks.iter().map(|task| task.content.data.len()).sum::<usize>();
        self.groups.push(group);
        self.note_head(self.groups.len() - 1);
        Ok(total)
    }

    fn note_head(&mut self, place: usize) {
        if let Some(head) = self.groups[place].tasks.front() {
            self.heads.push(Reverse((head.at, head.revision, place)));
        }
    }

    async fn next(&mut self, front: &Front) -> Result<Option<BoardTask>, Status> {
        let Some(Reverse((_, _, place))) = self.heads.pop() else { return Ok(None) };
        let group = &mut self.groups[place];
        let task = group.tasks.pop_front();
        if group.tasks.is_empty() && group.has_more {
            let size = task.as_ref().map_or(1, |task| task.content.data.len() + task.content.error.len() + 64);
            group.read(front, (front.settings.max_message_bytes / size).clamp(1, PAGE)).await?;
        }
        self.note_head(place);
        Ok(task)
    }
}

impl GroupBuffer {
    /// Reads on, and returns how many tasks the group holds.
    async fn read(&mut self, front: &Front, limit: usize) -> Result<u64, Status> {
        let list = ListTasks {
            board: front.board.clone(),
            group: self.name.clone(),
            visible_only: false,
            after: self.after,
            limit,
        };
        let TaskPage { tasks, next, total } =
            front.boards.list(list).await.map_err(|error| translate::failure(&error))?;
        (self.after, self.has_more) = (next, next.is_some());
        self.tasks.extend(tasks);
        Ok(total)
    }
}
