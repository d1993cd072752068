//! roles, routing and access keys as this manager knows them: a snapshot, at most half a second old by default.
//!
//! The store decides; a snapshot only spares the common submission a read. A caller that misses an entry in it reads again.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    access::AccessKey,
    engine::{Engine, Error, PutMode, Result},
    name::{KeyId, QueueName, RoleName},
    queue::{Config, QueueConfig, RoleConfig, routing::QueueForbidden},
    submission::draft::TaskDraft,
    task::NewTask,
};
use jobbers_engines::config_cache::ConfigCache;
use tokio::{
    sync::{Mutex, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::background::ticker;

/// The snapshot, and changes that start from it.
#[derive(Debug)]
pub(crate) struct LiveConfig {
    engine: Arc<dyn Engine>,
    cache: ConfigCache,
    /// Sends when access keys have changed.
    key_changes: watch::Sender<()>,
    /// When the store last answered for a key that the snapshot lacked.
    keys_read: Mutex<Option<Instant>>,
}

/// However many keys the snapshot lacks, the store is not asked more often for them.
const READ_KEYS_EVERY: Duration = Duration::from_millis(50);

impl LiveConfig {
    pub(crate) fn new(engine: Arc<dyn Engine>) -> Self {
        let (cache, key_changes) = (ConfigCache::new(Arc::clone(&engine)), watch::Sender::new(()));
        Self { cache, engine, key_changes, keys_read: Mutex::default() }
    }

    /// The snapshot as it is.
    pub(crate) fn snapshot(&self) -> Option<Arc<Config>> {
        self.cache.snapshot()
    }

    /// How long ago the store was last asked with success.
    pub(crate) fn age(&self) -> Option<Duration> {
        self.cache.age()
    }

    /// The snapshot; read from the store if none has been read yet.
    pub(crate) async fn current(&self) -> Result<Arc<Config>> {
        match self.cache.snapshot() {
            Some(config) => Ok(config),
            None => self.fresh().await,
        }
    }

    /// The store's own word, which becomes the snapshot.
    pub(crate) async fn fresh(&self) -> Result<Arc<Config>> {
        let before = self.cache.snapshot();
        let config = self.cache.fresh().await?;
        self.compare_keys(before.as_deref(), &config);
        Ok(config)
    }

    /// The store's own word for a caller whose key the snapshot lacks: it may have been made just now, by another manager or by
    /// the command line. `None` if the store does not answer. What was read for another caller a moment ago, or while this
    /// one waited, serves this one too.
    pub(crate) async fn with_new_keys(&self) -> Option<Arc<Config>> {
        let asked_at = Instant::now();
        let mut answered_at = self.keys_read.lock().await;
        if answered_at.is_some_and(|at| at + READ_KEYS_EVERY > asked_at) {
            return self.snapshot();
        }
        let config = self.fresh().await;
        *answered_at = Some(Instant::now());
        config.ok()
    }

    /// Changes of access keys from now on.
    pub(crate) fn key_changes(&self) -> watch::Receiver<()> {
        self.key_changes.subscribe()
    }

    fn compare_keys(&self, before: Option<&Config>, after: &Config) {
        let is_same = before.is_some_and(|before| before.version == after.version || before.keys == after.keys);
        if !is_same {
            self.key_changes.send_replace(());
        }
    }

    /// Checks that a queue exists, which only the store knows. A submission does not need this: the store checks it.
    pub(crate) async fn check_queue(&self, queue: &QueueName) -> Result<()> {
        self.engine.queue_stats(queue).await.map(drop)
    }

    /// The settings of a queue; `None` if it does not exist.
    pub(crate) async fn find_queue(&self, queue: &QueueName) -> Result<Option<QueueConfig>> {
        match self.check_queue(queue).await {
            Ok(()) => Ok(Some(self.fresh().await?.settings_of(queue).into_owned())),
            Err(Error::UnknownQueue(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes a newer configuration over, such as the answer to a change made here.
    pub(crate) fn adopt(&self, config: &Arc<Config>) {
        let before = self.cache.snapshot();
        self.cache.adopt(config);
        self.compare_keys(before.as_deref(), config);
    }

    /// Changes a queue's settings, safely with concurrent changes.
    pub(crate) async fn alter_queue(&self, name: &QueueName, alter: impl Fn(&mut QueueConfig)) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let stored = self.fresh().await?.settings_of(name).into_owned();
            let mut altered = stored.clone();
            alter(&mut altered);
            match self.engine.put_queue(altered, PutMode::Unchanged(stored)).await {
                Err(Error::Changed(_)) => {}
                done => return done.map(|config| self.adopt(&config)),
            }
        }
        Err(too_busy())
    }

    /// The same for a role.
    pub(crate) async fn alter_role(&self, name: &RoleName, alter: impl Fn(&mut RoleConfig)) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let config = self.fresh().await?;
            let stored = config.roles.get(name).ok_or_else(|| Error::UnknownRole(name.clone()))?;
            let mut altered = stored.clone();
            alter(&mut altered);
            match self.engine.put_role(altered, PutMode::Unchanged(stored.clone())).await {
                Err(Error::Changed(_)) => {}
                done => return done.map(|config| self.adopt(&config)),
            }
        }
        Err(too_busy())
    }

    /// Changes an access key as [`Self::alter_role`] changes a role. `alter` returns the key, and what the caller gets beside it.
    pub(crate) async fn alter_key<T, E: From<Error>>(
        &self,
        id: &KeyId,
        alter: impl Fn(&AccessKey) -> std::result::Result<(AccessKey, T), E>,
    ) -> std::result::Result<(Arc<AccessKey>, T), E> {
        for _ in 0..ATTEMPTS {
            let config = self.fresh().await?;
            let stored = config.keys.get(id).ok_or_else(|| Error::UnknownKey(id.clone()))?;
            let (altered, told) = alter(stored)?;
            match self.engine.put_key(altered, PutMode::Unchanged(AccessKey::clone(stored))).await {
                Err(Error::Changed(_)) => {}
                Err(error) => return Err(error.into()),
                Ok(config) => {
                    self.adopt(&config);
                    let key = config.keys.get(id).ok_or_else(|| Error::UnknownKey(id.clone()))?;
                    return Ok((Arc::clone(key), told));
                }
            }
        }
        Err(too_busy().into())
    }

    /// Reads the configuration again at intervals of `every`, until the manager stops. A store that is down leaves the snapshot
    /// as it is; the chores report it.
    pub(crate) async fn keep_fresh(&self, stop: &CancellationToken, every: Duration) {
        ticker::every(stop, every, || async {
            if let Err(error) = self.fresh().await {
                tracing::debug!(%error, "the configuration could not be read");
            }
        })
        .await;
    }

    /// As [`ConfigCache::make_task`].
    pub(crate) fn make_task(&self, config: &Config, draft: TaskDraft) -> NewTask {
        self.cache.make_task(config, draft)
    }

    /// As [`ConfigCache::check_queue`].
    pub(crate) async fn check_named_queue(
        &self,
        config: &Config,
        task: &NewTask,
    ) -> Result<Result<(), QueueForbidden>> {
        self.cache.check_queue(config, task).await
    }
}

/// How often a change is tried again because another came between.
const ATTEMPTS: usize = 100;

fn too_busy() -> Error {
    Error::unavailable("the configuration is being changed all the time")
}

#[cfg(test)]
mod tests {
    use jobbers_common::engine::Queues;
    use jobbers_law::model::ModelEngine;

    use super::*;

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    #[tokio::test]
    async fn a_queue_made_elsewhere_is_found_before_the_snapshot_is_renewed() {
        let engine = Arc::new(ModelEngine::with_system_clock());
        let live = LiveConfig::new(Arc::clone(&engine) as Arc<dyn Engine>);
        live.current().await.unwrap();
        let paused = QueueConfig { paused: true, ..QueueConfig::new(queue("new")) };
        engine.put_queue(paused.clone(), PutMode::Create).await.unwrap();
        engine.create_queues(&[queue("plain")]).await.unwrap();
        assert_eq!(live.find_queue(&queue("new")).await, Ok(Some(paused)));
        assert_eq!(live.find_queue(&queue("plain")).await, Ok(Some(QueueConfig::new(queue("plain")))));
        assert_eq!(live.find_queue(&queue("none")).await, Ok(None));
        assert_eq!(live.check_queue(&queue("none")).await, Err(Error::UnknownQueue(queue("none"))));
    }
}
