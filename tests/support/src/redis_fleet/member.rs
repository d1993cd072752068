//! What is the same of every server of a fleet.

use std::time::Duration;

use crate::redis_server::RedisServer;

/// After this time without an answer a server counts as gone, in milliseconds.
pub(super) const GONE_AFTER: &str = "1000";
/// How long a fleet may take to stand, or to have another primary.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Whether a replica has a link to its primary.
pub(super) fn follows(replica: &RedisServer) -> bool {
    replica.command("INFO replication").contains("master_link_status:up")
}
