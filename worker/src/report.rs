//! How the run of a worker ended, or why it did not begin.

use std::process::ExitCode;

use jobbers_common::engine::Error;
use jobbers_process::{config::ConfigError, exit, telemetry::TelemetryError};

use crate::{
    attempts::state::MissingState,
    tasks::{registry::DuplicateTask, schedules::InvalidCron},
};

/// What a worker did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Report {
    /// Tasks whose end the store accepted, including those given back.
    pub settled: u64,
    /// Tasks whose lease was lost, so that their results do not count.
    pub lost: u64,
    /// Whether it gave back tasks that still ran: at the drain deadline, or because of a request to stop now.
    pub late: bool,
    /// Attempts and returned tasks whose end the store did not accept before the worker left.
    pub unsettled: u64,
    /// Whether it ended because endless tasks held too many of its threads.
    pub hung: bool,
}

impl Report {
    /// The exit code of a program that ends with its worker.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self { hung: true, .. } => exit::HUNG.into(),
            Self { late: true, .. } | Self { unsettled: 1.., .. } => exit::DRAINED_LATE.into(),
            Self { .. } => exit::OK,
        }
    }
}

/// Why a worker did not work.
///
/// ```no_run
/// use jobbers_worker::{Shutdown, WorkerError, prelude::*};
///
/// /// A worker inside a service, which ends both.
/// async fn work(shutdown: Shutdown) -> ExitCode {
///     match Worker::from_env().run_until(shutdown).await {
///         Ok(report) => report.exit_code(),
///         Err(error @ (WorkerError::MissingState(_) | WorkerError::DuplicateTask(_))) => panic!("a defect: {error}"),
///         Err(error) => {
///             eprintln!("the worker does not work: {error}");
///             ExitCode::FAILURE
///         }
///     }
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Two tasks have the same name and version.
    #[error(transparent)]
    DuplicateTask(#[from] DuplicateTask),
    /// Tasks need state that the worker does not have.
    #[error(transparent)]
    MissingState(#[from] MissingState),
    /// A task declares a schedule that makes no sense.
    #[error(transparent)]
    InvalidCron(#[from] InvalidCron),
    /// The store can't be opened.
    #[error(transparent)]
    Engine(#[from] Error),
    /// Metrics or traces can't be served or exported as configured.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// A thread or a signal handler could not be created.
    #[error("could not start: {0}")]
    Start(#[from] std::io::Error),
    /// A defect in Jobbers.
    #[error("the control thread ended without a word")]
    Vanished,
}

impl WorkerError {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::DuplicateTask(_) | Self::MissingState(_) | Self::InvalidCron(_) => exit::CONFIG,
            Self::Engine(error) => exit::of_store(error),
            Self::Telemetry(error) => error.exit_code(),
            Self::Start(_) | Self::Vanished => exit::INTERNAL,
        }
    }
}
