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

use std::time::Duration;

use jobbers_common::engine::Result;
use redis::{Client, RedisError};
use tokio::{
    select,
    sync::watch,
    time::{Instant, timeout},
};

use self::{cluster::Cluster, node::place_of, sentinels::Sentinels};
use super::failure::{is_passing, is_redirection};

/// For how long nothing is sent to a primary that Sentinels replace. They take about a second; what takes longer may have failed.
const HELD_WITHIN: Duration = Duration::from_secs(2);

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

/// Whether Sentinels keep the server in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is the primary.
    Stays,
    /// Another server is about to take its place.
    IsReplaced,
    /// Another server has.
    WasReplaced,
}

/// The primary of one store.
#[derive(Debug)]
pub(crate) struct Primary {
    directory: Directory,
    lead: watch::Sender<Lead>,
    /// Since when the server in use is being replaced.
    replaced_since: watch::Sender<Option<Instant>>,
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
        let lead = watch::Sender::new(Lead { client: found, departures: 0 });
        Ok(Self { directory, lead, replaced_since: watch::Sender::new(None) })
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

    /// Whether the Sentinels keep the server in use. A primary that they replace goes on accepting writes until it is demoted, and
    /// these are lost: calls wait from here on ([`Primary::settled`]). A node of a Cluster refuses them by itself.
    pub(crate) async fn standing(&self) -> Standing {
        let Directory::Sentinels(sentinels) = &self.directory else { return Standing::Stays };
        let standing = match sentinels.named().await {
            Ok(named) if named.place != place_of(&self.lead.borrow().client) => Standing::WasReplaced,
            Ok(named) if named.is_replaced => Standing::IsReplaced,
            Ok(_) | Err(_) => Standing::Stays,
        };
        self.replaced_since.send_if_modified(|since| {
            let (before, is_replaced) = (since.is_some(), standing != Standing::Stays);
            if before != is_replaced {
                *since = is_replaced.then(Instant::now);
            }
            before != is_replaced
        });
        standing
    }

    /// Waits while the server in use is being replaced, but not for longer than [`HELD_WITHIN`].
    pub(crate) async fn settled(&self) {
        let Some(since) = *self.replaced_since.borrow() else { return };
        let mut replaced = self.replaced_since.subscribe();
        let is_settled = async {
            select! {
                () = self.left(self.departures()) => {}
                // The sender is `self`, so this does not fail.
                _ = replaced.wait_for(Option::is_none) => {}
            }
        };
        // When that time is over, the server in use is tried as before.
        let _ = timeout(HELD_WITHIN.saturating_sub(since.elapsed()), is_settled).await;
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
