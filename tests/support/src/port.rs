//! Ports for programs that listen on a given one.

use std::{
    hash::{BuildHasher, RandomState},
    net::{Ipv4Addr, TcpListener},
};

/// The lowest port that is given out: below are those of services with a name.
const LOWEST: u16 = 10_000;
const ATTEMPTS: usize = 1_000;

/// A port of loopback that was free just now. It is none of those that the kernel gives to connections and to who listens on
/// port 0: until its program listens, and while that is away, only another test that draws the same number can take it.
///
/// # Panics
/// When none is free.
#[must_use]
pub fn free_port() -> u16 {
    let given = given_by_the_kernel();
    let drawn = || LOWEST + u16::try_from(RandomState::new().hash_one(()) % u64::from(given - LOWEST)).expect("few");
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    (0..ATTEMPTS).map(|_| drawn()).find(is_free).expect("a free port")
}

/// The lowest port that the kernel gives.
fn given_by_the_kernel() -> u16 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").expect("the kernel says it");
    let lowest = range.split_whitespace().next().and_then(|it| it.parse().ok()).expect("a range");
    assert!(lowest > LOWEST, "the kernel gives all ports from {lowest}");
    lowest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_none_of_those_that_are_given_or_in_use() {
        let listeners: Vec<TcpListener> =
            (0..200).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, free_port())).unwrap()).collect();
        let lowest = given_by_the_kernel();
        assert!(listeners.iter().all(|it| (LOWEST..lowest).contains(&it.local_addr().unwrap().port())));
    }
}
