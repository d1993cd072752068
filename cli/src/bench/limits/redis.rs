//! What a bare Redis does on this machine, in this run: the moves a queue can't do without, and none of our features.
//!
//! - submit: `LPUSH` of one message (id, name and parameters) a command, 100 commands a pipeline.
//! - drain: a script that moves 100 from the queue to a list in flight and acknowledges 100 moved before; two calls in
//!   flight.
//! - round trip: `PING`, one after the other; and each after the pause that a task of the idle latency has before it.

use std::time::{Duration, Instant};

use anyhow::Result;
use redis::{AsyncConnectionConfig, Script, aio::MultiplexedConnection};

use super::BareRates;
use crate::bench::{
    cpu::used_by_server,
    figures::{as_f64, per_second, percentile, rate_of},
    load::{BATCH, CALLERS, IDLE_SAMPLES, NOOP, PAUSE},
};

const MOVE_AND_ACK: &str = r"
redis.call('LPOP', KEYS[2], ARGV[1])
local moved = redis.call('RPOP', KEYS[1], ARGV[1])
if not moved then return {} end
redis.call('RPUSH', KEYS[2], unpack(moved))
return moved
";

/// Keys of one run, shared with no other client.
struct BenchKeys {
    queue: String,
    flight: String,
}

pub(in crate::bench) async fn measure(url: &str, prefix: &str, parameters: &str, tasks: usize) -> Result<BareRates> {
    let message = format!(r#"{{"id":"{}","name":"{NOOP}","parameters":{parameters}}}"#, ulid::Ulid::generate());
    let payload = message.as_bytes();
    // With the tag of a store's keys, so that a Cluster has them in one slot.
    let keys = BenchKeys { queue: format!("{prefix}:{{0}}:bare:queue"), flight: format!("{prefix}:{{0}}:bare:flight") };
    let connection = connect(url).await?;
    let round_trip_ms = round_trip(connection.clone(), 2_000, Duration::ZERO).await?;
    let submit_one = push_singly(connection.clone(), &keys, payload, tasks.min(20_000) / 4).await?;
    let submit_batch = rate_of(tasks, push_in_batches(connection.clone(), &keys, payload, tasks)).await?;
    let drain = rate_of(tasks, drain(connection.clone(), &keys)).await?;
    let both_tasks = async {
        let pushed = push_in_batches(connection.clone(), &keys, payload, tasks);
        let drained = drain_exactly(connection.clone(), &keys, tasks);
        tokio::try_join!(pushed, drained).map(|_| ())
    };
    let both = rate_of(tasks, both_tasks).await?;
    let mut last = connection;
    redis::cmd("UNLINK").arg(&keys.queue).arg(&keys.flight).exec_async(&mut last).await?;
    Ok(BareRates { submit_one, submit_batch, drain, both, round_trip: round_trip_ms })
}

/// One exchange after the pause that a task of the idle latency has before it, in milliseconds.
pub(in crate::bench) async fn idle_round_trip_ms(connection: &MultiplexedConnection) -> Result<f64> {
    round_trip(connection.clone(), IDLE_SAMPLES, PAUSE).await
}

pub(in crate::bench) async fn connect(url: &str) -> Result<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(30)));
    let client = jobbers_engines::redis::primary(url).await?;
    Ok(client.get_multiplexed_async_connection_with_config(&config).await?)
}

async fn round_trip(mut connection: MultiplexedConnection, count: usize, pause: Duration) -> Result<f64> {
    let mut samples = Vec::with_capacity(count);
    for _ in 0..count {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        let start = Instant::now();
        redis::cmd("PING").exec_async(&mut connection).await?;
        samples.push(start.elapsed().as_secs_f64() * 1e3);
    }
    samples.sort_by(f64::total_cmp);
    Ok(percentile(&samples, 0.5))
}

/// What the server takes of a processor for one `PING`, one after the other, in microseconds.
pub(in crate::bench) async fn ping_cpu_us(connection: &MultiplexedConnection, count: usize) -> Result<f64> {
    let before = used_by_server(connection).await?;
    round_trip(connection.clone(), count, Duration::ZERO).await?;
    Ok((used_by_server(connection).await? - before) / as_f64(count))
}

async fn push_singly(
    mut connection: MultiplexedConnection,
    keys: &BenchKeys,
    payload: &[u8],
    count: usize,
) -> Result<f64> {
    let start = Instant::now();
    for _ in 0..count {
        redis::cmd("LPUSH").arg(&keys.queue).arg(payload).exec_async(&mut connection).await?;
    }
    let rate = per_second(count, start);
    redis::cmd("UNLINK").arg(&keys.queue).exec_async(&mut connection).await?;
    Ok(rate)
}

async fn push_in_batches(
    connection: MultiplexedConnection,
    keys: &BenchKeys,
    payload: &[u8],
    tasks: usize,
) -> Result<()> {
    let mut pipe = redis::pipe();
    for _ in 0..BATCH {
        pipe.cmd("LPUSH").arg(&keys.queue).arg(payload).ignore();
    }
    let callers = (0..CALLERS).map(|_| {
        let (mut connection, pipe) = (connection.clone(), pipe.clone());
        tokio::spawn(async move {
            for _ in 0..tasks / BATCH / CALLERS {
                pipe.exec_async(&mut connection).await?;
            }
            anyhow::Ok(())
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await??;
    }
    Ok(())
}

/// Two calls in flight, as our worker has: the store never waits for its client.
async fn drain(connection: MultiplexedConnection, keys: &BenchKeys) -> Result<()> {
    let empty = async || {
        while move_batch(&connection, keys).await? > 0 {}
        anyhow::Ok(())
    };
    tokio::try_join!(empty(), empty()).map(|_| ())
}

async fn drain_exactly(connection: MultiplexedConnection, keys: &BenchKeys, tasks: usize) -> Result<()> {
    let mut moved = 0;
    while moved < tasks / BATCH / CALLERS * CALLERS * BATCH {
        moved += move_batch(&connection, keys).await?;
    }
    Ok(())
}

async fn move_batch(connection: &MultiplexedConnection, keys: &BenchKeys) -> Result<usize> {
    let script = Script::new(MOVE_AND_ACK);
    let mut connection = connection.clone();
    let moved: Vec<Vec<u8>> =
        script.key(&keys.queue).key(&keys.flight).arg(BATCH).invoke_async(&mut connection).await?;
    Ok(moved.len())
}
