//! The commands, a file each: their flags, what they ask, and how they show the answer.

pub mod audit;
#[cfg(feature = "bench")]
pub mod bench;
#[cfg(not(feature = "bench"))]
#[path = "commands/without_bench.rs"]
pub mod bench;
pub mod boards;
pub mod demo;
pub mod pages;
pub mod ready;
pub mod registry;
pub mod settings;
pub mod shell;
pub mod stores;
pub mod tasks;
#[cfg(feature = "top")]
pub mod top;
#[cfg(not(feature = "top"))]
#[path = "commands/without_top.rs"]
pub mod top;
pub mod up;
pub mod workers;
