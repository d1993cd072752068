//! A part of the latest reading, as its observers look at it.

use std::{fmt, sync::Arc};

use opentelemetry::metrics::AsyncInstrument;

/// Calls a function with a value, if there is one.
type Look<T> = dyn Fn(&mut dyn FnMut(&T)) + Send + Sync;

/// Where observers find the latest `T`; without one they observe nothing.
pub(super) struct LatestLook<T>(Arc<Look<T>>);

impl<T> fmt::Debug for LatestLook<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LatestLook").finish_non_exhaustive()
    }
}

impl<T: 'static> LatestLook<T> {
    /// `look` calls a function with the latest value.
    pub(super) fn new(look: impl Fn(&mut dyn FnMut(&T)) + Send + Sync + 'static) -> Self {
        Self(Arc::new(look))
    }

    /// An observer that observes what `show` finds in the latest value.
    pub(super) fn observer(
        &self,
        show: impl Fn(&T, &dyn AsyncInstrument<f64>) + Send + Sync + 'static,
    ) -> impl Fn(&dyn AsyncInstrument<f64>) + Send + Sync + 'static {
        let look = Arc::clone(&self.0);
        move |instrument| look(&mut |value| show(value, instrument))
    }
}
