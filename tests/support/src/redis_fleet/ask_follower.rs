//! A proxy in front of a node of a Redis Cluster that makes its clients follow `ASK`, as most clients of Redis do.
//!
//! While a slot moves, the node that gives it away answers `ASK` for keys that it does not have. A client that follows sends
//! `ASKING` and the command to the node that takes the slot. The scripts of a store declare one key, which never exists: so each
//! would run there, on that half of the store that has already arrived.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

/// What a client sends before a command that it was asked to send elsewhere.
const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

/// A proxy that leads to one node and follows `ASK` to another. Ends when dropped.
#[derive(Debug)]
pub(super) struct AskFollower(AbortHandle);

impl AskFollower {
    /// Listens on a port of loopback. What `node` answers with `ASK` is asked of `other`.
    ///
    /// # Panics
    /// When the port is taken.
    pub(super) async fn start(port: u16, node: SocketAddr, other: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("the port is free");
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // A connection ends when one of its sides does.
                tokio::spawn(async move { follow(client, node, other).await.ok() });
            }
        });
        Self(accepting.abort_handle())
    }
}

impl Drop for AskFollower {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Passes commands on one by one, each with its answer.
async fn follow(client: TcpStream, node: SocketAddr, other: SocketAddr) -> std::io::Result<()> {
    let (mut client, mut node) = (Frames::of(client), Frames::of(TcpStream::connect(node).await?));
    let mut other = Frames::of(TcpStream::connect(other).await?);
    loop {
        let command = tokio::select! {
            command = client.next() => command?,
            push = node.next() => {
                client.send(&push?).await?;
                continue;
            }
        };
        node.send(&command).await?;
        let words = String::from_utf8_lossy(&command[..command.len().min(64)]).to_ascii_uppercase();
        // The answer to a subscription is a push.
        if words.contains("SUBSCRIBE\r\n") {
            continue;
        }
        // The other node knows the scripts too.
        if words.contains("SCRIPT\r\n") {
            other.ask(&command).await?;
        }
        let mut answer = node.next().await?;
        while answer.first() == Some(&b'>') {
            client.send(&answer).await?;
            answer = node.next().await?;
        }
        if answer.starts_with(b"-ASK ") {
            other.ask(ASKING).await?;
            answer = other.ask(&command).await?;
        }
        client.send(&answer).await?;
    }
}

/// A connection as a sequence of values of the protocol.
struct Frames {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Frames {
    const fn of(stream: TcpStream) -> Self {
        Self { stream, read: Vec::new() }
    }

    async fn send(&mut self, frame: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(frame).await
    }

    async fn ask(&mut self, command: &[u8]) -> std::io::Result<Vec<u8>> {
        self.send(command).await?;
        self.next().await
    }

    /// The next value, whole. What was read of it stays if the caller stops to wait.
    async fn next(&mut self) -> std::io::Result<Vec<u8>> {
        loop {
            if let Some(length) = length_of(&self.read) {
                let rest = self.read.split_off(length);
                return Ok(std::mem::replace(&mut self.read, rest));
            }
            if self.stream.read_buf(&mut self.read).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// How many bytes the first value takes; `None` while it is not there whole.
fn length_of(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut values) = (0, 1_usize);
    while values > 0 {
        let rest = bytes.get(at..)?;
        let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
        // Absent strings and lists have the length -1.
        let length = || std::str::from_utf8(&rest[1..end]).ok()?.parse::<usize>().ok();
        at += end + 2;
        values -= 1;
        match rest[0] {
            b'$' | b'=' | b'!' => at += length().map_or(0, |length| length + 2),
            b'*' | b'~' | b'>' => values += length().unwrap_or(0),
            b'%' => values += 2 * length().unwrap_or(0),
            _ => {}
        }
    }
    (at <= bytes.len()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_where_the_protocol_says() {
        for value in
            ["+OK\r\n", ":1\r\n", "$-1\r\n", "$3\r\na\r\n\r\n", "*-1\r\n", "*2\r\n$1\r\na\r\n*1\r\n:1\r\n", "_\r\n"]
        {
            let more = format!("{value}:7\r\n");
            assert_eq!(length_of(more.as_bytes()), Some(value.len()), "{value:?}");
            assert_eq!(length_of(&value.as_bytes()[..value.len() - 1]), None, "{value:?}");
        }
        assert_eq!(length_of(b"%1\r\n+a\r\n>1\r\n+b\r\n-"), Some(16));
    }
}
