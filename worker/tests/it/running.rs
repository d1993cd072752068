//! How a worker runs tasks: its threads, its queues, its leases, the ends of attempts, its own end.

mod blocking;
mod cancelling;
mod draining;
mod leases;
mod queues;
mod settling;
mod unknown;
