//! The settlements that are in no call, and how many of them the next call takes.

use std::time::{Duration, Instant};

use jobbers_common::limits::MAX_BATCH;

use super::settling::Settling;

/// The most bytes of results and checkpoints in one call, unless a single one has more.
const MOST_SETTLED_BYTES: usize = 8 * 1024 * 1024;
/// How often a settlement that the store could not accept is retried.
const EVERY: Duration = Duration::from_secs(2);

/// Settlements that wait for a call.
#[derive(Debug)]
pub(super) struct Unsettled {
    waiting: Vec<Settling>,
    /// Those that the store could not accept, though it accepts others.
    pub(super) aside: Aside,
    /// The most in a call; reduced while searching for the one that the store refuses.
    limit: usize,
}

impl Default for Unsettled {
    fn default() -> Self {
        Self { waiting: Vec::new(), aside: Aside::default(), limit: MAX_BATCH }
    }
}

impl Unsettled {
    pub(super) fn push(&mut self, one: Settling) {
        self.waiting.push(one);
    }

    /// Puts those of a failed call first.
    pub(super) fn put_back(&mut self, settling: Vec<Settling>) {
        self.waiting.splice(..0, settling);
    }

    /// How many there are, with those that were set aside.
    pub(super) const fn len(&self) -> usize {
        self.waiting.len() + self.aside.len()
    }

    /// Whether the next call has one to take.
    pub(super) const fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes those of the next call: no more bytes than can arrive in time, but at least one.
    pub(super) fn take_batch(&mut self) -> Vec<Settling> {
        let most = self.waiting.len().min(self.limit);
        let mut bytes = 0;
        let fitting = self.waiting[..most].iter().take_while(|one| {
            bytes += one.bytes();
            bytes <= MOST_SETTLED_BYTES
        });
        let count = fitting.count().max(most.min(1));
        self.waiting.drain(..count).collect()
    }

    /// Whether it is searching for one that the store refuses.
    pub(super) const fn is_searching(&self) -> bool {
        self.limit < MAX_BATCH
    }

    /// The store refused this number together: the next batches are half as large, until the one is found.
    pub(super) const fn narrow(&mut self, refused: usize) {
        self.limit = refused / 2;
    }

    /// After calls that were answered, allows larger batches again.
    pub(super) fn widen(&mut self) {
        self.limit = match self.waiting.is_empty() {
            true => MAX_BATCH,
            false => (self.limit * 2).min(MAX_BATCH),
        };
    }
}

/// Settlements that an available store could not accept; each is retried alone.
#[derive(Debug, Default)]
pub(super) struct Aside {
    settling: Vec<Settling>,
    retry_at: Option<Instant>,
}

impl Aside {
    const fn len(&self) -> usize {
        self.settling.len()
    }

    /// When the next one is retried, if there are any.
    pub(super) fn retry_at(&self) -> Option<Instant> {
        self.retry_at.filter(|_| !self.settling.is_empty())
    }

    /// The next one, if it is due.
    pub(super) fn take(&mut self, now: Instant) -> Option<Settling> {
        self.retry_at().filter(|at| *at <= now).map(|_| self.settling.remove(0))
    }

    /// One was settled after all, so the others need not wait.
    pub(super) const fn hurry(&mut self, now: Instant) {
        self.retry_at = Some(now);
    }

    pub(super) fn put(&mut self, one: Settling, now: Instant) {
        self.settling.push(one);
        self.retry_at = Some(now + EVERY);
    }
}
