//! Tests of the whole system: real programs, real stores, real signals.
//!
//! Each test of a promise runs on both engines (`on_sqlite`, `on_redis`). Events are awaited, never slept for; a bound
//! says how long at most. Nothing here looks into a store, except `encrypted` for clear text: what can't be seen
//! through the API or in a side effect is not part of a promise. Start reading at `stack`; the tasks that run are those of `src/bin/test-worker.rs`.

#[cfg(test)]
#[macro_use]
mod engines;

#[cfg(test)]
mod crashes;
#[cfg(test)]
mod executions;
#[cfg(test)]
mod original;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod shipped;
#[cfg(test)]
mod soak;
#[cfg(test)]
mod stack;
#[cfg(test)]
mod stores;
#[cfg(test)]
mod storm;
#[cfg(test)]
mod watching;
#[cfg(test)]
mod workers;
