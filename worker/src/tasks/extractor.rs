//! Arguments of task functions that come from their worker.

use std::{ops::Deref, sync::Arc};

use jobbers_common::task::{Fence, label::Labels};

use crate::{
    attempts::state::NeededState,
    tasks::{context::Context, error::TaskError},
};

/// The value of type `T` that the program gave to [`crate::Worker::state`], as an argument of a task function.
///
/// A worker without that value does not start, so a task that names its state here never fails for the lack of it.
///
/// ```standalone_crate
/// use jobbers_worker::{prelude::*, testing::TestBench};
///
/// struct Rates { vat: u64 }
///
/// #[task]
/// async fn price(rates: State<Rates>, net: u64) -> Result<u64, TaskError> {
///     Ok(net + net * rates.vat / 100)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bench = TestBench::builder().state(Rates { vat: 19 }).build().await?;
/// let id = price.delay(bench.client(), 200).await?.id;
/// bench.drain().await?;
/// assert_eq!(bench.result::<u64>(&id).await?, 238);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct State<T>(pub Arc<T>);

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + Sync + 'static> State<T> {
    /// The state of the worker that runs this attempt. `#[task]` calls this for each argument of this type.
    ///
    /// # Errors
    /// As [`Context::state`].
    pub fn of(context: &Context) -> Result<Self, TaskError> {
        context.shared_state().map(Self)
    }

    /// What a task with this argument needs.
    #[must_use]
    pub fn needed() -> NeededState {
        NeededState::of::<T>()
    }
}

/// An argument that `#[task]` recognises by its name and takes from the attempt.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the type of this name in `jobbers_worker`",
    label = "a task that takes `Labels` or `Fence` gets them from its attempt",
    note = "import `jobbers_worker::Labels` or `jobbers_worker::Fence`; parameters of your own have another name"
)]
pub trait OfAttempt {
    /// Reads it from an attempt.
    fn of(context: &Context) -> Self;
}

impl OfAttempt for Labels {
    fn of(context: &Context) -> Self {
        context.labels().clone()
    }
}

impl OfAttempt for Fence {
    fn of(context: &Context) -> Self {
        context.fence()
    }
}
