//! What a restricted key reaches: tasks of some queues, and of some names, and some boards.
//!
//! What the path and the query tell is checked here, before a handler; what only the body tells, in the handlers of
//! submissions and leases. A task out of reach is answered as one that does not exist. An operation that is not listed in
//! [`Reach::check_route`] can't be restricted, and is refused.

use std::{collections::HashSet, sync::Arc};

use axum::http::{Method, Uri};
use jobbers_api::problem::{Code, Problem, Result};
use jobbers_boards::taskstore;
use jobbers_common::{
    access::AccessKey,
    engine::Engine,
    name::{QueueName, TaskId, TaskName},
    task::NewTask,
};
use percent_encoding::percent_decode_str;

/// How the routes of one board begin, and those of TaskStore's clients.
const OF_A_BOARD: &str = "/boards/{board}/";
const OF_TASKSTORE: &str = "/taskstore";

/// The reach of a restricted key, in the extensions of its requests.
#[derive(Debug, Clone)]
pub(crate) struct Reach(Arc<AccessKey>);

impl Reach {
    /// That of a key; `None` if it reaches everything.
    pub(crate) fn of(key: &Arc<AccessKey>) -> Option<Self> {
        key.is_restricted().then(|| Self(Arc::clone(key)))
    }

    /// Checks what the address of a request tells.
    ///
    /// # Errors
    /// [`Code::OutOfReach`]; [`Code::UnknownTask`] for a task out of reach.
    pub(crate) async fn check_route(&self, engine: &dyn Engine, method: &Method, uri: &Uri, route: &str) -> Result<()> {
        if route.starts_with(OF_A_BOARD) {
            return self.check_board(parameter(uri, route, "{board}").as_deref().unwrap_or_default());
        }
        if route.starts_with(OF_TASKSTORE) {
            return self.check_board(taskstore::BOARD);
        }
        if !self.0.reaches_some_tasks() {
            return Err(self.refused("and this is about other things"));
        }
        let method = if method == Method::HEAD { "GET" } else { method.as_str() };
        match (method, route) {
            ("GET", "/tasks/{id}" | "/tasks/{id}/events")
            | ("POST", "/tasks/{id}/cancel" | "/tasks/{id}/reschedule" | "/tasks/{id}/signal" | "/tasks/{id}/reveal") => {
                self.check_task(engine, parameter(uri, route, "{id}")).await
            }
            ("GET", "/queues/{queue}" | "/queues/{queue}/history")
            | ("POST", "/queues/{queue}/pause" | "/queues/{queue}/resume") => {
                self.check_queue_of_path(parameter(uri, route, "{queue}"))
            }
            ("GET", "/tasks") => self.check_list(uri),
            ("POST", "/tasks" | "/leases" | "/leases/extend" | "/leases/return") => Ok(()),
            _ => Err(self.refused(&format!("and {method} {route} can't be restricted"))),
        }
    }

    /// Checks a board.
    ///
    /// # Errors
    /// [`Code::OutOfReach`].
    pub(crate) fn check_board(&self, board: &str) -> Result<()> {
        match self.0.reaches_board(board) {
            true => Ok(()),
            false => Err(self.refused(&format!("and board {board} is not among them"))),
        }
    }

    /// Checks the tasks of a submission, after routing, and the tasks that it names.
    ///
    /// # Errors
    /// [`Code::OutOfReach`]; [`Code::TaskExists`] and [`Code::UnknownPredecessor`] for ids of tasks out of reach.
    pub(crate) async fn check_submission(&self, engine: &dyn Engine, tasks: &[NewTask]) -> Result<()> {
        let own: HashSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
        for (index, task) in tasks.iter().enumerate() {
            let at = |problem: Problem| problem.with_place(format_args!("task {index}"));
            self.check(&task.queue, &task.name).map_err(at)?;
            if task.unique.is_some() {
                let why = "and a unique key may be held by a task that it does not reach";
                return Err(at(self.refused(why)));
            }
            if task.id_is_chosen && self.is_foreign(engine, &task.id).await? {
                let detail = format!("the id {} is taken by another submission", task.id);
                return Err(at(Problem::new(Code::TaskExists, detail)));
            }
            for dependency in task.depends_on.iter().filter(|dependency| !own.contains(&dependency.on)) {
                if self.is_foreign(engine, &dependency.on).await? {
                    let detail = format!("task {} depends on task {}, which does not exist", task.id, dependency.on);
                    return Err(at(Problem::new(Code::UnknownPredecessor, detail)));
                }
            }
        }
        Ok(())
    }

    /// Checks a claim: its queues, and the names of the tasks that it asks for.
    ///
    /// # Errors
    /// [`Code::OutOfReach`].
    pub(crate) fn check_claim<'a>(
        &self,
        queues: &[QueueName],
        tasks: Option<impl IntoIterator<Item = &'a TaskName>>,
    ) -> Result<()> {
        if let Some(queue) = queues.iter().find(|queue| !self.0.reaches_queue(queue)) {
            return Err(self.refused(&format!("and queue {queue} is not among them")));
        }
        match tasks {
            Some(tasks) => match tasks.into_iter().find(|name| !self.0.reaches_name(name)) {
                Some(name) => Err(self.refused(&format!("and {name} is not among them"))),
                None => Ok(()),
            },
            None if self.0.tasks.is_empty() => Ok(()),
            None => Err(self.refused("so a claim names its `tasks`")),
        }
    }

    /// Checks the tasks whose leases are extended or returned: their tokens are numbers, which can be guessed.
    ///
    /// # Errors
    /// [`Code::UnknownTask`] for one out of reach; then nothing of the request is done.
    pub(crate) async fn check_leases<'a>(
        &self,
        engine: &dyn Engine,
        ids: impl Iterator<Item = &'a TaskId>,
    ) -> Result<()> {
        for id in ids {
            if self.is_foreign(engine, id).await? {
                return Err(Problem::new(Code::UnknownTask, format!("task {id} does not exist")));
            }
        }
        Ok(())
    }

    fn check(&self, queue: &QueueName, name: &TaskName) -> Result<()> {
        match self.0.reaches(queue, name) {
            true => Ok(()),
            false => Err(self.refused(&format!("and a task {name} of queue {queue} is not among them"))),
        }
    }

    async fn check_task(&self, engine: &dyn Engine, id: Option<String>) -> Result<()> {
        // What is no id is the handler's to refuse.
        let Some(Ok(id)) = id.map(TaskId::new) else { return Ok(()) };
        match engine.get(&id).await? {
            Some(task) if self.0.reaches(&task.queue, &task.name) => Ok(()),
            _ => Err(Problem::new(Code::UnknownTask, format!("task {id} does not exist"))),
        }
    }

    async fn is_foreign(&self, engine: &dyn Engine, id: &TaskId) -> Result<bool> {
        Ok(engine.get(id).await?.is_some_and(|task| !self.0.reaches(&task.queue, &task.name)))
    }

    fn check_queue_of_path(&self, queue: Option<String>) -> Result<()> {
        let Some(Ok(queue)) = queue.map(QueueName::new) else { return Ok(()) };
        if !self.0.tasks.is_empty() {
            return Err(self.refused("and a queue has tasks of all names"));
        }
        self.check_claim(&[queue], None::<[&TaskName; 0]>)
    }

    /// A list of tasks names the queue and the name that it is restricted to.
    fn check_list(&self, uri: &Uri) -> Result<()> {
        let pairs: Vec<(String, String)> = serde_html_form::from_str(uri.query().unwrap_or_default())
            .map_err(|error| Problem::new(Code::InvalidParameter, format!("the query: {error}")))?;
        // A name that is there twice is refused here, whichever of the two the list would take.
        let named = |key: &str| {
            let mut values = pairs.iter().filter(|(name, _)| name == key).map(|(_, value)| value.as_str());
            values.next().filter(|_| values.next().is_none())
        };
        let is_within = |patterns: &[_], value: Option<&str>| {
            patterns.is_empty() || value.is_some_and(|value| AccessKey::is_among(patterns, value))
        };
        if !is_within(&self.0.queues, named("queue")) {
            return Err(self.refused("so a list names one of its queues with `queue`"));
        }
        if !is_within(&self.0.tasks, named("name")) {
            return Err(self.refused("so a list names one of its tasks with `name`"));
        }
        Ok(())
    }

    fn refused(&self, why: &str) -> Problem {
        let AccessKey { id, name, queues, tasks, boards, .. } = &*self.0;
        let list = |what: &str, patterns: &[jobbers_common::access::Pattern]| {
            let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            (!patterns.is_empty()).then(|| format!("{what} {}", patterns.join(", ")))
        };
        let to = [list("queues", queues), list("tasks", tasks), list("boards", boards)];
        let to: Vec<String> = to.into_iter().flatten().collect();
        let detail = format!("key {id} ({name}) is restricted to {}, {why}", to.join(" and "));
        Problem::new(Code::OutOfReach, detail)
    }
}

/// The value of a path's parameter.
fn parameter(uri: &Uri, route: &str, name: &str) -> Option<String> {
    let (_, value) = route.split('/').zip(uri.path().split('/')).find(|(part, _)| *part == name)?;
    Some(percent_decode_str(value).decode_utf8().ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_of_a_path_is_found_and_decoded() {
        let uri: Uri = "http://h/tasks/a%2Fb/events?id=c".parse().unwrap();
        assert_eq!(parameter(&uri, "/tasks/{id}/events", "{id}").as_deref(), Some("a/b"));
        assert_eq!(parameter(&uri, "/tasks/{id}/events", "{queue}"), None);
    }
}
