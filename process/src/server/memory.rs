//! The account of the memory that a process holds for its clients: requests while they are read and worked on, answers
//! until they are written, and callers that wait.
//!
//! The account counts estimates that are not below what is really taken; a test of real processes compares both. Not
//! every kind may use all of it ([`Kind`]), so that large bodies and waiting callers never shut out small requests.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use tokio::sync::{Semaphore, SemaphorePermit};

/// How many parts of large answers are built at a time. Each takes a few megabytes, and a short time.
const BUILDERS: usize = 8;

/// What memory is used for, which decides up to which part of the account it may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A caller that waits for something to happen: up to five eighths.
    Waiting,
    /// A body or an answer: up to seven eighths.
    Payload,
    /// A request as such: all of it.
    Request,
}

impl Kind {
    /// The part of the account that this may use, in eighths.
    const fn eighths(self) -> usize {
        match self {
            Self::Waiting => 5,
            Self::Payload => 7,
            Self::Request => 8,
        }
    }
}

/// The account.
#[derive(Debug)]
pub struct ClientMemory {
    used: AtomicUsize,
    most: usize,
    refusals: AtomicU64,
    builders: Semaphore,
}

/// A part of the account, given back when this is dropped.
#[derive(Debug)]
pub struct MemoryShare {
    memory: Arc<ClientMemory>,
    bytes: AtomicUsize,
}

impl ClientMemory {
    /// An account of `most` bytes.
    #[must_use]
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicUsize::new(0),
            most,
            refusals: AtomicU64::new(0),
            builders: Semaphore::new(BUILDERS),
        })
    }

    /// The bytes that are in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The most bytes that may be in use.
    #[must_use]
    pub const fn most(&self) -> usize {
        self.most
    }

    /// An empty share.
    #[must_use]
    pub fn share(self: &Arc<Self>) -> MemoryShare {
        self.share_of(0)
    }

    fn share_of(self: &Arc<Self>, bytes: usize) -> MemoryShare {
        MemoryShare { memory: Arc::clone(self), bytes: AtomicUsize::new(bytes) }
    }

    /// A share of this size; `None` if the account would hold too much for this kind.
    #[must_use]
    pub fn take(self: &Arc<Self>, kind: Kind, bytes: usize) -> Option<MemoryShare> {
        let share = self.share();
        share.grow(kind, bytes).then_some(share)
    }

    /// How often a share was refused.
    pub(super) fn refusals(&self) -> u64 {
        self.refusals.load(Ordering::Relaxed)
    }

    /// Waits for the turn to build a part of a large answer, which is over when the permit is dropped. So what is being
    /// built is bounded, before it is counted.
    pub async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.builders.acquire().await.ok()
    }
}

impl MemoryShare {
    /// Takes more, unless the account would hold too much for this kind: then takes nothing and returns false.
    #[must_use]
    pub fn grow(&self, kind: Kind, bytes: usize) -> bool {
        let most = self.memory.most / 8 * kind.eighths();
        let with_it = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= most);
        if self.memory.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with_it).is_err() {
            self.memory.refusals.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        true
    }

    /// Takes more, also past the bound: for what is there already.
    pub fn add(&self, bytes: usize) {
        self.memory.used.fetch_add(bytes, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// An empty share of its own, on the same account.
    #[must_use]
    pub fn own(&self) -> Self {
        self.memory.share()
    }

    /// Moves `bytes` of this share, or as many as it has, into one of their own.
    #[must_use]
    pub fn split(&mut self, bytes: usize) -> Self {
        let has = self.bytes.get_mut();
        let bytes = bytes.min(*has);
        *has -= bytes;
        self.memory.share_of(bytes)
    }

    /// How many bytes it has.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_the_bound_is_refused_until_something_is_given_back() {
        let memory = ClientMemory::new(80);
        let (mut one, other) = (memory.share(), memory.share());
        assert!(one.grow(Kind::Payload, 40) && other.grow(Kind::Payload, 30));
        assert!(!other.grow(Kind::Payload, 1) && !other.grow(Kind::Payload, usize::MAX), "a refusal takes nothing");
        assert_eq!((memory.used(), other.bytes()), (70, 30));
        drop(other);
        assert!(one.grow(Kind::Payload, 30));
        drop(one.split(60));
        assert_eq!(memory.used(), 10);
        drop(one);
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn waiting_callers_and_bodies_leave_room_for_small_requests() {
        let memory = ClientMemory::new(80);
        let all = memory.share();
        while all.grow(Kind::Waiting, 10) {}
        assert_eq!(memory.used(), 50);
        while all.grow(Kind::Payload, 10) {}
        assert_eq!(memory.used(), 70);
        while all.grow(Kind::Request, 10) {}
        assert_eq!(memory.used(), 80);
    }
}
