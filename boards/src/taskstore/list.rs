//! `GET /group/G?limit=&owned=`: a group's tasks, page by page.
//!
//! An answer of one page is what the group held at one moment. A longer one is written as it is read, so it costs the memory
//! of a page whatever the size of the group; it leaves out what changed after it began, so no task is listed by two of
//! its ids. Should the store fail halfway, the connection is cut, and the client can't take a part for the whole.

use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use jobbers_common::engine::boards::{
    ListTasks, Take, TakeOrder, TaskPage,
    task::{BoardTask, BoardTime},
};

use super::{
    answer::TaskStoreTask,
    array::{self, ItemSource},
    front::Front,
    path_part::PathPart,
    refusal::{Refusal, Result},
};

/// How many tasks are read at a time, at most.
const PAGE: usize = 100;
/// How many bytes of data a page is to have, by the tasks of the page before it.
const PAGE_BYTES: usize = 1024 * 1024;
/// How many tasks are read first.
const FIRST_PAGE: usize = 16;

/// The handler.
pub(super) async fn group(
    State(front): State<Front>,
    PathPart(group): PathPart,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let ListOptions { limit, owned } = ListOptions::read(query.as_deref())?;
    let memory = std::sync::Arc::clone(&front.memory);
    let walk = GroupWalk { front, group, owned, left: limit, until: None, after: None, page: FIRST_PAGE };
    array::answer(memory, walk).await
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct ListOptions {
    limit: usize,
    owned: bool,
}

impl ListOptions {
    fn read(query: Option<&str>) -> Result<Self> {
        let pairs: Vec<(String, String)> = serde_html_form::from_str(query.unwrap_or_default())
            .map_err(|error| Refusal::bad_request(format!("the query: {error}")))?;
        let first = |name: &str| pairs.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str());
        let limit = match first("limit") {
            "" => 0,
            text => text
                .parse::<i64>()
                .map_err(|_| Refusal::bad_request(format!("invalid limit parameter {text:?}, expected a number")))?,
        };
        let owned = match first("owned").to_ascii_lowercase().as_str() {
            "" | "no" | "false" | "0" => false,
            "yes" | "true" | "1" => true,
            other => {
                let text = format!("invalid owned parameter {other:?}, expected yes, true, 1, no, false or 0");
                return Err(Refusal::bad_request(text));
            }
        };
        Ok(Self { limit: usize::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX), owned })
    }
}

/// A way through a group.
#[derive(Debug)]
struct GroupWalk {
    front: Front,
    group: String,
    owned: bool,
    left: usize,
    /// Tasks with later revisions came, or changed, after the walk began. Known from the second page on.
    until: Option<u64>,
    after: Option<(BoardTime, u64)>,
    /// How many tasks the next page has.
    page: usize,
}

impl GroupWalk {
    async fn page(&self) -> Result<TaskPage> {
        let asked = ListTasks {
            board: self.front.board.clone(),
            group: self.group.clone(),
            visible_only: !self.owned,
            after: self.after,
            limit: self.left.clamp(1, self.page),
        };
        Ok(self.front.boards.list(asked).await?)
    }

    /// The latest revision of the board.
    async fn newest(&self) -> Result<u64> {
        let look = Take {
            board: self.front.board.clone(),
            group: self.group.clone(),
            order: TakeOrder::FirstInFirstOut,
            owner: 0,
            now: None,
            lease: None,
            require: Vec::new(),
        };
        Ok(self.front.boards.take(look).await?.revision)
    }
}

impl ItemSource for GroupWalk {
    async fn next(mut self) -> Result<(String, Option<Self>)> {
        let mut page = self.page().await?;
        if self.until.is_none() && page.next.is_some() && page.tasks.len() < self.left {
            // Once more from the beginning, now that it is known up to which revision.
            self.until = Some(self.newest().await?);
            page = self.page().await?;
        }
        let until = self.until.unwrap_or(u64::MAX);
        let mut tasks: Vec<&BoardTask> = page.tasks.iter().filter(|task| task.revision <= until).collect();
        tasks.truncate(self.left);
        let views: Vec<TaskStoreTask<'_>> = tasks.iter().map(|task| TaskStoreTask::of(self.front.unit, task)).collect();
        let items = array::items(&views);
        self.page = (PAGE_BYTES / (items.len() / views.len().max(1)).max(1)).clamp(1, PAGE);
        self.left -= tasks.len();
        self.after = page.next;
        let is_over = self.left == 0 || self.after.is_none();
        Ok((items, (!is_over).then_some(self)))
    }
}
