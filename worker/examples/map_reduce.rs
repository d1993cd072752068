//! How often each word is in a text: counted piece by piece, and merged in rounds. How many pieces there are is known only when a
//! task has read the text.
//!
//! `cargo run -p jobbers-worker --example map_reduce -- FILE` prints the ten words that a file has most often, counted on an
//! embedded store in memory.

#![cfg_attr(not(test), expect(clippy::print_stdout, reason = "what the example is for"))]

use std::{collections::BTreeMap, path::Path};

use jobbers_worker::{
    PendingResult, SubmitError,
    canvas::{Chain, Part, ResultsOf, group},
    prelude::*,
};

/// How often words are there.
pub(crate) type Words = BTreeMap<String, u64>;

/// Lines that one task counts.
const LINES: usize = 50;
/// Results that one task merges at most.
const MERGED_AT_ONCE: usize = 8;

/// Some lines of a file.
#[derive(Serialize, Deserialize)]
struct Piece {
    file: PathBuf,
    first: usize,
}

/// Counts the words of a text.
pub(crate) fn count(lines: impl Iterator<Item = impl AsRef<str>>) -> Words {
    let mut words = Words::new();
    for line in lines {
        let line = line.as_ref().to_lowercase();
        for word in line.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
            *words.entry(word.to_owned()).or_default() += 1;
        }
    }
    words
}

/// The map: the words of a piece.
#[task(max_retries = 3, retry_delay = "1s")]
async fn count_piece(piece: Piece) -> Result<Words, TaskError> {
    let text = tokio::fs::read_to_string(&piece.file).await?;
    Ok(count(text.lines().skip(piece.first).take(LINES)))
}

/// The reduction: the words of several pieces.
#[task(max_retries = 3, retry_delay = "1s")]
async fn merge(ctx: Context, pieces: ResultsOf<Words>) -> Result<Words, TaskError> {
    let mut all = Words::new();
    for (word, times) in pieces.read(&ctx).await?.into_iter().flatten() {
        *all.entry(word).or_default() += times;
    }
    Ok(all)
}

/// Reads how long the file is, and spawns a task per piece. Returns the id of the last task.
#[task(max_retries = 3, retry_delay = "1s")]
async fn count_file(ctx: Context, file: PathBuf) -> Result<String, TaskError> {
    let lines = tokio::fs::read_to_string(&file).await?.lines().count();
    let piece = |first| count_piece.with(Piece { file: file.clone(), first }).into_chain();
    let last = ctx.spawn("words", reduce((0..lines.max(1)).step_by(LINES).map(piece).collect())).await?;
    Ok(last.id().to_string())
}

/// Merges results until one is left.
fn reduce(mut parts: Vec<Chain<Words>>) -> Chain<Words> {
    loop {
        let mut merged = Vec::new();
        let mut rest = parts.into_iter().peekable();
        while rest.peek().is_some() {
            merged.push(group(rest.by_ref().take(MERGED_AT_ONCE)).then(&merge));
        }
        match merged.pop() {
            Some(only) if merged.is_empty() => return only,
            last => parts = merged.into_iter().chain(last).collect(),
        }
    }
}

/// Counts the words of a file: the result is the id of the task that has them.
pub(crate) async fn start(client: &Client, file: &Path) -> Result<PendingResult<String>, SubmitError> {
    let started = count_file.delay(client, file.to_owned()).await?;
    Ok(client.task(started.id))
}

#[cfg(not(test))]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args_os().nth(1).map(PathBuf::from).ok_or("name a file")?;
    let client = Client::open("sqlite::memory:").await?;
    let engine = client.engine().ok_or("a client of a store")?;
    let shutdown = jobbers_worker::Shutdown::new();
    let worker = Worker::new(jobbers_worker::Config::default(), std::sync::Arc::clone(engine));
    let worker = tokio::spawn(worker.run_until(shutdown.clone()));
    let last = start(&client, &file).await?.wait(Duration::from_secs(60)).await?;
    let words: Words = client.task(last.parse()?).wait(Duration::from_secs(600)).await?;
    let mut words: Vec<(String, u64)> = words.into_iter().collect();
    words.sort_by_key(|(word, times)| (std::cmp::Reverse(*times), word.clone()));
    words.iter().take(10).for_each(|(word, times)| println!("{times:>6} {word}"));
    shutdown.drain.cancel();
    worker.await??;
    Ok(())
}
