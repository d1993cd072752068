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

/// A manager that holds little for its clients: four bodies at most.
async fn small_server() -> Server {
    let (max_body_bytes, max_client_memory) = (64 * 1024, 512 * 1024);
    server(Config { max_body_bytes, max_client_memory, ..Config::default() }).await
}

/// The head of a submission with a body of this size.
fn submission(bytes: usize) -> String {
    format!(
        "POST /tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {bytes}\r\n\r\n"
    )
}

/// The beginning of an answer, if one comes soon.
async fn beginning(stream: &mut TcpStream) -> Option<String> {
    let mut answer = vec![0; 16 * 1024];
    let read = tokio::time::timeout(Duration::from_millis(300), stream.read(&mut answer)).await.ok()?.ok()?;
    Some(String::from_utf8_lossy(&answer[..read]).into_owned())
}

#[tokio::test]
async fn bodies_hold_only_so_much_memory_together() {
    let server = small_server().await;
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(client(&server, &format!("{}{}", submission(60_000), " ".repeat(50_000))).await);
    }
    // One of them is over the bound, and its part is given back.
    let mut refused = None;
    for stream in &mut held {
        if refused.is_none() {
            refused = beginning(stream).await;
        }
    }
    let answer = refused.expect("one was refused");
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("\"overloaded\""), "{answer}");
    assert!(answer.contains("retry-after: 1"), "{answer}");
    server.post("/tasks", json!({"name": "t", "parameters": "x".repeat(400)})).await.expect(201);
    let large = json!({"name": "t", "parameters": "x".repeat(50_000)});
    server.post("/tasks", large.clone()).await.refused(503, "overloaded");
    drop(held);
    soon(async {
        while server.post("/tasks", large.clone()).await.status != 201 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn small_bodies_count_what_they_take_in_memory() {
    let server = small_server().await;
    let mut held = Vec::new();
    for _ in 0..60 {
        held.push(client(&server, &format!("{} ", submission(100))).await);
    }
    let mut refused = 0;
    for stream in &mut held {
        refused += usize::from(beginning(stream).await.is_some_and(|answer| answer.starts_with("HTTP/1.1 503")));
        if refused > 0 {
            return;
        }
    }
    panic!("60 requests are held by an account that has room for some 18");
}

#[tokio::test]
async fn callers_that_wait_are_bounded_and_others_are_served() {
    let server = small_server().await;
    server.post("/tasks", json!({"id": "a", "name": "t"})).await.expect(201);
    let mut waiting = Vec::new();
    for _ in 0..20 {
        waiting.push(client(&server, "GET /tasks/a?wait=60s HTTP/1.1\r\nhost: localhost\r\n\r\n").await);
    }
    let answer = beginning(waiting.last_mut().unwrap()).await.expect("the last one is refused");
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("\"overloaded\""), "{answer}");
    server.get("/tasks/a").await.expect(200);
    assert!(beginning(&mut waiting[0]).await.is_none(), "the first one waits on");
}

/// A client whose machine takes little of an answer.
async fn slow_reader(server: &Server, asked: &str) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 * 1024).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    let request = format!("GET {asked} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Reads on, and returns whether the answer ended before its end.
async fn is_cut(mut stream: TcpStream) -> bool {
    let mut rest = Vec::new();
    let end = soon(stream.read_to_end(&mut rest)).await;
    end.is_err() || (rest.starts_with(b"HTTP/1.1 200") && !rest.ends_with(b"\r\n0\r\n\r\n"))
}

#[tokio::test]
async fn when_memory_is_scarce_slow_readers_lose_their_answers_first() {
    let (max_body_bytes, max_client_memory) = (1024 * 1024, 8 * 1024 * 1024);
    let server = server(Config { max_body_bytes, max_client_memory, ..Config::default() }).await;
    for _ in 0..40 {
        server.post("/tasks", json!({"name": "t", "parameters": "x".repeat(200_000)})).await.expect(201);
    }
    // More than the machine itself takes from the manager: those that are refused are answered at once.
    let whole = "/tasks?include=parameters";
    let mut readers = Vec::new();
    for _ in 0..40 {
        readers.push(slow_reader(&server, whole).await);
    }
    // Others are served all the while, and the whole list again once slow readers have made room.
    server.get("/health/ready").await.expect(200);
    soon(async {
        loop {
            let answer = server.get(whole).await;
            if answer.status == 200 && answer.json()["next_cursor"].is_null() {
                assert_eq!(answer.json()["tasks"].as_array().unwrap().len(), 40);
                return;
            }
        }
    })
    .await;
    let cut = futures_util::future::join_all(readers.into_iter().map(is_cut)).await;
    assert!(cut.contains(&true), "no slow reader lost its answer");
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
