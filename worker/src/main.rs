//! The stock worker: runs the tasks of `jobbers_worker::stock`.

use std::process::ExitCode;

use jobbers_worker::{Worker, stock};

/// Requests and tasks allocate on every thread; with the system's allocator they would wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    Worker::from_env().tasks(stock::ALL).run().await
}
