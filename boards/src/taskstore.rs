//! TaskStore over HTTP: its clients, unmodified, on a board of this store.
//!
//! The original's document, server and Go client describe three dialects that exclude each other. This front accepts all
//! of them. Requests are raw JSON, a form field or a query field, with keys in any case, and a task's time may be called
//! `timespec` or `duration`. Answers have both names of the time. The unit of time, and how the other keys of an answer are
//! spelt, can't be read off a request, so the base URL decides whether they are the document's or the server's ([`Unit`]).
//!
//! A task's id is its revision on the board. A request that conflicts is answered 200 with an `error`, a request that
//! makes no sense 400 with a line of text. The front keeps no state. Bounds on the size of bodies, and on the time that
//! they may take, are its host's.
//!
//! Start reading at [`router`], then `update.rs`.

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};
use jobbers_common::{engine::boards::Boards, name::BoardName};
use jobbers_process::server::memory::ClientMemory;

mod answer;
mod array;
mod claim;
mod dialect;
mod encoding;
mod front;
mod id;
mod list;
mod path_part;
mod refusal;
mod request;
mod show;
mod update;

pub use self::dialect::Unit;
use self::{front::Front, refusal::Refusal};

/// The board that all addresses of this front share.
pub const BOARD: &str = "taskstore";

/// The board's name.
#[must_use]
pub fn board() -> BoardName {
    #[expect(clippy::expect_used, reason = "nine letters")]
    BoardName::new(BOARD).expect("a legal board name")
}

/// The routes of one base URL, on the board [`BOARD`]. A task holds at most `max_data_bytes` of data. The host bounds
/// the size of bodies, and counts answers in `memory`.
pub fn router<S: Clone + Send + Sync + 'static>(
    boards: Arc<dyn Boards>,
    unit: Unit,
    max_data_bytes: usize,
    memory: Arc<ClientMemory>,
) -> Router<S> {
    let front = Front { boards, board: board(), unit, max_data_bytes, memory };
    Router::new()
        .route("/groups", get(show::groups))
        // The Go client asks for the groups here.
        .route("/group", get(show::groups))
        .route("/group/", get(show::no_group))
        .route("/group/{*group}", get(list::group))
        .route("/task/", get(show::no_task))
        .route("/task/{id}", get(show::task))
        .route("/tasks/", get(show::no_task))
        .route("/tasks/{ids}", get(show::tasks))
        .route("/update", post(update::update))
        .route("/claim", post(claim::claim))
        .fallback(unknown_path)
        .layer(DefaultBodyLimit::disable())
        .with_state(front)
}

async fn unknown_path() -> Refusal {
    Refusal::not_found("404 page not found")
}
