//! Schedules that tasks declare.

use std::time::Duration;

use jobbers_common::{
    engine::{Schedules, StoredSchedule},
    name::ScheduleName,
    policy::TaskPolicy,
    schedule::{Target, Timing},
};
use jobbers_process::shutdown::Shutdown;
use jobbers_worker::{AnyTask, Cron, Start, Worker, WorkerError, prelude::*};

use crate::bench::Bench;

#[task(
    name = "weekly",
    version = 2,
    cron = "30 3 * * MON",
    time_zone = "America/New_York",
    expires_in = "1h",
    unlisted
)]
async fn weekly() -> Result<(), TaskError> {
    Ok(())
}

#[task(name = "weekly", cron = "0 1 * * *", unlisted)]
async fn weekly_before() -> Result<(), TaskError> {
    Ok(())
}

/// A task that is not made by `#[task]`, which checks more.
#[derive(Debug)]
struct Misfit;

static POLICY: TaskPolicy = TaskPolicy::DEFAULT;

impl AnyTask for Misfit {
    fn name(&self) -> &'static str {
        "misfit"
    }

    fn version(&self) -> u32 {
        1
    }

    fn policy(&self) -> &TaskPolicy {
        &POLICY
    }

    fn cron(&self) -> Option<Cron> {
        Some(Cron { expression: "0 2 * * *", time_zone: "Europe/Atlantis" })
    }

    fn start(&self, _: Context) -> Start {
        Start::Async(Box::pin(std::future::ready(Ok(None))))
    }
}

#[tokio::test]
async fn a_worker_declares_the_schedule_of_the_newest_version_when_it_starts() {
    let bench = Bench::new();
    let worker = Worker::new(bench.config.clone(), bench.engine.clone()).task(&weekly_before).task(&weekly);
    let shutdown = Shutdown::new();
    let running = tokio::spawn(worker.run_until(shutdown.clone()));
    let name = ScheduleName::new("task:weekly").unwrap();
    let StoredSchedule { entry, .. } = loop {
        match bench.engine.schedule(&name).await.unwrap() {
            Some(stored) => break stored,
            None if running.is_finished() => panic!("{:?}", running.await),
            None => tokio::task::yield_now().await,
        }
    };
    let Timing::Cron { expression, time_zone } = &entry.schedule.timing else { panic!("{entry:?}") };
    assert_eq!((expression.as_str(), time_zone.as_str()), ("30 3 * * MON", "America/New_York"));
    let Target::Task(task) = &entry.schedule.target else { panic!("{entry:?}") };
    assert_eq!((task.name.as_str(), task.version, task.parameters.as_str()), ("weekly", 2, "{}"));
    assert_eq!(task.overrides.expires_in, Some(Duration::from_secs(3_600)));
    assert!(entry.next_at.is_some() && !entry.schedule.paused);
    shutdown.drain.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_worker_does_not_start_with_a_schedule_that_makes_no_sense() {
    let bench = Bench::new();
    let worker = Worker::new(bench.config.clone(), bench.engine.clone()).task(&Misfit);
    let error = worker.run_until(Shutdown::new()).await.unwrap_err();
    assert!(matches!(error, WorkerError::InvalidCron(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("misfit") && text.contains("time_zone \"Europe/Atlantis\" does not exist"), "{text}");
}
