//! A page of whole tasks, written as it is read: its tasks come piece by piece, and where it ended comes last.
//!
//! A page may end early, with a cursor. So it does when the store fails or memory gets scarce after it has begun.

use std::{convert::Infallible, sync::Arc};

use axum::{
    body::{Body, Bytes},
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use jobbers_api::{
    problem::{Code, Problem, Result},
    task::{list::TaskPageView, view::TaskView},
};
use jobbers_common::task::Task;
use jobbers_process::server::memory::Kind;

use crate::{
    api::lists::search::{SearchEnd, Walk},
    app::App,
};

/// A page that is being written.
struct PageWriter {
    app: Arc<App>,
    walk: Walk,
    total: Option<u64>,
    /// Whether the client is to know how many tasks were looked at.
    is_search: bool,
    has_begun: bool,
    has_tasks: bool,
}

/// The page along the way. Its first piece is read before this returns, so that its failure has a status.
pub(super) async fn answer(app: Arc<App>, walk: Walk, total: Option<u64>, is_search: bool) -> Result<Response> {
    let mut page = PageWriter { app, walk, total, is_search, has_begun: false, has_tasks: false };
    let first = page.piece().await?;
    let kind = [(header::CONTENT_TYPE, "application/json")];
    if page.walk.is_over {
        return Ok((kind, first).into_response());
    }
    let pieces = stream::unfold((Some(first), page), |(first, mut page)| async move {
        let piece = match first {
            Some(first) => first,
            None if page.walk.is_over => return None,
            None => page.next_piece().await,
        };
        Some((Ok::<_, Infallible>(Bytes::from(piece)), (None, page)))
    });
    Ok((kind, Body::from_stream(pieces)).into_response())
}

impl PageWriter {
    /// The next part of the text. A page that can't go on ends where it is.
    async fn next_piece(&mut self) -> Vec<u8> {
        let room = self.app.memory.take(Kind::Payload, 0);
        let piece = match room {
            Some(_) => self.piece().await,
            None => Err(Problem::new(Code::Overloaded, "memory is scarce")),
        };
        piece.unwrap_or_else(|problem| {
            tracing::debug!(detail = problem.detail(), "a page of tasks ends early");
            self.walk.stop();
            self.text(&[]).unwrap_or_default()
        })
    }

    async fn piece(&mut self) -> Result<Vec<u8>> {
        let app = Arc::clone(&self.app);
        let _turn = app.memory.turn().await;
        let tasks = self.walk.piece(&*app.engine).await?;
        self.text(&tasks)
    }

    /// These tasks as text, and the end of the page if it ends with them.
    fn text(&mut self, tasks: &[Task]) -> Result<Vec<u8>> {
        let mut text = if self.has_begun { Vec::new() } else { br#"{"tasks":["#.to_vec() };
        self.has_begun = true;
        for task in tasks {
            if self.has_tasks {
                text.push(b',');
            }
            self.has_tasks = true;
            serde_json::to_writer(&mut text, &TaskView::from(task)).map_err(|error| unwritable(&error))?;
        }
        if self.walk.is_over {
            text.extend_from_slice(&self.end()?);
        }
        Ok(text)
    }

    /// What follows the last task.
    fn end(&self) -> Result<Vec<u8>> {
        let SearchEnd { next, scanned, gave_up } = &self.walk.end;
        let end = TaskPageView {
            tasks: Vec::new(),
            total: self.total,
            next_cursor: next.clone(),
            scanned: self.is_search.then_some(*scanned),
            gave_up: *gave_up,
        };
        let text = serde_json::to_vec(&end).map_err(|error| unwritable(&error))?;
        Ok(text.strip_prefix(br#"{"tasks":["#).map(<[u8]>::to_vec).unwrap_or_default())
    }
}

fn unwritable(error: &serde_json::Error) -> Problem {
    Problem::new(Code::Internal, error.to_string())
}
