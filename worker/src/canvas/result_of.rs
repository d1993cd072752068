//! Results of earlier tasks, as parameters of later ones.

use std::{borrow::Cow, fmt, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    client::graph::NodeMark,
    payload::encoding::Decode,
    tasks::{context::Context, error::TaskError, parents::ParentEnd},
};

/// The result of a task that ran before, as a parameter: its node's name, which the task reads the result by.
///
/// ```standalone_crate
/// use jobbers_worker::{canvas::{ResultOf, chain}, prelude::*, testing::TestBench};
///
/// #[task]
/// async fn count(text: String) -> Result<usize, TaskError> { Ok(text.len()) }
///
/// /// It may be one of several parameters.
/// #[derive(Serialize, Deserialize)]
/// struct Scale { by: usize, of: ResultOf<usize> }
///
/// #[task]
/// async fn scale(ctx: Context, job: Scale) -> Result<usize, TaskError> { Ok(job.by * job.of.read(&ctx).await?) }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let bench = TestBench::new().await?;
/// let scaled = chain![count.with("abc".to_owned())].then_with(|of| scale.with(Scale { by: 5, of }));
/// let run = scaled.workflow().submit(bench.client()).await?;
/// bench.drain().await?;
/// assert_eq!(run.result(Duration::ZERO).await?, 15);
/// # Ok(())
/// # }
/// ```
pub struct ResultOf<T> {
    of: String,
    output: PhantomData<fn() -> T>,
}

/// The results of a group that ran before, as a parameter: how many they are. They are the first predecessors of the task.
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
pub struct ResultsOf<T> {
    count: usize,
    output: PhantomData<fn() -> T>,
}

impl<T> ResultOf<T> {
    pub(super) fn new(mark: NodeMark) -> Self {
        Self { of: mark.text(), output: PhantomData }
    }

    /// The name of the node.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.of
    }
}

impl<T: Decode> ResultOf<T> {
    /// Reads the result.
    ///
    /// # Errors
    /// As [`Context::parent`].
    pub async fn read(&self, ctx: &Context) -> Result<T, TaskError> {
        ctx.parent(&self.of).await
    }
}

impl<T> ResultsOf<T> {
    pub(super) const fn new(count: usize) -> Self {
        Self { count, output: PhantomData }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether the group had no members.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<T: Decode> ResultsOf<T> {
    /// Reads the results, in the order of the group's members.
    ///
    /// # Errors
    /// As [`Context::parents`].
    pub async fn read(&self, ctx: &Context) -> Result<Vec<T>, TaskError> {
        ctx.first_parents(self.count).await
    }

    /// Reads how the members ended, where some may not have completed ([`super::Group::with_failures`]).
    ///
    /// # Errors
    /// As [`Context::parent_ends`].
    pub async fn ends(&self, ctx: &Context) -> Result<Vec<ParentEnd<T>>, TaskError> {
        ctx.first_parent_ends(self.count).await
    }
}

impl<T> Serialize for ResultOf<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.of.serialize(serializer)
    }
}

impl<'de, T> Deserialize<'de> for ResultOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { of: String::deserialize(deserializer)?, output: PhantomData })
    }
}

impl<T> Serialize for ResultsOf<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.count.serialize(serializer)
    }
}

impl<'de, T> Deserialize<'de> for ResultsOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::new(usize::deserialize(deserializer)?))
    }
}

impl<T> JsonSchema for ResultOf<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ResultOf".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl<T> JsonSchema for ResultsOf<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ResultsOf".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        u32::json_schema(generator)
    }
}

impl<T> Clone for ResultOf<T> {
    fn clone(&self) -> Self {
        Self { of: self.of.clone(), output: PhantomData }
    }
}

impl<T> Clone for ResultsOf<T> {
    fn clone(&self) -> Self {
        Self::new(self.count)
    }
}

impl<T> fmt::Debug for ResultOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResultOf({})", self.of)
    }
}

impl<T> fmt::Debug for ResultsOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResultsOf({})", self.count)
    }
}
