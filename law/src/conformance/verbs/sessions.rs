//! Sessions of people who have signed in at the pages.

use std::time::Duration;

use jobbers_common::{
    access::{Digest, Session},
    limits::MAX_SESSIONS,
    name::KeyId,
};

use crate::conformance::{Fixture, seconds};

fn session(key: &str) -> Session {
    Session { key: KeyId::new(key).unwrap(), secret: Digest([0xa5; 32]) }
}

/// A digest that differs for each number.
fn digest(number: usize) -> Digest {
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&number.to_be_bytes());
    Digest(digest)
}

pub async fn a_session_lasts_until_its_end(f: Fixture) {
    let (id, other) = (digest(1), digest(2));
    assert_eq!(f.engine.session(&id).await, Ok(None));
    f.engine.put_session(&id, &session("0123456789"), seconds(10)).await.unwrap();
    f.engine.put_session(&other, &session("abcdefghjk"), seconds(20)).await.unwrap();
    f.advance(seconds(9));
    assert_eq!(f.engine.session(&id).await, Ok(Some(session("0123456789"))));
    f.advance(seconds(1));
    assert_eq!(f.engine.session(&id).await, Ok(None));
    assert_eq!(f.engine.session(&other).await, Ok(Some(session("abcdefghjk"))));
}

pub async fn a_session_that_is_ended_does_not_come_back(f: Fixture) {
    let (id, other) = (digest(1), digest(2));
    f.engine.end_session(&id).await.unwrap();
    for id in [&id, &other] {
        f.engine.put_session(id, &session("0123456789"), seconds(10)).await.unwrap();
    }
    f.engine.end_session(&id).await.unwrap();
    f.engine.end_session(&id).await.unwrap();
    assert_eq!(f.engine.session(&id).await, Ok(None));
    assert_eq!(f.engine.session(&other).await, Ok(Some(session("0123456789"))), "another one goes on");
}

pub async fn of_too_many_sessions_those_that_end_first_are_forgotten(f: Fixture) {
    let ttl = |number: usize| seconds(3_600) + Duration::from_millis(u64::try_from(number).unwrap());
    for number in 0..MAX_SESSIONS + 3 {
        f.engine.put_session(&digest(number), &session("0123456789"), ttl(number)).await.unwrap();
    }
    for (number, is_kept) in [(0, false), (2, false), (3, true), (MAX_SESSIONS + 2, true)] {
        assert_eq!(f.engine.session(&digest(number)).await.unwrap().is_some(), is_kept, "{number}");
    }
}
