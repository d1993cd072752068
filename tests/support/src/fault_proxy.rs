//! A TCP proxy that loses answers: the request arrives, is carried out, and the client never gets the answer. Or whole
//! connections, without a word to either side.

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
    sync::watch,
    task::AbortHandle,
};

/// A proxy in front of one server. Ends when dropped.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    upstream: Arc<Mutex<SocketAddr>>,
    to_lose: Arc<AtomicUsize>,
    /// Tells the connections that are open to pass nothing on any more.
    silence: watch::Sender<()>,
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
        let silence = watch::Sender::new(());
        let silences = silence.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let upstream = *leading.lock();
                tokio::spawn(pass(client, upstream, Arc::clone(&losing), silences.subscribe()));
            }
        });
        Self { address, upstream, to_lose, silence, accepting: accepting.abort_handle() }
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

    /// Lets the connections that are open go dead: nothing passes in either direction and neither end is notified, as when a
    /// machine loses its power or a network forgets a connection. New ones are passed on.
    pub fn fall_silent(&self) {
        self.silence.send_replace(());
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

async fn pass(client: TcpStream, upstream: SocketAddr, to_lose: Arc<AtomicUsize>, mut silence: watch::Receiver<()>) {
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
        _ = requests => return,
        _ = answers => return,
        // An error says that the proxy is gone.
        Ok(()) = silence.changed() => {}
    }
    // Both ends stay open as long as the proxy exists, and their data is not read.
    while silence.changed().await.is_ok() {}
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU8;

    use super::*;

    /// A server that answers each byte with the number of bytes it has had so far.
    async fn counter() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        tokio::spawn(async move {
            let count = Arc::new(AtomicU8::new(0));
            while let Ok((mut client, _)) = listener.accept().await {
                let count = Arc::clone(&count);
                tokio::spawn(async move {
                    while client.read_u8().await.is_ok() {
                        let count = count.fetch_add(1, Ordering::SeqCst) + 1;
                        client.write_u8(count).await.expect("the proxy reads");
                    }
                });
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

    #[tokio::test]
    async fn a_connection_that_fell_silent_is_neither_answered_nor_closed_and_a_new_one_is() {
        let proxy = FaultProxy::start(counter().await).await;
        let mut stream = TcpStream::connect(proxy.address()).await.expect("it listens");
        stream.write_u8(0).await.expect("it reads");
        assert_eq!(stream.read_u8().await.expect("an answer"), 1);
        proxy.fall_silent();
        stream.write_u8(0).await.expect("it is open");
        let silence = tokio::time::timeout(std::time::Duration::from_millis(50), stream.read_u8());
        assert!(silence.await.is_err(), "it is silent and open");
        drop(stream);
        assert_eq!(ask(&proxy).await.expect("an answer"), 2);
    }
}
