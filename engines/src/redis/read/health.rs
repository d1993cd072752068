//! How the store is, for readiness and `doctor`.

use std::{collections::HashMap, time::Duration};

use jobbers_common::{
    engine::{Error, Health, Result, Trouble},
    time::Timestamp,
};
use redis::{Cmd, FromRedisValue};

use crate::redis::{
    follow::{letters, tombstones},
    kernel::{keys, layout::FIRST_NUMBER_AT},
    server::{
        durability::{Persistence, Unmet},
        failure::malformed,
        store::Store,
    },
};

/// Describes the server and its durability.
pub(crate) async fn health(store: &Store) -> Result<Health> {
    let (info, mut warnings): (String, _) =
        match ask(store, &["INFO", "server", "persistence", "memory", "replication"]).await {
            Ok(info) => (info, Vec::new()),
            // This user has no permission.
            Err(Error::Config(why)) => (String::new(), vec![format!("what Redis keeps can't be found out: {why}")]),
            Err(error) => return Err(error),
        };
    let field = |name: &str| field_of(&info, name);
    // A managed server may not answer this.
    let settings: HashMap<String, String> = ask(store, &["CONFIG", "GET", "appendfsync"]).await.unwrap_or_default();
    let durability = if info.is_empty() {
        "unknown".to_owned()
    } else if field("aof_enabled") == "1" {
        let appendfsync = settings.get("appendfsync").map_or("unknown", String::as_str);
        if appendfsync == "no" {
            warnings.push(
                "Redis writes its append-only file without ever syncing it: a crash of the machine loses acknowledged \
                 tasks; set appendfsync everysec or always"
                    .to_owned(),
            );
        }
        format!("appendonly, appendfsync {appendfsync}")
    } else {
        warnings.push(
            "Redis keeps no append-only file: a crash of the server loses acknowledged tasks; set appendonly yes"
                .to_owned(),
        );
        "no append-only file: what a snapshot holds survives".to_owned()
    };
    let policy = field("maxmemory_policy");
    if policy != "noeviction" && field("maxmemory") != "0" {
        warnings.push(format!("maxmemory-policy is {policy}: a full server deletes tasks; set it to noeviction"));
    }
    let number = |name: &str| field(name).parse::<u64>().unwrap_or_default();
    let (used, most) = (number("used_memory"), number("maxmemory"));
    let mut troubles = Vec::new();
    let unmet = if info.is_empty() { Vec::new() } else { store.durability.unmet(kept(&info, &settings)) };
    if !unmet.is_empty() {
        troubles.push(Trouble::DurabilityUnmet);
        warnings.extend(unmet.iter().map(|unmet| unmet.sentence().to_owned()));
    }
    if most > 0 && used >= most {
        troubles.push(Trouble::Full);
    }
    if most > 0 && used.saturating_mul(10) >= most.saturating_mul(9) {
        warnings.push(nearly_full_warning(used.saturating_mul(100) / most));
    }
    warnings.extend(failed_writes(&info));
    let (now, outbox) = letters::outbox(store).await?;
    // A user without permission for this command gets no warning.
    let counter: Option<i64> = ask(store, &["GET", &format!("{}c", store.shard)]).await.unwrap_or_default();
    warnings.extend(counter.and_then(|counter| clock_warning(counter, now)));
    // A process that only looks finds the store gone as well, and notes nothing.
    let emptied: Option<i64> = ask(store, &["GET", &keys::emptied(&store.shard)]).await.unwrap_or_default();
    if let Some(at) = emptied {
        troubles.push(Trouble::CommitsMissing);
        warnings.push(emptied_warning(store, now.since(Timestamp::from_micros(at))));
    }
    let tombstones = tombstones::health(store).await?;
    Ok(Health {
        engine: "redis",
        store: store.address.clone(),
        server: server_of(&info),
        durability,
        warnings,
        troubles,
        now,
        outbox,
        tombstones,
    })
}

/// A field of an answer to `INFO`; empty if it has none.
fn field_of<'a>(info: &'a str, name: &str) -> &'a str {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap_or_default()
}

/// From these versions on a slot moves to another node of a Cluster in one step.
const MOVES_IN_ONE_STEP: [(&str, (u32, u32)); 2] = [("Redis", (8, 4)), ("Valkey", (9, 0))];

/// Which server this is, and how it moves a store in a Cluster, by its answer to `INFO`.
fn server_of(info: &str) -> String {
    // Valkey also names the version of Redis that it replaces.
    let (name, version) = match field_of(info, "valkey_version") {
        "" => ("Redis", field_of(info, "redis_version")),
        version => ("Valkey", version),
    };
    let server = format!("{name} {version}");
    if ![field_of(info, "redis_mode"), field_of(info, "server_mode")].contains(&"cluster") {
        return server.trim_end().to_owned();
    }
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let is_one_step = MOVES_IN_ONE_STEP.iter().any(|(makes, from)| *makes == name && version >= *from);
    let how = if is_one_step { "in one step" } else { "key by key, and stops meanwhile" };
    format!("{server} in a Cluster, which moves a slot {how}")
}

/// What a server keeps, by its own answers.
fn kept<'a>(info: &str, settings: &'a HashMap<String, String>) -> Persistence<'a> {
    Persistence {
        has_file: field_of(info, "aof_enabled") == "1",
        appendfsync: settings.get("appendfsync").map(String::as_str),
        replicas: field_of(info, "connected_slaves").parse().unwrap_or_default(),
    }
}

/// Refuses a server that does not keep what the address promises.
///
/// # Errors
/// [`Error::Config`] for a setting of the server, [`Error::Unavailable`] for replicas that are missing at present.
pub(crate) async fn check_durability(store: &Store) -> Result<()> {
    if !store.durability.is_promised() {
        return Ok(());
    }
    let info: String = ask(store, &["INFO", "persistence", "replication"]).await?;
    let settings: HashMap<String, String> = ask(store, &["CONFIG", "GET", "appendfsync"]).await.unwrap_or_default();
    match store.durability.unmet(kept(&info, &settings)).into_iter().next() {
        None => Ok(()),
        Some(Unmet::Setting(why)) => Err(Error::Config(why)),
        Some(Unmet::Replicas(why)) => Err(Error::unavailable(why)),
    }
}

/// The warnings that the server could not write its files.
fn failed_writes(info: &str) -> impl Iterator<Item = String> {
    [("aof_last_write_status", "append-only file"), ("rdb_last_bgsave_status", "snapshot")]
        .into_iter()
        .filter(|(name, _)| !matches!(field_of(info, name), "ok" | ""))
        .map(|(_, what)| format!("the last write of the {what} failed: see the server's log and disk"))
}

/// The warning that the server uses this share of its memory, in percent.
fn nearly_full_warning(share: u64) -> String {
    format!(
        "Redis uses {share} % of its maxmemory: when it is full, submissions are refused; settle or prune tasks, or give it \
         more"
    )
}

/// The warning that the server has lost the store.
fn emptied_warning(store: &Store, ago: Duration) -> String {
    let minutes = ago.as_secs() / 60;
    format!(
        "the Redis server lost the whole store, found {minutes} minutes ago: its keys were deleted (FLUSHALL, FLUSHDB), it started \
         without what it had written, or the address leads to another server or database. Every task that was acknowledged \
         before is missing. Restore a backup, or accept it: redis-cli DEL '{}'",
        keys::emptied(&store.shard)
    )
}

/// The clock may be so far behind the counter without a warning.
const CLOCK_SLACK: Duration = Duration::from_secs(5);

/// The warning that the server's clock is behind what the store has written: the counter never is behind the clock.
fn clock_warning(counter: i64, now: Timestamp) -> Option<String> {
    let behind = Timestamp::from_micros(FIRST_NUMBER_AT.saturating_add(counter)).since(now);
    (behind > CLOCK_SLACK).then(|| {
        format!(
            "the clock of the Redis server is {} s behind what this store has written: it was set back. Until it has caught up, \
             the tasks of dead workers and delayed tasks wait longer by as much. Set it forward again, and have it slewed, \
             not set",
            behind.as_secs()
        )
    })
}

/// Sends a plain command and reads its answer.
async fn ask<T: FromRedisValue>(store: &Store, words: &[&str]) -> Result<T> {
    let build = |_| {
        let mut command = Cmd::new();
        words.iter().for_each(|word| {
            command.arg(*word);
        });
        command
    };
    let answer = store.work.call(None, &build).await?;
    redis::from_redis_value(answer).map_err(|error| malformed(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_what_it_is_and_how_it_moves_a_store() {
        for (info, server) in [
            ("", "Redis"),
            ("redis_version:7.0.15\r\nredis_mode:standalone\r\n", "Redis 7.0.15"),
            (
                "redis_version:8.2.1\r\nredis_mode:cluster\r\n",
                "Redis 8.2.1 in a Cluster, which moves a slot key by key, and stops meanwhile",
            ),
            (
                "redis_version:8.4.0\r\nredis_mode:cluster\r\n",
                "Redis 8.4.0 in a Cluster, which moves a slot in one step",
            ),
            (
                "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.8\r\nserver_mode:standalone\r\n",
                "Valkey 8.1.8",
            ),
            (
                "redis_version:7.2.4\r\nvalkey_version:9.1.2\r\nserver_mode:cluster\r\n",
                "Valkey 9.1.2 in a Cluster, which moves a slot in one step",
            ),
        ] {
            assert_eq!(server_of(info), server);
        }
    }
}
