//! What a listener accepts: its protocol, its limit of connections, and its deadlines.

use std::time::Duration;

use super::networks::Networks;

/// What the clients of a listener speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// One request after another.
    Http1,
    /// Many calls at a time. The protocol asks by itself whether the client is still there.
    Http2,
}

/// How a listener treats its clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// What they speak.
    pub protocol: Protocol,
    /// Most connections at a time. Further ones take the place of those that have waited longest for their clients, or
    /// wait to be accepted.
    pub max_connections: usize,
    /// How long a connection may be without a request.
    pub idle_timeout: Duration,
    /// How long a request's head, or the first words of an HTTP/2 connection, may take.
    pub header_timeout: Duration,
    /// How long a client may take to read an answer.
    pub write_timeout: Duration,
    /// How long requests under way may take when the listener stops.
    pub drain_timeout: Duration,
    /// The networks whose clients are served; none for all.
    pub clients: Networks,
}
