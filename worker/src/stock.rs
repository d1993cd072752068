//! Tasks that are useful before you write a line of Rust.
//!
//! They are `unlisted`: a program that builds on this library does not read files or fail at a client's wish unless it
//! calls `Worker::tasks(stock::ALL)`. Tasks that read files read only below [`crate::Config::stock_root`].

use crate::tasks::task_fn::AnyTask;

mod digest;
mod echo;
mod fail;
mod root;
mod sleep;
mod wordcount;

pub use self::{
    digest::{Digest, Digested, digest},
    echo::echo,
    fail::{Fail, FailKind, Failed, fail},
    root::StockRoot,
    sleep::{Sleep, Slept, sleep},
    wordcount::{Counted, WordCount, wordcount},
};

/// All of them.
pub const ALL: [&'static dyn AnyTask; 5] = [&wordcount, &digest, &sleep, &echo, &fail];
