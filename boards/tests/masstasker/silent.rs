//! Connections and calls that hold something and say nothing.

use std::{net::SocketAddr, time::Duration};

use jobbers_boards::masstasker::{Settings, proto::QueryRequest};
use jobbers_process::server::memory::ClientMemory;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};
use tonic::Code;

use crate::{
    server::{Server, asked, refused, task},
    stores::Kind,
};

/// The first words of an HTTP/2 client, and an empty frame of settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

async fn connection(server: &Server, words: &[u8]) -> TcpStream {
    let address: SocketAddr = server.address.strip_prefix("http://").unwrap().parse().unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(words).await.unwrap();
    stream
}

async fn connections_that_make_no_call_do_not_shut_others_out(kind: Kind) {
    for words in [&b""[..], &PREFACE[..10], PREFACE] {
        let server = Server::start_with(kind, Settings { max_connections: 4, ..Settings::default() }).await;
        let mut silent = Vec::new();
        for _ in 0..4 {
            silent.push(connection(&server, words).await);
        }
        let served = async { server.client().await.create(vec![task("a")]).await };
        let served = tokio::time::timeout(Duration::from_secs(20), served).await;
        assert_eq!(served.expect("the server makes room"), [1], "{words:?}");
    }
}

async fn a_client_that_does_not_begin_is_hung_up_on(kind: Kind) {
    let header_timeout = Duration::from_millis(500);
    let server = Server::start_with(kind, Settings { header_timeout, ..Settings::default() }).await;
    for words in [&b""[..], &PREFACE[..10]] {
        let mut stream = connection(&server, words).await;
        let mut answer = Vec::new();
        let ended = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await;
        assert!(ended.is_ok(), "the server hangs up after {words:?}");
    }
}

async fn calls_that_wait_are_bounded_and_others_are_served(kind: Kind) {
    let settings = || Settings { memory: ClientMemory::new(1024 * 1024), ..Settings::default() };
    let settings = Settings { empty_wait: Duration::from_secs(60), ..settings() };
    let server = Server::start_with(kind, settings).await;
    let api = server.client().await;
    let mut calls = JoinSet::new();
    for _ in 0..80 {
        let mut api = api.clone();
        calls.spawn(async move { api.query(QueryRequest { wait: true, ..asked("empty") }).await });
    }
    let refusal = calls.join_next().await.unwrap().unwrap();
    refused(refusal, Code::Unavailable);
    api.clone().create(vec![task("a")]).await;
    calls.abort_all();
}

on_every_store!(
    connections_that_make_no_call_do_not_shut_others_out,
    a_client_that_does_not_begin_is_hung_up_on,
    calls_that_wait_are_bounded_and_others_are_served,
);
