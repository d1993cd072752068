//! Everything at once, for as long as one likes: tasks of all kinds, workflows, schedules, boards, a bridge, leases over HTTP,
//! dead letters sent again; and meanwhile everything is killed and frozen at random: managers, workers, the cleaner, the
//! store, and connections that lose answers or go dead.
//!
//! Clients note in a [`ledger`] what they ask for before they send it. At the end the ledger is held against the store and
//! against what the tasks did ([`audit`]): nothing acknowledged is lost, nothing is settled twice or held by two, no innocent
//! task fails, no slot is missed or fired twice, no task is released twice or too early, no limit is exceeded. All programs
//! run with default settings, but workers log settlements and the cleaner runs often. [`controls`] breaks each promise, and
//! the audit must notice.
//!
//! `JOBBERS_SOAK` says how long (`90s`, `5m`, `1h`), `JOBBERS_SOAK_SEED` which [`plan`] of faults; their exact moments are the
//! machine's.

pub(crate) mod audit;
mod books;
mod clients;
mod controls;
mod fleet;
mod journal;
pub(crate) mod kinds;
pub(crate) mod ledger;
mod meter;
mod plan;
mod report;
mod world;

use std::{
    future::Future,
    pin::pin,
    time::{Duration, Instant},
};

use jobbers_test_support::redis_server::Persistence;
use reqwest::Method;
use serde_json::json;
use tokio::sync::watch;

use self::{
    clients::{leases, schedules},
    fleet::{Fleet, Size},
    ledger::Ledger,
    meter::Meter,
    plan::{MANAGERS, Plan, WORKERS},
    report::Report,
    world::{Request, World},
};
use crate::{engines::Kind, stack::Stack};

/// How long a soak lasts in `./check`, and in `./check --all`.
const SHORT: Duration = Duration::from_secs(40);
const LONG: Duration = Duration::from_secs(300);
/// How long the store rests before its writes are counted, and for how long these are counted after a short soak.
const REST: Duration = Duration::from_secs(12);
const COUNTED: Duration = Duration::from_secs(12);

on_both_engines!(everything_at_once_under_kills_and_freezes);

async fn everything_at_once_under_kills_and_freezes(kind: Kind) {
    soak(kind, SHORT).await;
}

mod on_sqlite_long {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "long: as long as JOBBERS_SOAK says"]
    async fn everything_at_once_for_a_long_time() {
        super::soak(super::Kind::Sqlite, super::asked_length()).await;
    }
}

mod on_redis_long {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "long: as long as JOBBERS_SOAK says"]
    async fn everything_at_once_for_a_long_time() {
        super::soak(super::Kind::Redis, super::asked_length()).await;
    }
}

/// What `JOBBERS_SOAK` says.
fn asked_length() -> Duration {
    std::env::var("JOBBERS_SOAK").ok().map_or(LONG, |text| parse_length(&text).unwrap_or_else(|| panic!("{text:?}")))
}

fn parse_length(text: &str) -> Option<Duration> {
    let unit = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..unit].parse().ok()?;
    let seconds = match &text[unit..] {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return None,
    };
    Some(Duration::from_secs(number * seconds))
}

#[test]
fn a_length_is_a_number_of_seconds_minutes_or_hours() {
    let parsed = ["90s", "5m", "1h", "90", "h", "1d"].map(parse_length);
    let [second, minute, hour] = [1, 60, 3_600].map(Duration::from_secs);
    assert_eq!(parsed, [Some(90 * second), Some(5 * minute), Some(hour), None, None, None]);
}

fn seed() -> u64 {
    std::env::var("JOBBERS_SOAK_SEED").ok().map_or_else(rand::random, |seed| seed.parse().unwrap())
}

/// The queues of a soak, and who serves them.
async fn configure(world: &World) {
    for (queue, settings) in
        [("narrow", json!({"max_concurrent": kinds::NARROW})), (schedules::TICKS, json!({})), ("remote", json!({}))]
    {
        let path = format!("/queues/{queue}");
        world.send(0, &Request { method: Method::PUT, path: &path, headers: &[], body: Some(&settings) }).await.ok();
    }
    let role = json!({"queues": ["default", "narrow", schedules::TICKS]});
    world.send(0, &Request { method: Method::PUT, path: "/roles/default", headers: &[], body: Some(&role) }).await.ok();
}

/// Awaits `work` while the fleet is looked after.
async fn meanwhile<T>(fleet: &mut Fleet, meter: &mut Meter, work: impl Future<Output = T>) -> T {
    const LOOK: Duration = Duration::from_millis(100);
    let mut work = pin!(work);
    let mut look = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            done = &mut work => return done,
            _ = look.tick() => {
                fleet.maintain().await;
                meter.sample(|| fleet.processes());
            }
        }
    }
}

/// Carries the plan out.
async fn suffer(fleet: &mut Fleet, meter: &mut Meter, plan: &Plan, length: Duration) {
    let began = tokio::time::Instant::now();
    for (at, fault) in &plan.faults {
        meanwhile(fleet, meter, tokio::time::sleep_until(began + *at)).await;
        fleet.suffer(*fault).await;
    }
    meanwhile(fleet, meter, tokio::time::sleep_until(began + length)).await;
}

async fn soak(kind: Kind, length: Duration) {
    let plan = Plan::new(seed(), length);
    println!("{kind:?}, {length:?}, {plan}");
    let stack = match kind {
        Kind::Sqlite => Stack::on(kind).await,
        Kind::Redis => Stack::on_redis(Persistence::Always).await,
    };
    let size = Size { managers: MANAGERS, workers: WORKERS, has_cleaner: true, ..Size::default() };
    let (end, over) = watch::channel(false);
    let mut fleet = Fleet::new(stack, size).await;
    let mut meter = Meter::default();
    let world = World::new(Ledger::new(fleet.stack.folder()), &fleet.doors(), over);
    configure(&world).await;
    schedules::create(&world).await;
    let began = Instant::now();
    let mut clients = clients::start(&world, plan.seed);
    suffer(&mut fleet, &mut meter, &plan, length).await;

    end.send_replace(true);
    fleet.calm();
    meanwhile(&mut fleet, &mut meter, async {
        while let Some(ended) = clients.join_next().await {
            ended.unwrap();
        }
        schedules::pause(&world).await;
        leases::finish(&world).await;
        books::settle(&world).await;
    })
    .await;
    let took = began.elapsed();
    let books = meanwhile_read(&mut fleet, &world).await;
    // At once: what follows may fail as well, and an hour's faults are not suffered again.
    println!("{} complaints before the store went through a journal", books.complaints().len());
    let journal = journal::export(&fleet).await;
    let copied = journal::complaints_of_its_import(&journal, &world, &fleet).await.unwrap();
    let examined = fleet.stack.examined().await;
    let rest = tokio::time::Instant::now() + REST;
    meanwhile(&mut fleet, &mut meter, tokio::time::sleep_until(rest)).await;
    let counted = COUNTED.max(length / 5).min(Duration::from_secs(180));
    let writes = meter::writes(&fleet.stack, counted).await;

    let complaints = [books.complaints(), copied].concat();
    let report = Report { kind, took, plan: &plan, fleet: &fleet, books: &books, meter: &meter, writes, counted };
    println!("{}{examined}", report.text(&complaints));
    let all: Vec<String> = complaints.iter().map(ToString::to_string).collect();
    assert!(all.is_empty(), "seed {}\n{}", plan.seed, all.join("\n"));
    report.assert_recovered_in_time();
    report.assert_flat(length);
}

async fn meanwhile_read(fleet: &mut Fleet, world: &World) -> audit::Books {
    fleet.maintain().await;
    books::read(world, fleet).await
}
