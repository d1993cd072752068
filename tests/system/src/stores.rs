//! Stores that are created, full, unreachable, replaced, or left by an earlier version.

mod clocks;
mod creation;
mod failover_loops;
mod failovers;
mod full_disk;
mod ledger;
mod lost_answer;
mod resharding;
mod silent_redis;
mod tombstones;
mod trouble;
mod upgrade;
mod waiting_for_store;
