//! Commands that ask no manager: what they need of a store they read by its address.

pub mod doctor;
pub mod export;
pub mod import;
pub mod outbox;
