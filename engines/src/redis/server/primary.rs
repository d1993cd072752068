//! Which server takes a store's writes, and when the lanes leave it for another.
//!
//! An address names one server, or Sentinels, or nodes of a Cluster. The last two know where the primary is now: they are
//! asked when a store is opened, and again when a server is left (`connection_probe.rs` and `following.rs` decide when).
//! A primary is verified before it is used. All lanes of a store share one [`Primary`], so they move together.
//!
//! No redirection `ASK` is ever followed: a slot that is being imported holds a part of the keys only, and the scripts
//! take a key that is missing for one that never existed.

pub(crate) mod cluster;
pub(crate) mod greeting;
pub(crate) mod node;
pub(crate) mod sentinels;

use jobbers_common::engine::Result;
use redis::{Client, RedisError};
use tokio::sync::watch;

use self::{cluster::Cluster, node::place_of, sentinels::Sentinels};
use super::failure::{is_passing, is_redirection};

/// Where the primary is asked for.
#[derive(Debug)]
pub(crate) enum Directory {
    /// The address names the server itself, or a name that leads to it.
    Server,
    /// Sentinels that watch it.
    Sentinels(Box<Sentinels>),
    /// Nodes of a Cluster.
    Cluster(Cluster),
}

/// The server in use.
#[derive(Debug, Clone)]
pub(crate) struct Lead {
    pub(crate) client: Client,
    /// How often a server was left before it.
    pub(crate) departures: u64,
}

/// The primary of one store.
#[derive(Debug)]
pub(crate) struct Primary {
    directory: Directory,
    lead: watch::Sender<Lead>,
}

impl Primary {
    /// Finds the primary for the first time. `client` leads to the server, where the address names one.
    ///
    /// # Errors
    /// If it can't be found or reached, or if the address names a server of another kind.
    pub(crate) async fn open(directory: Directory, client: Client) -> Result<Self> {
        let found = match &directory {
            Directory::Server => {
                greeting::expect_single_server(&client).await?;
                client
            }
            Directory::Sentinels(sentinels) => sentinels.find().await?,
            Directory::Cluster(cluster) => cluster.find().await?,
        };
        Ok(Self { directory, lead: watch::Sender::new(Lead { client: found, departures: 0 }) })
    }

    /// Finds the primary again.
    ///
    /// # Errors
    /// If it can't be found or reached.
    pub(crate) async fn find(&self) -> Result<Client> {
        match &self.directory {
            Directory::Server => {
                let client = self.lead.borrow().client.clone();
                node::try_out(&client).await.map(|()| client)
            }
            Directory::Sentinels(sentinels) => sentinels.find().await,
            Directory::Cluster(cluster) => cluster.find().await,
        }
    }

    /// Whether the Sentinels name another server than the one in use. A primary that they have replaced goes on accepting
    /// writes until it is demoted, and these are lost. A node of a Cluster refuses them by itself.
    pub(crate) async fn has_moved(&self) -> bool {
        match &self.directory {
            Directory::Sentinels(sentinels) => match sentinels.named().await {
                Ok(named) => named != place_of(&self.lead.borrow().client),
                Err(_) => false,
            },
            Directory::Server | Directory::Cluster(_) => false,
        }
    }

    /// Whether the store may move to a server at another address.
    pub(crate) fn can_move(&self) -> bool {
        !matches!(self.directory, Directory::Server)
    }

    /// Whether the same call is worth repeating after this error.
    pub(crate) fn is_passing(&self, error: &RedisError) -> bool {
        is_passing(error) || self.can_move() && is_redirection(error)
    }

    /// The server in use.
    pub(crate) fn lead(&self) -> watch::Ref<'_, Lead> {
        self.lead.borrow()
    }

    /// How often a server was left.
    pub(crate) fn departures(&self) -> u64 {
        self.lead.borrow().departures
    }

    /// Leaves the server of the connection that was made after this number of departures for the server of `client`,
    /// unless that was done already. Returns whether it did.
    pub(crate) fn leave_for(&self, connected: u64, client: &Client) -> bool {
        self.lead.send_if_modified(|lead| {
            let is_in_use = lead.departures == connected;
            if is_in_use {
                *lead = Lead { client: client.clone(), departures: connected + 1 };
            }
            is_in_use
        })
    }

    /// Leaves the server of that connection for the one to which the same address leads now.
    pub(crate) fn leave(&self, connected: u64) -> bool {
        let client = self.lead.borrow().client.clone();
        self.leave_for(connected, &client)
    }

    /// Waits until the server of that connection is left.
    pub(crate) async fn left(&self, connected: u64) {
        let mut lead = self.lead.subscribe();
        // The sender is `self`, so this does not fail.
        let _ = lead.wait_for(|lead| lead.departures > connected).await;
    }
}
