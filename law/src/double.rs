//! A double of a store, for tests: it passes calls on to another one, except where the test wants otherwise.

use std::{fmt, ops::Deref};

use async_trait::async_trait;
use jobbers_common::{
    engine::{Engine, Result, backup::Backup, boards::Boards, sealed::Sealed, verbs::types::*},
    engine_verbs,
};

/// A store that does what its behaviour says.
#[derive(Debug)]
pub struct Double<B>(pub B);

impl<B> Deref for Double<B> {
    type Target = B;

    fn deref(&self) -> &B {
        &self.0
    }
}

macro_rules! double {
    ($($noun:ident { $($verb:ident($($argument:ident: $type:ty),*) -> $answer:ty;)* })*) => {
        /// What a double does. Each verb passes its call on, unless the test replaces it.
        #[async_trait]
        pub trait Behaviour: fmt::Debug + Send + Sync + 'static {
            /// The store behind the double.
            fn store(&self) -> &Arc<dyn Engine>;

            /// The store, for a call of this verb; or the error that the call gets.
            fn reach(&self, _verb: &'static str) -> Result<&Arc<dyn Engine>> {
                Ok(self.store())
            }

            $($(
                #[doc = concat!("See [`", stringify!($noun), "::", stringify!($verb), "`].")]
                async fn $verb(&self, $($argument: $type),*) -> Result<$answer> {
                    self.reach(stringify!($verb))?.$verb($($argument),*).await
                }
            )*)*

            /// See [`Waiting::await_finished`].
            async fn await_finished(&self, id: &TaskId, timeout: Duration) -> Result<Option<Task>> {
                self.reach("await_finished")?.await_finished(id, timeout).await
            }
        }

        $(
            #[async_trait]
            impl<B: Behaviour> $noun for Double<B> {
                $(
                    async fn $verb(&self, $($argument: $type),*) -> Result<$answer> {
                        self.0.$verb($($argument),*).await
                    }
                )*
            }
        )*
    };
}

engine_verbs!(double);

#[async_trait]
impl<B: Behaviour> Waiting for Double<B> {
    async fn wait(&self, worker: &WorkerId, timeout: Duration) {
        self.store().wait(worker, timeout).await;
    }

    async fn await_finished(&self, id: &TaskId, timeout: Duration) -> Result<Option<Task>> {
        self.0.await_finished(id, timeout).await
    }
}

impl<B> Sealed for Double<B> {}

impl<B: Behaviour> Engine for Double<B> {
    fn boards(self: Arc<Self>) -> Arc<dyn Boards> {
        Arc::clone(self.store()).boards()
    }

    fn backup(self: Arc<Self>) -> Arc<dyn Backup> {
        Arc::clone(self.store()).backup()
    }
}
