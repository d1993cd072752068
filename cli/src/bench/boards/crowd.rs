//! Clients that work at the same time, and the rate that they reach together.

use std::time::Instant;

use anyhow::Result;

use crate::bench::figures::per_second;

/// Lets `clients` at once do what `one` does, given each one's share of `tasks`; per second.
pub(super) async fn at_once<F>(clients: usize, tasks: usize, mut one: impl FnMut(usize) -> F) -> Result<f64>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let each = tasks / clients;
    let start = Instant::now();
    let running: Vec<_> = (0..clients).map(|_| tokio::spawn(one(each))).collect();
    for client in running {
        client.await??;
    }
    Ok(per_second(each * clients, start))
}
