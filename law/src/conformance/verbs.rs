//! The verbs: what moves tasks, keeps them and wakes their workers.

pub mod cancel;
pub mod deleting;
pub mod deleting_tasks;
pub mod expiry;
pub mod intake;
pub mod lease;
pub mod moving;
pub mod patterns;
pub mod queues;
pub mod recovery;
pub mod rescheduling;
pub mod sessions;
pub mod settings;
pub mod settle;
pub mod spans;
pub mod submit;
pub mod tries;
pub mod upkeep;
pub mod wake;
pub mod work;
