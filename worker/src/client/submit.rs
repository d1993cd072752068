//! Submitting: by task function, by submission, and in batches.

use jobbers_common::{draft::TaskDraft, engine::OnConflict, time::Timestamp};

use super::{
    answers::Taken,
    connection::{Client, Way},
    error::SubmitError,
    handle::Handle,
    submission::Submission,
};
use crate::{codec::Encode, task_fn::TaskFn};

impl Client {
    /// Submits several tasks, up to 1,000: all of them or, on any error, none. Returns handles in the same order.
    ///
    /// # Errors
    /// [`SubmitError`]; then nothing was submitted.
    pub async fn submit_all<R>(
        &self,
        batch: impl IntoIterator<Item = Submission<R>>,
    ) -> Result<Vec<Handle<R>>, SubmitError> {
        self.send(batch, OnConflict::Fail).await
    }

    /// Submits several tasks, up to 1,000, in place of stored tasks with their ids: all of them or, on any error, none. An id
    /// that is free is submitted as by [`Client::submit_all`].
    ///
    /// # Errors
    /// [`SubmitError`], such as for a running task, which is never replaced; then nothing was submitted.
    pub async fn replace_all<R>(
        &self,
        batch: impl IntoIterator<Item = Submission<R>>,
    ) -> Result<Vec<Handle<R>>, SubmitError> {
        self.send(batch, OnConflict::Replace).await
    }

    async fn send<R>(
        &self,
        batch: impl IntoIterator<Item = Submission<R>>,
        on_conflict: OnConflict,
    ) -> Result<Vec<Handle<R>>, SubmitError> {
        let batch = batch.into_iter().map(|submission| submission.check(self)).collect::<Result<_, _>>()?;
        let taken = self.submit_drafts(batch, on_conflict).await?;
        Ok(taken.into_iter().map(|taken| Handle::new(self.clone(), taken)).collect())
    }

    /// Submits what has been checked.
    pub(crate) async fn submit_drafts(
        &self,
        batch: Vec<TaskDraft>,
        on_conflict: OnConflict,
    ) -> Result<Vec<Taken>, SubmitError> {
        let taken = match self.way() {
            Way::Store(store) => store.submit(batch, on_conflict).await?,
            Way::Http(http) => http.submit(&batch, on_conflict).await?,
        };
        if self.takes_lost_answer() {
            return Err(SubmitError::Unreachable("the answer to the submission was lost".to_owned()));
        }
        Ok(taken)
    }
}

impl<R> Submission<R> {
    /// Submits it.
    ///
    /// # Errors
    /// [`SubmitError`]; nothing is submitted then.
    pub async fn submit(self, client: &Client) -> Result<Handle<R>, SubmitError> {
        let taken = client.submit_all([self]).await?;
        taken.into_iter().next().ok_or_else(|| SubmitError::Unreachable("a submission without an answer".to_owned()))
    }
}

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
