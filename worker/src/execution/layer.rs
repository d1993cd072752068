//! Layers: code of the program that runs around every attempt.
//!
//! A layer gets an attempt that is ready to run and returns another one, which runs the first inside. So it sees all tasks
//! alike, those that workers find and those that are given to them, and both async and blocking ones. What it answers is what
//! the attempt answers. It runs below the attempt's limits: its time counts, and a panic of it is a failed attempt.

use std::{fmt, sync::Arc};

use tracing::{Instrument as _, Span};

use crate::tasks::{
    context::Context,
    error::TaskError,
    task_fn::{Answer, AnyTask, Start},
};

/// Code that runs around every attempt: see [`Worker::layer`](crate::Worker::layer). A function of these arguments is one.
///
/// ```
/// use jobbers_worker::{Layer, Start, prelude::*};
///
/// /// Ends attempts of a tenant before their function runs.
/// struct Banned(String);
///
/// impl Layer for Banned {
///     fn wrap(&self, ctx: &Context, attempt: Start) -> Start {
///         match ctx.label("tenant") {
///             Some(tenant) if tenant == self.0 => attempt.before(|| Err(TaskError::fatal("banned").kind("banned"))),
///             _ => attempt,
///         }
///     }
/// }
///
/// # fn example() -> Worker {
/// Worker::from_env().layer(Banned("acme".to_owned()))
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layer of a worker",
    label = "not a layer",
    note = "a layer is a function `fn span(ctx: &Context, attempt: Start) -> Start`, a closure like it, or a type with this trait"
)]
pub trait Layer: Send + Sync + 'static {
    /// Returns the attempt to run in place of this one. Nothing of the attempt has run yet, nor does it run before this
    /// returns, and this must not block.
    fn wrap(&self, context: &Context, attempt: Start) -> Start;
}

#[diagnostic::do_not_recommend]
impl<F: Fn(&Context, Start) -> Start + Send + Sync + 'static> Layer for F {
    fn wrap(&self, context: &Context, attempt: Start) -> Start {
        self(context, attempt)
    }
}

/// A closure as a layer. The compiler infers the types of its arguments here, which it does not where any [`Layer`] is taken.
///
/// ```
/// use jobbers_worker::{layer_fn, prelude::*};
///
/// # fn example() -> Worker {
/// Worker::from_env().layer(layer_fn(|ctx, attempt| {
///     println!("{} begins", ctx.id());
///     attempt
/// }))
/// # }
/// ```
pub fn layer_fn(layer: impl Fn(&Context, Start) -> Start + Send + Sync + 'static) -> impl Layer {
    layer
}

/// The layers of a worker, the outermost one first.
#[derive(Clone, Default)]
pub(crate) struct Layers(Vec<Arc<dyn Layer>>);

impl Layers {
    /// Adds one inside the others.
    pub(crate) fn add(&mut self, layer: impl Layer) {
        self.0.push(Arc::new(layer));
    }

    /// Prepares an attempt with all layers around it.
    pub(crate) fn start(&self, task: &dyn AnyTask, context: Context) -> Start {
        if self.0.is_empty() {
            return task.start(context);
        }
        let attempt = task.start(context.clone());
        self.0.iter().rev().fold(attempt, |attempt, layer| layer.wrap(&context, attempt))
    }
}

impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Layers({})", self.0.len())
    }
}

impl Start {
    /// The attempt with a function before it: an error of it ends the attempt.
    #[must_use]
    pub fn before(self, check: impl FnOnce() -> Result<(), TaskError> + Send + 'static) -> Self {
        match self {
            Self::Async(attempt) => Self::Async(Box::pin(async move {
                check()?;
                attempt.await
            })),
            Self::Blocking(attempt) => Self::Blocking(Box::new(move || {
                check()?;
                attempt()
            })),
        }
    }

    /// The attempt with a function after it, which gets what the attempt answers and answers in its place. It does not run
    /// after a panic, nor if the attempt is dropped at one of its limits or when it must end.
    #[must_use]
    pub fn after(self, answer: impl FnOnce(Answer) -> Answer + Send + 'static) -> Self {
        match self {
            Self::Async(attempt) => Self::Async(Box::pin(async move { answer(attempt.await) })),
            Self::Blocking(attempt) => Self::Blocking(Box::new(move || answer(attempt()))),
        }
    }

    /// The attempt inside this span.
    #[must_use]
    pub fn instrument(self, span: Span) -> Self {
        match self {
            Self::Async(attempt) => Self::Async(Box::pin(attempt.instrument(span))),
            Self::Blocking(attempt) => Self::Blocking(Box::new(move || span.in_scope(attempt))),
        }
    }
}
