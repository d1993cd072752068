//! Managers, workers and stores that are killed under load: nothing is lost, and nothing is done twice.

mod audit;
mod blame;
mod bridge;
mod dead_letters;
mod dependencies;
mod fronts;
mod manager;
mod redis;
mod schedules;
mod signals;
mod worker;
mod workflows;
