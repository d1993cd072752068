//! Limits the memory that all request bodies hold together.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// The memory left for request bodies.
#[derive(Debug)]
pub(crate) struct BodyMemory {
    used: AtomicUsize,
    most: usize,
}

/// The share of one body, given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    memory: Arc<BodyMemory>,
    bytes: usize,
}

impl BodyMemory {
    pub(crate) fn new(most: usize) -> Self {
        Self { used: AtomicUsize::new(0), most }
    }

    /// An empty share.
    pub(crate) fn share(self: &Arc<Self>) -> Share {
        Share { memory: Arc::clone(self), bytes: 0 }
    }
}

impl Share {
    /// Takes more. Returns false if all bodies together would hold too much.
    #[must_use]
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let before = self.memory.used.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        before.saturating_add(bytes) <= self.memory.most
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_the_bound_is_refused_until_something_is_given_back() {
        let memory = Arc::new(BodyMemory::new(10));
        let (mut one, mut other) = (memory.share(), memory.share());
        assert!(one.grow(6) && other.grow(4));
        assert!(!other.grow(1));
        drop(other);
        assert!(one.grow(4) && !memory.share().grow(1));
        drop(one);
        assert_eq!(memory.used.load(Ordering::Relaxed), 0);
    }
}
