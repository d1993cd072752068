//! A manager that is killed under sixteen clients of TaskStore.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use reqwest::Client;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use crate::{engines::Kind, stack::Stack};

const CLIENTS: i64 = 16;
/// How often the manager is killed, and after how many answers each time.
const KILLS: usize = 6;
const ANSWERS: usize = 300;
/// Longer than the test, in nanoseconds.
const HOUR: i64 = 3_600_000_000_000;

on_both_engines!(a_manager_killed_under_taskstore_s_clients_loses_nothing_it_acknowledged);

/// What the clients were answered, by the data of the tasks.
#[derive(Debug, Default)]
struct Ledger {
    ids: BTreeSet<i64>,
    added: BTreeSet<String>,
    claimed: BTreeMap<String, i64>,
    deleted: BTreeSet<String>,
    /// Changes whose answers were lost.
    perhaps_added: BTreeSet<String>,
    perhaps_deleted: BTreeSet<String>,
}

/// What the clients share.
#[derive(Debug)]
struct Shared {
    client: Client,
    ledger: Mutex<Ledger>,
    answers: AtomicUsize,
    answered: Notify,
    /// Where the manager is; `None` ends the clients.
    manager: watch::Sender<Option<SocketAddr>>,
}

async fn a_manager_killed_under_taskstore_s_clients_loses_nothing_it_acknowledged(kind: Kind) {
    let stack = Stack::on(kind).await;
    let mut manager = stack.manager().await;
    let shared = Arc::new(Shared {
        client: Client::builder().no_proxy().build().unwrap(),
        ledger: Mutex::default(),
        answers: AtomicUsize::new(0),
        answered: Notify::new(),
        manager: watch::Sender::new(Some(manager.address)),
    });
    let clients: Vec<_> = (1..=CLIENTS).map(|client| tokio::spawn(work(Arc::clone(&shared), client))).collect();
    for kill in 1..=KILLS {
        shared.until_answered(kill * ANSWERS).await;
        manager.program.kill().await;
        manager = stack.manager().await;
        shared.manager.send_replace(Some(manager.address));
    }
    shared.until_answered((KILLS + 1) * ANSWERS).await;
    shared.manager.send_replace(None);
    for client in clients {
        client.await.unwrap();
    }
    let listed = format!("http://{}/taskstore-ns/group/work?owned=1", manager.address);
    let tasks: Vec<Value> = shared.client.get(listed).send().await.unwrap().json().await.unwrap();
    shared.ledger.lock().unwrap().check(&tasks);
    println!("{} answers, {} tasks are left", shared.answers.load(Ordering::SeqCst), tasks.len());
}

/// Adds, claims and deletes tasks, until the last manager is gone.
async fn work(shared: Arc<Shared>, client: i64) {
    for n in 0.. {
        let data = format!("{client}-{n}");
        let add = json!({"clientid": client, "adds": [{"group": "work", "data": data}]});
        match shared.ask("/update", &add).await {
            Some(added) => shared.ledger.lock().unwrap().acknowledge(&added).added.insert(data),
            None => shared.ledger.lock().unwrap().perhaps_added.insert(data),
        };
        // Every third task is left where it is.
        let claim = json!({"clientid": client, "group": "work", "duration": HOUR});
        if n % 3 != 0
            && let Some(claimed) = shared.ask("/claim", &claim).await
            && let Some(task) = claimed["tasks"].as_array().and_then(|tasks| tasks.first())
        {
            shared.remove(client, &claimed, task).await;
        }
        if shared.manager.borrow().is_none() {
            return;
        }
    }
}

impl Shared {
    async fn remove(&self, client: i64, claimed: &Value, task: &Value) {
        let data = task["data"].as_str().unwrap().to_owned();
        let before = self.ledger.lock().unwrap().acknowledge(claimed).claimed.insert(data.clone(), client);
        assert_eq!(before, None, "{data} is held by two: {task}");
        let delete = json!({"clientid": client, "deletes": [task["id"]]});
        match self.ask("/update", &delete).await {
            Some(_) => self.ledger.lock().unwrap().deleted.insert(data),
            None => self.ledger.lock().unwrap().perhaps_deleted.insert(data),
        };
    }

    /// The answer; `None` when it was lost with the manager. Then the next manager is there.
    async fn ask(&self, path: &str, body: &Value) -> Option<Value> {
        let mut manager = self.manager.subscribe();
        let address = (*manager.borrow_and_update())?;
        let asked =
            self.client.post(format!("http://{address}/taskstore-ns{path}")).body(body.to_string()).send().await;
        let answer = match asked {
            Ok(answer) if answer.status().is_success() => answer.json::<Value>().await.ok(),
            Ok(answer) => panic!("refused: {answer:?}"),
            Err(_) => None,
        };
        match answer {
            Some(answer) => {
                assert!(answer["error"].is_null(), "{body}: {answer}");
                self.answers.fetch_add(1, Ordering::SeqCst);
                self.answered.notify_one();
                Some(answer)
            }
            None => {
                manager.changed().await.unwrap();
                None
            }
        }
    }

    async fn until_answered(&self, answers: usize) {
        while self.answers.load(Ordering::SeqCst) < answers {
            self.answered.notified().await;
        }
    }
}

impl Ledger {
    /// Notes the ids of an answer: each is given out once.
    fn acknowledge(&mut self, answer: &Value) -> &mut Self {
        for task in answer["tasks"].as_array().unwrap() {
            let id = task["id"].as_i64().unwrap();
            assert!(self.ids.insert(id), "{id} was used before: {task}");
        }
        self
    }

    /// Compares what the clients were answered with what is left.
    fn check(&self, tasks: &[Value]) {
        let mut left = BTreeSet::new();
        for task in tasks {
            let data = task["data"].as_str().unwrap();
            assert!(left.insert(data.to_owned()), "{data} is there twice");
            assert!(self.added.contains(data) || self.perhaps_added.contains(data), "nobody added {data}");
            assert!(!self.deleted.contains(data), "{data} was deleted: {task}");
        }
        for data in &self.added {
            let may_be_gone = self.deleted.contains(data) || self.perhaps_deleted.contains(data);
            assert!(left.contains(data) || may_be_gone, "{data} is lost");
        }
        assert!(self.deleted.len() > KILLS && left.len() > KILLS, "{} and {}", self.deleted.len(), left.len());
    }
}
