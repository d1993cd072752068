//! Submissions and handles.

use jobbers_worker::{SubmitError, prelude::*};

#[task]
async fn count(file: String) -> Result<u64, TaskError> {
    Ok(file.len() as u64)
}

async fn submit(client: &Client) -> Result<(), SubmitError> {
    count.delay(client, 7).await?;
    let count = count.delay(client, "a.txt".to_owned()).await?;
    Ok(())
}

async fn wait(client: &Client) -> Result<u64, TaskError> {
    let handle = count.delay(client, "a.txt".to_owned()).await?;
    let _length: String = handle.result(Duration::from_secs(1)).await?;
    Ok(handle.result().await?)
}

fn main() {
    let _ = (submit, wait);
}
