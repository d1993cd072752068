//! A program with a task of its own: state by its type, progress, a checkpoint, retries.
//!
//! `cargo run -p jobbers-worker --example resize_queue` runs it on an embedded store in memory: it submits ten images of
//! which one is broken, works them off and ends.

#![expect(clippy::print_stdout, reason = "what the example is for")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jobbers_worker::{Config, Shutdown, prelude::*};

/// Values that the task shares with the rest of the program; a connection pool would be passed in the same way.
struct Gallery {
    resized: AtomicU32,
}

#[derive(Serialize, Deserialize)]
struct Resize {
    image: u32,
    widths: Vec<u32>,
}

/// Runs at most three times; backs off 10 ms, 20 ms.
#[task(max_retries = 2, retry_delay = "10ms", timeout = "5s", on_shutdown = "requeue", dead_letter = "save")]
async fn resize(ctx: Context, gallery: State<Gallery>, job: Resize) -> Result<u32, TaskError> {
    // An earlier attempt may have done part of the work.
    let done = ctx.last_checkpoint::<usize>()?.unwrap_or(0);
    for (n, width) in job.widths.iter().enumerate().skip(done) {
        if *width == 0 {
            return Err(TaskError::fatal(format!("image {} can't be 0 pixels wide", job.image)));
        }
        if job.image == 3 && n == 1 && ctx.attempt() == 1 {
            // Any error by `?` is retried.
            tokio::fs::metadata("no-such-disk/image-3.png").await?;
        }
        gallery.resized.fetch_add(1, Ordering::Relaxed);
        ctx.checkpoint(&(n + 1)).await?;
        ctx.progress((n + 1) as f64 / job.widths.len() as f64, format!("{width} px")).await?;
    }
    Ok(job.image)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::open("sqlite::memory:").await?;
    let mut submitted = Vec::new();
    for image in 0..10 {
        let last = if image == 7 { 0 } else { 1920 };
        submitted.push(resize.delay(&client, Resize { image, widths: vec![320, 640, last] }).await?.id);
    }

    // A real program would call `Worker::from_env().state(gallery).run().await` and run until it gets a stop signal.
    let shutdown = Shutdown::new();
    let engine = client.engine().ok_or("a client of a store")?;
    let worker = Worker::new(Config::default(), Arc::clone(engine)).state(Gallery { resized: AtomicU32::new(0) });
    let worker = tokio::spawn(worker.run_until(shutdown.clone()));

    for id in &submitted {
        let Some(task) = engine.await_finished(id, Duration::from_secs(30)).await? else { continue };
        let last_error = task.errors.last().map_or("", |error| error.message.as_str());
        println!("{} {:<9} after {} attempts {last_error}", task.id, task.status, task.attempt);
    }
    shutdown.drain.cancel();
    println!("{:?}", worker.await??);
    Ok(())
}
