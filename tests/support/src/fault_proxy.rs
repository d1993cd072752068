//! A TCP proxy that loses answers: the request arrives, is carried out, and the client never hears of it.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

/// A proxy in front of one server. Ends when dropped.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    upstream: Arc<Mutex<SocketAddr>>,
    to_lose: Arc<AtomicUsize>,
    accepting: AbortHandle,
}

impl FaultProxy {
    /// Listens on a free port and passes everything on to `upstream`.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn start(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let to_lose = Arc::new(AtomicUsize::new(0));
        let upstream = Arc::new(Mutex::new(upstream));
        let (losing, leading) = (Arc::clone(&to_lose), Arc::clone(&upstream));
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let upstream = *leading.lock();
                tokio::spawn(pass(client, upstream, Arc::clone(&losing)));
            }
        });
        Self { address, upstream, to_lose, accepting: accepting.abort_handle() }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on new connections lead to another server; those that are open stay where they are.
    pub fn lead_to(&self, upstream: SocketAddr) {
        *self.upstream.lock() = upstream;
    }

    /// Loses the next `count` answers: the connection is cut when the server's first bytes come.
    pub fn lose_answers(&self, count: usize) {
        self.to_lose.store(count, Ordering::SeqCst);
    }

    /// How many answers are still to be lost.
    #[must_use]
    pub fn still_to_lose(&self) -> usize {
        self.to_lose.load(Ordering::SeqCst)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn pass(client: TcpStream, upstream: SocketAddr, to_lose: Arc<AtomicUsize>) {
    let Ok(server) = TcpStream::connect(upstream).await else { return };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let requests = async { tokio::io::copy(&mut from_client, &mut to_server).await.map(drop) };
    let answers = async {
        let mut buffer = [0; 16 * 1024];
        loop {
            let read = from_server.read(&mut buffer).await?;
            let one_less = |left: usize| left.checked_sub(1);
            if read == 0 || to_lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok() {
                return std::io::Result::Ok(());
            }
            to_client.write_all(&buffer[..read]).await?;
        }
    };
    // Whichever direction ends first, by itself or by a fault, takes the connection with it.
    tokio::select! {
        _ = requests => {}
        _ = answers => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers each byte with the number of bytes it has had so far.
    async fn counter() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        tokio::spawn(async move {
            let mut count = 0;
            while let Ok((mut client, _)) = listener.accept().await {
                while client.read_u8().await.is_ok() {
                    count += 1;
                    client.write_u8(count).await.expect("the proxy reads");
                }
            }
        });
        address
    }

    async fn ask(proxy: &FaultProxy) -> std::io::Result<u8> {
        let mut stream = TcpStream::connect(proxy.address()).await?;
        stream.write_u8(0).await?;
        stream.read_u8().await
    }

    #[tokio::test]
    async fn a_lost_answer_was_carried_out_and_the_next_one_arrives() {
        let proxy = FaultProxy::start(counter().await).await;
        assert_eq!(ask(&proxy).await.expect("an answer"), 1);
        proxy.lose_answers(1);
        assert!(ask(&proxy).await.is_err());
        assert_eq!(ask(&proxy).await.expect("an answer"), 3);
    }
}
