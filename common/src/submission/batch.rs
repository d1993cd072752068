//! The dependencies among the tasks of one submission: their bounds, and that no task waits for itself.

use std::collections::{HashMap, HashSet};

use crate::{
    dependency::{Dependency, signal},
    limits::{DEPENDENCIES_A_STEP, MAX_BATCH_DEPENDENCIES, MAX_DEPENDENCIES},
    name::TaskId,
    task::{NewTask, Start},
};

/// The tasks of a submission whose dependencies are linked in pieces, after the step that stores it: those that come when it has
/// linked as many as it may. Until then the others of a task count, so it waits.
pub fn linked_later(tasks: &[NewTask]) -> impl Iterator<Item = bool> + '_ {
    let mut linked = 0;
    tasks.iter().map(move |task| {
        let is_later = !task.depends_on.is_empty() && linked + task.depends_on.len() > DEPENDENCIES_A_STEP;
        linked += if is_later { 0 } else { task.depends_on.len() };
        is_later
    })
}

/// Checks the dependencies of a batch: their bounds, and that no task waits for itself, be it through others.
///
/// # Errors
/// What is wrong, with the ids of the tasks.
pub fn validate(tasks: &[NewTask]) -> Result<(), String> {
    let total: usize = tasks.iter().map(|task| task.depends_on.len()).sum();
    if !tasks.iter().any(NewTask::is_linked) {
        return Ok(());
    }
    tasks.iter().try_for_each(validate_one)?;
    if total > MAX_BATCH_DEPENDENCIES {
        return Err(format!(
            "a batch has at most {MAX_BATCH_DEPENDENCIES} dependencies, not {total}; send smaller ones"
        ));
    }
    if let Some(task) = tasks.iter().find(|task| task.unique.is_some()) {
        return Err(format!("task {} has a unique key: a batch has unique keys or dependencies, not both", task.id));
    }
    match find_cycle(tasks) {
        Some(cycle) => {
            let path: Vec<&str> = cycle.into_iter().map(TaskId::as_str).collect();
            Err(format!("these tasks would wait for each other: {}", path.join(" -> ")))
        }
        None => Ok(()),
    }
}

fn validate_one(task: &NewTask) -> Result<(), String> {
    let count = task.depends_on.len();
    if count > MAX_DEPENDENCIES {
        return Err(format!("task {} depends on {count} tasks; the most are {MAX_DEPENDENCIES}", task.id));
    }
    if task.is_spontaneous && task.start != Start::Now {
        return Err(format!(
            "task {} is spontaneous: it ends with its predecessors, and has no time of its own",
            task.id
        ));
    }
    let mut seen = HashSet::with_capacity(count);
    for Dependency { on, .. } in &task.depends_on {
        if *on == task.id {
            return Err(format!("task {on} depends on itself"));
        }
        if !seen.insert(on) {
            return Err(format!("task {} names its dependency on {on} twice", task.id));
        }
    }
    signal::validate(&task.signals).map_err(|rule| format!("task {}: {rule}", task.id))
}

/// A cycle among the tasks of a batch, each before the one that depends on it. The work grows with the edges.
fn find_cycle(tasks: &[NewTask]) -> Option<Vec<&TaskId>> {
    let places: HashMap<&TaskId, usize> = tasks.iter().enumerate().map(|(place, task)| (&task.id, place)).collect();
    let within = |place: usize| tasks[place].depends_on.iter().filter_map(|edge| places.get(&edge.on).copied());
    let mut left: Vec<usize> = (0..tasks.len()).map(|place| within(place).count()).collect();
    let mut successors = vec![Vec::new(); tasks.len()];
    for place in 0..tasks.len() {
        within(place).for_each(|predecessor| successors[predecessor].push(place));
    }
    let mut free: Vec<usize> = (0..tasks.len()).filter(|place| left[*place] == 0).collect();
    while let Some(place) = free.pop() {
        for successor in &successors[place] {
            left[*successor] -= 1;
            if left[*successor] == 0 {
                free.push(*successor);
            }
        }
    }
    // Each of those that are left waits for another one of them: walking back from any comes to a cycle.
    let mut path = vec![(0..tasks.len()).find(|place| left[*place] > 0)?];
    loop {
        let next = within(*path.last()?).find(|place| left[*place] > 0)?;
        if let Some(start) = path.iter().position(|place| *place == next) {
            let mut cycle: Vec<&TaskId> = path[start..].iter().rev().map(|place| &tasks[*place].id).collect();
            cycle.push(cycle.first()?);
            return Some(cycle);
        }
        path.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dependency::DependencyPolicy,
        name::{QueueName, TaskName},
        payload::Payload,
    };

    fn task(id: &str, on: &[&str]) -> NewTask {
        let name = TaskName::new("echo").unwrap();
        let new = NewTask::new(TaskId::new(id).unwrap(), name, QueueName::new("default").unwrap(), Payload::json("1"));
        let edge = |id: &&str| Dependency { on: TaskId::new(*id).unwrap(), policy: DependencyPolicy::default() };
        NewTask { depends_on: on.iter().map(edge).collect(), ..new }
    }

    #[test]
    fn a_cycle_is_found_and_named() {
        for (tasks, expected) in [
            (vec![task("a", &["a"])], "task a depends on itself"),
            (vec![task("a", &["b", "b"])], "task a names its dependency on b twice"),
            (vec![task("a", &["b"]), task("b", &["a"])], "wait for each other: b -> a -> b"),
            (
                vec![task("x", &[]), task("a", &["x", "c"]), task("b", &["a"]), task("c", &["b"]), task("y", &["c"])],
                "wait for each other: b -> c -> a -> b",
            ),
        ] {
            let problem = validate(&tasks).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }

    #[test]
    fn a_graph_without_a_cycle_is_taken_in_any_order() {
        let diamond = [task("d", &["b", "c"]), task("b", &["a"]), task("a", &["stored"]), task("c", &["a"])];
        assert_eq!(validate(&diamond), Ok(()));
        assert_eq!(validate(&[]), Ok(()));
    }

    #[test]
    fn a_step_links_no_more_than_it_may() {
        let names: Vec<String> = (0..=DEPENDENCIES_A_STEP).map(|n| format!("p{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let tasks = [300, 0, 250, 200, 1, 501].map(|edges| task(&format!("t{edges}"), &names[..edges]));
        assert_eq!(linked_later(&tasks).collect::<Vec<_>>(), [false, false, true, false, true, true]);
    }

    #[test]
    fn bounds_are_held() {
        let names: Vec<String> = (0..=MAX_DEPENDENCIES).map(|n| format!("p{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(validate(&[task("a", &names[1..])]), Ok(()));
        assert!(validate(&[task("a", &names)]).unwrap_err().contains("depends on 10001 tasks"));
        let many: Vec<NewTask> = (0..6).map(|n| task(&format!("t{n}"), &names[..2_000])).collect();
        assert_eq!(validate(&many[..5]), Ok(()));
        assert!(validate(&many).unwrap_err().contains("at most 10000"));
        let unique = crate::task::unique::Unique::new(crate::task::unique::UniqueKey::new("k").unwrap());
        let both = NewTask { unique: Some(Box::new(unique)), ..task("a", &["b"]) };
        assert!(validate(&[both]).unwrap_err().contains("not both"));
        let barrier = NewTask { is_spontaneous: true, ..task("a", &["b"]) };
        assert_eq!(validate(std::slice::from_ref(&barrier)), Ok(()));
        let late = NewTask { start: Start::After(std::time::Duration::from_secs(1)), ..barrier };
        assert!(validate(&[late]).unwrap_err().contains("has no time of its own"));
    }
}
