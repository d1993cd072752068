//! TaskStore's clients at the manager: where they are answered, and what the manager adds.

use std::{sync::Arc, time::Duration};

use jobbers_law::model::ModelEngine;
use jobbers_manager::{Config, Listeners};
use jobbers_process::shutdown::Shutdown;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::server::{Server, soon};

/// A moment in milliseconds.
const MOMENT: i64 = 1_388_552_400_000;

async fn post(server: &Server, path: &str, body: &Value) -> Value {
    server.send(server.request(Method::POST, path).body(body.to_string())).await.expect(200)
}

#[tokio::test]
async fn both_units_serve_one_board_beside_the_native_api() {
    let server = Server::start().await;
    let add = json!({"clientid": 1, "adds": [{"group": "a", "data": "x", "timespec": MOMENT}]});
    assert_eq!(post(&server, "/taskstore/update", &add).await["tasks"][0]["timespec"], json!(MOMENT));
    let read = server.get("/taskstore-ns/task/1").await.expect(200);
    assert_eq!((&read["duration"], &read["data"]), (&json!(MOMENT * 1_000_000), &json!("x")));
    assert_eq!(server.get("/taskstore/groups").await.expect(200), json!(["a"]));
    assert_eq!(server.get("/tasks").await.expect(200)["tasks"], json!([]), "a board's tasks are not the queues'");
    server.post("/tasks", json!({"name": "echo", "id": "a"})).await.expect(201);
    assert_eq!(server.get("/taskstore-ns/group/a?owned=1").await.expect(200).as_array().unwrap().len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn its_errors_are_lines_of_text_and_not_problems() {
    let config = Config { max_body_bytes: 2_000, max_payload_bytes: 100, ..Config::default() };
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config).await;
    let big = json!({"adds": [{"group": "a", "data": "x".repeat(101)}]}).to_string();
    for (method, path, body, status, text) in [
        (Method::POST, "/taskstore/update", "{".to_owned(), 400, "EOF while parsing an object at line 1 column 1\n"),
        (Method::GET, "/taskstore-ns/update", String::new(), 405, ""),
        (Method::POST, "/taskstore/groups", String::new(), 405, ""),
        (Method::GET, "/taskstore/nothing", String::new(), 404, "404 page not found\n"),
        (Method::POST, "/taskstore/claim", "x".repeat(2_001), 413, "a body holds at most 2000 bytes\n"),
        (
            Method::POST,
            "/taskstore/update",
            big,
            400,
            "adds[0].data has 101 bytes; at most 100 are allowed (max_payload_bytes)\n",
        ),
    ] {
        let answer = server.send(server.request(method, path).body(body)).await;
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (status, text), "{path}");
        let media_type = answer.headers.get("content-type").map(|value| value.to_str().unwrap());
        assert!(text.is_empty() || media_type == Some("text/plain; charset=utf-8"), "{media_type:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_given_up() {
    let config = Config { body_timeout: Duration::from_millis(50), ..Config::default() };
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head =
        "POST /taskstore/update HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.ends_with("the body did not arrive within 50ms\n"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn a_page_of_another_site_changes_nothing() {
    let server = Server::start().await;
    let form = server.request(Method::POST, "/taskstore/update").header("origin", "http://elsewhere.example");
    let body = "update=%7B%22adds%22%3A%5B%7B%22group%22%3A%22a%22%7D%5D%7D";
    server.send(form.body(body)).await.refused(403, "foreign_origin");
    assert_eq!(server.get("/taskstore/groups").await.expect(200), json!([]));
    server.stop().await;
}

#[tokio::test]
async fn a_port_of_its_own_serves_the_same_board_at_the_root() {
    let shutdown = Shutdown::new();
    let (http, own) =
        (TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let (native, root) = (http.local_addr().unwrap(), own.local_addr().unwrap());
    let config = Config { dlq_path: "none".to_owned(), ..Config::default() };
    let listeners = Listeners { taskstore: Some(own.into()), ..Listeners::from(http) };
    let engine = Arc::new(ModelEngine::with_system_clock());
    let running = tokio::spawn(jobbers_manager::run(config, engine, listeners, shutdown.clone()));
    let client = jobbers_api::client::http_client().build().unwrap();
    let add = json!({"clientid": 1, "adds": [{"group": "a", "duration": MOMENT * 1_000_000}]}).to_string();
    let added = client.post(format!("http://{root}/update")).body(add).send().await.unwrap();
    assert_eq!(added.json::<Value>().await.unwrap()["Tasks"][0]["id"], 1);
    let read = client.get(format!("http://{native}/taskstore/task/1")).send().await.unwrap();
    assert_eq!(read.json::<Value>().await.unwrap()["timespec"], json!(MOMENT), "nanoseconds, as the Go client counts");
    let elsewhere = client.get(format!("http://{root}/queues")).send().await.unwrap();
    assert_eq!((elsewhere.status().as_u16(), elsewhere.text().await.unwrap().as_str()), (404, "404 page not found\n"));
    let foreign = client.post(format!("http://{root}/update")).header("origin", "http://elsewhere.example");
    assert_eq!(foreign.body("{}").send().await.unwrap().status().as_u16(), 403);
    drop(client);
    shutdown.drain.cancel();
    soon(running).await.unwrap();
}
