//! Holds dashboards and alert rules to the catalogue of metrics, to each other and to the runbook.

mod catalogue;
mod deployment;
mod files;
mod models;
mod promql;
mod rules;
