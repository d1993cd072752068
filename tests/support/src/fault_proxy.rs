//! A TCP proxy that loses answers: the request arrives, is carried out, and the client never gets the answer. Or it loses
//! whole connections without a word to either side, lets answers come late, stops for a while, or closes one direction.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::AbortHandle,
};

/// A proxy in front of one server. Ends when dropped.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    upstream: Arc<Mutex<SocketAddr>>,
    faults: Arc<Faults>,
    accepting: AbortHandle,
}

/// What goes wrong at present.
#[derive(Debug)]
struct Faults {
    to_lose: AtomicUsize,
    /// Notifies the connections that are open to pass nothing on any more.
    silence: watch::Sender<()>,
    /// Notifies them to close the direction of answers, and no other.
    half_close: watch::Sender<()>,
    /// How late answers come.
    delay: watch::Sender<Duration>,
    /// While it is true, nothing passes, and nothing is lost.
    is_stopped: watch::Sender<bool>,
}

impl FaultProxy {
    /// Listens on a free port and passes everything on to `upstream`.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn start(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let upstream = Arc::new(Mutex::new(upstream));
        let faults = Arc::new(Faults {
            to_lose: AtomicUsize::new(0),
            silence: watch::Sender::new(()),
            half_close: watch::Sender::new(()),
            delay: watch::Sender::new(Duration::ZERO),
            is_stopped: watch::Sender::new(false),
        });
        let (now, leading) = (Arc::downgrade(&faults), Arc::clone(&upstream));
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let upstream = *leading.lock();
                let Some(faults) = now.upgrade() else { return };
                tokio::spawn(Connection::new(&faults).pass(client, upstream));
            }
        });
        Self { address, upstream, faults, accepting: accepting.abort_handle() }
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
        self.faults.silence.send_replace(());
    }

    /// Closes the direction of answers of the connections that are open: clients read the end, and may go on to write.
    pub fn half_close(&self) {
        self.faults.half_close.send_replace(());
    }

    /// From now on each piece of an answer comes so much later.
    pub fn delay_answers(&self, delay: Duration) {
        self.faults.delay.send_replace(delay);
    }

    /// Nothing passes until [`FaultProxy::go_on`]; then everything does.
    pub fn stop(&self) {
        self.faults.is_stopped.send_replace(true);
    }

    /// Ends what [`FaultProxy::stop`] began.
    pub fn go_on(&self) {
        self.faults.is_stopped.send_replace(false);
    }

    /// Loses the next `count` answers: the connection is cut when the server's first bytes come.
    pub fn lose_answers(&self, count: usize) {
        self.faults.to_lose.store(count, Ordering::SeqCst);
    }

    /// How many answers are still to be lost.
    #[must_use]
    pub fn still_to_lose(&self) -> usize {
        self.faults.to_lose.load(Ordering::SeqCst)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// One connection's view of the faults.
struct Connection {
    faults: Arc<Faults>,
    silence: watch::Receiver<()>,
    half_close: watch::Receiver<()>,
}

impl Connection {
    fn new(faults: &Arc<Faults>) -> Self {
        let (silence, half_close) = (faults.silence.subscribe(), faults.half_close.subscribe());
        Self { faults: Arc::clone(faults), silence, half_close }
    }

    async fn pass(mut self, client: TcpStream, upstream: SocketAddr) {
        let Ok(server) = TcpStream::connect(upstream).await else { return };
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let requests = pass_on(&self.faults, &mut from_client, &mut to_server);
        let answers = pass_answers(&self.faults, &mut self.half_close, &mut from_server, &mut to_client);
        // Whichever direction ends first, by itself or by a fault, takes the connection with it.
        tokio::select! {
            _ = requests => return,
            _ = answers => return,
            // An error says that the proxy is gone.
            Ok(()) = self.silence.changed() => {}
        }
        // Both ends stay open as long as the proxy exists, and their data is not read. The connection itself does not keep the
        // faults, or they would wait for each other.
        drop(self.faults);
        while self.silence.changed().await.is_ok() {}
    }
}

/// Waits while everything is stopped.
async fn until_it_goes_on(faults: &Faults) {
    // The sender is there, so this does not fail.
    let _ = faults.is_stopped.subscribe().wait_for(|is_stopped| !is_stopped).await;
}

async fn pass_on(faults: &Faults, from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf) -> std::io::Result<()> {
    let mut buffer = [0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        until_it_goes_on(faults).await;
        to.write_all(&buffer[..read]).await?;
    }
}

async fn pass_answers(
    faults: &Faults,
    half_close: &mut watch::Receiver<()>,
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
) -> std::io::Result<()> {
    let mut buffer = [0; 16 * 1024];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read?,
            Ok(()) = half_close.changed() => {
                to.shutdown().await?;
                // The other direction decides when it is over.
                std::future::pending().await
            }
        };
        let one_less = |left: usize| left.checked_sub(1);
        if read == 0 || faults.to_lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok() {
            return Ok(());
        }
        let delay = *faults.delay.borrow();
        tokio::time::sleep(delay).await;
        until_it_goes_on(faults).await;
        to.write_all(&buffer[..read]).await?;
    }
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
        let silence = tokio::time::timeout(Duration::from_millis(50), stream.read_u8());
        assert!(silence.await.is_err(), "it is silent and open");
        drop(stream);
        assert_eq!(ask(&proxy).await.expect("an answer"), 2);
    }

    #[tokio::test]
    async fn a_late_answer_comes_as_late_as_it_is_set() {
        let proxy = FaultProxy::start(counter().await).await;
        let delay = Duration::from_millis(80);
        proxy.delay_answers(delay);
        let asked_at = std::time::Instant::now();
        assert_eq!(ask(&proxy).await.expect("an answer"), 1);
        assert!(asked_at.elapsed() >= delay);
        proxy.delay_answers(Duration::ZERO);
        assert_eq!(ask(&proxy).await.expect("an answer"), 2);
    }

    #[tokio::test]
    async fn what_was_stopped_goes_on_and_nothing_is_lost() {
        let proxy = FaultProxy::start(counter().await).await;
        proxy.stop();
        let mut asked = Box::pin(ask(&proxy));
        assert!(tokio::time::timeout(Duration::from_millis(50), &mut asked).await.is_err(), "it is stopped");
        proxy.go_on();
        assert_eq!(asked.await.expect("an answer"), 1);
    }

    #[tokio::test]
    async fn a_half_closed_connection_carries_requests_and_no_answers() {
        let proxy = FaultProxy::start(counter().await).await;
        let mut stream = TcpStream::connect(proxy.address()).await.expect("it listens");
        stream.write_u8(0).await.expect("it reads");
        assert_eq!(stream.read_u8().await.expect("an answer"), 1);
        proxy.half_close();
        assert!(stream.read_u8().await.is_err(), "the end of the answers");
        stream.write_u8(0).await.expect("it is open");
        // That request arrives before this one is answered, or after it.
        let counted = ask(&proxy).await.expect("an answer");
        assert!((2..=3).contains(&counted), "{counted}");
    }
}
