//! Submitting by task function.

use jobbers_common::time::Timestamp;

use crate::{
    client::{Client, Handle, Submission, SubmitError},
    payload::encoding::Encode,
    tasks::task_fn::TaskFn,
};

impl<P: Encode, R> TaskFn<P, R> {
    /// Submits a task that runs as soon as a worker is free.
    ///
    /// # Errors
    /// [`SubmitError`]; then nothing was submitted.
    pub async fn delay(&self, client: &Client, job: P) -> Result<Handle<R>, SubmitError> {
        self.with(job).submit(client).await
    }

    /// The same as [`TaskFn::delay`].
    ///
    /// # Errors
    /// As there.
    pub async fn submit(&self, client: &Client, job: P) -> Result<Handle<R>, SubmitError> {
        self.delay(client, job).await
    }

    /// Submits a task that starts no earlier than `at`: a [`SystemTime`](std::time::SystemTime), or a [`Timestamp`].
    ///
    /// ```no_run
    /// # use std::time::SystemTime;
    /// # use jobbers_worker::{SubmitError, prelude::*};
    /// # #[task]
    /// # async fn remind(whom: String) -> Result<(), TaskError> { Ok(()) }
    /// # async fn example(client: &Client) -> Result<(), SubmitError> {
    /// let tomorrow = SystemTime::now() + Duration::from_secs(24 * 3600);
    /// remind.schedule_at(client, "you".to_owned(), tomorrow).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`TaskFn::delay`].
    pub async fn schedule_at(
        &self,
        client: &Client,
        job: P,
        at: impl Into<Timestamp>,
    ) -> Result<Handle<R>, SubmitError> {
        self.with(job).at(at).submit(client).await
    }

    /// Starts a submission with further settings.
    #[expect(clippy::needless_pass_by_value, reason = "the job is given away, as it is to the task function")]
    pub fn with(&self, job: P) -> Submission<R> {
        Submission::new(self.declared(), &job)
    }
}
