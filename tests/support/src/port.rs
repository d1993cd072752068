//! Ports for programs that listen on a given one.

use std::{
    hash::{BuildHasher, RandomState},
    net::{Ipv4Addr, TcpListener},
};

/// The lowest port that is given out: below are those of services with a name.
const LOWEST: u16 = 10_000;
/// So many ports are enough for tests that draw them at the same time.
const ROOM: u16 = 5_000;
const ATTEMPTS: usize = 1_000;

/// A port of loopback that was free just now. It is none of those that the kernel gives to connections and to who listens on
/// port 0: until its program listens, and while that is away, only another test that draws the same number can take it. On a
/// machine whose kernel gives nearly all ports, or does not say which, it is one of those.
///
/// # Panics
/// When none is free.
#[must_use]
pub fn free_port() -> u16 {
    let listen = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()?.local_addr().ok().map(|it| it.port());
    let Some(room) = room_below_the_kernel() else { return listen(0).expect("a free port") };
    let draw = || LOWEST + u16::try_from(RandomState::new().hash_one(()) % u64::from(room)).expect("few");
    (0..ATTEMPTS).find_map(|_| listen(draw())).expect("a free port")
}

/// How many ports are below those that the kernel gives, if they are enough.
fn room_below_the_kernel() -> Option<u16> {
    room_below(&std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?)
}

fn room_below(range: &str) -> Option<u16> {
    let lowest: u16 = range.split_whitespace().next()?.parse().ok()?;
    lowest.checked_sub(LOWEST).filter(|room| *room >= ROOM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_none_of_those_that_are_given_or_in_use() {
        let listeners: Vec<TcpListener> =
            (0..200).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, free_port())).unwrap()).collect();
        let room = room_below_the_kernel().unwrap_or(u16::MAX - LOWEST);
        assert!(listeners.iter().all(|it| (LOWEST..LOWEST + room).contains(&it.local_addr().unwrap().port())));
    }

    #[test]
    fn a_kernel_that_gives_nearly_all_ports_is_asked_for_one() {
        let ranges = ["32768\t60999\n", "1024 65535", "10001 65535", "0 0", "", "many"];
        assert_eq!(ranges.map(room_below), [Some(22_768), None, None, None, None, None]);
    }
}
