//! Tasks whose functions another program has.

use std::{fmt, ops::Deref};

use crate::{
    canvas::{Chain, Next, Part, ResultOf, ResultsOf},
    payload::encoding::{Encode, NoParameters},
    tasks::task_fn::TaskFn,
};

/// The signature of a task that another program runs, made by `#[task(remote)]`: for a service that only submits, and keeps the
/// types of parameters and result.
///
/// It submits, and is a part of canvases and assertions, as the [`TaskFn`] does that it derefs to. No worker accepts it.
///
/// ```standalone_crate
/// use jobbers_worker::{prelude::*, testing::TestBench};
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct Charge { order: u64, cents: u64 }
///
/// /// Its body is in the program `cards`, with the same name, parameters and result.
/// #[task(remote, queue = "cards", unique_by = "order")]
/// async fn charge(job: Charge) -> Result<u64, TaskError>;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bench = TestBench::new().await?;
/// # bench.engine().create_queues(&["cards".parse()?]).await?;
/// charge.delay(bench.client(), Charge { order: 7, cents: 999 }).await?;
/// assert_eq!(bench.assert_enqueued(&charge).await, Charge { order: 7, cents: 999 });
/// # Ok(())
/// # }
/// ```
pub struct RemoteTask<P: 'static, R: 'static>(TaskFn<P, R>);

impl<P, R> RemoteTask<P, R> {
    /// A task of a signature. `#[task(remote)]` calls this.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(signature: TaskFn<P, R>) -> Self {
        Self(signature)
    }
}

impl<P, R> Deref for RemoteTask<P, R> {
    type Target = TaskFn<P, R>;

    fn deref(&self) -> &TaskFn<P, R> {
        &self.0
    }
}

impl<P, R> fmt::Debug for RemoteTask<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteTask({}@{})", self.name(), self.version())
    }
}

#[diagnostic::do_not_recommend]
impl<I: Encode, R> Next<I> for &RemoteTask<I, R> {
    type Output = R;

    fn follow(self, input: I) -> Chain<R> {
        self.with(input).into_chain()
    }
}

#[diagnostic::do_not_recommend]
impl<I, R> Next<ResultOf<I>> for &RemoteTask<NoParameters, R> {
    type Output = R;

    fn follow(self, _: ResultOf<I>) -> Chain<R> {
        self.with(NoParameters).into_chain()
    }
}

#[diagnostic::do_not_recommend]
impl<I, R> Next<ResultsOf<I>> for &RemoteTask<NoParameters, R> {
    type Output = R;

    fn follow(self, _: ResultsOf<I>) -> Chain<R> {
        self.with(NoParameters).into_chain()
    }
}
