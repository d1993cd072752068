//! A worker whose program links no tasks, as one that forgot to mention the crate that they are in.

use jobbers_worker::prelude::*;

#[tokio::main]
async fn main() -> ExitCode {
    Worker::from_env().run().await
}
