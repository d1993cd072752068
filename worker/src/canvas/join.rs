//! Parts of different kinds side by side, whose results keep their types.

use std::fmt;

use super::{Chain, Next, Part, ResultOf, remote::RemoteTask};
use crate::{
    client::graph::{Graph, NodeMark, Waits},
    payload::encoding::NoParameters,
    tasks::task_fn::TaskFn,
};

/// Parts side by side whose results together are a `T`, a tuple of [`ResultOf`].
#[must_use = "parts are submitted as a part of a chain: `.then(&collect)`"]
pub struct Joined<T> {
    graph: Graph,
    heads: Vec<NodeMark>,
    lasts: Vec<NodeMark>,
    results: T,
}

/// A tuple of two to six submissions or chains.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tuple of parts of a workflow",
    label = "two to six submissions or chains, in parentheses",
    note = "for parts with results of one type, and for more than six of them, write `group(parts)`"
)]
pub trait Parts {
    /// A tuple of the [`ResultOf`] of each.
    type Results;

    /// The parts side by side.
    fn side_by_side(self) -> Joined<Self::Results>;
}

/// Parts of different kinds side by side: `join((count, name)).then(&report)`. What follows takes a tuple of their results.
///
/// ```standalone_crate
/// use jobbers_worker::{canvas::{ResultOf, join}, prelude::*, testing::TestBench};
///
/// #[task]
/// async fn count(words: Vec<String>) -> Result<usize, TaskError> { Ok(words.len()) }
///
/// #[task]
/// async fn title(book: u64) -> Result<String, TaskError> { Ok(format!("Book {book}")) }
///
/// #[task]
/// async fn card(ctx: Context, of: (ResultOf<usize>, ResultOf<String>)) -> Result<String, TaskError> {
///     Ok(format!("{}: {} words", of.1.read(&ctx).await?, of.0.read(&ctx).await?))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bench = TestBench::new().await?;
/// let both = join((count.with(vec!["once".into(), "upon".into()]), title.with(7)));
/// let run = both.then(&card).workflow().submit(bench.client()).await?;
/// bench.drain().await?;
/// assert_eq!(run.result(Duration::ZERO).await?, "Book 7: 2 words");
/// # Ok(())
/// # }
/// ```
pub fn join<P: Parts>(parts: P) -> Joined<P::Results> {
    parts.side_by_side()
}

impl<T> Joined<T> {
    /// Goes on with a task that takes the results of all, or with another part. It runs if all complete, and is aborted with the
    /// first that does not.
    pub fn then<N: Next<T>>(self, next: N) -> Chain<N::Output> {
        self.then_with(|results| next.follow(results))
    }

    /// The same with a part that is made from the results, such as a task that takes them among other parameters.
    pub fn then_with<P: Part>(self, next: impl FnOnce(T) -> P) -> Chain<P::Output> {
        let Self { mut graph, heads, lasts, results } = self;
        let next = next(results).into_chain();
        let waits: Vec<Waits> = lasts.into_iter().map(Waits::completed).collect();
        graph.add(next.graph, &next.heads, &waits);
        Chain { graph, heads, last: next.last, output: std::marker::PhantomData }
    }
}

impl<T> fmt::Debug for Joined<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Joined({})", self.lasts.len())
    }
}

macro_rules! tuple_of_parts {
    ($($part:ident $place:tt),+) => {
        impl<$($part: Part),+> Parts for ($($part,)+) {
            type Results = ($(ResultOf<$part::Output>,)+);

            fn side_by_side(self) -> Joined<Self::Results> {
                let (mut graph, mut heads, mut lasts) = (Graph::default(), Vec::new(), Vec::new());
                let results = ($({
                    let chain = self.$place.into_chain();
                    graph.add(chain.graph, &[], &[]);
                    heads.extend(chain.heads);
                    lasts.push(chain.last);
                    ResultOf::new(chain.last)
                },)+);
                Joined { graph, heads, lasts, results }
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($part,)+ R> Next<($(ResultOf<$part>,)+)> for &TaskFn<NoParameters, R> {
            type Output = R;

            fn follow(self, _: ($(ResultOf<$part>,)+)) -> Chain<R> {
                self.with(NoParameters).into_chain()
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($part,)+ R> Next<($(ResultOf<$part>,)+)> for &RemoteTask<NoParameters, R> {
            type Output = R;

            fn follow(self, _: ($(ResultOf<$part>,)+)) -> Chain<R> {
                self.with(NoParameters).into_chain()
            }
        }
    };
}

tuple_of_parts!(A 0, B 1);
tuple_of_parts!(A 0, B 1, C 2);
tuple_of_parts!(A 0, B 1, C 2, D 3);
tuple_of_parts!(A 0, B 1, C 2, D 3, E 4);
tuple_of_parts!(A 0, B 1, C 2, D 3, E 4, F 5);
