//! `POST /tasks` beside an empty handler of the same server, a manager in a process of its own.
//!
//! The client is a small HTTP/1.1 client for measuring: one connection a caller, one request at a time, the request's
//! bytes made beforehand. It shares the machine with the server, so each microsecond a full client would add to both sides
//! of the ratio would hide the server's own.

use std::{net::SocketAddr, time::Instant};

use anyhow::{Result, bail, ensure};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{
    figures::{as_f64, per_second},
    load::{BATCH, BENCH, CALLERS, NOOP, PAYLOAD},
};

/// Connections at once, for single tasks and for the empty handler.
const CONNECTIONS: usize = 64;

/// What HTTP came to, per second.
#[derive(Debug, Clone, Copy)]
pub(super) struct HttpFigures {
    /// Requests that do nothing.
    pub(super) empty: f64,
    /// Tasks, one a request.
    pub(super) one: f64,
    /// Tasks, 100 a request.
    pub(super) batch: f64,
}

/// Posts to a manager: single tasks, then `tasks` in batches.
pub(super) async fn measure(address: SocketAddr, tasks: usize) -> Result<HttpFigures> {
    let task = format!(r#"{{"name":"{NOOP}","queue":"{BENCH}","parameters":{PAYLOAD}}}"#);
    let batch = format!(r#"{{"tasks":[{}]}}"#, vec![task.as_str(); BATCH].join(","));
    let singles = (tasks / 4).max(CONNECTIONS * 10);
    let empty = rate(address, &request("GET", "/health/live", ""), CONNECTIONS, singles).await?;
    let one = rate(address, &request("POST", "/tasks", &task), CONNECTIONS, singles).await?;
    let batches = rate(address, &request("POST", "/tasks", &batch), CALLERS, tasks / BATCH).await?;
    Ok(HttpFigures { empty, one, batch: batches * as_f64(BATCH) })
}

/// A request's bytes, complete.
pub(super) fn request(method: &str, path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// Sends `request` `count` times over `connections` connections; requests per second.
///
/// # Errors
/// When any answer is not of the 2xx kind.
pub(super) async fn rate(address: SocketAddr, request: &[u8], connections: usize, count: usize) -> Result<f64> {
    let mut streams = Vec::with_capacity(connections);
    for _ in 0..connections {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        streams.push(stream);
    }
    let each = count / connections;
    let start = Instant::now();
    let callers: Vec<_> = streams
        .into_iter()
        .map(|stream| {
            let request = request.to_vec();
            tokio::spawn(async move { converse(stream, &request, each).await })
        })
        .collect();
    for caller in callers {
        caller.await??;
    }
    Ok(per_second(each * connections, start))
}

async fn converse(mut stream: TcpStream, request: &[u8], count: usize) -> Result<()> {
    let mut buffer = Vec::with_capacity(64 * 1024);
    for _ in 0..count {
        stream.write_all(request).await?;
        buffer.clear();
        while answer_length(&buffer)?.is_none_or(|length| buffer.len() < length) {
            ensure!(stream.read_buf(&mut buffer).await? > 0, "the server hung up");
        }
    }
    Ok(())
}

/// The whole answer's length, once its head is there.
fn answer_length(buffer: &[u8]) -> Result<Option<usize>> {
    let Some(head) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let text = std::str::from_utf8(&buffer[..head])?;
    if !text.starts_with("HTTP/1.1 2") {
        bail!("the server answers {}", String::from_utf8_lossy(buffer));
    }
    let length = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map(|(_, value)| value.trim().parse::<usize>());
    match length {
        Some(length) => Ok(Some(head + 4 + length?)),
        None => bail!("the server's answer has no length"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_body_is() {
        let head = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n";
        assert_eq!(answer_length(&head[..20]).unwrap(), None);
        assert_eq!(answer_length(head).unwrap(), Some(head.len() + 2));
        assert!(answer_length(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n").is_err());
    }
}
