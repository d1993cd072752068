//! The branch export of lakeFS: each object of a branch is copied, and each prefix gets a `_SUCCESS` object once everything
//! below it is there.
//!
//! `cargo run -p jobbers-worker --example branch_export -- FROM TO` exports a folder, on an embedded store in memory.

#![cfg_attr(not(test), expect(clippy::print_stdout, reason = "what the example is for"))]

use std::{io, path::Path};

use jobbers_worker::{
    PendingResult, SubmitError,
    canvas::{Chain, Part, ResultsOf, group},
    prelude::*,
};

/// A copy of an object, or of all objects below a prefix.
#[derive(Serialize, Deserialize)]
struct Transfer {
    from: PathBuf,
    to: PathBuf,
}

/// The end of a prefix: how many objects each of its parts has.
#[derive(Serialize, Deserialize)]
struct Success {
    prefix: PathBuf,
    objects: ResultsOf<u64>,
}

/// Copies an object. What is half copied has another name, so a copy that is cut short and repeated harms nothing.
#[task(max_retries = 5, retry_delay = "100ms")]
async fn copy_object(copy: Transfer) -> Result<u64, TaskError> {
    let partial = copy.to.with_extension("partial");
    tokio::fs::copy(&copy.from, &partial).await?;
    tokio::fs::rename(&partial, &copy.to).await?;
    Ok(1)
}

/// Runs when all objects below its prefix are there.
#[task(max_retries = 5, retry_delay = "100ms")]
async fn mark_success(ctx: Context, success: Success) -> Result<u64, TaskError> {
    let objects = success.objects.read(&ctx).await?.into_iter().sum();
    tokio::fs::write(success.prefix.join("_SUCCESS"), format!("{objects} objects\n")).await?;
    Ok(objects)
}

/// Lists a branch, and spawns the tasks of its export. Returns the id of the one that ends it.
#[task]
async fn start_export(ctx: Context, branch: Transfer) -> Result<String, TaskError> {
    let export = ctx.spawn("export", export_prefix(&branch.from, &branch.to)?).await?;
    Ok(export.id().to_string())
}

/// The tasks of a prefix: those of its objects and of the prefixes below it, and then its `_SUCCESS`.
fn export_prefix(from: &Path, to: &Path) -> io::Result<Chain<u64>> {
    std::fs::create_dir_all(to)?;
    let mut entries = std::fs::read_dir(from)?.collect::<io::Result<Vec<_>>>()?;
    // The same order at each attempt: the ids of the tasks depend on it.
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let mut parts = Vec::new();
    for entry in entries {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let is_prefix = entry.file_type()?.is_dir();
        parts.push(if is_prefix {
            export_prefix(&from, &to)?
        } else {
            copy_object.with(Transfer { from, to }).into_chain()
        });
    }
    let prefix = to.to_owned();
    Ok(group(parts).then_with(|objects| mark_success.with(Success { prefix, objects })))
}

/// Exports a folder: the result of the export is the id of the task that ends it.
pub(crate) async fn export(client: &Client, from: &Path, to: &Path) -> Result<PendingResult<String>, SubmitError> {
    let branch = Transfer { from: from.to_owned(), to: to.to_owned() };
    let started = start_export.with(branch).submit(client).await?;
    Ok(client.task(started.id))
}

#[cfg(not(test))]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut folders = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(from), Some(to)) = (folders.next(), folders.next()) else {
        return Err("name two folders: FROM TO".into());
    };
    let client = Client::open("sqlite::memory:").await?;
    let engine = client.engine().ok_or("a client of a store")?;
    let shutdown = jobbers_worker::Shutdown::new();
    let worker = Worker::new(jobbers_worker::Config::default(), std::sync::Arc::clone(engine));
    let worker = tokio::spawn(worker.run_until(shutdown.clone()));
    let last = export(&client, &from, &to).await?.wait(Duration::from_secs(60)).await?;
    let objects: u64 = client.task(last.parse()?).wait(Duration::from_secs(3_600)).await?;
    println!("{objects} objects are in {}", to.display());
    shutdown.drain.cancel();
    worker.await??;
    Ok(())
}
