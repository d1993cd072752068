//! Tasks of a workflow that do not fit together.

use jobbers_worker::{
    canvas::{ResultOf, ResultsOf, chain, group, join},
    prelude::*,
};

#[task]
async fn count(file: String) -> Result<u64, TaskError> {
    Ok(file.len() as u64)
}

#[task]
async fn name(book: u64) -> Result<String, TaskError> {
    Ok(book.to_string())
}

#[task]
async fn print(text: ResultOf<String>) -> Result<(), TaskError> {
    let _ = text;
    Ok(())
}

#[task]
async fn total(counts: ResultsOf<u64>) -> Result<(), TaskError> {
    let _ = counts;
    Ok(())
}

fn main() {
    let file = || "a.txt".to_owned();
    let _ = chain![count.with(file()), &print];
    let _ = chain![count.with(file()), &total];
    let _ = group([count.with(file())]).then(&print);
    let _ = chain![&count, &print];
    let _ = group([&count]);
    let _ = join((count.with(file()),)).then(&total);
    let _ = group([count.with(file()), name.with(7)]);
}
