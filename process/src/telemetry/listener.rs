//! `/metrics`, `/health/live` and `/health/ready` for a process without another listener.

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::{Method, Request, Response, StatusCode, body::Incoming, header, server::conn::http1, service::service_fn};
use tokio::net::TcpListener;

use super::exposition::{Exposition, TEXT_FORMAT};
use crate::{
    readiness,
    server::{
        self, Policy, Protocol,
        answer::CountedBody,
        connections::ConnectionState,
        memory::{ClientMemory, Kind},
        networks::Networks,
    },
    shutdown::Shutdown,
};

/// Concurrent readers: a few Prometheus servers and a person.
const POLICY: Policy = Policy {
    protocol: Protocol::Http1,
    max_connections: 16,
    idle_timeout: Duration::from_secs(75),
    header_timeout: Duration::from_secs(10),
    write_timeout: Duration::from_secs(30),
    drain_timeout: Duration::ZERO,
    clients: Networks::NONE,
};
/// The most bytes that are held for all of them.
const MEMORY: usize = 64 * 1024 * 1024;
/// The head of a request has no more bytes.
const BUFFER_BYTES: usize = 16 * 1024;

/// Serves until it is dropped.
pub(super) async fn serve(listener: std::net::TcpListener, exposition: Exposition) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "/metrics can't be served");
            return std::future::pending().await;
        }
    };
    let memory = ClientMemory::new(MEMORY);
    let mut builder = http1::Builder::new();
    builder.header_read_timeout(None).max_buf_size(BUFFER_BYTES);
    let held = Arc::clone(&memory);
    server::serve(listener.into(), &POLICY, &held, &Shutdown::new(), move |stream, _, state| {
        let (exposition, memory) = (exposition.clone(), Arc::clone(&memory));
        let answer =
            service_fn(move |request| answer(request, exposition.clone(), Arc::clone(&memory), Arc::clone(&state)));
        builder.serve_connection(stream, answer)
    })
    .await;
}

async fn answer(
    request: Request<Incoming>,
    exposition: Exposition,
    memory: Arc<ClientMemory>,
    state: Arc<ConnectionState>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let (busy, _) = Arc::clone(&state).begin();
    let (mut status, mut kind, mut body) = match (request.uri().path(), request.method()) {
        ("/metrics", &Method::GET | &Method::HEAD) => match exposition.text() {
            Ok(text) => (StatusCode::OK, TEXT_FORMAT, text),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, "text/plain", error),
        },
        ("/health/live", &Method::GET | &Method::HEAD) => (StatusCode::OK, "text/plain", "live\n".to_owned()),
        ("/health/ready", &Method::GET | &Method::HEAD) => match readiness::get() {
            Ok(()) => (StatusCode::OK, "text/plain", "ready\n".to_owned()),
            Err(why) => (StatusCode::SERVICE_UNAVAILABLE, "text/plain", format!("not ready: {why}\n")),
        },
        ("/metrics" | "/health/live" | "/health/ready", _) => {
            (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "GET only\n".to_owned())
        }
        _ => {
            let paths = "there are only /metrics, /health/live and /health/ready here\n";
            (StatusCode::NOT_FOUND, "text/plain", paths.to_owned())
        }
    };
    let share = memory.share();
    if !share.grow(Kind::Payload, body.len()) {
        (status, kind) = (StatusCode::SERVICE_UNAVAILABLE, "text/plain");
        body = "other readers have not read their answers; try again in a second\n".to_owned();
    }
    let body = CountedBody::new(Full::new(Bytes::from(body)), share, state, busy, None);
    let mut response = Response::new(body.boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use prometheus::Registry;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
    };

    use super::*;

    #[tokio::test]
    async fn readers_that_say_nothing_do_not_shut_others_out() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(serve(listener, Exposition::new(Registry::new())));
        let mut silent = Vec::new();
        for _ in 0..2 * POLICY.max_connections {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let mut reader = TcpStream::connect(address).await.unwrap();
        reader.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        tokio::time::timeout(Duration::from_secs(20), reader.read_to_string(&mut answer)).await.unwrap().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        serving.abort();
    }
}
