//! Stopping in good order.

use std::{sync::Arc, time::Duration};

use jobbers_manager::Config;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    fault::FaultyEngine,
    server::{Server, soon},
};
use jobbers_law::double::Double;

#[tokio::test]
async fn a_waiting_long_poll_is_answered_when_the_manager_stops() {
    let engine = Arc::new(Double(FaultyEngine::new()));
    let server = Server::with(engine.clone(), Config::default()).await;
    server.post("/tasks", json!({"id": "x", "name": "t"})).await.expect(201);
    let waiting = tokio::spawn(server.send_owned("/tasks/x?wait=60s"));
    soon(engine.waits(1)).await;
    soon(server.stop()).await;
    let (status, text) = soon(waiting).await.unwrap();
    assert_eq!(status, 200);
    assert!(text.contains(r#""status":"submitted""#), "{text}");
}

#[tokio::test]
async fn a_stopped_manager_accepts_nobody() {
    let server = Server::start().await;
    let address = server.address;
    let idle = TcpStream::connect(address).await.unwrap();
    soon(server.stop()).await;
    assert!(TcpStream::connect(address).await.is_err());
    drop(idle);
}

/// Begins a request whose body never ends; returns once the server is reading it.
async fn endless_request(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = "POST /tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n\
                content-length: 10\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut interim = [0; 25];
    soon(stream.read_exact(&mut interim)).await.unwrap();
    assert!(interim.starts_with(b"HTTP/1.1 100"), "the handler asked for the body");
    stream
}

#[tokio::test]
async fn a_request_under_way_is_finished_first() {
    let server = Server::start().await;
    let mut stream = endless_request(&server).await;
    let shutdown = server.shutdown.clone();
    shutdown.drain.cancel();
    let stopping = tokio::spawn(server.stop());
    stream.write_all(b"{\"nam\":1} ").await.unwrap();
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 422"), "{answer}");
    soon(stopping).await.unwrap();
}

#[tokio::test]
async fn a_request_that_does_not_end_is_cut_at_the_deadline_or_at_once() {
    for at_once in [false, true] {
        let drain_timeout = if at_once { Duration::from_secs(3_600) } else { Duration::from_millis(50) };
        let config = Config { drain_timeout, ..Config::default() };
        let server = Server::with(Arc::new(Double(FaultyEngine::new())), config).await;
        let mut stream = endless_request(&server).await;
        if at_once {
            server.shutdown.now.cancel();
        }
        soon(server.stop()).await;
        let mut rest = Vec::new();
        soon(stream.read_to_end(&mut rest)).await.ok();
        assert!(rest.is_empty(), "no answer was made up");
    }
}
