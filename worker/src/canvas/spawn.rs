//! Submitting a canvas from inside a running task.

use jobbers_common::{
    engine::{ConflictReason, Error},
    limits::{MAX_NAME_BYTES, MAX_NODE_NAME_BYTES},
    name::TaskId,
};
use sha2::{Digest, Sha256};

use crate::{
    canvas::Part,
    client::{PendingResult, SubmitError},
    tasks::{context::Context, error::TaskError},
};

impl Context {
    /// Submits the tasks of a canvas, such as a list of children and what collects their results, as a whole or not at all: up to
    /// 1,000 tasks. Their ids are made from this task's id, `name` and the names of their nodes, so an attempt that is repeated
    /// submits nothing twice. They run as soon as workers are free, also while this task runs, and whatever becomes of it.
    ///
    /// Returns the last task, whose result can be awaited.
    ///
    /// # Errors
    /// Fatal, if the canvas can't be submitted, or differs from what an earlier attempt submitted under this name. To be
    /// retried, if the store can't be reached.
    pub async fn spawn<P: Part>(&self, name: &str, canvas: P) -> Result<PendingResult<P::Output>, TaskError> {
        let client = self.client()?;
        let prefix = self.prefix_of(name)?;
        let (graph, last) = canvas.into_chain().into_graph();
        let (nodes, last) = graph.name_all(last).map_err(refused)?;
        let id = |node: &str| format!("{prefix}/{node}");
        let tasks = nodes.into_iter().map(|node| {
            let task = node.submission.id(id(&node.name));
            node.depends_on.into_iter().fold(task, |task, (on, policy)| task.depends_on_by(id(&on), policy))
        });
        client.submit_all(tasks).await.map_err(refused)?;
        Ok(client.task(TaskId::new(id(&last)).map_err(TaskError::fatal)?))
    }

    /// How the ids of what this task spawns under a name begin.
    fn prefix_of(&self, name: &str) -> Result<String, TaskError> {
        if name.contains('/') || name.len() > MAX_NODE_NAME_BYTES {
            let rule =
                format!("the name of what a task spawns has at most {MAX_NODE_NAME_BYTES} characters and no `/`");
            return Err(TaskError::fatal(rule));
        }
        let prefix = format!("{}/{name}", self.id());
        if prefix.len() + 1 + MAX_NODE_NAME_BYTES <= MAX_NAME_BYTES {
            return Ok(prefix);
        }
        let digits: String = Sha256::digest(prefix).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("spawned:{digits}"))
    }
}

fn refused(error: SubmitError) -> TaskError {
    match error {
        SubmitError::Engine(Error::Conflict { id, reason: ConflictReason::BodyDiffers, .. }) => TaskError::fatal(
            format!("an earlier attempt submitted another task {id}: what a task spawns must not change"),
        ),
        error if error.is_transient() => TaskError::retry(error),
        error => TaskError::fatal(error),
    }
}
