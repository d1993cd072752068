//! Writes the Grafana dashboards (`grafana/*.json`) from their sources (`source/*.toml`).
//!
//! A source says what only its author can say: which question a panel answers, by which PromQL, in which unit. What all
//! dashboards share (the data source, variables, links, the grid, colours, annotations) is added here, so that five of
//! them look and behave alike. `REWRITE=1 cargo test -p jobbers-dashboards` rewrites them; a test complains when they
//! are not what their sources say.
//!
//! No product code uses this crate, and it asks no Prometheus: that the expressions bring data is tested in
//! `tests/system`. Start reading at [`source`], then [`grafana`]; the tests hold dashboards and alert rules to the
//! catalogue of metrics.

pub mod grafana;
pub mod runbook;
pub mod source;

#[cfg(test)]
mod tests;
