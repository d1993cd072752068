//! Speaking TLS in place of a program that does not: as its client, in front of it, and on its behalf.

pub mod client;
pub mod front;
pub mod tunnel;
