//! MassTasker over gRPC: `masstasker.MassTasker` with Update, Query, BulkSet and Debug.
//!
//! So far its messages and its service, as [`proto`] declares them.

pub mod proto;
