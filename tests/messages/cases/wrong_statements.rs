//! What compiles, and does nothing.

#![deny(unused_must_use)]

use jobbers_worker::{canvas::chain, prelude::*};

#[task]
async fn count(file: String) -> Result<u64, TaskError> {
    Ok(file.len() as u64)
}

fn main() {
    count.with("a.txt".to_owned()).priority(9);
    chain![count.with("a.txt".to_owned())];
    chain![count.with("a.txt".to_owned())].workflow();
}
