//! The HTTP API: its JSON, its errors, and a client for it. Only here is the shape of the JSON known; the rest of the program
//! speaks of tasks and queues.
//!
//! The manager reads requests and writes answers with these types, and clients the other way round, so both have one
//! definition. Parameters and results pass through as raw text: numbers of any size and the order of keys come back as they
//! were sent. Unknown fields of an answer are ignored, so an older client works with a newer manager; unknown fields of a
//! request are refused. Start reading at [`task::request`] and [`task::view`].

#![cfg_attr(
    not(feature = "openapi"),
    allow(unused_imports, reason = "some types are named only by the description of others")
)]

pub mod access;
pub mod board;
#[cfg(feature = "client")]
pub mod client;
pub mod dead_letter;
pub mod lease;
mod openapi;
pub mod overview;
pub mod problem;
pub mod queue;
pub mod schedule;
pub mod store;
pub mod task;
pub mod value;
pub mod wire;
pub mod worker;
pub mod workflow;

/// The paths by which programs name the JSON of tasks.
pub use self::task::{request as task_request, view as task_view};

use crate::problem::{Code, Problem, Result};

/// Refuses what no path can name: clients take `.` and `..` for a place in the path, percent-encoded or not.
fn check_reachable(name: &str, field: &str) -> Result<()> {
    if matches!(name, "." | "..") {
        let detail = format!("{name} can't stand in a URL's path; choose another");
        return Err(Problem::new(Code::InvalidRequest, detail).at(format!("/{field}")));
    }
    Ok(())
}

/// The name of an entry that may stand in the path, in the body, or equal in both.
fn one_name<N: PartialEq + AsRef<str>>(path: Option<N>, body: Option<N>) -> Result<N> {
    match (path, body) {
        (Some(path), Some(body)) if path != body => {
            Err(Problem::new(Code::InvalidRequest, "the name in the body is not the one in the path").at("/name"))
        }
        (Some(name), _) | (None, Some(name)) => {
            check_reachable(name.as_ref(), "name")?;
            Ok(name)
        }
        (None, None) => Err(Problem::new(Code::InvalidRequest, "missing field `name`").at("/name")),
    }
}
