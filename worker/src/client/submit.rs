//! Submitting: by submission, and in batches.

use jobbers_common::{engine::OnConflict, submission::draft::TaskDraft};

use super::{
    answers::SubmitResult,
    connection::{Client, ClientTransport},
    error::SubmitError,
    handle::Handle,
    submission::Submission,
};

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
        let results = self.submit_drafts(batch, on_conflict).await?;
        Ok(results.into_iter().map(|result| Handle::new(self.clone(), result)).collect())
    }

    /// Submits what has been checked.
    pub(crate) async fn submit_drafts(
        &self,
        batch: Vec<TaskDraft>,
        on_conflict: OnConflict,
    ) -> Result<Vec<SubmitResult>, SubmitError> {
        let results = match self.transport() {
            ClientTransport::Store(store) => store.submit(batch, on_conflict).await?,
            ClientTransport::Http(http) => http.submit(&batch, on_conflict).await?,
        };
        if self.takes_lost_answer() {
            return Err(SubmitError::Unreachable("the answer to the submission was lost".to_owned()));
        }
        Ok(results)
    }
}

impl<R> Submission<R> {
    /// Submits it.
    ///
    /// # Errors
    /// [`SubmitError`]; nothing is submitted then.
    pub async fn submit(self, client: &Client) -> Result<Handle<R>, SubmitError> {
        let results = client.submit_all([self]).await?;
        results.into_iter().next().ok_or_else(|| SubmitError::Unreachable("a submission without an answer".to_owned()))
    }
}
