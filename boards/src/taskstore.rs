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

use std::{fmt, sync::Arc};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};
use jobbers_common::{
    board::{BoardTime, When},
    engine::boards::Boards,
    name::BoardName,
};
use jobbers_process::server::memory::ClientMemory;
use serde::{Deserialize, Serialize};

use self::refusal::Refusal;

mod answer;
mod array;
mod claim;
mod encoding;
mod list;
mod look;
mod refusal;
mod request;
mod update;

/// The board that all addresses of this front share.
pub const BOARD: &str = "taskstore";

/// Which dialect a base URL speaks: in which unit it counts time, and how it spells the keys of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Milliseconds and lower-case keys, as the original's document says.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Nanoseconds and capital keys, as the original's server does. Its Go client reads both spellings.
    #[serde(rename = "ns")]
    Nanoseconds,
}

impl Unit {
    /// Nanoseconds in one.
    const fn nanoseconds(self) -> i64 {
        match self {
            Self::Milliseconds => 1_000_000,
            Self::Nanoseconds => 1,
        }
    }

    /// A task's time as a client writes it: above 0 a moment, else the present minus that. What lies beyond the last
    /// moment that can be said is that moment.
    const fn when(self, time: i64) -> When {
        let nanoseconds = time.saturating_mul(self.nanoseconds());
        if time > 0 { When::At(BoardTime(nanoseconds)) } else { When::In(0_i64.saturating_sub(nanoseconds)) }
    }

    /// A span as a client writes it, in nanoseconds. A negative span is 0.
    fn span(self, span: i64) -> u64 {
        u64::try_from(span.saturating_mul(self.nanoseconds())).unwrap_or(0)
    }

    /// A moment as a client reads it, rounded down.
    const fn written(self, at: BoardTime) -> i64 {
        at.0.div_euclid(self.nanoseconds())
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Milliseconds => "ms",
            Self::Nanoseconds => "ns",
        })
    }
}

impl std::str::FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "ms" => Ok(Self::Milliseconds),
            "ns" => Ok(Self::Nanoseconds),
            other => Err(format!("{other:?} is not a unit of time; write ms or ns")),
        }
    }
}

/// What every handler shares.
#[derive(Debug, Clone)]
struct Front {
    boards: Arc<dyn Boards>,
    board: BoardName,
    unit: Unit,
    max_data_bytes: usize,
    memory: Arc<ClientMemory>,
}

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
        .route("/groups", get(look::groups))
        // The Go client asks for the groups here.
        .route("/group", get(look::groups))
        .route("/group/", get(look::no_group))
        .route("/group/{*group}", get(list::group))
        .route("/task/", get(look::no_task))
        .route("/task/{id}", get(look::task))
        .route("/tasks/", get(look::no_task))
        .route("/tasks/{ids}", get(look::tasks))
        .route("/update", post(update::update))
        .route("/claim", post(claim::claim))
        .fallback(unknown_path)
        .layer(DefaultBodyLimit::disable())
        .with_state(front)
}

async fn unknown_path() -> Refusal {
    Refusal::not_found("404 page not found")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_up_to_zero_is_a_distance_from_the_present() {
        let (ms, ns) = (Unit::Milliseconds, Unit::Nanoseconds);
        assert_eq!(ms.when(0), When::NOW);
        assert_eq!(ms.when(-60_000), When::In(60_000_000_000));
        assert_eq!(ns.when(-60_000), When::In(60_000));
        assert_eq!(ms.when(60_000), When::At(BoardTime(60_000_000_000)));
        assert_eq!(ns.when(i64::MAX), When::At(BoardTime(i64::MAX)));
    }

    #[test]
    fn a_time_beyond_what_can_be_said_is_the_last_moment() {
        assert_eq!(Unit::Milliseconds.when(i64::MAX), When::At(BoardTime(i64::MAX)));
        assert_eq!(Unit::Milliseconds.when(i64::MIN), When::In(i64::MAX));
        assert_eq!(Unit::Nanoseconds.when(i64::MIN), When::In(i64::MAX));
        assert_eq!(Unit::Milliseconds.span(i64::MAX), i64::MAX as u64);
    }

    #[test]
    fn a_negative_span_is_zero_and_times_are_rounded_down() {
        assert_eq!(Unit::Milliseconds.span(-1), 0);
        assert_eq!(Unit::Milliseconds.span(2), 2_000_000);
        assert_eq!(Unit::Milliseconds.written(BoardTime(1_999_999)), 1);
        assert_eq!(Unit::Milliseconds.written(BoardTime(-1)), -1);
        assert_eq!(Unit::Nanoseconds.written(BoardTime(1_999_999)), 1_999_999);
    }

    #[test]
    fn a_unit_is_read_as_it_is_written() {
        for unit in [Unit::Milliseconds, Unit::Nanoseconds] {
            assert_eq!(unit.to_string().parse(), Ok(unit));
        }
        assert!("s".parse::<Unit>().unwrap_err().contains("ms or ns"));
    }
}
