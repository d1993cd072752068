//! Workers and what they run: limits over several processes, tasks that hang, tasks that a worker does not know, the end of a worker.

mod configuration;
mod gates;
mod hanging;
mod limits;
mod load;
mod shutdown;
mod unknown_tasks;
mod wakeups;
