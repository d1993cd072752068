//! Every alert fires against a real Prometheus and real processes, once its trouble is there: by the shipped rules with
//! shorter windows. The rules as they are shipped have tests of their own (`dashboards/alerts/jobbers.tests.yaml`).

use std::time::{Instant, SystemTime};

use jobbers_common::metrics::attribute::MOST_NAMES;
use jobbers_test_support::{
    authority::{Authority, Days},
    prometheus::{EVERY, Prometheus},
    tls::client::TlsClient,
    wait::{until, until_none},
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::MissedTickBehavior};

use super::{
    LAG, rules,
    site::{Plan, Site, threads},
};
use crate::{
    engines::Kind,
    secrets::{keys::create, tls::secure_manager},
    stack::Stack,
};

/// What work brings about that goes wrong, wave by wave.
const BY_BAD_WORK: [&str; 15] = [
    "JobbersQueueNotServed",
    "JobbersQueueWaitsLong",
    "JobbersQueuePausedWithWork",
    "JobbersTasksFail",
    "JobbersRetryStorm",
    "JobbersTasksStall",
    "JobbersHeartbeatsOverdue",
    "JobbersCancelsIgnored",
    "JobbersThreadsHung",
    "JobbersThreadsStuck",
    "JobbersTasksUnknown",
    "JobbersTasksDeadLettered",
    "JobbersDeadLettersForgotten",
    "JobbersArchiveNotWritten",
    "JobbersAuditLogNotWritten",
];

/// What one slot brings about that gets more than it can do.
const BY_TOO_MUCH: [&str; 4] =
    ["JobbersBacklogGrowing", "JobbersWorkersFull", "JobbersStartsTooLateFast", "JobbersStartsTooLateSlow"];

/// What is seen while the store does not answer.
const BY_A_HUNG_STORE: [&str; 5] = [
    "JobbersStoreInTrouble",
    "JobbersSettlementsWait",
    "JobbersManagerFails",
    "JobbersConfigurationDiffers",
    "JobbersCleanerFails",
];

/// What is seen when it answers again.
const BY_ITS_RETURN: [&str; 2] = ["JobbersStoreSlow", "JobbersSubmitSlow"];

/// What is seen while it answers, and takes nothing in: a Redis that has lost the replicas it is to write to.
const BY_A_STORE_THAT_REFUSES: [&str; 3] =
    ["JobbersScheduleLate", "JobbersSchedulesNotFired", "JobbersWorkflowsNotMoved"];

/// What is seen while its memory is full.
const BY_A_FULL_STORE: [&str; 1] = ["JobbersStoreNeedsMending"];

/// What workflows and schedules bring about that can't do what they are to.
const BY_WORKFLOWS_AND_SCHEDULES: [&str; 4] =
    ["JobbersWorkflowsFail", "JobbersWorkflowNotSubmitted", "JobbersTasksWaitLong", "JobbersSlotsMissed"];

/// What a metric shows when its series exceed its limit.
const BY_TOO_MANY_NAMES: [&str; 1] = ["JobbersMetricsOverflow"];

/// What is seen when the only worker of a role is killed in the middle of a task.
const BY_DEATH_OF_A_WORKER: [&str; 3] = ["JobbersWorkersGone", "JobbersLeasesLost", "JobbersSuspectsWait"];

/// What is seen when the only manager is killed.
const BY_DEATH_OF_THE_MANAGER: [&str; 1] = ["JobbersManagerGone"];

/// What clients of TaskStore bring about: some add tasks, some change what is gone, and none takes.
const BY_CLIENTS_OF_BOARDS: [&str; 2] = ["JobbersBoardNotTaken", "JobbersBoardConflicts"];

/// What a manager shows whose certificate was not renewed.
const BY_A_CERTIFICATE_THAT_ENDS: [&str; 1] = ["JobbersCertificateEnds"];

/// What a client brings about that goes on with a key that is not valid.
const BY_WRONG_KEYS: [&str; 1] = ["JobbersKeysRefused"];

/// A quota that holds a few dead letters, but not a large one.
const ARCHIVE_BYTES: usize = 300_000;
/// Enough to fill that with changes in some twenty looks.
const CHANGES_A_LOOK: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_alert_fires_when_its_trouble_is_there() {
    let begun = SystemTime::now();
    let stack = Stack::on(Kind::Redis).await;
    let config = stack.folder().join("manager.toml");
    std::fs::write(&config, format!("dlq_max_bytes = {ARCHIVE_BYTES}\n")).unwrap();
    let plan = Plan { rules: rules::hasten(stack.folder()), manager_config: Some(config) };
    let mut site = Site::on(&stack, &plan).await;

    bad_work(&site, begun).await;
    boards(&site, begun).await;
    workflows_and_schedules(&site, begun).await;
    too_much(&site, begun).await;
    a_hung_store(&stack, &site, begun).await;
    a_store_that_refuses(&stack, &site, begun).await;
    too_many_names(&site, begun).await;
    death(&mut site, begun).await;
    stack.release();
}

#[test]
fn every_alert_is_brought_about() {
    let refused = [&BY_A_STORE_THAT_REFUSES[..], &BY_A_FULL_STORE].concat();
    let too_many = &BY_TOO_MANY_NAMES[..];
    let hung = [&BY_A_HUNG_STORE[..], &BY_ITS_RETURN].concat();
    let planned = &BY_WORKFLOWS_AND_SCHEDULES[..];
    let ends = [&BY_A_CERTIFICATE_THAT_ENDS[..], &BY_WRONG_KEYS].concat();
    let deaths = [&BY_DEATH_OF_A_WORKER[..], &BY_DEATH_OF_THE_MANAGER].concat();
    let mut listed =
        [&BY_BAD_WORK[..], &BY_TOO_MUCH, &hung, &refused, too_many, &deaths, &BY_CLIENTS_OF_BOARDS, planned, &ends]
            .concat();
    let mut all = rules::alerts();
    listed.sort_unstable();
    all.sort_unstable();
    assert_eq!(listed, all);
}

/// Waits until all of these have fired since `begun`, and says how long that took. Looks as often as Prometheus does, and does
/// `more` before each look: a test that asks without a pause takes the time that Prometheus and the processes need.
async fn fire(prometheus: &Prometheus, begun: SystemTime, alerts: &[&str], mut more: impl AsyncFnMut()) {
    let since = Instant::now();
    let mut looks = tokio::time::interval(EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    until_none(LAG, "the alerts fire", async || {
        looks.tick().await;
        more().await;
        let firing = "count by (alertname) (ALERTS{alertstate=\"firing\"})";
        let fired = prometheus.range(firing, begun).await;
        let has = |name: &&&str| fired.iter().any(|alert| alert.label("alertname") == **name);
        alerts.iter().filter(|name| !has(name)).map(|name| (*name).to_owned()).collect()
    })
    .await;
    println!("{:>6.1} s  {}", since.elapsed().as_secs_f64(), alerts.join(" "));
}

async fn bad_work(site: &Site, begun: SystemTime) {
    let api = &site.api;
    for task in [
        json!({"name": "echo", "queue": "stuck"}),
        json!({"name": "echo", "queue": "off"}),
        json!({"name": "fail", "queue": "mail", "parameters": {"kind": "fatal"}}),
    ] {
        api.submit(&task).await;
    }
    lose_control(site).await;
    until(LAG, "the first dead letter is archived", async || {
        let letters = api.get("/dead-letter-queue/stats").await.ok();
        (letters["total"] == 1).then_some(())
    })
    .await;
    // No room for these: they wait in the store.
    let large = json!({"kind": "fatal", "message": "x".repeat(4_000), "error_kind": "large"});
    let wave = [
        vec![json!({"name": "fail", "parameters": large}); 100],
        vec![json!({"name": "fail", "parameters": {"times": 3}, "max_retries": 5, "retry_delay": "50ms"}); 100],
        vec![json!({"name": "nobody.knows", "queue": "swept"}); 1],
        vec![
            json!({"name": "sleep", "parameters": {"seconds": 60}, "max_heartbeat_interval": "100ms",
                    "on_stall": "stall"});
            2
        ],
    ]
    .concat();
    let wave = json!({"tasks": wave});
    fire(&site.prometheus, begun, &BY_BAD_WORK, async || {
        api.post("/tasks", &wave).await.ok();
        // Changes are small: many fill what the letters left, and then wait too.
        for _ in 0..CHANGES_A_LOOK {
            api.post("/queues/off/pause", &json!({})).await.ok();
        }
    })
    .await;
}

/// A task that is silent, is cancelled, and goes on all the same; a blocking one that goes on after its timeout; and more
/// without a timeout than the worker has threads.
pub(super) async fn lose_control(site: &Site) {
    let task = json!({"name": "deaf", "queue": "stubborn", "max_heartbeat_interval": "200ms"});
    let deaf = site.api.submit(&task).await;
    site.effects.happened("started", &deaf).await;
    site.api.post(&format!("/tasks/{deaf}/cancel"), &json!({})).await.ok();
    let hangs = json!({"name": "stubborn", "queue": "stubborn", "timeout": "200ms", "max_retries": 0});
    let hangs = site.api.submit(&hangs).await;
    site.effects.happened("started", &hangs).await;
    let hangs = json!({"name": "stubborn", "queue": "stubborn"});
    site.api.post("/tasks", &json!({"tasks": vec![hangs; threads() + 1]})).await.ok();
}

async fn boards(site: &Site, begun: SystemTime) {
    fire(&site.prometheus, begun, &BY_CLIENTS_OF_BOARDS, async || {
        site.api
            .post("/taskstore/update", &json!({"clientid": 1, "adds": [{"group": "mail", "data": "x"}]}))
            .await
            .ok();
        for _ in 0..10 {
            let gone = json!({"clientid": 1, "deletes": [1_000_000]});
            let refused = site.api.post("/taskstore/update", &gone).await.ok();
            assert_eq!(refused["error"]["deletes"], json!([1_000_000]), "{refused}");
        }
    })
    .await;
}

/// A run that fails, one that a queue has no room for, a task that waits for one that no worker takes, and a schedule whose
/// queue is gone.
async fn workflows_and_schedules(site: &Site, begun: SystemTime) {
    let api = &site.api;
    let fails = json!({"id": "only", "name": "fail", "queue": "mail", "parameters": {"kind": "fatal"}});
    api.post("/workflows", &json!({"name": "fails", "nodes": [fails]})).await.ok();
    api.post("/queues", &json!({"name": "narrow", "max_length": 2})).await.ok();
    api.submit(&json!({"name": "echo", "queue": "narrow"})).await;
    let too_wide = ["a", "b"].map(|node| json!({"id": node, "name": "echo", "queue": "narrow"}));
    api.post("/workflows", &json!({"nodes": too_wide})).await.ok();
    let stuck = api.submit(&json!({"name": "echo", "queue": "stuck"})).await;
    api.submit(&json!({"name": "echo", "queue": "stuck", "depends_on": [stuck]})).await;
    api.post("/queues", &json!({"name": "brief"})).await.ok();
    let lost = json!({"name": "lost", "every": "1s", "task": {"name": "echo", "queue": "brief"}});
    api.post("/schedules", &lost).await.ok();
    until(LAG, "the queue is empty and can be deleted", async || {
        api.post("/queues/brief/purge", &json!({})).await.ok();
        let deleted = api.send(Method::DELETE, "/queues/brief", &[], None).await.unwrap();
        (deleted.status == StatusCode::NO_CONTENT).then_some(())
    })
    .await;
    fire(&site.prometheus, begun, &BY_WORKFLOWS_AND_SCHEDULES, async || {}).await;
    api.send(Method::DELETE, "/schedules/lost", &[], None).await.unwrap();
}

async fn too_much(site: &Site, begun: SystemTime) {
    // For a worker with one slot.
    let slow = json!({"name": "sleep", "queue": "fragile", "parameters": {"seconds": 2}});
    let slow = json!({"tasks": vec![slow; 10]});
    fire(&site.prometheus, begun, &BY_TOO_MUCH, async || drop(site.api.post("/tasks", &slow).await.ok())).await;
}

async fn a_hung_store(stack: &Stack, site: &Site, begun: SystemTime) {
    let (api, redis) = (&site.api, stack.redis.as_ref().unwrap());
    let brief = api.submit(&json!({"name": "sleep", "queue": "mail", "parameters": {"seconds": 3}})).await;
    api.standing(&brief, "started").await;
    redis.pause();
    // None is answered soon, so the test does not wait for them; their answers are in the metrics.
    let mut asking = JoinSet::new();
    fire(&site.prometheus, begun, &BY_A_HUNG_STORE, async || {
        for _ in 0..3 {
            let api = api.clone();
            asking.spawn(async move { api.post("/tasks", &json!({"name": "echo"})).await });
        }
    })
    .await;
    redis.resume();
    asking.join_all().await;
    fire(&site.prometheus, begun, &BY_ITS_RETURN, async || {}).await;
}

async fn a_store_that_refuses(stack: &Stack, site: &Site, begun: SystemTime) {
    let redis = stack.redis.as_ref().unwrap();
    site.api.submit(&json!({"name": "echo", "delay": "5s"})).await;
    let pulse = json!({"name": "pulse", "every": "1s", "task": {"name": "echo"}});
    site.api.post("/schedules", &pulse).await.ok();
    let slow = json!({"id": "slow", "name": "sleep", "queue": "mail", "parameters": {"seconds": 600}});
    site.api.post("/workflows", &json!({"nodes": [slow]})).await.ok();
    assert_eq!(redis.command("CONFIG SET min-replicas-to-write 1"), "+OK\r\n");
    fire(&site.prometheus, begun, &BY_A_STORE_THAT_REFUSES, async || {}).await;
    assert_eq!(redis.command("CONFIG SET min-replicas-to-write 0"), "+OK\r\n");
    assert_eq!(redis.command("CONFIG SET maxmemory 1mb"), "+OK\r\n");
    fire(&site.prometheus, begun, &BY_A_FULL_STORE, async || {}).await;
    assert_eq!(redis.command("CONFIG SET maxmemory 0"), "+OK\r\n");
    site.api.post("/schedules/pulse/pause", &json!({})).await.ok();
}

/// Queues made from data, each with four limits: more than the thousand series that there may be of these.
/// Each name has a series, and so has each queue; what exceeds the limit are their pairs.
async fn too_many_names(site: &Site, begun: SystemTime) {
    for queue in ["left", "right"] {
        site.api.post("/queues", &json!({"name": queue})).await.ok();
        let task = |n: usize| json!({"name": format!("job-{n}"), "queue": queue});
        let tasks: Vec<Value> = (0..MOST_NAMES * 3 / 5).map(task).collect();
        site.api.post("/tasks", &json!({"tasks": tasks})).await.ok();
        let wish = json!({"worker": "of-many-names", "queues": [queue], "limit": 1_000});
        let leased = site.api.post("/leases", &wish).await.ok();
        let end = |it: &Value| json!({"id": it["id"], "token": it["token"], "outcome": "completed"});
        let ends: Vec<Value> = leased["leases"].as_array().unwrap().iter().map(end).collect();
        site.api.post("/leases/return", &json!({"worker": "of-many-names", "leases": ends})).await.ok();
    }
    fire(&site.prometheus, begun, &BY_TOO_MANY_NAMES, async || {}).await;
}

async fn death(site: &mut Site, begun: SystemTime) {
    let api = &site.api;
    api.post("/queues/fragile/purge", &json!({})).await.ok();
    let orphan = api.submit(&json!({"name": "sleep", "queue": "fragile", "parameters": {"seconds": 600}})).await;
    api.standing(&orphan, "started").await;
    // Another role serves its queue from now on, and takes the task over when its lease has ended.
    api.put("/roles/default", &json!({"queues": ["default", "mail", "swept", "fragile"]})).await.ok();
    site.fragile.kill().await;
    lose_over_http(site).await;
    fire(&site.prometheus, begun, &BY_DEATH_OF_A_WORKER, async || {}).await;
    site.manager.kill().await;
    fire(&site.prometheus, begun, &BY_DEATH_OF_THE_MANAGER, async || {}).await;
}

/// A Prometheus of its own scrapes it, so that the one above knows a single manager, whose death it is to see.
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_was_not_renewed_is_seen_while_its_clients_are_served() {
    let (stack, authority) = (Stack::on(Kind::Sqlite).await, Authority::new());
    authority.renew_server(Days { since: 80, left: 3 });
    let (_manager, address, _) = secure_manager(&stack, &authority, "127.0.0.1:0", &[]).await;
    let (ca, rules) = (authority.file("ca.pem"), rules::hasten(stack.folder()));
    let (begun, prometheus) = (SystemTime::now(), Prometheus::start_over_tls(&[address], &rules, &ca).await);
    fire(&prometheus, begun, &BY_A_CERTIFICATE_THAT_ENDS, async || {}).await;
    let client = TlsClient { trusts: &authority, is_of: None };
    let ready = client.get(address, "/health/ready").await.unwrap();
    assert!(ready.contains("the TLS certificate ends at"), "{ready}");
    authority.renew_server(Days { since: 0, left: 90 });
    until(LAG, "the renewed certificate ends the warning", async || {
        let ready = client.get(address, "/health/ready").await.ok()?;
        (ready.starts_with("HTTP/1.1 200") && !ready.contains("the TLS certificate")).then_some(())
    })
    .await;
}

/// A Prometheus of its own scrapes it, with a key.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_keys_are_seen_and_limited_while_a_right_one_is_accepted() {
    let stack = Stack::on(Kind::Sqlite).await;
    let manager = stack.manager().await;
    let (key, file) = (create(&stack, "prometheus", "viewer").await, stack.folder().join("prometheus.key"));
    std::fs::write(&file, &key).unwrap();
    let ask = async |key: &str| {
        let bearer = format!("Bearer {key}");
        manager.api.send(Method::GET, "/queues", &[("authorization", &bearer)], None).await.unwrap()
    };
    until(LAG, "the manager asks for keys", async || (ask("none").await.status == 401).then_some(())).await;
    let (rules, begun) = (rules::hasten(stack.folder()), SystemTime::now());
    let prometheus = Prometheus::start_with_key(&[manager.address], &rules, &file).await;
    fire(&prometheus, begun, &BY_WRONG_KEYS, async || {
        for _ in 0..12 {
            ask("none").await;
        }
    })
    .await;
    let limited = until(LAG, "wrong keys are limited", async || {
        let answer = ask("none").await;
        (answer.status == 429).then_some(answer)
    })
    .await;
    assert_eq!((limited.code(), limited.retry_after.as_deref()), ("too_many_wrong_keys", Some("1")));
    assert_eq!(ask(&key).await.status, 200, "from the same address");
}

/// A worker over HTTP leases two tasks and is not heard of again, twice.
async fn lose_over_http(site: &Site) {
    let api = &site.api;
    api.put("/queues/haunted", &json!({})).await.ok();
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.push(api.submit(&json!({"name": "echo", "queue": "haunted"})).await);
    }
    for _ in 0..2 {
        let claim = json!({"worker": "ghost", "queues": ["haunted"], "limit": 2, "lease": "1s"});
        assert_eq!(api.post("/leases", &claim).await.ok()["leases"].as_array().map(Vec::len), Some(2));
        for id in &ids {
            api.standing(id, "submitted").await;
        }
    }
}
