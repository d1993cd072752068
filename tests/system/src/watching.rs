//! What is measured and shown, and what it costs: metrics, traces, dashboards, memory, processor time.

mod boards;
mod bounds;
mod dashboards;
mod idle;
pub(crate) mod telemetry;
mod traces;
