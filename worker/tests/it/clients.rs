//! What a program submits, and what it does with that: handles, results, workflows, the outbox.

mod awaiting;
mod canvas;
mod handles;
mod outbox;
mod submitting;
