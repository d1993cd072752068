//! Workflows in Rust: chains, groups and chords of tasks, typed from one to the next.
//!
//! ```no_run
//! use jobbers_worker::{canvas::{ResultOf, ResultsOf, chain, map}, prelude::*};
//!
//! #[task]
//! async fn list(folder: PathBuf) -> Result<Vec<PathBuf>, TaskError> {
//! #   let _ = folder;
//!     Ok(vec!["a.txt".into(), "b.txt".into()])
//! }
//!
//! #[task]
//! async fn count(file: PathBuf) -> Result<u64, TaskError> {
//! #   let _ = file;
//!     Ok(1)
//! }
//!
//! #[task]
//! async fn total(ctx: Context, counts: ResultsOf<u64>) -> Result<u64, TaskError> {
//!     Ok(counts.read(&ctx).await?.into_iter().sum())
//! }
//!
//! #[task]
//! async fn print(ctx: Context, words: ResultOf<u64>) -> Result<(), TaskError> {
//!     println!("{} words", words.read(&ctx).await?);
//!     Ok(())
//! }
//!
//! # async fn example(client: &Client) -> Result<(), Box<dyn std::error::Error>> {
//! let files: Vec<PathBuf> = vec!["a.txt".into(), "b.txt".into()];
//! let words = map(&count, files).then(&total);      // a chord: what collects runs when all have completed
//! let run = chain![words, &print].workflow().name("words").submit(client).await?;
//! run.result(Duration::from_secs(60)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! A canvas is a description: nothing happens before it is submitted, as a workflow ([`Chain::workflow`]) or from inside a task
//! ([`crate::Context::spawn`]). A task takes the result of the one before as a [`ResultOf`], which is the name of that task and no
//! copy: the result is read when the task runs. Tasks of a canvas have no unique keys and no start times of their own.

use jobbers_common::dependency::DependencyPolicy;

use crate::{
    client::{Flow, Submission},
    payload::encoding::{Encode, NoParameters},
    tasks::task_fn::TaskFn,
};

mod join;
pub(crate) mod remote;
mod result_of;
mod spawn;

pub use self::{
    join::{Joined, Parts, join},
    result_of::{ResultOf, ResultsOf},
};
use crate::client::graph::{Graph, NodeMark, Waits};

/// Tasks one after another, perhaps with others beside them, of which the last has a result of type `R`.
///
/// ```no_run
/// use jobbers_worker::{canvas::{ResultsOf, chain, map}, prelude::*, testing::TestBench};
///
/// #[task]
/// async fn count(text: String) -> Result<u64, TaskError> { Ok(text.split(' ').count() as u64) }
///
/// #[task]
/// async fn total(ctx: Context, counts: ResultsOf<u64>) -> Result<u64, TaskError> {
///     Ok(counts.read(&ctx).await?.into_iter().sum())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let bench = TestBench::new().await?;
/// let pages = ["once upon", "a time"].map(str::to_owned);
/// let words = chain![map(&count, pages).then(&total)].on_error(count.with("alarm".into()).id("alarm"));
/// let run = words.workflow().submit(bench.client()).await?;
/// bench.drain().await?;
/// assert_eq!(run.result(Duration::ZERO).await?, 4);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is submitted before `.workflow().submit(&client)`"]
pub struct Chain<R> {
    graph: Graph,
    /// The nodes that wait for no other.
    heads: Vec<NodeMark>,
    last: NodeMark,
    output: std::marker::PhantomData<fn() -> R>,
}

/// Tasks side by side, each with a result of type `R`.
///
/// ```no_run
/// use jobbers_worker::{canvas::{ResultsOf, map}, prelude::*, testing::TestBench};
///
/// #[task]
/// async fn count(text: String) -> Result<u64, TaskError> { Ok(text.split(' ').count() as u64) }
///
/// #[task]
/// async fn total(ctx: Context, counts: ResultsOf<u64>) -> Result<u64, TaskError> {
///     Ok(counts.read(&ctx).await?.into_iter().sum())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let bench = TestBench::new().await?;
/// let pages = map(&count, ["once upon", "a time"].map(str::to_owned));
/// assert_eq!(pages.len(), 2);
/// let words = pages.then(&total);
/// let run = words.workflow().submit(bench.client()).await?;
/// bench.drain().await?;
/// assert_eq!(run.result(Duration::ZERO).await?, 4);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a group is submitted as a part of a chain: `.then(&collect)`"]
pub struct Group<R> {
    graph: Graph,
    heads: Vec<NodeMark>,
    /// The last task of each member.
    lasts: Vec<NodeMark>,
    /// What comes after a group without members waits for these.
    instead: Vec<NodeMark>,
    policy: DependencyPolicy,
    output: std::marker::PhantomData<fn() -> R>,
}

/// What a chain or a group is made of: a submission, or a chain.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no part of a workflow",
    label = "a part is a submission or a chain",
    note = "write `task.with(parameters)`, and `task.with(NoParameters)` for a task that takes none"
)]
pub trait Part {
    /// The type of its last task's result.
    type Output;

    /// The part as a chain.
    fn into_chain(self) -> Chain<Self::Output>;
}

/// What comes after tasks whose result is an `I`: a task that takes an `I`, a task without parameters, a submission, or a chain.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not take `{I}`, the result of what comes before it",
    label = "takes other parameters than `{I}`",
    note = "what follows takes that result as its parameters, or takes none: `&task`, a submission, or a chain",
    note = "a task that takes the result among other parameters follows by `.then_with(|result| task.with(…))`"
)]
pub trait Next<I> {
    /// The type of its last task's result.
    type Output;

    /// What follows, with the result it takes.
    fn follow(self, input: I) -> Chain<Self::Output>;
}

impl<R> Part for Submission<R> {
    type Output = R;

    fn into_chain(self) -> Chain<R> {
        let (graph, mark) = Graph::of(self.any());
        Chain { graph, heads: vec![mark], last: mark, output: std::marker::PhantomData }
    }
}

impl<R> Part for Chain<R> {
    type Output = R;

    fn into_chain(self) -> Self {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<I: Encode, R> Next<I> for &TaskFn<I, R> {
    type Output = R;

    fn follow(self, input: I) -> Chain<R> {
        self.with(input).into_chain()
    }
}

#[diagnostic::do_not_recommend]
impl<I, R> Next<ResultOf<I>> for &TaskFn<NoParameters, R> {
    type Output = R;

    fn follow(self, _: ResultOf<I>) -> Chain<R> {
        self.with(NoParameters).into_chain()
    }
}

#[diagnostic::do_not_recommend]
impl<I, R> Next<ResultsOf<I>> for &TaskFn<NoParameters, R> {
    type Output = R;

    fn follow(self, _: ResultsOf<I>) -> Chain<R> {
        self.with(NoParameters).into_chain()
    }
}

impl<I, R> Next<I> for Submission<R> {
    type Output = R;

    fn follow(self, _: I) -> Chain<R> {
        self.into_chain()
    }
}

impl<I, R> Next<I> for Chain<R> {
    type Output = R;

    fn follow(self, _: I) -> Self {
        self
    }
}

impl<R> Chain<R> {
    /// Goes on with a task that takes the result, or with another part. It runs if this completes, and is aborted otherwise.
    pub fn then<N: Next<ResultOf<R>>>(self, next: N) -> Chain<N::Output> {
        self.then_with(|result| next.follow(result))
    }

    /// The same with a part that is made from the result, such as a task that takes it as one of several parameters.
    pub fn then_with<P: Part>(self, next: impl FnOnce(ResultOf<R>) -> P) -> Chain<P::Output> {
        let next = next(ResultOf::new(self.last)).into_chain();
        let Self { mut graph, heads, last, .. } = self;
        graph.add(next.graph, &next.heads, &[Waits::completed(last)]);
        Chain { graph, heads, last: next.last, output: std::marker::PhantomData }
    }

    /// Goes on with tasks side by side, each of which may take the result.
    pub fn then_each<O>(self, next: impl FnOnce(ResultOf<R>) -> Group<O>) -> Group<O> {
        let next = next(ResultOf::new(self.last));
        let Self { mut graph, heads, last, .. } = self;
        graph.add(next.graph, &next.heads, &[Waits::completed(last)]);
        let instead = if next.instead.is_empty() { vec![last] } else { next.instead };
        Group { graph, heads, lasts: next.lasts, instead, policy: next.policy, output: std::marker::PhantomData }
    }

    /// Adds a handler that runs if a task of this chain fails for good, and is skipped otherwise. What follows this chain does
    /// not wait for it.
    pub fn on_error(self, handler: impl Part) -> Self {
        self.beside(handler, DependencyPolicy::RunOnError)
    }

    /// Adds a part that runs after this chain, however that ended. What follows this chain does not wait for it.
    pub fn finally(self, part: impl Part) -> Self {
        self.beside(part, DependencyPolicy::RunWithFailures)
    }

    fn beside(mut self, part: impl Part, policy: DependencyPolicy) -> Self {
        let part = part.into_chain();
        self.graph.add(part.graph, &part.heads, &[Waits { on: self.last, policy }]);
        self
    }

    /// The chain as a workflow, to be named and submitted.
    pub fn workflow(self) -> Flow<R> {
        let (graph, last) = self.into_graph();
        Flow::new(graph, last)
    }

    pub(crate) fn into_graph(self) -> (Graph, NodeMark) {
        (self.graph, self.last)
    }
}

impl<R> Group<R> {
    /// Goes on with a task that collects the results of all, or with another part: a chord. It runs if all complete, and is
    /// aborted with the first that does not.
    pub fn then<N: Next<ResultsOf<R>>>(self, next: N) -> Chain<N::Output> {
        self.then_with(|results| next.follow(results))
    }

    /// The same with a part that is made from the results, such as a task that takes them as one of several parameters.
    pub fn then_with<P: Part>(self, next: impl FnOnce(ResultsOf<R>) -> P) -> Chain<P::Output> {
        let next = next(ResultsOf::new(self.lasts.len())).into_chain();
        let Self { mut graph, mut heads, lasts, instead, policy, .. } = self;
        let waits: Vec<Waits> = match lasts.is_empty() {
            true => instead.iter().map(|on| Waits::completed(*on)).collect(),
            false => lasts.iter().map(|on| Waits { on: *on, policy }).collect(),
        };
        if waits.is_empty() {
            heads.extend(&next.heads);
        }
        graph.add(next.graph, &next.heads, &waits);
        Chain { graph, heads, last: next.last, output: std::marker::PhantomData }
    }

    /// What follows runs however the members ended, and reads it with [`ResultsOf::ends`].
    pub const fn with_failures(mut self) -> Self {
        self.policy = DependencyPolicy::RunWithFailures;
        self
    }

    /// How many members it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.lasts.len()
    }

    /// Whether it has no members.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.lasts.is_empty()
    }
}

/// Parts side by side.
///
/// ```no_run
/// use jobbers_worker::{canvas::{ResultsOf, group}, prelude::*, testing::TestBench};
///
/// #[task]
/// async fn count(text: String) -> Result<u64, TaskError> { Ok(text.split(' ').count() as u64) }
///
/// #[task]
/// async fn total(ctx: Context, counts: ResultsOf<u64>) -> Result<u64, TaskError> {
///     Ok(counts.read(&ctx).await?.into_iter().sum())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let bench = TestBench::new().await?;
/// let words = group([count.with("once upon".into()), count.with("a time".into())]).then(&total);
/// let run = words.workflow().submit(bench.client()).await?;
/// bench.drain().await?;
/// assert_eq!(run.result(Duration::ZERO).await?, 4);
/// # Ok(())
/// # }
/// ```
pub fn group<P: Part>(parts: impl IntoIterator<Item = P>) -> Group<P::Output> {
    let (mut graph, mut heads, mut lasts) = (Graph::default(), Vec::new(), Vec::new());
    for part in parts {
        let chain = part.into_chain();
        graph.add(chain.graph, &[], &[]);
        heads.extend(chain.heads);
        lasts.push(chain.last);
    }
    let policy = DependencyPolicy::AbortSuccessors;
    Group { graph, heads, lasts, instead: Vec::new(), policy, output: std::marker::PhantomData }
}

/// One task for each item of a list, side by side.
///
/// ```no_run
/// use jobbers_worker::{canvas::{ResultsOf, map}, prelude::*, testing::TestBench};
///
/// #[task]
/// async fn count(text: String) -> Result<u64, TaskError> { Ok(text.split(' ').count() as u64) }
///
/// #[task]
/// async fn total(ctx: Context, counts: ResultsOf<u64>) -> Result<u64, TaskError> {
///     Ok(counts.read(&ctx).await?.into_iter().sum())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let bench = TestBench::new().await?;
/// let pages = ["once upon", "a time"].map(str::to_owned);
/// let words = map(&count, pages).then(&total);
/// let run = words.workflow().submit(bench.client()).await?;
/// bench.drain().await?;
/// assert_eq!(run.result(Duration::ZERO).await?, 4);
/// # Ok(())
/// # }
/// ```
pub fn map<P: Encode, R>(task: &TaskFn<P, R>, items: impl IntoIterator<Item = P>) -> Group<R> {
    group(items.into_iter().map(|item| task.with(item)))
}

/// Parts side by side, and what collects their results: `group(parts).then(collector)`.
///
/// ```no_run
/// use jobbers_worker::{canvas::{ResultsOf, chord}, prelude::*, testing::TestBench};
///
/// #[task]
/// async fn count(text: String) -> Result<u64, TaskError> { Ok(text.split(' ').count() as u64) }
///
/// #[task]
/// async fn total(ctx: Context, counts: ResultsOf<u64>) -> Result<u64, TaskError> {
///     Ok(counts.read(&ctx).await?.into_iter().sum())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let bench = TestBench::new().await?;
/// let pages = ["once upon", "a time"].map(|page| count.with(page.to_owned()));
/// let words = chord(pages, &total);
/// let run = words.workflow().submit(bench.client()).await?;
/// bench.drain().await?;
/// assert_eq!(run.result(Duration::ZERO).await?, 4);
/// # Ok(())
/// # }
/// ```
pub fn chord<P: Part, N: Next<ResultsOf<P::Output>>>(
    parts: impl IntoIterator<Item = P>,
    collector: N,
) -> Chain<N::Output> {
    group(parts).then(collector)
}

/// Parts one after another: `chain![first, second, third]`. The first is a submission or a chain, and each of the others takes
/// the result of the one before, as [`Chain::then`] says.
///
/// ```no_run
/// use jobbers_worker::{canvas::{ResultOf, chain}, prelude::*, testing::TestBench};
///
/// #[task]
/// async fn count(text: String) -> Result<usize, TaskError> { Ok(text.len()) }
///
/// #[task]
/// async fn double(ctx: Context, n: ResultOf<usize>) -> Result<usize, TaskError> { Ok(2 * n.read(&ctx).await?) }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let bench = TestBench::new().await?;
/// let run = chain![count.with("abc".to_owned()), &double, &double].workflow().submit(bench.client()).await?;
/// bench.drain().await?;
/// assert_eq!(run.result(Duration::ZERO).await?, 12);
/// # Ok(())
/// # }
/// ```
#[macro_export]
#[doc(hidden)]
macro_rules! __chain {
    ($first:expr $(, $next:expr)* $(,)?) => {
        $crate::canvas::Part::into_chain($first)$(.then($next))*
    };
}

#[doc(inline)]
pub use crate::__chain as chain;
