//! The other spelling of dependencies, that of lakeFS's document: a task names those that wait for it, and each of these how
//! many it waits for. Both spellings mean the same edges, so a submission is turned into the first one before all else.

use std::collections::{HashMap, HashSet};

use jobbers_common::{
    dependency::{Dependency, DependencyPolicy},
    name::TaskId,
};

use crate::{
    problem::{Code, Problem},
    task::{dependency::DependencyRequest, request::TaskRequest},
};

/// Makes each task of a request wait for those that name it in `to_signal`, however these end, and checks
/// `total_dependencies`. A task that is named twice waits once; one that names its predecessor itself keeps its policy.
///
/// # Errors
/// The place of a task and [`Code::InvalidRequest`], if it has successors and no id, if one of them is not in the request, or
/// if another number of tasks signal it than it says.
pub fn link_successors(tasks: &mut [TaskRequest<'_>]) -> Result<(), (usize, Problem)> {
    if tasks.iter().any(|task| !task.to_signal.is_empty()) {
        link(tasks)?;
    }
    for (place, task) in tasks.iter().enumerate() {
        let count = task.depends_on.len();
        if let Some(total) = task.total_dependencies.filter(|total| *total as usize != count) {
            let detail = format!(
                "is {total}, and {count} tasks signal this one: those in its depends_on, and those of this request \
                 that have it in to_signal"
            );
            return Err((place, invalid("/total_dependencies".to_owned(), &detail)));
        }
    }
    Ok(())
}

fn link(tasks: &mut [TaskRequest<'_>]) -> Result<(), (usize, Problem)> {
    let places: HashMap<TaskId, usize> =
        tasks.iter().enumerate().filter_map(|(place, task)| Some((task.id.clone()?, place))).collect();
    let named = |(place, task): (usize, &TaskRequest<'_>)| {
        let ids: Vec<TaskId> = task.depends_on.iter().map(|DependencyRequest(edge)| edge.on.clone()).collect();
        ids.into_iter().map(move |id| (place, id))
    };
    let mut edges: HashSet<(usize, TaskId)> = tasks.iter().enumerate().flat_map(named).collect();
    for place in 0..tasks.len() {
        let successors = std::mem::take(&mut tasks[place].to_signal);
        if successors.is_empty() {
            continue;
        }
        let Some(id) = tasks[place].id.clone() else {
            return Err((place, invalid("/to_signal".to_owned(), "needs an id of the task that has it")));
        };
        for (nth, successor) in successors.into_iter().enumerate() {
            let Some(&to) = places.get(&successor) else {
                let detail = format!(
                    "{successor} is not in this request: send both together, or name {id} in depends_on of {successor}"
                );
                return Err((place, invalid(format!("/to_signal/{nth}"), &detail)));
            };
            if edges.insert((to, id.clone())) {
                let edge = Dependency { on: id.clone(), policy: DependencyPolicy::RunWithFailures };
                tasks[to].depends_on.push(DependencyRequest(edge));
            }
        }
    }
    Ok(())
}

fn invalid(pointer: String, detail: &str) -> Problem {
    Problem::new(Code::InvalidRequest, detail).at(pointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(tasks: &str) -> Result<Vec<Vec<String>>, (usize, String)> {
        let mut tasks: Vec<TaskRequest<'_>> = serde_json::from_str(tasks).unwrap();
        link_successors(&mut tasks).map_err(|(place, problem)| (place, problem.pointer().unwrap().to_owned()))?;
        let edge = |DependencyRequest(edge): &DependencyRequest| format!("{} {}", edge.on, edge.policy.as_str());
        Ok(tasks.iter().map(|task| task.depends_on.iter().map(edge).collect()).collect())
    }

    #[test]
    fn a_task_that_is_named_waits_for_each_that_names_it_once() {
        let edges = linked(
            r#"[{"id": "a", "name": "t", "to_signal": ["c", "c", "d"]}, {"id": "b", "name": "t", "to_signal": ["c"]},
                {"id": "c", "name": "t", "total_dependencies": 2},
                {"id": "d", "name": "t", "depends_on": ["a", "x"], "total_dependencies": 2}]"#,
        );
        let (a, b) = ("a run_with_failures".to_owned(), "b run_with_failures".to_owned());
        let said = ["a abort_successors", "x abort_successors"].map(str::to_owned).to_vec();
        assert_eq!(edges, Ok(vec![vec![], vec![], vec![a, b], said]));
    }

    #[test]
    fn what_can_not_be_meant_is_refused_at_its_place() {
        for (tasks, refused) in [
            (r#"[{"id": "b", "name": "t"}, {"name": "t", "to_signal": ["b"]}]"#, (1, "/to_signal")),
            (r#"[{"id": "a", "name": "t", "to_signal": ["a", "b"]}]"#, (0, "/to_signal/1")),
            (r#"[{"id": "a", "name": "t", "total_dependencies": 1}]"#, (0, "/total_dependencies")),
            (
                r#"[{"id": "a", "name": "t", "to_signal": ["b"]}, {"id": "b", "name": "t", "total_dependencies": 2}]"#,
                (1, "/total_dependencies"),
            ),
        ] {
            assert_eq!(linked(tasks), Err((refused.0, refused.1.to_owned())), "{tasks}");
        }
    }
}
