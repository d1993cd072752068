//! A manager that is killed under sixteen clients of TaskStore, and of MassTasker.

mod ledger;
mod masstasker;
mod taskstore;

use std::{
    future::Future,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use jobbers_test_support::program::Program;
use tokio::sync::{Notify, watch};

use self::{ledger::Ledger, masstasker::MassTasker, taskstore::TaskStore};
use crate::{
    engines::Kind,
    stack::{Stack, address_in},
};

const CLIENTS: i64 = 16;
/// How often a manager is killed, where that is not the point of a long test.
const SOME: usize = 6;
/// In a long test.
const MANY: usize = 50;
/// After how many answers the manager is killed each time.
const ANSWERS: usize = 300;

on_both_engines!(
    a_manager_killed_under_taskstore_s_clients_loses_nothing_it_acknowledged,
    a_manager_killed_under_masstasker_s_clients_loses_nothing_it_acknowledged,
);

macro_rules! fifty_kills_on {
    ($engine:ident, $kind:expr) => {
        mod $engine {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            #[ignore = "long: fifty kills"]
            async fn fifty_kills_under_taskstore_s_clients_lose_nothing_acknowledged() {
                super::kill_under::<super::TaskStore>($kind, super::MANY).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            #[ignore = "long: fifty kills"]
            async fn fifty_kills_under_masstasker_s_clients_lose_nothing_acknowledged() {
                super::kill_under::<super::MassTasker>($kind, super::MANY).await;
            }
        }
    };
}

fifty_kills_on!(on_sqlite_long, crate::engines::Kind::Sqlite);
fifty_kills_on!(on_redis_long, crate::engines::Kind::Redis);

async fn a_manager_killed_under_taskstore_s_clients_loses_nothing_it_acknowledged(kind: Kind) {
    kill_under::<TaskStore>(kind, SOME).await;
}

async fn a_manager_killed_under_masstasker_s_clients_loses_nothing_it_acknowledged(kind: Kind) {
    kill_under::<MassTasker>(kind, SOME).await;
}

/// The manager went away before it answered.
struct Lost;

/// A task as a front shows it.
#[derive(Debug)]
struct Shown {
    id: i64,
    data: String,
}

/// A connection of a client. A refusal of what it asks fails the test.
trait Client: Sized + Send + 'static {
    /// The manager's flags, and the words of the line that says where this front's clients are answered.
    const MANAGER: (&'static [&'static str], &'static str);

    fn connect(address: SocketAddr, client: i64) -> impl Future<Output = Result<Self, Lost>> + Send;
    /// Adds a task, and returns its id.
    fn add(&mut self, data: &str) -> impl Future<Output = Result<i64, Lost>> + Send;
    /// Claims a task for longer than the test takes.
    fn claim(&mut self) -> impl Future<Output = Result<Option<Shown>, Lost>> + Send;
    fn delete(&mut self, id: i64) -> impl Future<Output = Result<(), Lost>> + Send;
    /// All tasks, claimed or not.
    fn list(&mut self) -> impl Future<Output = Result<Vec<Shown>, Lost>> + Send;
}

/// What the clients share.
#[derive(Debug)]
struct Shared {
    ledger: Mutex<Ledger>,
    answers: AtomicUsize,
    answered: Notify,
    /// Where the manager is; `None` ends the clients.
    manager: watch::Sender<Option<SocketAddr>>,
}

async fn manager<C: Client>(stack: &Stack) -> (Program, SocketAddr) {
    let (flags, listening) = C::MANAGER;
    let mut arguments = vec!["--engine-url", stack.url(), "--listen", "127.0.0.1:0"];
    arguments.extend(flags);
    let program = Program::start("manager", stack.folder(), &arguments, &[]);
    let address = address_in(&program.line(listening).await);
    (program, address)
}

/// Sixteen clients add, claim and delete tasks while managers are killed under them.
async fn kill_under<C: Client>(kind: Kind, kills: usize) {
    let stack = Stack::on(kind).await;
    let (mut program, mut address) = manager::<C>(&stack).await;
    let shared = Arc::new(Shared {
        ledger: Mutex::default(),
        answers: AtomicUsize::new(0),
        answered: Notify::new(),
        manager: watch::Sender::new(Some(address)),
    });
    let clients: Vec<_> = (1..=CLIENTS).map(|client| tokio::spawn(work::<C>(Arc::clone(&shared), client))).collect();
    for kill in 1..=kills {
        shared.until_answered(kill * ANSWERS).await;
        program.kill().await;
        (program, address) = manager::<C>(&stack).await;
        shared.manager.send_replace(Some(address));
    }
    shared.until_answered((kills + 1) * ANSWERS).await;
    shared.manager.send_replace(None);
    for client in clients {
        client.await.unwrap();
    }
    let mut client = C::connect(address, CLIENTS + 1).await.ok().unwrap();
    let tasks = client.list().await.ok().unwrap();
    shared.ledger.lock().unwrap().check(&tasks, kills);
    println!("{} answers, {} tasks are left", shared.answers.load(Ordering::SeqCst), tasks.len());
}

/// Adds, claims and deletes tasks, until the last manager is gone.
async fn work<C: Client>(shared: Arc<Shared>, number: i64) {
    let mut manager = shared.manager.subscribe();
    for connection in 0.. {
        let Some(address) = *manager.borrow_and_update() else { return };
        if let Ok(mut client) = C::connect(address, number).await {
            let mut turn = 0;
            while shared.take_turn(&mut client, &format!("{number}-{connection}-{turn}"), turn).await.is_ok() {
                turn += 1;
                if shared.manager.borrow().is_none() {
                    return;
                }
            }
        }
        if shared.manager.borrow().is_some() {
            manager.changed().await.unwrap();
        }
    }
}

impl Shared {
    /// Adds a task, claims one, and deletes that.
    async fn take_turn<C: Client>(&self, client: &mut C, data: &str, turn: usize) -> Result<(), Lost> {
        self.ledger.lock().unwrap().perhaps_added.insert(data.to_owned());
        let id = client.add(data).await?;
        self.answered();
        self.ledger.lock().unwrap().acknowledge(id).added.insert(data.to_owned());
        // Every third task is left where it is.
        if turn.is_multiple_of(3) {
            return Ok(());
        }
        let Some(claimed) = client.claim().await? else { return Ok(()) };
        self.answered();
        self.ledger.lock().unwrap().claim(&claimed);
        self.ledger.lock().unwrap().perhaps_deleted.insert(claimed.data.clone());
        client.delete(claimed.id).await?;
        self.answered();
        self.ledger.lock().unwrap().deleted.insert(claimed.data);
        Ok(())
    }

    fn answered(&self) {
        self.answers.fetch_add(1, Ordering::SeqCst);
        self.answered.notify_one();
    }

    async fn until_answered(&self, answers: usize) {
        while self.answers.load(Ordering::SeqCst) < answers {
            self.answered.notified().await;
        }
    }
}
