//! The arguments of a command that is about one queue.

use jobbers_common::name::QueueName;

use crate::client::ClientArgs;

#[derive(Debug, clap::Args)]
pub(super) struct OneQueue {
    /// The queue
    pub(super) name: QueueName,
    #[command(flatten)]
    pub(super) client: ClientArgs,
}
