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
    bodies_of_many_small_values_stay_within_the_bound,
    forms_that_do_not_end_stay_within_the_bound,
);

async fn manager(stack: &Stack) -> Manager {
    manager_with_bodies_of(stack, 8 * MIB).await
}

async fn manager_with_bodies_of(stack: &Stack, bytes: usize) -> Manager {
    let file: PathBuf = stack.folder().join("manager.toml");
    fs::write(&file, format!("max_client_memory = {MOST}\nmax_body_bytes = {bytes}\n")).unwrap();
    stack.manager_with(&[("MANAGER_CONFIG", file.to_str().unwrap())]).await
}

/// The memory of the manager, in bytes.
fn resident(manager: &Manager) -> usize {
    status(manager, "VmRSS:")
}

fn status(manager: &Manager, name: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", manager.program.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
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

/// Each of these is a few bytes that a list keeps as a text, an object or a task: thirty times as much.
async fn bodies_of_many_small_values_stay_within_the_bound(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = manager_with_bodies_of(&stack, 16 * MIB).await;
    let before = resident(&manager);
    let list = |entry: &str| vec![entry; 15 * MIB / (entry.len() + 1)].join(",");
    let numbered = |count: usize| (0..count).map(|n| format!("\"{n}\":\"\"")).collect::<Vec<_>>().join(",");
    for (path, body) in [
        ("/tasks/cancel", format!(r#"{{"ids":[{}]}}"#, list("\"a\""))),
        ("/tasks", format!(r#"{{"name":"x","depends_on":[{}]}}"#, list("\"a\""))),
        ("/tasks", format!(r#"{{"name":"x","labels":{{{}}}}}"#, numbered(1_200_000))),
        ("/workflows", format!(r#"{{"nodes":[{{"id":"a","name":"x","depends_on":[{}]}}]}}"#, list(r#"{"id":"b"}"#))),
        ("/leases", format!(r#"{{"worker":"w","queues":[{}]}}"#, list("\"a\""))),
        ("/taskstore/update", format!(r#"{{"adds":[{}]}}"#, list("null"))),
        ("/taskstore/update", list("a&a").replace(',', "&")),
    ] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = client(&manager, head.as_bytes()).await;
        // A manager that refuses it may hang up before it has all.
        let _ = stream.write_all(body.as_bytes()).await;
        let answer = tokio::time::timeout(PATIENCE, stream.read_u8()).await;
        assert!(answer.is_ok(), "{path} is answered");
        assert_within(
            &format!("{} MiB of small values for {path}", body.len() / MIB),
            before,
            status(&manager, "VmHWM:"),
        );
    }
    manager.api.submit(&json!({"name": "x"})).await;
}

async fn forms_that_do_not_end_stay_within_the_bound(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = manager(&stack).await;
    let before = resident(&manager);
    let head = format!(
        "POST /sign-in HTTP/1.1\r\nhost: localhost\r\norigin: http://localhost\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {MIB}\r\n\r\n"
    );
    let sent = format!("{head}{}", "a".repeat(MIB - 1));
    let mut clients = Vec::new();
    for _ in 0..250 {
        let mut stream = client(&manager, head.as_bytes()).await;
        let _ = stream.write_all(&sent.as_bytes()[head.len()..]).await;
        clients.push(stream);
    }
    one_is_refused(&mut clients[200..]).await;
    assert_within("forms of 1 MiB that 250 clients hold", before, resident(&manager));
    manager.api.submit(&json!({"name": "x"})).await;
}
