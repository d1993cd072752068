//! The manager over real HTTP, on the reference engine, and `parade` on both others.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed expectation is a failed test")]

mod audit;
mod bad_input;
mod binary;
mod boards;
mod calls_of_many;
mod cancel;
mod clients;
mod contract;
mod dead_letter_operations;
mod dead_letters;
mod delete;
mod dependencies;
mod errors;
mod events;
mod expiry;
mod explain;
mod fault;
mod foreign;
mod settings;

mod gates;
mod history;
mod key_operations;
mod keys;
mod leases;
mod listening;
mod masstasker;
mod openapi;
mod pages;
mod parade;
mod reads;
mod registry;
mod schedules;
mod server;
mod sessions;
mod stop;
mod store;
mod store_down;
mod submit;
mod taskstore;
mod unique;
mod version;
mod workflows;
