//! The words that the `#[task]` macro checks while a program is compiled, and that `jobbers-common` shows as its own.
//!
//! Names, durations, policies, statuses, labels, unique keys and the slots of cron expressions. They are a crate of their own,
//! because a macro and all that it builds on are compiled before the program that uses it: `jobbers-common` need not be.
//! Like that crate it does no I/O.
//!
//! Start reading at [`name`], then [`policy`].

pub mod lifecycle;
pub mod limits;
pub mod name;
pub mod policy;
pub mod schedule;
pub mod task;
pub mod time;
pub mod values;
