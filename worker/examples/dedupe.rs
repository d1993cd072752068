//! Concurrent dedupe in batches, as lakeFS describes it: a task per object takes its checksum and submits a record of it; the
//! records are taken many at a time, and each batch is entered into the index at once.
//!
//! `cargo run -p jobbers-worker --example dedupe -- FOLDER` prints which files of a folder are the same, on an embedded store
//! in memory.

#![cfg_attr(not(test), expect(clippy::print_stdout, reason = "what the example is for"))]

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    io,
    path::Path,
    sync::Arc,
};

use jobbers_common::{
    engine::{ClaimRequest, Cycle, Engine, Outcome, QueueClaim, Settlement},
    name::{QueueName, WorkerId},
};
use jobbers_worker::{Config, Shutdown, prelude::*};
use sha2::{Digest, Sha256};

/// Records that are entered at once, at most.
pub(crate) const BATCH: usize = 100;
/// For how long a batch is leased. If its writer dies, another one takes the records then.
const LEASE: Duration = Duration::from_secs(30);
/// The queue of the records: workers do not serve it.
const RECORDS: &str = "dedupe-records";

/// Objects by their checksums.
pub(crate) type Index = BTreeMap<String, BTreeSet<PathBuf>>;

/// The checksum of an object.
#[derive(Serialize, Deserialize)]
struct Record {
    checksum: String,
    object: PathBuf,
}

/// Takes the checksum of an object and submits the record of it. An attempt that is repeated submits the same record under
/// the same id, which changes nothing.
#[task(max_retries = 5, retry_delay = "100ms")]
async fn dedupe(ctx: Context, object: PathBuf) -> Result<(), TaskError> {
    let digest = Sha256::digest(tokio::fs::read(&object).await?);
    let checksum = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    ctx.spawn("record", write_record.with(Record { checksum, object }).queue(RECORDS)).await?;
    Ok(())
}

/// The record of an object, on its way into the index: [`write_records`] takes these tasks, and no worker runs one.
#[task(unlisted)]
async fn write_record(record: Record) -> Result<(), TaskError> {
    Err(TaskError::fatal(format!("the record of {} is taken in a batch", record.object.display())))
}

/// Enters all records that wait into the index, a batch at a time. Returns how many batches these were. A program that is
/// connected to a manager does the same with a `LeaseClient`.
async fn write_records(engine: &dyn Engine, index: &mut Index) -> Result<usize, Box<dyn Error>> {
    let (worker, queue) = (WorkerId::new("record-writer")?, QueueName::new(RECORDS)?);
    let (mut settlements, mut batches) = (Vec::new(), 0);
    loop {
        let queues = vec![QueueClaim { queue: queue.clone(), limit: BATCH }];
        let claim = ClaimRequest { queues, limit: BATCH, refused: Vec::new(), lease: LEASE };
        // One call completes the batch before and takes the next one.
        let taken = engine.cycle(Cycle { worker: worker.clone(), settlements, claim: Some(claim) }).await?.claimed;
        if taken.is_empty() {
            return Ok(batches);
        }
        let records: Vec<Record> = taken.iter().map(|task| task.parameters.decode()).collect::<Result<_, _>>()?;
        for Record { checksum, object } in records {
            // A set: a record that is entered twice, by a writer that died before it completed the batch, counts once.
            index.entry(checksum).or_default().insert(object);
        }
        batches += 1;
        let done = Outcome::Completed { result: None };
        settlements = taken.into_iter().map(|task| Settlement::new(task.id, task.fence, done.clone())).collect();
    }
}

/// The files of a folder.
fn objects(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    Ok(entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_file()).collect())
}

/// The files of a folder by their checksums, and in how many batches their records were entered.
pub(crate) async fn deduplicate(client: &Client, folder: &Path) -> Result<(Index, usize), Box<dyn Error>> {
    let engine = client.engine().ok_or("a client of a store")?;
    engine.create_queues(&[QueueName::new(RECORDS)?]).await?;
    let shutdown = Shutdown::new();
    let worker = tokio::spawn(Worker::new(Config::default(), Arc::clone(engine)).run_until(shutdown.clone()));
    for objects in objects(folder)?.chunks(1_000) {
        let tasks = client.submit_all(objects.iter().map(|object| dedupe.with(object.clone()))).await?;
        for task in tasks {
            task.result(Duration::from_secs(60)).await?;
        }
    }
    shutdown.drain.cancel();
    worker.await??;
    let mut index = Index::new();
    let batches = write_records(&**engine, &mut index).await?;
    Ok((index, batches))
}

#[cfg(not(test))]
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).ok_or("name a folder")?;
    let client = Client::open("sqlite::memory:").await?;
    let (index, batches) = deduplicate(&client, &folder).await?;
    for same in index.values().filter(|objects| objects.len() > 1) {
        let names: Vec<String> = same.iter().map(|object| object.display().to_string()).collect();
        println!("{}", names.join(" = "));
    }
    println!("{} contents, entered in {batches} batches", index.len());
    Ok(())
}
