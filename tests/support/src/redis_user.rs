//! The user of Redis that the guide to Redis describes: with no more rights than the programs need.

use crate::redis_server::{RedisOptions, RedisServer};

const GUIDE: &str = include_str!("../../../docs/guides/redis.md");
/// How the line of the guide begins.
const BEGIN: &str = "user jobbers ";
/// What the reader of the guide replaces.
const PLACEHOLDER: &str = ">PASSWORD";
const PASSWORD: &str = "word";
/// What the programs ask for and do without, as the guide says.
const OPTIONAL: &str = "config|get";
/// What comes before a refused command in the log of refusals.
const OBJECT: &str = "$6\r\nobject\r\n";

/// The options of a server that knows the user.
///
/// # Panics
/// When the guide describes none.
#[must_use]
pub fn options(mut options: RedisOptions) -> RedisOptions {
    let line = GUIDE.lines().find(|line| line.starts_with(BEGIN)).expect("the guide describes a user");
    assert!(line.contains(PLACEHOLDER), "the guide has a place for a password: {line}");
    let line = line.replace(PLACEHOLDER, &format!(">{PASSWORD}"));
    options.arguments.extend(line.split(' ').enumerate().map(|(place, word)| match place {
        0 => format!("--{word}"),
        _ => word.to_owned(),
    }));
    options
}

/// The address of a server for the user.
#[must_use]
pub fn login(url: &str) -> String {
    url.replacen("://", &format!("://jobbers:{PASSWORD}@"), 1)
}

/// Nothing that the user needs was refused.
///
/// # Panics
/// When something was.
pub fn assert_nothing_was_refused(server: &RedisServer) {
    let log = server.command("ACL LOG 128");
    let object = |entry: &str| entry.lines().nth(1).expect("the name of a command").to_owned();
    let refused: Vec<String> = log.split(OBJECT).skip(1).map(object).filter(|object| object != OPTIONAL).collect();
    assert!(refused.is_empty(), "the user of docs/guides/redis.md was refused {refused:?}: {log}");
}
