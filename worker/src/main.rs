//! The stock worker: runs the tasks of `jobbers_worker::stock`.

use std::process::ExitCode;

use jobbers_process::memory;
use jobbers_worker::{Worker, stock};

#[global_allocator]
static ALLOCATOR: memory::Allocator = memory::ALLOCATOR;

#[tokio::main]
async fn main() -> ExitCode {
    memory::keep_what_is_freed();
    Worker::from_env().tasks(stock::ALL).run().await
}
