//! Clients of the fronts over a socket in the file system: they are served as over TCP, and its permissions say who they are.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use jobbers_api::client::http_client;
use jobbers_boards::masstasker::proto::{DebugRequest, Task, UpdateRequest, mass_tasker_client::MassTaskerClient};
use jobbers_test_support::program::Program;
use nix::sys::signal::Signal;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt, net::UnixStream, time::timeout};
use tonic::transport::Endpoint;

use crate::{engines::Kind, secrets::keys::create, stack::Stack};

/// A bound, not a measurement.
const PATIENCE: Duration = Duration::from_secs(20);

on_both_engines!(clients_that_can_send_no_key_are_served_over_a_file_with_its_mode);

/// The sockets of a stack's manager, for MassTasker's and for TaskStore's clients.
fn sockets(stack: &Stack) -> [PathBuf; 2] {
    ["masstasker.sock", "taskstore.sock"].map(|name| stack.folder().join(name))
}

fn start(stack: &Stack, arguments: &[&str]) -> Program {
    let [masstasker, taskstore] = sockets(stack).map(|path| format!("unix:{}", path.display()));
    let masstasker = format!("{masstasker}?mode=0660");
    let fronts = ["--masstasker-listen", &masstasker, "--taskstore-listen", &taskstore];
    let store = ["--engine-url", stack.url(), "--listen", "127.0.0.1:0"];
    Program::start("manager", stack.folder(), &[&store[..], &fronts, arguments].concat(), &[])
}

/// Until both fronts are served.
async fn serving(manager: &Program) {
    manager.line("TaskStore's clients are answered").await;
    manager.line("listening for clients of MassTasker address=unix:/").await;
}

fn taskstore(path: &Path) -> Client {
    http_client().unix_socket(path).pool_max_idle_per_host(0).timeout(PATIENCE).build().unwrap()
}

async fn add_by_taskstore(path: &Path) -> Value {
    let body = json!({"clientid": 7, "adds": [{"group": "work", "data": "x"}]});
    let sent = taskstore(path).post("http://jobs.example/update").body(body.to_string()).send().await.unwrap();
    assert!(sent.status().is_success(), "{sent:?}");
    sent.json().await.unwrap()
}

async fn count_by_masstasker(path: &Path, group: &str) -> usize {
    let channel = Endpoint::from_shared(format!("unix:{}", path.display())).unwrap().connect().await.unwrap();
    let mut client = MassTaskerClient::new(channel);
    let created = vec![Task { group: group.to_owned(), ..Task::default() }];
    client.update(UpdateRequest { created, ..UpdateRequest::default() }).await.unwrap();
    let listed = client.debug(DebugRequest { group: group.to_owned(), limit: 10 }).await.unwrap().into_inner();
    listed.tasks.len()
}

async fn clients_that_can_send_no_key_are_served_over_a_file_with_its_mode(kind: Kind) {
    let stack = Stack::on(kind).await;
    // From here on clients of the native API need a key, and these can send none.
    create(&stack, "ops", "admin").await;
    let [masstasker, taskstore] = sockets(&stack);
    let mut manager = start(&stack, &[]);
    serving(&manager).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&masstasker), mode(&taskstore)), (0o660, 0o600));
    assert_eq!(count_by_masstasker(&masstasker, "a").await, 1);
    assert_eq!(add_by_taskstore(&taskstore).await["Tasks"][0]["data"], "x");
    assert!(!manager.said().contains("without an access key"), "the permissions are what protects it");

    let mut second = start(&stack, &[]);
    assert_eq!(second.exit().await.code(), Some(69));
    assert!(second.said().contains("another process listens there"), "{}", second.said());
    assert_eq!(count_by_masstasker(&masstasker, "a").await, 2, "the first goes on");

    manager.kill().await;
    assert!(masstasker.exists() && taskstore.exists(), "a process that is killed leaves its files");
    let mut next = start(&stack, &[]);
    serving(&next).await;
    assert_eq!(count_by_masstasker(&masstasker, "a").await, 3);
    next.signal(Signal::SIGTERM);
    assert!(next.exit().await.success(), "{}", next.said());
    assert!(!masstasker.exists() && !taskstore.exists(), "a clean stop removes them");

    fs::write(&taskstore, "mine").unwrap();
    let mut refused = start(&stack, &[]);
    assert_eq!(refused.exit().await.code(), Some(69));
    assert!(refused.said().contains("no socket, and it stays"), "{}", refused.said());
    assert_eq!(fs::read(&taskstore).unwrap(), b"mine");
    println!("{}", stack.examined().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_the_managers_that_start_at_once_gets_an_abandoned_socket() {
    let stack = Stack::on(Kind::Sqlite).await;
    let mut killed = start(&stack, &[]);
    serving(&killed).await;
    killed.kill().await;
    let mut managers: Vec<Program> = (0..4).map(|_| start(&stack, &[])).collect();
    let ends: FuturesUnordered<_> = managers.iter_mut().map(Program::exit).collect();
    let refused = timeout(PATIENCE, ends.take(3).collect::<Vec<_>>()).await.expect("all but one are refused");
    assert!(refused.iter().all(|end| end.code() == Some(69)), "{refused:?}");
    let [masstasker, taskstore] = sockets(&stack);
    assert_eq!(count_by_masstasker(&masstasker, "a").await, 1);
    add_by_taskstore(&taskstore).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_over_a_file_are_bounded_as_others_are() {
    let stack = Stack::on(Kind::Sqlite).await;
    let manager = start(&stack, &["--set", "max_connections=2"]);
    serving(&manager).await;
    let [_, path] = sockets(&stack);
    let (mut first, _second) = (UnixStream::connect(&path).await.unwrap(), UnixStream::connect(&path).await.unwrap());
    // No place is left, so that of the connection that has waited longest is taken.
    add_by_taskstore(&path).await;
    assert_eq!(timeout(PATIENCE, first.read(&mut [0; 1])).await.unwrap().unwrap_or(0), 0, "it was closed");
}
