//! What a manager holds for its clients, in the memory of a real process: it stays within `max_client_memory`, whatever
//! clients leave unread or unfinished.

use std::{fs, path::PathBuf, pin::pin, time::Duration};

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

const MIB: usize = 1024 * 1024;
/// What the manager may hold for all clients.
const MOST: usize = 64 * MIB;
/// What a process may take beyond that: what is built at the time, the allocator's reserve, the buffers of the store.
const BESIDES: usize = 96 * MIB;
/// How long a client waits for the beginning of an answer.
const PATIENCE: Duration = Duration::from_secs(30);

on_both_engines!(
    answers_that_are_not_read_stay_within_the_bound,
    bodies_that_do_not_end_stay_within_the_bound,
    callers_that_wait_stay_within_the_bound,
);

async fn manager(stack: &Stack) -> Manager {
    let file: PathBuf = stack.folder().join("manager.toml");
    fs::write(&file, format!("max_client_memory = {MOST}\nmax_body_bytes = {}\n", 8 * MIB)).unwrap();
    stack.manager_with(&[("MANAGER_CONFIG", file.to_str().unwrap())]).await
}

/// The memory of the manager, in bytes.
fn resident(manager: &Manager) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", manager.program.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

/// A client that has sent something, and whose machine takes little of the answer.
async fn client(manager: &Manager, sent: &[u8]) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 * 1024).unwrap();
    let mut stream = socket.connect(manager.address).await.unwrap();
    stream.write_all(sent).await.unwrap();
    stream
}

/// Waits until each client has the beginning of an answer, or was hung up on. Then it reads no more.
async fn begun(clients: &mut [TcpStream]) {
    stream::iter(clients)
        .for_each_concurrent(None, async |stream| {
            let begun = tokio::time::timeout(PATIENCE, stream.read_u8()).await;
            assert!(begun.is_ok(), "an answer begins");
        })
        .await;
}

/// Waits until one of these clients is refused: what may be held is held then. Memory that refused clients give back lets in
/// some that come after them, so not each of the last is refused.
async fn one_is_refused(clients: &mut [TcpStream]) {
    let most = clients.len();
    let answers = stream::iter(clients).map(|stream| async move { stream.read_u8().await.ok() });
    let first = tokio::time::timeout(PATIENCE, pin!(answers.buffer_unordered(most)).next()).await;
    assert!(first.is_ok(), "a client is refused");
}

#[track_caller]
fn assert_within(name: &str, before: usize, after: usize) {
    let grown = after.saturating_sub(before);
    println!("{name}: {} MB before, {} MB more", before / MIB, grown / MIB);
    assert!(grown < MOST + BESIDES, "{name}: {} MB more than before", grown / MIB);
}

async fn answers_that_are_not_read_stay_within_the_bound(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = manager(&stack).await;
    for _ in 0..4 {
        let task = json!({"name": "x", "parameters": "y".repeat(250_000), "delay": "1h"});
        manager.api.post("/tasks", &json!({"tasks": vec![task; 25]})).await.ok();
    }
    let before = resident(&manager);
    let asked = b"GET /tasks?include=parameters&limit=1000 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut clients = Vec::new();
    for _ in 0..200 {
        clients.push(client(&manager, asked).await);
    }
    begun(&mut clients).await;
    assert_within("answers of 8 MiB that 200 clients do not read", before, resident(&manager));
    assert_eq!(manager.api.get("/health/ready").await.ok()["status"], "ready");
}

async fn bodies_that_do_not_end_stay_within_the_bound(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = manager(&stack).await;
    let before = resident(&manager);
    let head = "POST /tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                content-length: 30000\r\n\r\n";
    let sent = format!("{head}{}", " ".repeat(29_999));
    let mut clients = Vec::new();
    for _ in 0..3_000 {
        clients.push(client(&manager, sent.as_bytes()).await);
    }
    one_is_refused(&mut clients[2_950..]).await;
    assert_within("bodies of 30 kB that 3,000 clients hold", before, resident(&manager));
    manager.api.submit(&json!({"name": "x"})).await;
}

async fn callers_that_wait_stay_within_the_bound(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = manager(&stack).await;
    let id = manager.api.submit(&json!({"name": "x", "delay": "1h"})).await;
    let before = resident(&manager);
    let asked = format!("GET /tasks/{id}?wait=60s HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let mut clients = Vec::new();
    for _ in 0..4_000 {
        clients.push(client(&manager, asked.as_bytes()).await);
    }
    one_is_refused(&mut clients[3_950..]).await;
    assert_within("4,000 callers that wait", before, resident(&manager));
    let answer: Value = manager.api.get(&format!("/tasks/{id}")).await.ok();
    assert_eq!(answer["status"], "scheduled");
}
