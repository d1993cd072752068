//! The HTTP API: its JSON, its errors, and a client for it. Only here is the shape of the JSON known; the rest of the program
//! speaks of tasks and queues.
//!
//! The manager reads requests and writes answers with these types, and clients the other way round, so both have one
//! definition. Parameters and results pass through as raw text: numbers of any size and the order of keys come back as they
//! were sent. Unknown fields of an answer are ignored, so an older client works with a newer manager; unknown fields of a
//! request are refused. Start reading at [`task_request`] and [`task_view`].

#![cfg_attr(
    not(feature = "openapi"),
    allow(unused_imports, reason = "some types are named only by the description of others")
)]

pub mod access_key;
pub mod audit_log;
pub mod board;
pub mod cancel;
#[cfg(feature = "client")]
pub mod client;
pub mod condition;
pub mod cookie;
pub mod dead_letter;
pub mod delete;
pub mod dependency;
pub mod explain;
pub mod history;
pub mod json;
pub mod lease;
mod openapi;
pub mod operation;
pub mod parents;
pub mod path;
pub mod payload;
pub mod problem;
pub mod queue;
pub mod registry;
pub mod resubmit;
pub mod role;
pub mod route;
pub mod schedule;
pub mod session;
pub mod signal;
pub mod statuses;
pub mod store;
pub mod successors;
pub mod task_list;
pub mod task_request;
pub mod task_view;
pub mod value;
pub mod warning;
pub mod worker;
pub mod workflow;

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
