//! Waits until replicas have what a call wrote.
//!
//! `WAIT` stops the connection it is sent on, so it has one of its own. One wait covers all calls that were answered before
//! it was sent, and their callers share it. It follows a small write, because `WAIT` counts from its connection's last write.
//!
//! A wait counts only for calls that were sent after its connection was made. If that connection broke meanwhile, the call
//! may have been answered by a server that is gone, and the wait by another one: the call is sent again.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use redis::{ErrorKind, RedisError, RedisResult, aio::MultiplexedConnection};
use tokio::sync::Mutex;

use super::primary::{
    Primary,
    node::{ASK_WITHIN, CONNECT_WITHIN, connect},
};

/// How long replicas may take.
const REPLICATED_WITHIN: Duration = Duration::from_secs(2);

/// Waits for the replicas of one store's primary.
#[derive(Debug)]
pub(crate) struct Replication {
    replicas: u8,
    primary: Arc<Primary>,
    /// What is written before each wait.
    key: String,
    /// How many calls have asked to wait.
    asked: AtomicU64,
    /// The latest wait. Its lock is held while one is under way.
    latest: Mutex<Wait>,
    link: Mutex<Link>,
}

/// A wait that is over.
#[derive(Debug, Default)]
struct Wait {
    /// The last call that it covers.
    up_to: u64,
    link: u64,
    /// How many replicas had everything.
    replicas: u8,
}

/// The connection for waits.
#[derive(Default)]
struct Link {
    connection: Option<MultiplexedConnection>,
    /// How many were made.
    number: u64,
    /// How often a server had been left when it was made.
    departures: u64,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Replication {
    pub(crate) fn new(replicas: u8, primary: Arc<Primary>, key: String) -> Self {
        let (asked, latest, link) = (AtomicU64::new(0), Mutex::default(), Mutex::default());
        Self { replicas, primary, key, asked, latest, link }
    }

    /// Connects before a call is sent, unless that was done. Returns the number of the connection.
    ///
    /// # Errors
    /// If the server can't be reached.
    pub(crate) async fn prepare(&self) -> RedisResult<u64> {
        let mut link = self.link.lock().await;
        let departures = self.primary.departures();
        if link.connection.is_none() || link.departures != departures {
            let client = self.primary.lead().client.clone();
            link.connection = None;
            let connection = connect(&client, CONNECT_WITHIN, REPLICATED_WITHIN + ASK_WITHIN).await?;
            *link = Link { connection: Some(connection), number: link.number + 1, departures };
        }
        Ok(link.number)
    }

    /// Waits until the replicas have what a call wrote that was sent after [`Replication::prepare`] and has been answered.
    ///
    /// # Errors
    /// If too few replicas have it in time, or if the connection broke.
    pub(crate) async fn confirm(&self, prepared: u64) -> RedisResult<()> {
        let ticket = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let mut latest = self.latest.lock().await;
        if latest.up_to < ticket {
            // All of these were answered already.
            let up_to = self.asked.load(Ordering::SeqCst);
            let (link, replicas) = self.wait().await?;
            *latest = Wait { up_to, link, replicas };
        }
        if latest.link != prepared {
            return Err(broken());
        }
        if latest.replicas >= self.replicas {
            return Ok(());
        }
        Err(too_few(self.replicas, latest.replicas))
    }

    /// Sends a wait. Returns the number of its connection, and how many replicas have everything.
    async fn wait(&self) -> RedisResult<(u64, u8)> {
        let (mut connection, number) = {
            let link = self.link.lock().await;
            (link.connection.clone().ok_or_else(broken)?, link.number)
        };
        let mut pipe = redis::pipe();
        pipe.cmd("SET").arg(&self.key).arg(1).ignore();
        pipe.cmd("WAIT").arg(self.replicas).arg(REPLICATED_WITHIN.as_millis());
        let answer: RedisResult<(u8,)> = pipe.query_async(&mut connection).await;
        match answer {
            Ok((replicas,)) => Ok((number, replicas)),
            Err(error) => {
                let mut link = self.link.lock().await;
                if link.number == number {
                    link.connection = None;
                }
                Err(error)
            }
        }
    }
}

/// The error for a call that is to be sent again.
fn broken() -> RedisError {
    io::Error::new(io::ErrorKind::ConnectionReset, "the connection that waits for replicas broke").into()
}

/// The error for a call that was carried out, and may be lost with the primary.
fn too_few(promised: u8, replicas: u8) -> RedisError {
    let detail = format!(
        "it was carried out on the primary, and {replicas} of the promised {promised} replicas had it within \
         {REPLICATED_WITHIN:?}: a failover may lose it. Send the same again"
    );
    (ErrorKind::Client, "not replicated", detail).into()
}
