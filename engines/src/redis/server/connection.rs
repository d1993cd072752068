//! Lanes to the server: each sends a call until it is answered or its time is up.
//!
//! A connection answers in order, so a big batch delays the calls behind it. Therefore a store has three lanes:
//! submissions and lists, the workers' cycles, and the renewal of leases, which must never wait for the others. The
//! last one also receives the messages of [`super::notifications`].
//!
//! The `redis` crate connects again after a connection breaks. A connection that leads to a replica, or that gets no
//! answers although the server can be reached, does not break: all lanes together leave it for a new one, and send again
//! what was under way. `connection_probe.rs` decides when, and `primary.rs` knows the server to go to.

use std::{
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use jobbers_common::engine::{Error, Result};
use parking_lot::Mutex;
use redis::{
    Client, Cmd, ErrorKind, RedisError, RedisResult, ServerErrorKind, Value,
    aio::{ConnectionManager, ConnectionManagerConfig},
};
use tokio::{
    select,
    time::{Instant, error::Elapsed, sleep, timeout},
};
use tracing::{debug, warn};

use super::{
    connection_health::ConnectionHealth,
    failure::{is_busy, is_demoted, is_redirection, moving, silent, translate},
    notifications::Notifications,
    primary::{
        Primary,
        node::{ANSWER_WITHIN, CONNECT_WITHIN},
    },
    replication::Replication,
};
use crate::redis::kernel::script::Script;

/// How long a call is sent again while the server is away. Restarts and failovers mostly pass within it.
const PATIENCE: Duration = Duration::from_millis(2_500);
/// The same when it has been away for longer than that, so that callers get the error soon. Above the pause between two
/// attempts to connect, so that a server that is back is found.
const LITTLE_PATIENCE: Duration = Duration::from_millis(700);
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(20);
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_millis(400);
/// A call is not sent again with less time for its answer: the error of the try before says more than that none came.
const SHORTEST_TRY: Duration = Duration::from_millis(100);
/// Silence after which a call that its caller gave up starts a test connection; where the store can move, any call. Far
/// above the time of an answer, and below the time a worker waits for the renewal of a lease.
pub(crate) const SUSPICIOUS: Duration = Duration::from_secs(1);
/// How often a connection to a server that can be left for another is tried again before its calls learn why it fails.
const FEW_ATTEMPTS: usize = 1;

/// Makes a command. Its argument is whether an earlier sending may have been carried out.
pub(crate) type Build<'a> = &'a (dyn Fn(bool) -> Cmd + Send + Sync);

/// One connection that is restored by itself, shared by all callers.
pub(crate) struct Lane {
    /// The server it leads to.
    pub(crate) primary: Arc<Primary>,
    config: ConnectionManagerConfig,
    current: Mutex<Current>,
    /// Receives the messages that the server pushes, if this lane listens.
    notifications: Option<Arc<Notifications>>,
    /// The channels to subscribe to, on every connection.
    channels: Mutex<Vec<String>>,
    /// Waits for replicas, if the address promises them.
    replication: Option<Arc<Replication>>,
    /// What the calls have learned about the server.
    pub(crate) health: Arc<Mutex<ConnectionHealth>>,
}

/// The connection in use.
struct Current {
    manager: ConnectionManager,
    /// How often a server had been left when it was made.
    departures: u64,
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
    /// share `primary` leave a server together.
    pub(crate) fn new(
        primary: Arc<Primary>,
        replication: Option<Arc<Replication>>,
        notifications: Option<Arc<Notifications>>,
    ) -> Result<Self> {
        let mut config = ConnectionManagerConfig::new()
            .set_response_timeout(Some(ANSWER_WITHIN))
            .set_connection_timeout(Some(CONNECT_WITHIN))
            .set_min_delay(FIRST_PAUSE)
            .set_max_delay(LONGEST_PAUSE)
            // To a server that stays, it retries for ever: each call gives up by its own limit. It would never stop to
            // try one that was left.
            .set_number_of_retries(if primary.can_move() { FEW_ATTEMPTS } else { usize::MAX });
        if let Some(notifications) = &notifications {
            config = config.set_push_sender(Arc::clone(notifications)).set_automatic_resubscription();
        }
        let lead = primary.lead().clone();
        let current = Mutex::new(Current { manager: manager(&lead.client, &config)?, departures: lead.departures });
        let (channels, health) = (Mutex::default(), Arc::default());
        Ok(Self { primary, config, current, notifications, channels, replication, health })
    }

    /// Subscribes to channels, now and on each later connection.
    pub(crate) async fn subscribe(&self, channels: &[String]) -> Result<()> {
        self.channels.lock().extend_from_slice(channels);
        let (manager, _) = self.connection();
        let subscribed = subscribe(manager, channels).await;
        if subscribed.is_err() {
            self.channels.lock().retain(|channel| !channels.contains(channel));
        }
        subscribed
    }

    /// Leaves channels. A failure does no harm: no caller waits for their messages.
    pub(crate) async fn unsubscribe(&self, channels: &[String]) {
        if channels.is_empty() {
            return;
        }
        self.channels.lock().retain(|channel| !channels.contains(channel));
        let (mut manager, _) = self.connection();
        let left = timeout(ANSWER_WITHIN, manager.unsubscribe(channels)).await;
        if let Ok(Err(error)) = left {
            debug!(%error, "channels were not left");
        }
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
            if self.primary.can_move() {
                self.primary.settled().await;
            }
            let (manager, connected) = self.connection();
            under_way.connected = connected;
            let answer = {
                let sent = pin!(timeout(bound, self.send(manager, script, &command)));
                self.answer(sent, connected).await
            };
            let failure = match answer {
                None => {
                    bound = ANSWER_WITHIN.saturating_sub(start.elapsed()).max(LITTLE_PATIENCE);
                    command = build(true);
                    continue;
                }
                Some(Ok(Ok(value))) => {
                    self.health.lock().note_answer();
                    return Ok(value);
                }
                Some(Ok(Err(error))) if self.primary.is_passing(&error) => self.handle_passing(&error, connected),
                Some(Ok(Err(error))) => return Err(translate(&error)),
                Some(Err(_)) => {
                    self.health.lock().down_since.get_or_insert(start);
                    self.look(connected);
                    return Err(self.health.lock().obstacle.clone().unwrap_or_else(|| silent(bound)));
                }
            };
            self.health.lock().down_since.get_or_insert(start);
            bound = patience.saturating_sub(start.elapsed() + pause);
            if bound < SHORTEST_TRY {
                // Where the store can move, the search for the primary knows more than this call.
                let why = self.health.lock().obstacle.clone().filter(|_| self.primary.can_move());
                return Err(why.unwrap_or(failure));
            }
            select! {
                () = sleep(pause) => {}
                () = self.primary.left(connected) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            command = build(true);
        }
    }

    /// Sends a call, and waits for the replicas that are promised to have what it wrote.
    async fn send(&self, manager: ConnectionManager, script: Option<&Script>, command: &Cmd) -> RedisResult<Value> {
        let Some(replication) = self.replication.as_ref().filter(|_| script.is_some_and(Script::writes)) else {
            return send(manager, script, command).await;
        };
        // In a box, because each call's future would have room for this one.
        Box::pin(async {
            let prepared = replication.prepare().await?;
            let value = send(manager, script, command).await?;
            replication.confirm(prepared).await?;
            Ok(value)
        })
        .await
    }

    /// Waits for the answer to a call; `None` if the connection is left before: the call is worth sending again at once.
    /// Where the store can move, silence makes it look for the primary.
    async fn answer(
        &self,
        mut sent: Pin<&mut impl Future<Output = Result<RedisResult<Value>, Elapsed>>>,
        connected: u64,
    ) -> Option<Result<RedisResult<Value>, Elapsed>> {
        let mut left = pin!(self.primary.left(connected));
        if self.primary.can_move() {
            select! {
                biased;
                answer = &mut sent => return Some(answer),
                () = &mut left => return None,
                () = sleep(SUSPICIOUS) => self.look(connected),
            }
        }
        select! {
            biased;
            answer = sent => Some(answer),
            () = left => None,
        }
    }

    /// Handles an error that may be over soon. Returns the caller's error, for when it is not.
    fn handle_passing(&self, error: &RedisError, connected: u64) -> Error {
        if self.primary.can_move() {
            if !is_busy(error) {
                self.look(connected);
            }
        } else if is_demoted(error) {
            self.primary.leave(connected);
        } else if error.is_timeout() {
            self.look(connected);
        }
        if is_redirection(error) { moving(error) } else { translate(error) }
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
        let mut current = self.current.lock();
        let lead = self.primary.lead();
        if current.departures < lead.departures {
            current.departures = lead.departures;
            match manager(&lead.client, &self.config) {
                Ok(manager) => {
                    self.listen(manager.clone(), lead.departures);
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
        let (channels, notifications, primary) =
            (self.channels.lock().clone(), self.notifications.clone(), Arc::downgrade(&self.primary));
        let Some(notifications) = notifications.filter(|_| !channels.is_empty()) else { return };
        notifications.awaited.set_deaf(true);
        tokio::spawn(async move {
            let is_in_use = || primary.upgrade().is_some_and(|primary| primary.departures() == connected);
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
