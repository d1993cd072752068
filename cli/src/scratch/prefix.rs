//! Clears the keys of a temporary store on Redis away.

use jobbers_common::engine::{Error, Result};
use redis::{Client, RedisResult};

/// Keys looked at in one step.
const SCAN_COUNT: usize = 1_000;

/// Deletes all keys with this prefix.
pub(super) async fn clear(server: &str, prefix: &str) -> Result<()> {
    let client = jobbers_engines::redis::primary(server).await?;
    delete_all(&client, prefix).await.map_err(|error| Error::unavailable(error.to_string()))
}

async fn delete_all(client: &Client, prefix: &str) -> RedisResult<()> {
    let mut connection = client.get_multiplexed_async_connection().await?;
    let mut cursor = 0_u64;
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(format!("{prefix}:*")).arg("COUNT").arg(SCAN_COUNT);
        let (next, keys): (u64, Vec<Vec<u8>>) = scan.query_async(&mut connection).await?;
        if !keys.is_empty() {
            redis::cmd("UNLINK").arg(keys).exec_async(&mut connection).await?;
        }
        cursor = next;
        if cursor == 0 {
            return Ok(());
        }
    }
}
