//! What users are given: examples, test kits, clients, packages, units, images and manifests.

pub(crate) mod any_language;
mod demo;
mod deploy;
mod examples;
mod kubernetes;
mod live_kit;
mod nightly;
mod outbox;
mod release;
mod shop;
mod typed_client;
