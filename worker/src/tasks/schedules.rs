//! The schedules that tasks declare in code, with `#[task(cron = "…")]`.
//!
//! Each is an ordinary schedule called `task:NAME`. A worker that has the task creates it when it starts, and puts back what
//! the declaration owns: when it fires, and what it submits. All else belongs to the store: a pause and other settings
//! that were made over the API stay. A worker deletes no schedule, because another one may still have the task.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{Engine, Error, PutSchedule, Result},
    name::{QueueName, ScheduleName, TaskName},
    policy::PolicyOverrides,
    schedule::{CatchUp, Overlap, Schedule, ScheduleError, Target, Timing, entry::ScheduleEntry},
    submission::template::TaskTemplate,
    task::{Priority, label::Label, metadata::Metadata},
};
use serde_json::value::RawValue;

use crate::tasks::task_fn::{AnyTask, Cron, Submits};

/// How long a worker waits before it tries again to declare schedules.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// A task declares a schedule that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("task {name} declares a schedule that makes no sense: {problem}")]
pub struct InvalidCron {
    /// The task's name.
    pub name: &'static str,
    /// What is wrong.
    pub problem: String,
}

/// The schedule that a task declares, if it does.
///
/// # Errors
/// [`InvalidCron`]. `#[task]` checks all but the length of the name when the program is compiled.
pub(crate) fn schedule_of(task: &'static dyn AnyTask) -> Result<Option<Schedule>, InvalidCron> {
    let Some(cron) = task.cron() else { return Ok(None) };
    let invalid = |problem: String| InvalidCron { name: task.name(), problem };
    let name = TaskName::new(task.name()).map_err(|error| invalid(error.to_string()))?;
    let overrides = PolicyOverrides { expires_in: task.expires_in(), ..PolicyOverrides::default() };
    let parameters = RawValue::from_string("{}".to_owned()).map_err(|error| invalid(error.to_string()))?;
    let Submits { queue, priority, labels, sensitive } = task.submits();
    let default_queue = queue.map(QueueName::new).transpose().map_err(|error| invalid(error.to_string()))?;
    let priority = Priority::new(priority.unwrap_or(Priority::DEFAULT.get()));
    let priority = priority.ok_or_else(|| invalid("its priority is not 0 to 9".to_owned()))?;
    let mut metadata = Metadata { sensitive, ..Metadata::default() };
    for (name, value) in labels {
        let added = Label::new(name, (*value).to_owned()).and_then(|label| metadata.labels.add(label));
        added.map_err(|error| invalid(error.to_string()))?;
    }
    let version = task.version();
    let said =
        TaskTemplate { version, default_queue, priority, metadata, overrides, ..TaskTemplate::new(name, parameters) };
    let schedule = declared(said, cron).map_err(invalid)?;
    schedule.validate().map_err(|error: ScheduleError| invalid(error.to_string()))?;
    Ok(Some(schedule))
}

fn declared(task: TaskTemplate, cron: Cron) -> Result<Schedule, String> {
    Ok(Schedule {
        name: ScheduleName::new(format!("task:{}", task.name)).map_err(|error| error.to_string())?,
        timing: Timing::Cron { expression: cron.expression.to_owned(), time_zone: cron.time_zone.to_owned() },
        target: Target::Task(task),
        overlap: Overlap::default(),
        catch_up: CatchUp::default(),
        jitter: Duration::ZERO,
        paused: false,
    })
}

/// Declares schedules, as soon as the store takes them.
pub(crate) async fn declare(engine: Arc<dyn Engine>, schedules: Vec<Schedule>) {
    for schedule in schedules {
        loop {
            match put(&*engine, &schedule).await {
                Ok(()) => break,
                Err(error) if error.is_transient() => {
                    tracing::debug!(schedule = %schedule.name, %error, "a schedule will be declared later");
                    tokio::time::sleep(AGAIN_AFTER).await;
                }
                Err(error) => {
                    tracing::error!(schedule = %schedule.name, %error, "the store refused a declared schedule");
                    break;
                }
            }
        }
    }
}

/// Creates a schedule, or puts back what its declaration owns.
pub(crate) async fn put(engine: &dyn Engine, declared: &Schedule) -> Result<()> {
    let invalid = |error: ScheduleError| Error::Invalid(error.to_string());
    loop {
        let now = engine.health().await?.now;
        let (entry, put) = match engine.schedule(&declared.name).await? {
            None => (ScheduleEntry::new(declared.clone(), now).map_err(invalid)?, PutSchedule::Create),
            Some(stored) => {
                let Some(schedule) = updated(&stored.entry.schedule, declared) else { return Ok(()) };
                let entry = stored.entry.with(schedule, now).map_err(invalid)?;
                (entry, PutSchedule::Replace(stored.revision))
            }
        };
        match engine.put_schedule(entry, put).await {
            // Another worker declared it, or a slot was fired.
            Err(Error::Exists(_) | Error::Changed(_) | Error::UnknownSchedule(_)) => {}
            Err(error) => return Err(error),
            Ok(_) => {
                tracing::info!(schedule = %declared.name, "declared a schedule");
                return Ok(());
            }
        }
    }
}

/// The stored settings with what the declaration owns. `None` if they have it already, or if a newer version of the task
/// declared them.
fn updated(stored: &Schedule, declared: &Schedule) -> Option<Schedule> {
    let is_same = stored.timing == declared.timing && stored.target == declared.target;
    if is_same || version_of(stored) > version_of(declared) {
        return None;
    }
    Some(Schedule { timing: declared.timing.clone(), target: declared.target.clone(), ..stored.clone() })
}

/// Which version of a task a schedule submits; 0 for a workflow.
fn version_of(schedule: &Schedule) -> u32 {
    match &schedule.target {
        Target::Task(task) => task.version,
        Target::Workflow(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use jobbers_common::engine::{Schedules, StoredSchedule, Upkeep};
    use jobbers_law::model::ModelEngine;

    use super::*;

    const NIGHTLY: Cron = Cron { expression: "0 2 * * *", time_zone: "Europe/Berlin" };
    const HOURLY: Cron = Cron { expression: "0 * * * *", time_zone: "UTC" };

    fn schedule(version: u32, cron: Cron) -> Schedule {
        let parameters = RawValue::from_string("{}".to_owned()).unwrap();
        let template = TaskTemplate::new(TaskName::new("report").unwrap(), parameters);
        declared(TaskTemplate { version, ..template }, cron).unwrap()
    }

    async fn stored(engine: &ModelEngine) -> StoredSchedule {
        engine.schedule(&ScheduleName::new("task:report").unwrap()).await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn a_schedule_is_created_once_and_changed_only_with_its_declaration() {
        let engine = ModelEngine::with_system_clock();
        put(&engine, &schedule(1, NIGHTLY)).await.unwrap();
        let created = stored(&engine).await;
        assert_eq!(created.entry.schedule, schedule(1, NIGHTLY));
        put(&engine, &schedule(1, NIGHTLY)).await.unwrap();
        assert_eq!(stored(&engine).await, created, "not even its revision changed");
        put(&engine, &schedule(1, HOURLY)).await.unwrap();
        let changed = stored(&engine).await.entry;
        assert_eq!(
            (&changed.schedule, changed.state.created_at),
            (&schedule(1, HOURLY), created.entry.state.created_at)
        );
    }

    #[tokio::test]
    async fn the_declaration_owns_when_and_what_and_the_api_all_else() {
        let engine = ModelEngine::with_system_clock();
        put(&engine, &schedule(1, NIGHTLY)).await.unwrap();
        let created = stored(&engine).await;
        let Target::Task(template) = &created.entry.schedule.target else { panic!("a task") };
        let by_hand = Schedule {
            timing: Timing::Every(Duration::from_secs(60)),
            target: Target::Task(TaskTemplate { priority: Priority::new(9).unwrap(), ..template.clone() }),
            overlap: Overlap::Skip,
            jitter: Duration::from_secs(5),
            paused: true,
            ..created.entry.schedule.clone()
        };
        let now = engine.health().await.unwrap().now;
        let entry = created.entry.with(by_hand.clone(), now).unwrap();
        engine.put_schedule(entry, PutSchedule::Replace(created.revision)).await.unwrap();
        put(&engine, &schedule(2, HOURLY)).await.unwrap();
        let Schedule { timing, target, .. } = schedule(2, HOURLY);
        assert_eq!(stored(&engine).await.entry.schedule, Schedule { timing, target, ..by_hand });
    }

    #[tokio::test]
    async fn a_worker_with_an_older_version_of_the_task_changes_nothing() {
        let engine = ModelEngine::with_system_clock();
        put(&engine, &schedule(2, HOURLY)).await.unwrap();
        let newer = stored(&engine).await;
        put(&engine, &schedule(1, NIGHTLY)).await.unwrap();
        assert_eq!(stored(&engine).await, newer);
    }
}
