//! Values that a program shares with its tasks, found by type.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::Arc,
};

/// Values by type: a connection pool, a client, settings.
#[derive(Default)]
pub(crate) struct States(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl States {
    /// Inserts a value; replaces one of the same type.
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.0.insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// The value of this type.
    pub(crate) fn get<T: 'static>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// The value of this type, to keep.
    pub(crate) fn share<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        Arc::clone(self.0.get(&TypeId::of::<T>())?).downcast().ok()
    }

    /// Whether there is a value of this type.
    pub(crate) fn has(&self, needed: &NeededState) -> bool {
        self.0.contains_key(&needed.id)
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "States({})", self.0.len())
    }
}

/// A type of state that a task can't do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeededState {
    id: TypeId,
    type_name: &'static str,
}

impl NeededState {
    /// The need for a value of type `T`.
    #[must_use]
    pub fn of<T: 'static>() -> Self {
        Self { id: TypeId::of::<T>(), type_name: std::any::type_name::<T>() }
    }

    /// The path of the type.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        self.type_name
    }
}

/// Tasks need state that the program did not give to its worker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct MissingState {
    /// The types, each with the tasks that need it, as `name@version`.
    pub types: Vec<(&'static str, Vec<String>)>,
}

impl fmt::Display for MissingState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the worker lacks state that its tasks need:")?;
        for (nth, (type_name, tasks)) in self.types.iter().enumerate() {
            let separator = if nth == 0 { "" } else { ";" };
            write!(f, "{separator} {type_name} for {}", tasks.join(", "))?;
        }
        f.write_str(". Give each to Worker::state, or leave its tasks out")
    }
}
