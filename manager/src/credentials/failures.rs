//! Bounds how many wrong keys a client may try: ten at once, and one a second after that, by its address.
//!
//! A key has too many bits to be guessed; the bound keeps the attempts cheap and visible. It answers wrong keys alone: a right
//! key is accepted from any address, or an attacker could lock out others behind the same gateway.
//!
//! A client of IPv6 usually has a whole network of 64 bits, which counts as one address. The addresses are bounded in number; when
//! there are more, those that are not known yet share one count.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    time::{Duration, Instant},
};

use jobbers_api::problem::{Code, Problem};
use parking_lot::Mutex;

use crate::{listening::client_address::ClientAddress, telemetry::meters::Meters};

/// How many wrong keys may be tried at once.
const BURST: f64 = 10.0;
/// How many more each second.
const PER_SECOND: f64 = 1.0;
/// Most addresses that are counted one by one.
const MOST_ADDRESSES: usize = 10_000;
/// How often addresses that may try [`BURST`] keys again are forgotten while there are too many.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// How many wrong keys may be tried from where.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<FailureCounts>);

#[derive(Debug, Default)]
struct FailureCounts {
    /// The addresses that tried some not long ago.
    known: HashMap<IpAddr, Attempts>,
    /// All others, while there are too many.
    others: Option<Attempts>,
    swept: Option<Instant>,
}

/// How many attempts an address has left, and when that was so.
#[derive(Debug, Clone, Copy)]
struct Attempts {
    left: f64,
    at: Instant,
}

impl Failures {
    /// What to answer to a request of this client that is refused for `problem`. Only wrong keys are counted.
    pub(crate) fn answer(&self, problem: Problem, client: Option<ClientAddress>, meters: &Meters) -> Problem {
        let (Code::KeyRefused, Some(ClientAddress(address))) = (problem.code(), client) else { return problem };
        match self.count(address, Instant::now()) {
            Ok(()) => {
                meters.key_refused(false);
                tracing::debug!(%address, detail = problem.detail(), "a key was refused");
                problem
            }
            Err(wait) => {
                meters.key_refused(true);
                let detail = format!("{address} has sent too many wrong keys; a right one is accepted at once");
                Problem::new(Code::TooManyWrongKeys, detail).after(wait)
            }
        }
    }

    /// Counts a wrong key of an address.
    ///
    /// # Errors
    /// After how long its next one is looked at again, if it has tried too many.
    fn count(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let counts = &mut *self.0.lock();
        let address = counted_as(address);
        if !counts.known.contains_key(&address) && counts.known.len() >= MOST_ADDRESSES {
            counts.sweep(now);
        }
        let is_room = counts.known.len() < MOST_ADDRESSES;
        match counts.known.get_mut(&address) {
            Some(attempts) => attempts.take(now),
            None if is_room => counts.known.entry(address).or_insert(Attempts::all(now)).take(now),
            None => counts.others.get_or_insert(Attempts::all(now)).take(now),
        }
    }
}

impl FailureCounts {
    /// Forgets addresses with no attempt to remember.
    fn sweep(&mut self, now: Instant) {
        if self.swept.is_none_or(|at| now.saturating_duration_since(at) >= SWEEP_EVERY) {
            self.swept = Some(now);
            self.known.retain(|_, attempts| attempts.at_time(now) < BURST);
        }
    }
}

impl Attempts {
    const fn all(at: Instant) -> Self {
        Self { left: BURST, at }
    }

    fn at_time(&self, now: Instant) -> f64 {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        since.mul_add(PER_SECOND, self.left).min(BURST)
    }

    fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let left = self.at_time(now);
        if left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - left) / PER_SECOND));
        }
        *self = Self { left: left - 1.0, at: now };
        Ok(())
    }
}

/// The address, or the first one of a network of IPv6.
fn counted_as(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & (u128::MAX << 64);
            Ipv6Addr::from(network).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn tried(failures: &Failures, address: &str, now: Instant) -> bool {
        failures.count(address.parse().unwrap(), now).is_ok()
    }

    #[test]
    fn ten_wrong_keys_are_looked_at_and_then_one_a_second() {
        let (failures, now) = (Failures::default(), Instant::now());
        assert!((0..10).all(|_| tried(&failures, "192.0.2.1", now)));
        let wait = failures.count("192.0.2.1".parse().unwrap(), now).unwrap_err();
        assert!(wait > Duration::from_millis(900) && wait <= Duration::from_secs(1), "{wait:?}");
        assert!(tried(&failures, "192.0.2.2", now), "another address is not affected");
        let later = now + Duration::from_secs(1);
        assert!(tried(&failures, "192.0.2.1", later) && !tried(&failures, "192.0.2.1", later));
        let much_later = now + Duration::from_secs(3_600);
        assert_eq!((0..20).filter(|_| tried(&failures, "192.0.2.1", much_later)).count(), 10);
    }

    #[test]
    fn a_network_of_ipv6_is_one_address_and_a_mapped_address_is_that_of_ipv4() {
        let (failures, now) = (Failures::default(), Instant::now());
        assert!((0..10).all(|n| tried(&failures, &format!("2001:db8::{n}:1"), now)));
        assert!(!tried(&failures, "2001:db8::ffff:1", now) && tried(&failures, "2001:db8:0:1::1", now));
        assert!((0..10).all(|_| tried(&failures, "::ffff:192.0.2.1", now)));
        assert!(!tried(&failures, "192.0.2.1", now));
    }

    #[test]
    fn many_addresses_take_a_bounded_room_and_are_bounded_together() {
        let (failures, now) = (Failures::default(), Instant::now());
        let address = |n: usize| IpAddr::from(Ipv4Addr::from(u32::try_from(n).unwrap()));
        assert!((0..MOST_ADDRESSES).all(|n| failures.count(address(n), now).is_ok()));
        let beyond = (0..1_000).filter(|n| failures.count(address(MOST_ADDRESSES + n), now).is_ok()).count();
        assert_eq!((beyond, failures.0.lock().known.len()), (10, MOST_ADDRESSES));
        assert!(failures.count(address(0), now).is_ok(), "one that is known has its own attempts");
        // A second later those with one attempt are as new, and make room.
        assert!(failures.count(address(MOST_ADDRESSES), now + Duration::from_secs(1)).is_ok());
        assert!(failures.0.lock().known.len() <= 2);
    }
}
