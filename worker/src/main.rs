//! The stock worker: runs the tasks of `jobbers_worker::stock`.

use std::process::ExitCode;

use jobbers_worker::{Worker, stock};

#[tokio::main]
async fn main() -> ExitCode {
    Worker::from_env().tasks(stock::ALL).run().await
}
