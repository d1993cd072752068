//! What was submitted: the waiting tasks of a bench, and assertions about them.

use std::fmt::Debug;

use jobbers_common::{
    engine::{ListRequest, TaskFilter},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::{QueueName, TaskId, TaskName},
    payload::Payload,
    task::{Priority, Task, label::Labels},
    time::Timestamp,
};

use super::{bench::TestBench, error::TestError};
use crate::{
    payload::{
        codec::{Codecs, ContentKind},
        encoding::Decode,
    },
    tasks::task_fn::TaskFn,
};

/// A task that waits to be run.
///
/// ```standalone_crate
/// use jobbers_worker::{prelude::*, testing::TestBench};
///
/// #[task(queue = "default", labels = ["team=billing"])]
/// async fn charge(cents: u64) -> Result<u64, TaskError> { Ok(cents) }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bench = TestBench::new().await?;
/// charge.with(999).priority(9).submit(bench.client()).await?;
/// let found = bench.assert_enqueued_with(&charge, |it| it.label("team") == Some("billing")).await;
/// assert_eq!((found.parameters, found.priority.get()), (999, 9));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Enqueued<P> {
    /// Its id.
    pub id: TaskId,
    /// Which version of the task it is for.
    pub version: u32,
    /// Its queue.
    pub queue: QueueName,
    /// Its rank there.
    pub priority: Priority,
    /// When it is due.
    pub ready_at: Timestamp,
    /// Its labels. [`Enqueued::label`] finds one.
    pub labels: Labels,
    /// Its unique key.
    pub unique_key: Option<String>,
    /// Its concurrency key.
    pub concurrency_key: Option<String>,
    /// Its parameters.
    pub parameters: P,
}

impl<P: Decode> Enqueued<P> {
    fn of(task: Task, codecs: &Codecs) -> Result<Self, TestError> {
        let Task { id, version, queue, priority, ready_at, metadata, unique, concurrency_key, parameters, .. } = task;
        let parameters = parameters.unwrap_or_else(|| Payload::json(&b"null"[..]));
        let parameters = codecs
            .decode(parameters, ContentKind::Parameters)
            .map_err(|error| error.to_string())
            .and_then(|parameters| P::decode(&parameters))
            .map_err(|problem| TestError::Parameters { id: id.clone(), problem })?;
        Ok(Self {
            id,
            version,
            queue,
            priority,
            ready_at,
            labels: metadata.labels,
            unique_key: unique.map(|unique| unique.key.as_str().to_owned()),
            concurrency_key: concurrency_key.map(|key| key.as_str().to_owned()),
            parameters,
        })
    }
}

impl<P> Enqueued<P> {
    /// The value of a label.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| known.as_str() == name).map(|(_, value)| value)
    }
}

impl TestBench {
    /// The waiting submissions of a task, present and scheduled: in the order they are claimed, then by due time.
    ///
    /// # Errors
    /// [`TestError::Parameters`] if one holds parameters its task does not take; errors of the store.
    pub async fn enqueued<P: Decode, R>(&self, task: &TaskFn<P, R>) -> Result<Vec<Enqueued<P>>, TestError> {
        let filter = TaskFilter {
            statuses: vec![Status::Submitted, Status::Scheduled, Status::Waiting],
            name: TaskName::new(task.name()).ok(),
            version: Some(task.version()),
            ..TaskFilter::default()
        };
        let mut enqueued = Vec::new();
        for listed in self.list(filter).await? {
            if let Some(task) = self.engine.get(&listed.id).await? {
                enqueued.push(Enqueued::of(task, self.client.codecs())?);
            }
        }
        Ok(enqueued)
    }

    /// Asserts that exactly one submission of a task waits, and returns its parameters.
    ///
    /// # Panics
    /// If none or several wait.
    pub async fn assert_enqueued<P: Decode, R>(&self, task: &TaskFn<P, R>) -> P {
        let mut enqueued = self.all_enqueued(task).await;
        assert_eq!(enqueued.len(), 1, "submissions of {task:?}");
        enqueued.remove(0).parameters
    }

    /// Asserts that exactly one waiting submission of a task is as `is_expected` says, and returns it.
    ///
    /// ```standalone_crate
    /// use jobbers_worker::{prelude::*, testing::TestBench};
    ///
    /// #[task]
    /// async fn mail(address: String) -> Result<(), TaskError> { drop(address); Ok(()) }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bench = TestBench::new().await?;
    /// mail.with("ada@example.org".to_owned()).label("tenant", "acme").concurrency_key("acme").submit(bench.client()).await?;
    /// mail.delay(bench.client(), "bob@example.org".to_owned()).await?;
    /// let found = bench.assert_enqueued_with(&mail, |one| one.label("tenant") == Some("acme")).await;
    /// assert_eq!((found.parameters.as_str(), found.queue.as_str()), ("ada@example.org", "default"));
    /// assert_eq!(found.concurrency_key.as_deref(), Some("acme"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// If none or several are; the message shows all that wait.
    pub async fn assert_enqueued_with<P: Decode + Debug, R>(
        &self,
        task: &TaskFn<P, R>,
        is_expected: impl Fn(&Enqueued<P>) -> bool,
    ) -> Enqueued<P> {
        let mut enqueued = self.all_enqueued(task).await;
        let expected: Vec<usize> = (0..enqueued.len()).filter(|place| is_expected(&enqueued[*place])).collect();
        let [one] = expected[..] else {
            panic!("{} submissions of {task:?} are as expected, not 1, among {enqueued:#?}", expected.len());
        };
        enqueued.swap_remove(one)
    }

    /// Asserts that no submission of a task waits.
    ///
    /// # Panics
    /// If one does.
    pub async fn refute_enqueued<P: Decode, R>(&self, task: &TaskFn<P, R>) {
        assert_eq!(self.all_enqueued(task).await.len(), 0, "submissions of {task:?}");
    }

    async fn all_enqueued<P: Decode, R>(&self, task: &TaskFn<P, R>) -> Vec<Enqueued<P>> {
        self.enqueued(task).await.unwrap_or_else(|error| panic!("{task:?}: {error}"))
    }

    /// All tasks of these statuses.
    pub(super) async fn list_all(&self, statuses: &[Status]) -> Result<Vec<Task>, TestError> {
        self.list(TaskFilter { statuses: statuses.to_vec(), ..TaskFilter::default() }).await
    }

    async fn list(&self, filter: TaskFilter) -> Result<Vec<Task>, TestError> {
        let (mut tasks, mut cursor) = (Vec::new(), None);
        loop {
            let request = ListRequest { filter: filter.clone(), limit: MAX_BATCH, cursor };
            let page = self.engine.list(request).await?;
            tasks.extend(page.tasks);
            cursor = page.next;
            if cursor.is_none() {
                return Ok(tasks);
            }
        }
    }
}
