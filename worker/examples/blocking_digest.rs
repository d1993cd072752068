//! Heavy, synchronous work: it runs on as many threads as there are cores, and the worker keeps its leases meanwhile.
//!
//! `cargo run -p jobbers-worker --example blocking_digest -- FILE…` prints the SHA-256 of each file (of this crate's
//! manifest by default) and ends.

#![expect(clippy::print_stdout, reason = "what the example is for")]

use std::sync::Arc;

use jobbers_worker::{Config, Shutdown, prelude::*, stock};

#[derive(Serialize, Deserialize)]
struct Stretch {
    password: String,
    rounds: u32,
}

/// A plain `fn`: nothing can stop it from outside, so it checks for a stop request.
#[task(blocking, timeout = "1m")]
fn stretch(ctx: Context, job: Stretch) -> Result<String, TaskError> {
    use sha2::{Digest, Sha256};

    let mut digest = Sha256::digest(job.password.as_bytes());
    for round in 0..job.rounds {
        if round % 1_000 == 0 {
            ctx.blocking_progress(f64::from(round) / f64::from(job.rounds), "")?;
        }
        digest = Sha256::digest(digest);
    }
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if files.is_empty() {
        files.push(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").into());
    }

    let client = Client::open("sqlite::memory:").await?;
    let shutdown = Shutdown::new();
    // Stock tasks run only in programs that add them.
    let engine = client.engine().ok_or("a client of a store")?;
    let paths: Vec<PathBuf> = files.iter().map(std::path::absolute).collect::<Result<_, _>>()?;
    let config = Config { stock_root: paths.iter().filter_map(|path| path.parent()).collect(), ..Config::default() };
    let worker = Worker::new(config, Arc::clone(engine)).tasks(stock::ALL);
    let worker = tokio::spawn(worker.run_until(shutdown.clone()));

    let job = Stretch { password: "correct horse battery staple".to_owned(), rounds: 100_000 };
    let mut submitted = vec![("stretch".to_owned(), stretch.delay(&client, job).await?.id)];
    for (file, path) in files.iter().zip(paths) {
        let name = file.display().to_string();
        submitted.push((name, stock::digest.delay(&client, stock::Digest { path }).await?.id));
    }
    for (name, id) in submitted {
        let Some(task) = engine.await_finished(&id, Duration::from_secs(60)).await? else { continue };
        let result = task.result.map(|result| String::from_utf8_lossy(&result.bytes).into_owned());
        let error = task.errors.last().map(|error| error.message.clone());
        println!("{name}: {} {}", task.status, result.or(error).unwrap_or_default());
    }
    shutdown.drain.cancel();
    worker.await??;
    Ok(())
}
