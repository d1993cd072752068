//! The live configuration as one process knows it: what was read last, and routing by it.
//!
//! The store decides; a cached configuration spares a submission the read. [`ConfigCache::recent`] bounds its age, so that
//! no rule is followed for more than a second after it changed. A process that reads on a schedule of its own, as the
//! manager does, takes [`ConfigCache::snapshot`] instead.

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwapOption;
use jobbers_common::{
    engine::{Engine, Result},
    queue::{
        Config,
        routing::{QueueForbidden, Turns},
    },
    submission::draft::TaskDraft,
    task::NewTask,
};
use tokio::{sync::Mutex, time::Instant};

/// A configuration of this age is used as it is.
const FRESH: Duration = Duration::from_millis(500);
/// A configuration of this age is not used any more. Between the two it is used once more while it is read again.
const TOO_OLD: Duration = Duration::from_secs(1);

/// A cached configuration, and the counters that round robin needs.
#[derive(Debug)]
pub struct ConfigCache {
    engine: Arc<dyn Engine>,
    known: ArcSwapOption<CachedConfig>,
    turns: Turns,
    /// Held while [`ConfigCache::recent`] reads, so that one read serves every caller.
    reading: Arc<Mutex<()>>,
}

#[derive(Debug)]
struct CachedConfig {
    config: Arc<Config>,
    /// When the read began: whatever changed later may be missing.
    as_of: Instant,
}

impl ConfigCache {
    /// An empty cache of this store's configuration.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, known: ArcSwapOption::empty(), turns: Turns::default(), reading: Arc::default() }
    }

    /// The store.
    #[must_use]
    pub const fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// The cached configuration, however old it is.
    #[must_use]
    pub fn snapshot(&self) -> Option<Arc<Config>> {
        self.known.load().as_ref().map(|known| Arc::clone(&known.config))
    }

    /// How old the cached configuration is.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        self.known.load().as_ref().map(|known| known.as_of.elapsed())
    }

    /// The configuration as it was at most a second ago. Reads it only if the cached one is older; from half a second on
    /// it is also read in the background, so that a caller who submits all the time never waits for a read.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn recent(self: &Arc<Self>) -> Result<Arc<Config>> {
        if let Some(config) = self.younger_than(FRESH) {
            return Ok(config);
        }
        if let Some(config) = self.younger_than(TOO_OLD) {
            self.read_in_background();
            return Ok(config);
        }
        let _turn = self.reading.lock().await;
        // Another caller may have read it meanwhile.
        match self.younger_than(FRESH) {
            Some(config) => Ok(config),
            None => self.fresh().await,
        }
    }

    /// Reads the configuration and caches it.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn fresh(&self) -> Result<Arc<Config>> {
        let as_of = Instant::now();
        let config = self.engine.config().await?;
        self.keep(&config, as_of);
        Ok(config)
    }

    /// Caches a configuration that the store has just answered, such as that after a change.
    pub fn adopt(&self, config: &Arc<Config>) {
        self.keep(config, Instant::now());
    }

    /// The task that a draft becomes under this configuration.
    pub fn make_task(&self, config: &Config, draft: TaskDraft) -> NewTask {
        draft.into_task(config, &self.turns, rand::random)
    }

    /// As [`NewTask::route_again`].
    pub fn route_again(&self, config: &Config, task: &mut NewTask) {
        task.route_again(config, &self.turns, rand::random);
    }

    /// As [`NewTask::check_queue`]. Before a task is refused the configuration is read again: the rule may be gone.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn check_queue(&self, config: &Config, task: &NewTask) -> Result<Result<(), QueueForbidden>> {
        match task.check_queue(config) {
            Ok(()) => Ok(Ok(())),
            Err(_) => Ok(task.check_queue(&*self.fresh().await?)),
        }
    }

    fn younger_than(&self, age: Duration) -> Option<Arc<Config>> {
        let known = self.known.load();
        known.as_ref().filter(|known| known.as_of.elapsed() < age).map(|known| Arc::clone(&known.config))
    }

    fn read_in_background(self: &Arc<Self>) {
        if let Ok(turn) = Arc::clone(&self.reading).try_lock_owned() {
            let cache = Arc::clone(self);
            tokio::spawn(async move {
                if let Err(error) = cache.fresh().await {
                    tracing::debug!(%error, "the configuration could not be read");
                }
                drop(turn);
            });
        }
    }

    /// Caches a configuration, unless a later one is cached already.
    fn keep(&self, config: &Arc<Config>, as_of: Instant) {
        let read = Arc::new(CachedConfig { config: Arc::clone(config), as_of });
        let before = self.known.rcu(|known| match known {
            Some(known) if known.as_of > as_of => Some(Arc::clone(known)),
            _ => Some(Arc::clone(&read)),
        });
        if before.is_some_and(|before| before.config.version != config.version) {
            self.turns.retain(|key| config.routes.contains_key(key));
        }
    }
}
