//! The settings of a bench.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{Engine, Error},
    name::WorkerId,
    time::{Clock, ManualClock, Timestamp},
};
use jobbers_engines::config_cache::ConfigCache;
use tokio::runtime::Handle as Runtime;

use super::{
    bench::TestBench,
    error::TestError,
    faults::{Faults, LEASE},
};
use crate::{
    attempts::{attempt::SharedState, state::States},
    client::{Client, ParentClient},
    execution::{
        executor::Tools,
        hooks::{AllHooks, Hooks},
        layer::{Layer, Layers},
    },
    payload::codec::Codecs,
    tasks::{registry::Registry, task_fn::AnyTask},
    threads::pool::BlockingPool,
};

/// The time at which the clock starts: 2026-01-01.
const BEGINNING: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

/// The settings of a bench: the program's state, layers and unlisted tasks, and what is to go wrong.
#[derive(Debug, Default)]
#[must_use = "`.build()` makes the bench"]
pub struct Builder {
    states: States,
    layers: Layers,
    hooks: AllHooks,
    codecs: Codecs,
    carried: Vec<String>,
    tasks: Vec<&'static dyn AnyTask>,
    faults: Faults,
    has_schedules: bool,
}

impl Builder {
    /// Gives every task a value to find by type, as [`crate::Worker::state`] does.
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.states.insert(value);
        self
    }

    /// Runs a layer around every attempt, as [`crate::Worker::layer`] does.
    pub fn layer(mut self, layer: impl Layer) -> Self {
        self.layers.add(layer);
        self
    }

    /// Calls these hooks, as [`crate::Worker::hooks`] does.
    pub fn hooks(mut self, hooks: impl Hooks) -> Self {
        self.hooks.add(hooks);
        self
    }

    /// Encodes and decodes payloads, as [`crate::Worker::codec`] does, also for [`TestBench::client`].
    pub fn codec(mut self, codecs: impl Into<Codecs>) -> Self {
        self.codecs = codecs.into();
        self
    }

    /// Hands labels on, as [`crate::Worker::carry_labels`] does.
    pub fn carry_labels<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.carried.extend(names.into_iter().map(Into::into));
        self
    }

    /// Adds a task that is `unlisted`.
    pub fn task(mut self, task: &'static dyn AnyTask) -> Self {
        self.tasks.push(task);
        self
    }

    /// Declares the schedules of all tasks (`#[task(cron = "…")]`), as a worker does when it starts.
    /// [`TestBench::advance`] then fires them. Without this, only [`TestBench::fire`] does.
    pub const fn schedules(mut self) -> Self {
        self.has_schedules = true;
        self
    }

    /// Lets `faults` break this bench. A clone of it in the program's state can do so while a task runs.
    pub fn faults(mut self, faults: &Faults) -> Self {
        self.faults = faults.clone();
        self
    }

    /// Builds the bench. Tasks run on the runtime this is called on.
    ///
    /// # Errors
    /// [`TestError::DuplicateTask`], [`TestError::Schedule`] for a declared schedule that makes no sense, and errors of the
    /// store.
    pub async fn build(self) -> Result<TestBench, TestError> {
        let clock = Arc::new(ManualClock::new(BEGINNING));
        let given: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
        let options = jobbers_engines::OpenOptions { clock: Some(given), ..Default::default() };
        let engine = jobbers_engines::open("sqlite::memory:", options).await?;
        let bench = self.on(engine, clock)?;
        if bench.has_schedules {
            for schedule in bench.registry.schedules().map_err(|error| TestError::schedule(&error.name, &error))? {
                bench.declare(&schedule).await?;
            }
        }
        Ok(bench)
    }

    fn on(self, engine: Arc<dyn Engine>, clock: Arc<ManualClock>) -> Result<TestBench, TestError> {
        let client = Client::new(Arc::clone(&engine)).codec(self.codecs);
        let worker = WorkerId::new("test-bench").map_err(|error| Error::Invalid(error.to_string()))?;
        self.faults.bind(&clock, &client);
        Ok(TestBench {
            registry: Registry::collect(&self.tasks)?,
            shared: SharedState::new(
                worker,
                LEASE,
                Duration::from_secs(1),
                self.states,
                Some(ParentClient::new(client.clone(), self.carried)),
            ),
            tools: Arc::new(Tools {
                pool: BlockingPool::new(1, Runtime::current()),
                tracing: None,
                layers: self.layers,
                hooks: self.hooks,
            }),
            config: Arc::new(ConfigCache::new(Arc::clone(&engine))),
            faults: self.faults,
            has_schedules: self.has_schedules,
            engine,
            clock,
            client,
        })
    }
}

impl TestBench {
    /// A bench with the program's listed tasks and no state; [`TestBench::builder`] accepts more.
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub async fn new() -> Result<Self, TestError> {
        Self::builder().build().await
    }

    /// A builder for a bench.
    pub fn builder() -> Builder {
        Builder::default()
    }
}
