//! The tasks a worker can run, by name and version.

use std::collections::{BTreeMap, HashMap};

use jobbers_common::{
    name::TaskName,
    schedule::Schedule,
    worker::{
        registry::{Catalogue, TaskSpec},
        task_kind::TaskKind,
    },
};

use crate::{
    attempts::state::{MissingState, States},
    payload::encoding::{Decode, Encode},
    tasks::{
        schedules::{InvalidCron, schedule_of},
        task_fn::{AnyTask, TaskFn},
    },
};

/// A task that workers find by themselves, and the version of the package that defines it. Submitted by `#[task]`.
#[derive(Debug)]
pub struct Listed(pub &'static dyn AnyTask, pub Option<&'static str>);

inventory::collect!(Listed);

/// A task of any types. The macro names them, so that the compiler points at the one that can't be read or written.
#[must_use]
pub const fn any_task<P: Decode + 'static, R: Encode + 'static>(task: &'static TaskFn<P, R>) -> &'static dyn AnyTask {
    task
}

/// Two tasks have the same name and version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "two tasks are called {name}@{version}{}: give one another name, or raise its version",
    if places.is_empty() { String::new() } else { format!(" ({})", places.join(" and ")) }
)]
pub struct DuplicateTask {
    /// The name.
    pub name: &'static str,
    /// The version.
    pub version: u32,
    /// The places in the source that declare them, where they are known.
    pub places: Vec<&'static str>,
}

/// The tasks a worker can run.
#[derive(Debug, Default)]
pub(crate) struct Registry(HashMap<&'static str, Vec<&'static dyn AnyTask>>);

impl Registry {
    /// Every listed task of the program, and those added explicitly. Adding one twice is harmless.
    pub(crate) fn collect(by_hand: &[&'static dyn AnyTask]) -> Result<Self, DuplicateTask> {
        let mut registry = Self::default();
        let listed = inventory::iter::<Listed>.into_iter().map(|listed| listed.0);
        for task in listed.chain(by_hand.iter().copied()) {
            let versions = registry.0.entry(task.name()).or_default();
            match versions.iter().find(|other| other.version() == task.version()) {
                None => versions.push(task),
                Some(same) if std::ptr::addr_eq(*same, task) => {}
                Some(other) => {
                    let places = [other.place(), task.place()].into_iter().flatten().collect();
                    return Err(DuplicateTask { name: task.name(), version: task.version(), places });
                }
            }
        }
        Ok(registry)
    }

    /// How many there are, each version counted.
    pub(crate) fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Checks that every state a task needs is there.
    pub(crate) fn check_states(&self, states: &States) -> Result<(), MissingState> {
        let mut types: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
        for task in self.0.values().flatten() {
            for missing in task.needs().iter().filter(|needed| !states.has(needed)) {
                types.entry(missing.type_name()).or_default().push(name_of(*task));
            }
        }
        types.values_mut().for_each(|tasks| tasks.sort());
        if types.is_empty() { Ok(()) } else { Err(MissingState { types: types.into_iter().collect() }) }
    }

    /// The version of the program, if known: that of the packages that define its listed tasks, if all agree.
    pub(crate) fn program_version() -> Option<&'static str> {
        one_of(inventory::iter::<Listed>.into_iter().map(|listed| listed.1))
    }

    /// The task of this name and version.
    pub(crate) fn find(&self, name: &str, version: u32) -> Option<&'static dyn AnyTask> {
        self.0.get(name)?.iter().copied().find(|task| task.version() == version)
    }

    /// Whether any of them is blocking.
    pub(crate) fn has_blocking(&self) -> bool {
        self.0.values().flatten().any(|task| task.is_blocking())
    }

    /// All of them as clients see them, in the order of names and versions.
    pub(crate) fn catalogue(&self) -> Catalogue {
        let mut all: Vec<_> = self.0.values().flatten().collect();
        all.sort_by_key(|task| (task.name(), task.version()));
        let spec = |task: &&&'static dyn AnyTask| {
            Some(TaskSpec {
                name: TaskName::new(task.name()).ok()?,
                version: task.version(),
                parameters: task.schema(),
                description: task.description().to_owned(),
                on_crash: task.policy().into(),
                policy: task.policy().into(),
                sensitive: task.submits().sensitive,
            })
        };
        Catalogue { tasks: all.iter().filter_map(spec).collect() }
    }

    /// The name and version of each.
    pub(crate) fn kinds(&self) -> Vec<TaskKind> {
        let kind = |task: &&'static dyn AnyTask| {
            Some(TaskKind { name: TaskName::new(task.name()).ok()?, version: task.version() })
        };
        self.0.values().flatten().filter_map(kind).collect()
    }

    /// The schedules that tasks declare: of several versions of a task, that of the newest one that declares one.
    pub(crate) fn schedules(&self) -> Result<Vec<Schedule>, InvalidCron> {
        let mut found = Vec::new();
        for versions in self.0.values() {
            let newest = versions.iter().filter(|task| task.cron().is_some()).max_by_key(|task| task.version());
            if let Some(task) = newest {
                found.extend(schedule_of(*task)?);
            }
        }
        Ok(found)
    }

    /// `name@version` of each, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names_of(|_| true)
    }

    /// The same of the blocking ones.
    pub(crate) fn blocking_names(&self) -> Vec<String> {
        self.names_of(|task| task.is_blocking())
    }

    fn names_of(&self, is_meant: impl Fn(&dyn AnyTask) -> bool) -> Vec<String> {
        let meant = self.0.values().flatten().filter(|task| is_meant(**task));
        let mut names: Vec<_> = meant.map(|task| name_of(*task)).collect();
        names.sort();
        names
    }
}

/// `name@version`.
pub(crate) fn name_of(task: &dyn AnyTask) -> String {
    format!("{}@{}", task.name(), task.version())
}

/// The common value of all, if there is one.
fn one_of(mut versions: impl Iterator<Item = Option<&'static str>>) -> Option<&'static str> {
    let first = versions.next()??;
    versions.all(|other| other == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_program_is_that_of_its_packages_if_they_agree() {
        assert_eq!(one_of([Some("1.4.0"), Some("1.4.0")].into_iter()), Some("1.4.0"));
        assert_eq!(one_of([Some("1.4.0"), Some("2.0.0")].into_iter()), None);
        assert_eq!(one_of([Some("1.4.0"), None].into_iter()), None);
        assert_eq!(one_of(std::iter::empty()), None);
    }
}
