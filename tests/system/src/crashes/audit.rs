//! The audit log while managers and the keeper of the archive are killed under a load of changes: each acknowledged change
//! is in it once.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jobbers_test_support::{api::Api, wait::until};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinSet};

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

const LONG: Duration = Duration::from_secs(120);
/// How often a manager is killed.
const KILLS: usize = 6;
/// After how many further acknowledged changes.
const CHANGES_A_KILL: usize = 25;
const CLIENTS_OF_A_MANAGER: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_access_log_has_a_line_of_each_request_and_no_secret() {
    let stack = Stack::on(Kind::Sqlite).await;
    let manager = stack.manager_with(&[("MANAGER_ACCESS_LOG", "true")]).await;
    let secret = "a".repeat(56);
    let path = format!("/queues/jb_0123456789_{secret}");
    manager.api.send(Method::GET, &path, &[("x-request-id", "of-this-test")], None).await.unwrap();
    let line = manager.program.line("of-this-test").await;
    for part in ["access", "127.0.0.1", "GET", "/queues/jb_0123456789_[secret]", "404"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(!manager.program.said().contains(&secret));
}

on_both_engines!(each_acknowledged_change_is_logged_once_whichever_manager_is_killed);

/// A change that a client sent, by the id of its request.
#[derive(Debug)]
struct Sent {
    operation: &'static str,
    object: String,
    is_acknowledged: bool,
}

type Ledger = BTreeMap<String, Sent>;

/// What is wrong with the log, compared with what the clients know.
fn complaints(ledger: &Ledger, log: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for (request, Sent { operation, object, is_acknowledged }) in ledger {
        let entries: Vec<&Value> = log.iter().filter(|entry| entry["request_id"] == **request).collect();
        if entries.len() > 1 {
            found.push(format!("{request} is in it {} times", entries.len()));
        }
        match entries.first() {
            None if *is_acknowledged => found.push(format!("{request} was acknowledged and is not in it")),
            Some(entry) if entry["operation"] != **operation || entry["object"] != **object => {
                found.push(format!("{request} was {operation} {object}, not {entry}"));
            }
            Some(entry) if *is_acknowledged && entry["outcome"] != "done" => {
                found.push(format!("{request} was acknowledged, not {entry}"));
            }
            _ => {}
        }
    }
    found.extend(
        log.iter()
            .filter(|entry| !ledger.contains_key(entry["request_id"].as_str().unwrap()))
            .map(|entry| format!("no client sent {entry}")),
    );
    found
}

/// Changes a queue of its own until the manager dies.
async fn change(api: Api, name: String, acknowledge: mpsc::UnboundedSender<()>, over: Arc<AtomicBool>) -> Ledger {
    let mut ledger = Ledger::new();
    for n in 0.. {
        let (operation, method, path) = match n % 3 {
            0 => ("put_queue", Method::PUT, format!("/queues/{name}")),
            1 => ("pause_queue", Method::POST, format!("/queues/{name}/pause")),
            _ => ("resume_queue", Method::POST, format!("/queues/{name}/resume")),
        };
        let request = format!("{name}-{n}");
        let body = if n % 3 == 0 { json!({"max_concurrent": n + 1}) } else { json!({}) };
        let answer = api.send(method, &path, &[("x-request-id", &request)], Some(&body)).await;
        let is_acknowledged = answer.as_ref().is_ok_and(|answer| answer.status.is_success());
        ledger.insert(request, Sent { operation, object: name.clone(), is_acknowledged });
        if answer.is_err() || over.load(Ordering::Relaxed) {
            return ledger;
        }
        acknowledge.send(()).ok();
    }
    ledger
}

/// The whole log, page by page, once no change in it is under way.
async fn log_of(manager: &Manager) -> Vec<Value> {
    until(LONG, "the keeper answers", async || {
        let (mut log, mut cursor) = (Vec::new(), String::new());
        loop {
            // While a killed manager still has the duty, no manager answers.
            let path = format!("/audit?limit=70{cursor}");
            let answer = manager.api.send(Method::GET, &path, &[], None).await.ok()?;
            let page = answer.status.is_success().then_some(answer.body)?;
            log.extend(page["changes"].as_array()?.iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Some(log),
            }
        }
    })
    .await
}

async fn each_acknowledged_change_is_logged_once_whichever_manager_is_killed(kind: Kind) {
    let stack = Stack::on(kind).await;
    let mut managers = [stack.manager().await, stack.manager().await];
    let over = Arc::new(AtomicBool::new(false));
    let (acknowledge, mut acknowledged) = mpsc::unbounded_channel();
    let mut clients = JoinSet::new();
    let begin = |clients: &mut JoinSet<Ledger>, manager: &Manager, round: usize| {
        for client in 0..CLIENTS_OF_A_MANAGER {
            let name = format!("q{round}-{client}");
            clients.spawn(change(manager.api.clone(), name, acknowledge.clone(), Arc::clone(&over)));
        }
    };
    for (round, manager) in managers.iter().enumerate() {
        begin(&mut clients, manager, round);
    }
    for kill in 0..KILLS {
        for _ in 0..CHANGES_A_KILL {
            acknowledged.recv().await.unwrap();
        }
        // In turn: one of them keeps the archive, and the other one takes that over.
        managers[kill % 2].program.kill().await;
        managers[kill % 2] = stack.manager().await;
        begin(&mut clients, &managers[kill % 2], 2 + kill);
    }
    for _ in 0..CHANGES_A_KILL {
        acknowledged.recv().await.unwrap();
    }
    over.store(true, Ordering::Relaxed);
    let ledger: Ledger = clients.join_all().await.into_iter().flatten().collect();
    let count = ledger.values().filter(|sent| sent.is_acknowledged).count();
    assert!(count >= KILLS * CHANGES_A_KILL && count < ledger.len(), "some were cut off, and some were not");
    let mut log = log_of(&managers[0]).await;
    assert_eq!(complaints(&ledger, &log), [""; 0]);
    // The comparison sees what it is there for.
    let last = log.iter().rposition(|entry| entry["outcome"] == "done").unwrap();
    let entry = log.remove(last);
    assert_eq!(complaints(&ledger, &log).len(), 1, "a change that is lost");
    log.extend([entry.clone(), entry]);
    assert_eq!(complaints(&ledger, &log).len(), 1, "a change that is there twice");
}
