//! Two collectors of telemetry that keep nothing: one takes all it is sent, the other accepts and never answers.

use anyhow::Result;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// A collector. It ends when it is dropped.
pub(super) struct Sink {
    url: String,
    serving: JoinHandle<()>,
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Sink {
    /// One that answers every request with an empty success, which is what OTLP over HTTP asks of it.
    pub(super) async fn answering() -> Result<Self> {
        Self::start(true).await
    }

    /// One that holds connections open and says nothing.
    pub(super) async fn frozen() -> Result<Self> {
        Self::start(false).await
    }

    /// Its address, for `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub(super) fn url(&self) -> String {
        self.url.clone()
    }

    async fn start(answers: bool) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let serving = tokio::spawn(async move {
            let mut held = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                if answers {
                    tokio::spawn(take(stream));
                } else {
                    held.push(stream);
                }
            }
        });
        Ok(Self { url, serving })
    }
}

/// Takes requests until the sender goes away; an error is the sender's.
async fn take(stream: TcpStream) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    loop {
        let mut length = 0;
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let header = line.trim_end();
            if header.is_empty() {
                break;
            }
            if let Some((name, value)) = header.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        tokio::io::copy(&mut (&mut stream).take(length), &mut tokio::io::sink()).await?;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_takes_one_request_after_the_other_on_a_connection() {
        let sink = Sink::answering().await.unwrap();
        let client = jobbers_api::client::http_client().build().unwrap();
        for _ in 0..3 {
            let answer = client.post(format!("{}/v1/traces", sink.url())).body(vec![7; 100_000]).send().await.unwrap();
            assert_eq!(answer.status(), 200);
        }
    }
}
