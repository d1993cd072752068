//! Operations on tasks, over HTTP.

mod calls_of_many;
mod cancel;
mod delete;
mod dependencies;
mod events;
mod expiry;
mod explain;
mod gates;
mod reads;
mod reschedule;
mod resubmit;
mod sensitive;
mod submit;
mod unique;
