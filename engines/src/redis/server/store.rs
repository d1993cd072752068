//! One store on one server: its lanes, its keys, its clock.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{Error, Result},
    queue::Config,
    task::tombstone::TombstonePolicy,
    time::Timestamp,
};
use parking_lot::Mutex;
use redis::{Cmd, Value};
use ulid::Ulid;

use super::{
    address::Address, batches::Batches, connection::Lane, cycles::Cycles, durability::Durability,
    heartbeats::Heartbeats, notifications::Notifications, primary::Primary, replication::Replication,
};
use crate::{
    options::{OpenOptions, announce},
    redis::kernel::{
        config_fields,
        keys::{SCHEMA_BEFORE, SCHEMA_VERSION, SIGNS, common_channel, instance_channel, replicated, shard},
        reply::{number, text, tuple},
        script::{self, Script},
    },
};

/// A store on a server.
pub(crate) struct Store {
    /// For submissions, lists and chores, which may be big.
    pub(crate) bulk: Lane,
    /// For the workers' cycles, and for waiting callers.
    pub(crate) work: Lane,
    /// For the renewal of leases, and for notifications.
    pub(crate) leases: Lane,
    pub(crate) notifications: Arc<Notifications>,
    /// What its address promises.
    pub(crate) durability: Durability,
    /// Its address without login.
    pub(crate) address: String,
    /// The prefix of all keys.
    pub(crate) shard: String,
    /// The id of this opening of the store: the channel that wakes its workers.
    pub(crate) instance: String,
    pub(crate) cycles: Cycles,
    pub(crate) batches: Batches,
    pub(crate) heartbeats: Heartbeats,
    /// The latest time of the server's clock, and when it was read.
    heard: Mutex<Option<(Timestamp, Instant)>>,
    /// The configuration as last read.
    pub(crate) config: Mutex<Arc<Config>>,
    options: OpenOptions,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("shard", &self.shard).finish_non_exhaustive()
    }
}

impl Store {
    /// Connects, and creates the store if it is new and that is allowed.
    pub(crate) async fn open(address: Address, options: OpenOptions) -> Result<Self> {
        let shown = address.shown();
        let Address { client, directory, durability, prefix } = address;
        let primary = Arc::new(Primary::open(directory, client).await?);
        let wait_for =
            |replicas| Arc::new(Replication::new(replicas, Arc::clone(&primary), replicated(&shard(&prefix))));
        let replication = durability.replicas.map(wait_for);
        let lane = |notifications| Lane::new(Arc::clone(&primary), replication.clone(), notifications);
        let notifications = Arc::new(Notifications::default());
        let store = Self {
            bulk: lane(None)?,
            work: lane(None)?,
            leases: lane(Some(Arc::clone(&notifications)))?,
            durability,
            notifications,
            shard: shard(&prefix),
            address: shown,
            instance: Ulid::generate().to_string(),
            cycles: Cycles::default(),
            batches: Batches::default(),
            heartbeats: Heartbeats::default(),
            heard: Mutex::default(),
            config: Mutex::default(),
            options,
        };
        let is_new = store.set_up(false).await?;
        announce(&store.address, is_new);
        let channels = [common_channel(&store.shard), instance_channel(&store.shard, &store.instance)];
        store.leases.subscribe(&channels).await?;
        Ok(store)
    }

    /// Creates the store again if the server lost it. Returns whether it did.
    pub(crate) async fn prepare(&self) -> Result<bool> {
        self.set_up(true).await
    }

    /// Creates a new store if none exists, and refuses one of another version. Returns whether it is new: if `was_known`,
    /// a server that this process has used has been emptied then.
    async fn set_up(&self, was_known: bool) -> Result<bool> {
        if self.options.must_exist {
            self.check_exists().await?;
        }
        let fields = config_fields::fields(&Config::initial())?;
        let build = |_| {
            let mut command = self.command(&script::OPEN);
            command.arg(SCHEMA_VERSION).arg(u8::from(was_known));
            // Who only looks leaves a store as it is: its programs may still run.
            command.arg(if self.options.must_exist { 0 } else { SCHEMA_BEFORE });
            fields.iter().for_each(|(field, value)| {
                command.arg(field).arg(value);
            });
            command
        };
        let [found, is_new] = tuple(self.work.call(Some(&script::OPEN), &build).await?)?;
        let found = number(found)?;
        let is_readable = self.options.must_exist && found == u64::from(SCHEMA_BEFORE);
        if found < u64::from(SCHEMA_VERSION) && !is_readable {
            return Err(self.too_old(found));
        } else if found > u64::from(SCHEMA_VERSION) {
            return Err(Error::Schema { found: found.to_string(), supported: SCHEMA_VERSION.to_string() });
        }
        Ok(number(is_new)? == 1)
    }

    /// The error for a store of an older program, and what to do about it.
    fn too_old(&self, found: u64) -> Error {
        Error::Config(format!(
            "the store under keys that begin with {} has schema {found}, and this program reads and writes schema \
             {SCHEMA_VERSION}: let the version that wrote it run until no task is left, then delete these keys; or start \
             with another prefix, as in redis://host/0?prefix=jobbers2",
            self.shard
        ))
    }

    /// Refuses a database without any key of a store. A store that lost some of its keys is accepted.
    async fn check_exists(&self) -> Result<()> {
        let build = |_| {
            let mut command = redis::cmd("EXISTS");
            SIGNS.iter().for_each(|sign| {
                command.arg(format!("{}{sign}", self.shard));
            });
            command
        };
        if number(self.work.call(None, &build).await?)? > 0 {
            return Ok(());
        }
        Err(Error::Config(format!(
            "this Redis database holds no Jobbers data under keys that begin with {}; say with --engine-url where the \
             store is",
            self.shard
        )))
    }

    /// A call of a script, up to its first own argument.
    pub(crate) fn command(&self, script: &Script) -> Cmd {
        let mut command = redis::cmd("EVALSHA");
        command.arg(&script.sha).arg(1).arg(&self.shard);
        match &self.options.clock {
            Some(clock) => command.arg(clock.now().as_micros()),
            None => command.arg(""),
        };
        command
    }

    /// How long, and how many, ids of pruned tasks are remembered.
    pub(crate) fn tombstones(&self) -> TombstonePolicy {
        self.options.tombstones
    }

    /// Notes the time of the server's clock.
    pub(crate) fn note_present(&self, now: Timestamp) {
        *self.heard.lock() = Some((now, Instant::now()));
    }

    /// The time of the server's clock after this span; 0 if it was never read, or if a test sets the clock.
    pub(crate) fn present_after(&self, span: Duration) -> Timestamp {
        let heard = self.heard.lock().filter(|_| self.options.clock.is_none());
        heard.map_or(Timestamp::default(), |(then, at)| then.after(at.elapsed()).after(span))
    }

    /// Runs a script that is safe to repeat, with arguments that do not change. If it was sent again after a lost
    /// answer, the result covers what the first run left: a purge counts what the second run deleted, a resubmission
    /// reports `Live` for its own success.
    pub(crate) async fn run(
        &self,
        lane: &Lane,
        script: &Script,
        add: impl Fn(&mut Cmd) + Send + Sync,
    ) -> Result<Value> {
        let build = |_| {
            let mut command = self.command(script);
            add(&mut command);
            command
        };
        lane.call(Some(script), &build).await
    }

    /// This process as an argument of a script that may renew a record without a write; empty if it may not.
    pub(crate) fn beating(&self, record: &str) -> &str {
        if self.heartbeats.may_beat(record) { &self.instance } else { "" }
    }

    /// Renews a record as such a script says: by the channel that it names, or not at all, because it has written it.
    pub(crate) async fn beat(&self, record: String, channel: Value) -> Result<()> {
        match channel {
            Value::Nil => self.heartbeats.stop(&self.leases, &record).await,
            channel => self.heartbeats.renew(&self.leases, record, text(channel)?).await,
        }
        Ok(())
    }
}
