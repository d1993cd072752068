//! Which clients a listener serves, where it serves those of some networks only. Others lose their connection at once: nothing of
//! theirs is read.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use super::networks::Networks;

/// How often a client that is turned away is logged as a warning.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// The clients that are served.
#[derive(Debug)]
pub(super) struct Guests {
    /// None for all.
    networks: Networks,
    warned: Option<Instant>,
}

impl Guests {
    /// Those of these networks; of all, if there is none.
    pub(super) const fn of(networks: Networks) -> Self {
        Self { networks, warned: None }
    }

    /// Whether a client is served. A warning shows one of those that are not, so that a proxy that was forgotten is found.
    pub(super) fn include(&mut self, peer: SocketAddr) -> bool {
        if self.networks.is_empty() || self.networks.contain(peer.ip()) {
            return true;
        }
        if self.warned.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
            self.warned = Some(Instant::now());
            tracing::warn!(%peer, served = %self.networks, "a client of another network was turned away");
        } else {
            tracing::debug!(%peer, "a client of another network was turned away");
        }
        false
    }
}
