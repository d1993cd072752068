//! Tests of the whole system: real programs, real stores, real signals.
//!
//! Each test of a promise runs on both engines (`on_sqlite`, `on_redis`). Events are awaited, never slept for; a bound
//! says how long at most. Nothing here looks into a store, except `encrypted` for clear text: what can't be seen
//! through the API or in a side effect is not part of a promise. Start reading at `stack`; the tasks that run are those of `src/bin/test-worker.rs`.

#[cfg(test)]
#[macro_use]
mod engines;

#[cfg(test)]
mod any_language;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod blame;
#[cfg(test)]
mod boards;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod bridge;
#[cfg(test)]
mod captures;
#[cfg(test)]
mod clocks;
#[cfg(test)]
mod configuration;
#[cfg(test)]
mod creation;
#[cfg(test)]
mod dashboards;
#[cfg(test)]
mod dead_letters;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod dependencies;
#[cfg(test)]
mod deploy;
#[cfg(test)]
mod encrypted;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod executions;
#[cfg(test)]
mod failovers;
#[cfg(test)]
mod fronts;
#[cfg(test)]
mod full_disk;
#[cfg(test)]
mod gates;
#[cfg(test)]
mod hanging;
#[cfg(test)]
mod idle;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod killed_manager;
#[cfg(test)]
mod killed_redis;
#[cfg(test)]
mod killed_worker;
#[cfg(test)]
mod kubernetes;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod live_kit;
#[cfg(test)]
mod load;
#[cfg(test)]
mod lost_answer;
#[cfg(test)]
mod nightly;
#[cfg(test)]
mod original;
#[cfg(test)]
mod outbox;
#[cfg(test)]
mod release;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod shop;
#[cfg(test)]
mod shutdown;
#[cfg(test)]
mod signals;
#[cfg(test)]
mod silent_redis;
#[cfg(test)]
mod soak;
#[cfg(test)]
mod stack;
#[cfg(test)]
mod storm;
#[cfg(test)]
mod telemetry;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod tombstones;
#[cfg(test)]
mod traces;
#[cfg(test)]
mod trouble;
#[cfg(test)]
mod typed_client;
#[cfg(test)]
mod unknown_tasks;
#[cfg(test)]
mod upgrade;
#[cfg(test)]
mod waiting_for_store;
#[cfg(test)]
mod wakeups;
#[cfg(test)]
mod workflows;
