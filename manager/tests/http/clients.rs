//! Clients that take their time, say nothing, or speak in riddles.

use std::{sync::Arc, time::Duration};

use jobbers_law::model::ModelEngine;
use jobbers_manager::Config;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use crate::server::{Server, soon};

const LIVE: &str = "GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n";
/// A request with a large answer, of which the buffers of a connection hold few.
const LARGE: &str = "GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";

async fn server(config: Config) -> Server {
    Server::with(Arc::new(ModelEngine::with_system_clock()), config).await
}

async fn client(server: &Server, sent: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    stream
}

/// Sends something and reads until the manager hangs up.
async fn conversation(server: &Server, sent: &str) -> String {
    let mut answer = Vec::new();
    soon(client(server, sent).await.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8(answer).unwrap()
}

/// Asks again and again and reads nothing, until the manager hangs up.
async fn ask_without_reading(mut stream: TcpStream) {
    while stream.write_all(LARGE.as_bytes()).await.is_ok() {}
}

#[tokio::test]
async fn clients_that_read_nothing_lose_their_places_to_others() {
    let server = server(Config { max_connections: 5, ..Config::default() }).await;
    let mut deaf = JoinSet::new();
    for _ in 0..5 {
        let stream = client(&server, LARGE).await;
        deaf.spawn(ask_without_reading(stream));
    }
    server.get("/tasks").await.expect(200);
    soon(deaf.join_next()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_hung_up_on_even_if_there_is_room() {
    let server = server(Config { write_timeout: Duration::from_millis(500), ..Config::default() }).await;
    let deaf = client(&server, LARGE).await;
    soon(ask_without_reading(deaf)).await;
}

#[tokio::test]
async fn idle_connections_make_room_for_new_ones() {
    let server = server(Config { max_connections: 5, ..Config::default() }).await;
    let mut idle = Vec::new();
    for n in 0..5 {
        let mut stream = client(&server, if n % 2 == 0 { LIVE } else { "" }).await;
        if n % 2 == 0 {
            soon(stream.read_u8()).await.unwrap();
        }
        idle.push(stream);
    }
    for _ in 0..20 {
        let mut stream = client(&server, LIVE).await;
        soon(stream.read_u8()).await.unwrap();
        idle.push(stream);
    }
}

#[tokio::test]
async fn a_connection_whose_request_is_worked_on_does_not_make_room() {
    let server = server(Config { max_connections: 1, ..Config::default() }).await;
    server.post("/tasks", json!({"id": "a", "name": "t"})).await.expect(201);
    let mut waiting = client(&server, "GET /tasks/a?wait=1s HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let mut next = client(&server, LIVE).await;
    let mut head = [0; 15];
    soon(waiting.read_exact(&mut head)).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    soon(next.read_exact(&mut head)).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
}

#[tokio::test]
async fn bodies_hold_only_so_much_memory_together() {
    let (max_body_bytes, max_body_memory) = (1_000, 2_500);
    let server = server(Config { max_body_bytes, max_body_memory, ..Config::default() }).await;
    let head = "POST /tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n";
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(client(&server, &format!("{head}\r\n{}", " ".repeat(990))).await);
    }
    // The third one is over the bound, and its part is given back.
    let refused = async {
        let mut answer = vec![0; 16 * 1024];
        for stream in &mut held {
            if let Ok(Ok(read)) = tokio::time::timeout(Duration::from_millis(300), stream.read(&mut answer)).await {
                return String::from_utf8(answer[..read].to_vec()).unwrap();
            }
        }
        panic!("none was refused");
    };
    let answer = refused.await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("\"overloaded\""), "{answer}");
    assert!(answer.contains("retry-after: 1"), "{answer}");
    server.post("/tasks", json!({"name": "t", "parameters": "x".repeat(400)})).await.expect(201);
    let large = server.post("/tasks", json!({"name": "t", "parameters": "x".repeat(700)})).await;
    large.refused(503, "overloaded");
    drop(held);
    soon(async {
        while server.post("/tasks", json!({"name": "t", "parameters": "x".repeat(700)})).await.status != 201 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_request_says_once_and_clearly_whom_it_asks() {
    let server = server(Config::default()).await;
    let get = |hosts: &str| format!("GET /health/live HTTP/1.1\r\n{hosts}connection: close\r\n\r\n");
    for (hosts, why) in [
        ("", "missing"),
        ("host: localhost\r\nhost: localhost\r\n", "several"),
        ("host: a{b.evil.example\r\n", "no name or address"),
        ("host: user@localhost\r\n", "no name or address"),
        ("host:\r\n", "no name or address"),
    ] {
        let answer = conversation(&server, &get(hosts)).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains(why), "{hosts:?}: {answer}");
        assert!(answer.contains("invalid_parameter"), "{answer}");
    }
    let answer = conversation(&server, &get("host: localhost\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let old = conversation(&server, "GET /health/live HTTP/1.0\r\n\r\n").await;
    assert!(old.starts_with("HTTP/1.0 200"), "HTTP/1.0 knows no Host: {old}");
}

#[tokio::test]
async fn a_body_whose_length_is_declared_in_two_ways_is_refused() {
    let server = server(Config::default()).await;
    let post = |lengths: &str| {
        format!("POST /tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{lengths}\r\n")
    };
    let chunks = "c\r\n{\"name\":\"t\"}\r\n0\r\n\r\n";
    for both in
        ["content-length: 22\r\ntransfer-encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 22\r\n"]
    {
        let answer = conversation(&server, &format!("{}{chunks}", post(both))).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("invalid_parameter"), "{answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "what follows is not read: {answer}");
    }
    let one = post("transfer-encoding: chunked\r\nconnection: close\r\n");
    let answer = conversation(&server, &format!("{one}{chunks}")).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let behind_another = conversation(&server, &format!("{LIVE}{one}{chunks}")).await;
    assert!(behind_another.contains("HTTP/1.1 400"), "{behind_another}");
}
