//! Lanes to the server: each sends a call until it is answered or its time is up.
//!
//! A connection answers in order, so a big batch delays the calls behind it. Therefore a store has three lanes:
//! submissions and lists, the workers' cycles, and the renewal of leases, which must never wait for the others. The
//! last one also receives the messages of [`super::notifications`].
//!
//! The `redis` crate connects again after a connection breaks. A connection that leads to a replica, or that gets no
//! answers although the server can be reached, does not break: all lanes together leave it for a new one.
//! `connection_probe.rs` decides when.

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
    address::ANSWER_WITHIN,
    connection_health::ConnectionHealth,
    failure::{is_demoted, is_passing, silent, translate},
    notifications::Notifications,
};
use crate::redis::kernel::script::Script;

/// How long a call is sent again while the server is away. Restarts and failovers mostly pass within it.
pub(crate) const PATIENCE: Duration = Duration::from_millis(2_500);
/// The same when it has been away for longer than that, so that callers get the error soon. Above the pause between two
/// attempts to connect, so that a server that is back is found.
const LITTLE_PATIENCE: Duration = Duration::from_millis(700);
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(400);

/// Makes a command. Its argument is whether an earlier sending may have been carried out.
pub(crate) type Build<'a> = &'a (dyn Fn(bool) -> Cmd + Send + Sync);

/// One connection that is restored by itself, shared by all callers.
pub(crate) struct Lane {
    pub(crate) client: Client,
    config: ConnectionManagerConfig,
    current: Mutex<Current>,
    /// Receives the messages that the server pushes, if this lane listens.
    notifications: Option<Arc<Notifications>>,
    /// The channels to subscribe to, on every connection.
    channels: Mutex<Vec<String>>,
    /// How often a server was left, by any lane of the store.
    pub(crate) departures: Arc<AtomicU64>,
    /// What the calls have learned about the server.
    pub(crate) health: Arc<Mutex<ConnectionHealth>>,
}

/// The connection in use.
struct Current {
    manager: ConnectionManager,
    /// How often a server had been left when it was made.
    departures: u64,
}

/// Connects once, to learn why connecting fails: a lane retries without giving a reason.
pub(crate) async fn try_out(client: &Client) -> Result<()> {
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

/// Leaves the server of the connection that was made after this number of departures, unless that was done already.
pub(crate) fn leave(departures: &AtomicU64, connected: u64) -> bool {
    departures.compare_exchange(connected, connected + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

fn manager(client: &Client, config: &ConnectionManagerConfig) -> Result<ConnectionManager> {
    ConnectionManager::new_lazy_with_config(client.clone(), config.clone()).map_err(|error| translate(&error))
}

async fn subscribe(mut manager: ConnectionManager, channels: &[String]) -> Result<()> {
    match timeout(ANSWER_WITHIN, manager.subscribe(channels)).await {
        Ok(outcome) => outcome.map_err(|error| translate(&error)),
        Err(_) => Err(silent(ANSWER_WITHIN)),
    }
}

impl Lane {
    /// A lane that connects at its first use. `notifications` receives the messages that the server pushes. Lanes that
    /// share `departures` leave a server together.
    pub(crate) fn new(
        client: Client,
        departures: Arc<AtomicU64>,
        notifications: Option<Arc<Notifications>>,
    ) -> Result<Self> {
        let mut config = ConnectionManagerConfig::new()
            .set_response_timeout(Some(ANSWER_WITHIN))
            .set_connection_timeout(Some(PATIENCE))
            .set_min_delay(FIRST_PAUSE)
            .set_max_delay(LONGEST_PAUSE)
            // It retries for ever; each call gives up by its own limit.
            .set_number_of_retries(usize::MAX);
        if let Some(notifications) = &notifications {
            config = config.set_push_sender(Arc::clone(notifications)).set_automatic_resubscription();
        }
        let manager = manager(&client, &config)?;
        let current = Mutex::new(Current { manager, departures: departures.load(Ordering::SeqCst) });
        let (channels, health) = (Mutex::default(), Arc::default());
        Ok(Self { client, config, current, notifications, channels, departures, health })
    }

    /// Subscribes to channels, now and on each later connection.
    pub(crate) async fn subscribe(&self, channels: &[String]) -> Result<()> {
        self.channels.lock().extend_from_slice(channels);
        let (manager, _) = self.connection();
        subscribe(manager, channels).await
    }

    /// Sends a command that is safe to repeat: for the store, running it twice is the same as once. The result may be
    /// that of the second run, which for a command without an id only covers what the first one left. `script` is the
    /// script it runs, if it runs one.
    pub(crate) async fn call(&self, script: Option<&Script>, build: Build<'_>) -> Result<Value> {
        let mut under_way = UnderWay { lane: self, start: Instant::now(), connected: 0, is_over: false };
        let outcome = self.send_until_answered(&mut under_way, script, build).await;
        under_way.is_over = true;
        outcome
    }

    async fn send_until_answered(
        &self,
        under_way: &mut UnderWay<'_>,
        script: Option<&Script>,
        build: Build<'_>,
    ) -> Result<Value> {
        let start = under_way.start;
        let mut pause = FIRST_PAUSE;
        let patience = self.patience(start);
        let mut bound = patience.unwrap_or(ANSWER_WITHIN);
        let patience = patience.unwrap_or(PATIENCE);
        let mut command = build(false);
        loop {
            let (manager, connected) = self.connection();
            under_way.connected = connected;
            let failure: Error = match timeout(bound, send(manager, script, &command)).await {
                Ok(Ok(value)) => {
                    self.health.lock().note_answer();
                    return Ok(value);
                }
                Ok(Err(error)) if is_passing(&error) => {
                    if is_demoted(&error) {
                        leave(&self.departures, connected);
                    } else if error.is_timeout() {
                        self.look(connected);
                    }
                    translate(&error)
                }
                Ok(Err(error)) => return Err(translate(&error)),
                Err(_) => {
                    self.health.lock().down_since.get_or_insert(start);
                    self.look(connected);
                    return Err(self.health.lock().obstacle.clone().unwrap_or_else(|| silent(bound)));
                }
            };
            self.health.lock().down_since.get_or_insert(start);
            bound = patience.saturating_sub(start.elapsed() + pause);
            if bound.is_zero() {
                return Err(failure);
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            command = build(true);
        }
    }

    /// How long to try while the server is known to be away; `None` while it is not.
    fn patience(&self, now: Instant) -> Option<Duration> {
        let since = self.health.lock().down_since?;
        Some(if now.duration_since(since) > PATIENCE { LITTLE_PATIENCE } else { PATIENCE })
    }

    /// Leaves the present server for the one its address leads to now, if some lane has left it. For code that only
    /// listens on this lane; calls do so by themselves.
    pub(crate) fn follow(&self) {
        self.connection();
    }

    /// The connection to use, and how often a server had been left when it was made.
    pub(crate) fn connection(&self) -> (ConnectionManager, u64) {
        let departures = self.departures.load(Ordering::SeqCst);
        let mut current = self.current.lock();
        if current.departures < departures {
            current.departures = departures;
            match manager(&self.client, &self.config) {
                Ok(manager) => {
                    self.listen(manager.clone(), departures);
                    current.manager = manager;
                }
                Err(error) => warn!(%error, "no new connection can be made"),
            }
        }
        (current.manager.clone(), current.departures)
    }

    /// Subscribes a new connection to the channels, however long that takes, or until that connection is left as well.
    /// Callers that waited meanwhile may have missed a message.
    fn listen(&self, manager: ConnectionManager, connected: u64) {
        let (channels, notifications, departures) =
            (self.channels.lock().clone(), self.notifications.clone(), Arc::downgrade(&self.departures));
        let Some(notifications) = notifications.filter(|_| !channels.is_empty()) else { return };
        notifications.awaited.set_deaf(true);
        tokio::spawn(async move {
            let is_in_use = || departures.upgrade().is_some_and(|it| it.load(Ordering::SeqCst) == connected);
            let mut pause = FIRST_PAUSE;
            while is_in_use() {
                match subscribe(manager.clone(), &channels).await {
                    // Its first message makes all callers look for what they missed.
                    Ok(()) => return,
                    Err(error) => warn!(%error, "no message from the server yet"),
                }
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        });
    }
}

/// A call under way. One that its caller gives up may be the only sign that its connection is dead.
struct UnderWay<'a> {
    lane: &'a Lane,
    start: Instant,
    /// The connection it uses.
    connected: u64,
    is_over: bool,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.lane.note_given_up(self.start, self.connected);
        }
    }
}

async fn send(mut manager: ConnectionManager, script: Option<&Script>, command: &Cmd) -> RedisResult<Value> {
    let outcome = command.query_async(&mut manager).await;
    match (outcome, script) {
        (Err(error), Some(script)) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
            redis::cmd("SCRIPT").arg("LOAD").arg(&script.text).exec_async(&mut manager).await?;
            command.query_async(&mut manager).await
        }
        (outcome, _) => outcome,
    }
}
