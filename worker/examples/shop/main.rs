//! The background work of a shop: cards, mails, pictures, stock, an import, webhooks, and a report each night.
//!
//! `cargo run -p jobbers-worker --example shop -- demo` runs a day of it on an embedded store in memory and prints what was done.
//! `ENGINE_URL=redis://127.0.0.1:6379/0` in front of it takes a Redis, `ENGINE_URL=sqlite://shop.db` a file.
//!
//! | arguments | |
//! |---|---|
//! | `demo` | a day with a worker in the same process |
//! | `submit 1000` | submits a day with so many orders, for workers in other processes |
//! | none, or flags of a worker | a worker, as it runs in production |
//!
//! `SHOP` is the folder in place of the services of others. A guide walks through the files: `docs/guides/shop.md`. Start at
//! `orders.rs`; what the services are replaced by is in `services.rs`.

#![expect(clippy::print_stdout, reason = "what the example is for")]

mod card;
mod day;
mod images;
mod import;
mod inventory;
mod mail;
mod orders;
mod report;
mod services;
mod setup;
#[cfg(test)]
mod tests;
mod webhooks;

use jobbers_worker::{Config, Shutdown, prelude::*};

/// How long a call of a service takes.
const LATENCY: Duration = Duration::from_millis(10);

fn services() -> Result<services::Services, std::io::Error> {
    let folder = std::env::var_os("SHOP").map_or_else(|| PathBuf::from("shop"), PathBuf::from);
    services::Services::at(folder, LATENCY)
}

async fn open_store() -> Result<Client, Box<dyn std::error::Error>> {
    let client = Client::open(&std::env::var("ENGINE_URL").unwrap_or_else(|_| "sqlite::memory:".to_owned())).await?;
    if let Some(engine) = client.engine() {
        setup::set_up(&**engine).await?;
    }
    Ok(client)
}

/// A day, and what was done in it.
async fn demo() -> Result<(), Box<dyn std::error::Error>> {
    let (client, services) = (open_store().await?, services()?);
    let engine = client.engine().ok_or("ENGINE_URL names a manager: a worker needs a store")?;
    let shutdown = Shutdown::new();
    let worker = Worker::new(Config::default(), std::sync::Arc::clone(engine)).state(services.clone());
    let worker = tokio::spawn(worker.run_until(shutdown.clone()));
    let day = day::submit(&client, &services, 20).await?;
    println!("{}", day.end(&client).await?);
    for (effect, times) in services.effects()? {
        println!("{times:>4} {effect}");
    }
    shutdown.drain.cancel();
    worker.await??;
    Ok(())
}

async fn submit(orders: &str) -> Result<(), Box<dyn std::error::Error>> {
    let day = day::submit(&open_store().await?, &services()?, orders.parse()?).await?;
    println!("submitted {} orders", day.orders.len());
    Ok(())
}

/// Ends with the error, if there is one.
fn report<E: std::fmt::Display>(end: Result<(), E>) -> ExitCode {
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["demo"] => report(demo().await),
        ["submit", orders] => report(submit(orders).await),
        _ => match services() {
            Ok(services) => Worker::from_env().state(services).run().await,
            Err(error) => report(Err(error)),
        },
    }
}
