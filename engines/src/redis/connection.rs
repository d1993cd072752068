//! Lanes to the server, and sending one call until it is answered or it is time to give up.
//!
//! A connection answers in order, so a big batch delays what was sent behind it. Therefore there are three lanes:
//! submissions and lists, the workers' cycles, and the renewal of leases, which must never wait for the others. The last
//! one also hears the news of [`super::news`].

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jobbers_common::engine::{Error, Result};
use parking_lot::Mutex;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ErrorKind, RedisResult, ServerErrorKind, Value,
    aio::{ConnectionManager, ConnectionManagerConfig},
};
use tokio::time::{Instant, sleep, timeout};
use tracing::warn;

use super::{
    failure::{is_demoted, is_passing, silent, translate},
    news::News,
    script::Script,
};

/// How long an answer may take. Far above what a bounded script takes, below a worker's lease.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long a call is sent again while the server is away. Restarts and failovers mostly pass within it.
const PATIENCE: Duration = Duration::from_millis(2_500);
/// The same when it has been away for longer than that: then whoever calls had better hear of it soon. Above the pause
/// between two attempts to connect, so that a server that is back is found.
const LITTLE_PATIENCE: Duration = Duration::from_millis(700);
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(400);

/// One connection that comes back by itself, shared by all callers.
pub(super) struct Lane {
    client: Client,
    config: ConnectionManagerConfig,
    manager: Mutex<ConnectionManager>,
    /// What is listened to.
    channels: Mutex<Vec<String>>,
    /// How often a server was left, by any lane of the store; and by this one.
    departures: Arc<AtomicU64>,
    followed: AtomicU64,
    /// Since when the server is away, as far as calls have found.
    down_since: Mutex<Option<Instant>>,
    /// Why it can't be connected to, as far as it says so.
    obstacle: Arc<Mutex<Obstacle>>,
}

/// What stands against a connection.
#[derive(Debug, Default)]
struct Obstacle {
    is_looked_for: bool,
    found: Option<Error>,
}

/// Connects once, to learn what stands against it: a lane tries again and again, and does not say why.
pub(super) async fn try_out(client: &Client) -> Result<()> {
    let config =
        AsyncConnectionConfig::new().set_connection_timeout(Some(PATIENCE)).set_response_timeout(Some(ANSWER_WITHIN));
    let connected = client.get_multiplexed_async_connection_with_config(&config).await;
    connected.map(drop).map_err(|error| {
        if error.is_timeout() && matches!(client.get_connection_info().addr(), ConnectionAddr::TcpTls { .. }) {
            return Error::unavailable(format!(
                "no TLS with the Redis server within {PATIENCE:?}: is this its port for TLS?"
            ));
        }
        translate(&error)
    })
}

fn manager(client: &Client, config: &ConnectionManagerConfig) -> Result<ConnectionManager> {
    ConnectionManager::new_lazy_with_config(client.clone(), config.clone()).map_err(|error| translate(&error))
}

impl Lane {
    /// A lane that connects at its first use. `news` takes what the server says unasked. Lanes that share `departures` leave
    /// a server together.
    pub(super) fn new(client: Client, departures: Arc<AtomicU64>, news: Option<Arc<News>>) -> Result<Self> {
        let mut config = ConnectionManagerConfig::new()
            .set_response_timeout(Some(ANSWER_WITHIN))
            .set_connection_timeout(Some(PATIENCE))
            .set_min_delay(FIRST_PAUSE)
            .set_max_delay(LONGEST_PAUSE)
            // It tries for ever; each call gives up by its own bound.
            .set_number_of_retries(usize::MAX);
        if let Some(news) = news {
            config = config.set_push_sender(news).set_automatic_resubscription();
        }
        let manager = manager(&client, &config)?;
        let manager = Mutex::new(manager);
        let followed = AtomicU64::new(departures.load(Ordering::SeqCst));
        let (channels, down_since) = (Mutex::default(), Mutex::new(None));
        Ok(Self { client, config, manager, channels, departures, followed, down_since, obstacle: Arc::default() })
    }

    /// Listens to channels, now and after each reconnection.
    pub(super) async fn subscribe(&self, channels: &[String]) -> Result<()> {
        self.channels.lock().extend_from_slice(channels);
        let mut manager = self.manager();
        match timeout(ANSWER_WITHIN, manager.subscribe(channels)).await {
            Ok(outcome) => outcome.map_err(|error| translate(&error)),
            Err(_) => Err(silent(ANSWER_WITHIN)),
        }
    }

    /// Sends a command that is safe to repeat. `build` makes it, and is told whether an earlier sending may have been
    /// carried out; `script` is what it runs, if it runs one.
    pub(super) async fn call(
        &self,
        script: Option<&Script>,
        build: impl Fn(bool) -> Cmd + Send + Sync,
    ) -> Result<Value> {
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        let patience = self.patience(start);
        let mut bound = patience.unwrap_or(ANSWER_WITHIN);
        let patience = patience.unwrap_or(PATIENCE);
        let mut command = build(false);
        loop {
            self.follow().await;
            let connected = self.followed.load(Ordering::SeqCst);
            let failure: Error = match timeout(bound, self.send(script, &command)).await {
                Ok(Ok(value)) => {
                    if self.down_since.lock().take().is_some() {
                        self.obstacle.lock().found = None;
                    }
                    return Ok(value);
                }
                Ok(Err(error)) if is_passing(&error) => {
                    if is_demoted(&error) {
                        // Unless another call has found it out already.
                        let next = connected + 1;
                        self.departures.compare_exchange(connected, next, Ordering::SeqCst, Ordering::SeqCst).ok();
                    }
                    translate(&error)
                }
                Ok(Err(error)) => return Err(translate(&error)),
                Err(_) => {
                    self.down_since.lock().get_or_insert(start);
                    return Err(self.obstacle().unwrap_or_else(|| silent(bound)));
                }
            };
            self.down_since.lock().get_or_insert(start);
            bound = patience.saturating_sub(start.elapsed() + pause);
            if bound.is_zero() {
                return Err(failure);
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            command = build(true);
        }
    }

    /// Why the server can't be connected to, if that is known; looks for it, since a connection that is made anew again and
    /// again does not say. Only what time alone does not mend.
    fn obstacle(&self) -> Option<Error> {
        let mut obstacle = self.obstacle.lock();
        if !std::mem::replace(&mut obstacle.is_looked_for, true) {
            let (client, found) = (self.client.clone(), Arc::clone(&self.obstacle));
            tokio::spawn(async move {
                let error = try_out(&client).await.err().filter(|error| matches!(error, Error::Config(_)));
                let mut obstacle = found.lock();
                if let Some(error) = error.as_ref().filter(|error| obstacle.found.as_ref() != Some(*error)) {
                    warn!(%error, "no connection to the server");
                }
                *obstacle = Obstacle { is_looked_for: false, found: error };
            });
        }
        obstacle.found.clone()
    }

    /// How long to try while the server is known to be away; `None` while it is not.
    fn patience(&self, now: Instant) -> Option<Duration> {
        let since = (*self.down_since.lock())?;
        Some(if now.duration_since(since) > PATIENCE { LITTLE_PATIENCE } else { PATIENCE })
    }

    fn manager(&self) -> ConnectionManager {
        self.manager.lock().clone()
    }

    /// Leaves the server this is connected to for the one its address leads to now, if some lane has found it to be a
    /// replica. Whoever only listens on this lane calls this, too.
    pub(super) async fn follow(&self) {
        let departures = self.departures.load(Ordering::SeqCst);
        if self.followed.swap(departures, Ordering::SeqCst) == departures {
            return;
        }
        match manager(&self.client, &self.config) {
            Ok(manager) => *self.manager.lock() = manager,
            Err(error) => warn!(%error, "no new connection can be made"),
        }
        let channels = std::mem::take(&mut *self.channels.lock());
        if !channels.is_empty()
            && let Err(error) = self.subscribe(&channels).await
        {
            warn!(%error, "nothing is heard from the server");
        }
    }

    async fn send(&self, script: Option<&Script>, command: &Cmd) -> RedisResult<Value> {
        let mut manager = self.manager();
        let outcome = command.query_async(&mut manager).await;
        match (outcome, script) {
            (Err(error), Some(script)) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                redis::cmd("SCRIPT").arg("LOAD").arg(&script.text).exec_async(&mut manager).await?;
                command.query_async(&mut manager).await
            }
            (outcome, _) => outcome,
        }
    }
}
