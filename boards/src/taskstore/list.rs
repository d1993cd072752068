//! `GET /group/G?limit=&owned=`: a group's tasks, page by page.
//!
//! An answer of one page is what the group held at one moment. A longer one is written as it is read, so it costs the memory
//! of a page whatever the size of the group; it leaves out what changed after it began, so no task is listed by two of
//! its ids. Should the store fail halfway, the connection is cut, and the client can't take a part for the whole.

use axum::{
    body::{Body, Bytes},
    extract::{RawQuery, State},
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use jobbers_common::{
    board::{BoardTask, BoardTime},
    engine::boards::{ListTasks, Take, TakeOrder, TaskPage},
};

use super::{
    Front,
    answer::TaskView,
    look::Part,
    refusal::{Refusal, Result},
};

/// How many tasks are read at a time.
const PAGE: usize = 100;

/// The handler.
pub(super) async fn group(
    State(front): State<Front>,
    Part(group): Part,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let Asked { limit, owned } = Asked::read(query.as_deref())?;
    let mut walk =
        Walk { front, group, owned, left: limit, until: u64::MAX, after: None, has_begun: false, has_items: false };
    let page = walk.page().await?;
    if page.next.is_none() || page.tasks.len() >= limit {
        let views: Vec<TaskView<'_>> = page.tasks.iter().map(|task| TaskView::of(walk.front.unit, task)).collect();
        return Ok(axum::Json(views).into_response());
    }
    // From the beginning, now that it is known up to which revision.
    walk.until = walk.newest().await?;
    let pieces = stream::try_unfold(Some(walk), |walk| async move {
        let Some(walk) = walk else { return Ok(None) };
        walk.piece().await.map(Some)
    });
    Ok(([(header::CONTENT_TYPE, "application/json")], Body::from_stream(pieces)).into_response())
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    limit: usize,
    owned: bool,
}

impl Asked {
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
struct Walk {
    front: Front,
    group: String,
    owned: bool,
    left: usize,
    /// Tasks with later revisions came, or changed, after the walk began.
    until: u64,
    after: Option<(BoardTime, u64)>,
    has_begun: bool,
    has_items: bool,
}

impl Walk {
    async fn page(&self) -> Result<TaskPage> {
        let asked = ListTasks {
            board: self.front.board.clone(),
            group: self.group.clone(),
            visible_only: !self.owned,
            after: self.after,
            limit: self.left.clamp(1, PAGE),
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

    /// The next part of the list, as text, and the rest of the way.
    async fn piece(mut self) -> std::io::Result<(Bytes, Option<Self>)> {
        let page = self.page().await.map_err(|refused| std::io::Error::other(format!("{refused:?}")))?;
        let mut tasks: Vec<&BoardTask> = page.tasks.iter().filter(|task| task.revision <= self.until).collect();
        tasks.truncate(self.left);
        let views: Vec<TaskView<'_>> = tasks.iter().map(|task| TaskView::of(self.front.unit, task)).collect();
        let list = serde_json::to_string(&views)?;
        let items = list.trim_start_matches('[').trim_end_matches(']');
        let mut text = String::with_capacity(items.len() + 2);
        text.push_str(if self.has_begun { "" } else { "[" });
        text.push_str(if self.has_items && !items.is_empty() { "," } else { "" });
        text.push_str(items);
        self.has_begun = true;
        self.has_items |= !items.is_empty();
        self.left -= tasks.len();
        self.after = page.next;
        let is_over = self.left == 0 || self.after.is_none();
        text.push_str(if is_over { "]" } else { "" });
        Ok((Bytes::from(text), (!is_over).then_some(self)))
    }
}
