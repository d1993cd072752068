//! The library for people who write tasks, and the worker that runs them.
//!
//! ```no_run
//! use jobbers_worker::prelude::*;
//!
//! #[derive(Serialize, Deserialize)]
//! struct Greeting {
//!     name: String,
//! }
//!
//! /// Runs at most four times; backs off 10 s, 20 s, 40 s.
//! #[task(name = "greet", max_retries = 3, retry_delay = "10s", timeout = "1m")]
//! async fn greet(ctx: Context, greeting: Greeting) -> Result<String, TaskError> {
//!     ctx.heartbeat().await?;
//!     Ok(format!("hello, {}", greeting.name))
//! }
//!
//! #[tokio::main]
//! async fn main() -> ExitCode {
//!     Worker::from_env().run().await // finds every #[task] in the program
//! }
//! ```
//!
//! What holds for every task: it runs at least once, and is settled exactly once; a panic is a failed attempt; a worker
//! that vanishes costs no retry. Read on at [`macro@task`], [`Context`], [`TaskError`]; how it works inside begins in
//! `fetcher.rs` and `executor.rs`. It does not retry, schedule or order anything by itself: the store decides, by the
//! policy a settlement carries.

// So that `#[task]` can name `::jobbers_worker` inside this crate too.
extern crate self as jobbers_worker;

mod attempts;
pub mod canvas;
pub mod client;
pub mod config;
mod control;
mod declaration;
mod execution;
mod fetcher;
mod liveness;
pub mod outbox;
mod payload;
mod report;
pub mod stock;
mod tasks;
pub mod testing;
mod threads;
mod worker;

/// The types in signatures of this library, so that a program needs no other crate of Jobbers.
pub use jobbers_common::{
    engine::{Cancelled, Engine, Error, SubmittedHow, TaskDeletion},
    name::{LabelName, NameError, QueueName, RoleName, TaskId, TaskName, WorkerId},
    payload::Payload,
    queue::routing::QueueForbidden,
    task::{
        Fence, Priority, Progress, Task,
        failure::{AttemptError, AttemptFailure, FailureKind},
        label::{Label, Labels},
        metadata::Metadata,
    },
    time::Timestamp,
    workflow::RunState,
};
/// ```standalone_crate
/// use jobbers_worker::{prelude::*, testing::TestBench};
///
/// #[derive(Serialize, Deserialize)]
/// struct Resize { path: PathBuf, width: u32 }
///
/// /// Runs at most six times, at most two minutes each.
/// #[task(max_retries = 5, retry_delay = "10s", timeout = "2m", fatal_on = [std::num::TryFromIntError])]
/// async fn resize(ctx: Context, job: Resize) -> Result<u16, TaskError> {
///     println!("attempt {} of {}", ctx.attempt(), job.path.display());
///     Ok(u16::try_from(job.width)?)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bench = TestBench::new().await?;
/// resize.delay(bench.client(), Resize { path: "a.png".into(), width: 70_000 }).await?;
/// assert_eq!(bench.drain().await?.failed, 1, "it fits in no u16, however often it is tried");
/// # Ok(())
/// # }
/// ```
pub use jobbers_macros::task;
pub use jobbers_process::{config::ConfigError, shutdown::Shutdown, telemetry::TelemetryError};
pub use schemars;
pub use tokio_util::sync::CancellationToken;

pub use futures_util::{Stream, TryStreamExt};

pub use self::{
    attempts::state::{MissingState, NeededState},
    canvas::remote::RemoteTask,
    client::{Client, Flow, Handle, PendingResult, ResultError, RunHandle, Submission, SubmitError},
    config::Config,
    execution::{
        hooks::Hooks,
        layer::{Layer, layer_fn},
    },
    payload::{
        codec::{Codec, CodecError, CodecProblem, Codecs, ContentKind},
        encoding::{Decode, Encode, NoParameters, Raw},
    },
    report::{Report, WorkerError},
    tasks::{
        context::Context,
        error::{CarriedError, Reason, TaskError},
        extractor::State,
        parents::ParentEnd,
        registry::DuplicateTask,
        schedules::InvalidCron,
        task_fn::{Answer, AnyTask, BackoffFn, Cron, Start, Submits, TaskCall, TaskFn, TaskFuture},
    },
    worker::Worker,
};

/// What a file of tasks needs.
pub mod prelude {
    pub use std::{path::PathBuf, process::ExitCode, time::Duration};

    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};

    pub use crate::{Client, Context, NoParameters, Raw, State, TaskError, TaskFn, Worker, task};
}

/// The types of a task's policy.
pub mod policy {
    pub use jobbers_common::{
        dependency::{DependencyPolicy, signal::OnTimeout},
        engine::dependencies::NewDependency,
        lifecycle::Status,
        policy::{
            DeadLetter, Exhausted, OnShutdown, OnStall, PolicyError, PolicyOverrides, TaskPolicy, backoff::Backoff,
            error_kind::ErrorKind,
        },
        task::unique::OnDuplicate,
    };
}

/// The types of queues and roles, to make them by a client's [`Engine`], as a program's setup and its tests do.
///
/// ```
/// use jobbers_worker::{prelude::*, queues::{PutMode, QueueConfig}};
///
/// /// A queue in which one task of each key runs at a time.
/// async fn make_mail_queue(client: &Client) -> Result<(), Box<dyn std::error::Error>> {
///     if let Some(engine) = client.engine() {
///         let mail = QueueConfig { max_concurrent_per_key: Some(1), ..QueueConfig::new("mail".parse()?) };
///         engine.put_queue(mail, PutMode::Upsert).await?;
///     }
///     Ok(())
/// }
/// ```
pub mod queues {
    pub use jobbers_common::{
        engine::PutMode,
        queue::{QueueConfig, QueueOrder, Retention, RoleConfig, gate::GateLimits, rate::RateLimit},
    };
}

/// The worker's log lines as layers for a program's own `tracing` subscriber. Each line that is written while a task function
/// runs ends with the task's id and name, its attempt and its trace; as JSON, it has them as the member `task`. `json_layer` is
/// there with the feature `cli`.
///
/// ```no_run
/// use jobbers_worker::{logging, prelude::*};
/// use tracing_subscriber::{layer::SubscriberExt, util::SubscriberInitExt};
///
/// #[tokio::main]
/// async fn main() -> ExitCode {
///     // Beside the program's own layers and its filter.
///     tracing_subscriber::registry().with(logging::text_layer(std::io::stderr)).init();
///     Worker::from_env().run().await
/// }
/// ```
pub mod logging {
    #[cfg(feature = "cli")]
    pub use jobbers_process::logging::json_layer;
    pub use jobbers_process::logging::text_layer;
}

/// What `#[task]` expands to. Not for direct use.
#[doc(hidden)]
pub mod macro_support {
    pub use inventory::submit;

    pub use crate::{
        declaration::{
            defaults::{ConcurrencyKeyOf, Defaults, concurrency_key_of},
            schema::{AnySchema, DerivedSchema, SchemaOf},
            uniqueness::{KeyOf, Uniqueness, key_of_fields, value_of},
        },
        tasks::{
            error::{
                AnswerError,
                listed::{InCarrier, InPlainError, ListedError, ListedErrors, Probe, holds},
            },
            extractor::OfAttempt,
            registry::{Listed, any_task},
        },
    };
}

/// The examples of the guides are compiled with the documentation's tests.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../README.md")]
    mod readme_of_the_crate {}
    #[doc = include_str!("../../README.md")]
    mod readme {}
    #[doc = include_str!("../../docs/guides/coming-from-celery.md")]
    mod coming_from_celery {}
    #[doc = include_str!("../../docs/guides/coming-from-sidekiq.md")]
    mod coming_from_sidekiq {}
    #[doc = include_str!("../../docs/guides/dead-letters.md")]
    mod dead_letters {}
    #[doc = include_str!("../../docs/guides/dependencies.md")]
    mod dependencies {}
    #[doc = include_str!("../../docs/guides/encryption.md")]
    mod encryption {}
    #[doc = include_str!("../../docs/guides/faq.md")]
    mod faq {}
    #[doc = include_str!("../../docs/guides/first-worker.md")]
    mod first_worker {}
    #[doc = include_str!("../../docs/guides/long-tasks.md")]
    mod long_tasks {}
    #[doc = include_str!("../../docs/guides/retries-and-backoff.md")]
    mod retries_and_backoff {}
    #[doc = include_str!("../../docs/guides/testing.md")]
    mod testing {}
    #[doc = include_str!("../../docs/guides/transactions.md")]
    mod transactions {}
    #[doc = include_str!("../../docs/guides/unique-tasks.md")]
    mod unique_tasks {}
    #[doc = include_str!("../../docs/guides/writing-tasks.md")]
    mod writing_tasks {}
    #[doc = include_str!("../../docs/guides/workflows.md")]
    mod workflows {}
}
