//! Tracks the connections of a listener and how long each has waited for its client.
//!
//! A client that sends nothing or does not read its answer must not keep its place for ever, least of all when places or
//! memory are scarce. Each connection notes in its [`ConnectionState`] what it waits for. One task checks all of them every
//! [`TICK`], so a request costs no timer. When no place is left, the connections that have waited longest are closed; when
//! no memory is left, those whose clients read slowest.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    head_scan::HeadScan,
    memory::ClientMemory,
    policy::{Policy, Protocol},
    tls::CertificateName,
    transport::Transport,
};

/// Waiting is measured in ticks, which is exact enough for seconds.
const TICK: Duration = Duration::from_millis(250);
/// When no place is left, a client that does not read its answer keeps its place for this number of ticks.
const STALLED_TOO_LONG: u64 = 5 * 4;
/// When no place is left, up to one in this many connections is closed, so that not every new client causes a check of
/// all of them.
const SHARE_CLOSED: usize = 100;

/// When memory is scarce, a client that reads nothing for this number of ticks loses its answer.
const SLOW: u64 = 4;
/// When memory is scarce, slow readers are closed until this part of the account is free.
const SHARE_FREED: usize = 16;
/// The first words of a client of HTTP/2.
const PREFACE: u32 = 24;

/// What has to be given back unless the answer that contains it is written.
pub trait Delivery: std::fmt::Debug + Send + Sync {
    /// Notes that the answer is written.
    fn delivered(&self);
}

/// The open connections and their limit.
#[derive(Debug)]
pub(super) struct Connections {
    protocol: Protocol,
    memory: Arc<ClientMemory>,
    slots: Arc<Semaphore>,
    states: Mutex<Vec<Arc<ConnectionState>>>,
    /// The current time, in ticks.
    now: Arc<AtomicU64>,
    idle: u64,
    header: u64,
    write: u64,
}

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionPhase {
    /// The client's next request.
    Idle,
    /// The rest of a request's head.
    Head,
    /// The process.
    Busy,
}

/// What the watching task knows of one connection.
#[derive(Debug)]
pub struct ConnectionState {
    protocol: Protocol,
    now: Arc<AtomicU64>,
    /// The requests under way.
    calls: AtomicU32,
    /// Bytes of answers that were handed over and are not written yet.
    held: AtomicUsize,
    /// The tick at which such bytes last became more than none, or fewer.
    moved: AtomicU64,
    /// The [`ConnectionPhase`] in the two lowest bits, and the tick at which it began.
    phase: AtomicU64,
    /// The tick since which the client does not read what is written, plus one; 0 if it does.
    stalled: AtomicU64,
    /// What [`HeadScan`] saw of the request that is read.
    framing: AtomicU8,
    /// Ends the connection, unless the process works for it.
    close: CancellationToken,
    /// Cancelled with `close`, and when the process drains: a connection asks one thing each time that it is polled.
    notice: CancellationToken,
    /// What answers that have not been written yet contain.
    undelivered: Mutex<Vec<Box<dyn Delivery>>>,
    /// That of its client, if it showed a certificate.
    certificate_name: OnceLock<CertificateName>,
}

impl Connections {
    pub(super) fn new(policy: &Policy, memory: Arc<ClientMemory>) -> Self {
        let ticks = |span: Duration| u64::try_from(span.as_millis().div_ceil(TICK.as_millis())).unwrap_or(u64::MAX);
        Self {
            protocol: policy.protocol,
            memory,
            slots: Arc::new(Semaphore::new(policy.max_connections.min(Semaphore::MAX_PERMITS))),
            states: Mutex::default(),
            now: Arc::default(),
            idle: ticks(policy.idle_timeout),
            header: ticks(policy.header_timeout),
            write: ticks(policy.write_timeout),
        }
    }

    /// A place for one more connection, as soon as one is free. `None` if no more will come.
    pub(super) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        loop {
            if let Ok(place) = Arc::clone(&self.slots).try_acquire_owned() {
                return Some(place);
            }
            self.make_room();
            if let Ok(place) = timeout(TICK, Arc::clone(&self.slots).acquire_owned()).await {
                return place.ok();
            }
        }
    }

    /// Notes a new connection.
    pub(super) fn open(&self, drain: &CancellationToken) -> Arc<ConnectionState> {
        let state = Arc::new(ConnectionState {
            protocol: self.protocol,
            now: Arc::clone(&self.now),
            calls: AtomicU32::default(),
            held: AtomicUsize::default(),
            moved: AtomicU64::default(),
            phase: AtomicU64::default(),
            stalled: AtomicU64::default(),
            framing: AtomicU8::default(),
            close: CancellationToken::new(),
            notice: drain.child_token(),
            undelivered: Mutex::default(),
            certificate_name: OnceLock::new(),
        });
        state.enter_first();
        self.states.lock().push(Arc::clone(&state));
        state
    }

    /// Closes connections whose client takes too long, until it is dropped.
    pub(super) async fn watch(&self) {
        let (mut ticks, mut refusals) = (tokio::time::interval(TICK), self.memory.refusals());
        loop {
            ticks.tick().await;
            let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
            if refusals != self.memory.refusals() {
                refusals = self.memory.refusals();
                self.free_memory(now);
            }
            self.states.lock().retain(|state| {
                if self.is_overdue(state, now) {
                    state.close();
                }
                // The register's own is the last: the connection has ended.
                Arc::strong_count(state) > 1
            });
        }
    }

    fn is_overdue(&self, state: &ConnectionState, now: u64) -> bool {
        let (phase, since) = state.phase();
        let waited = now.saturating_sub(since);
        let is_too_long = match phase {
            ConnectionPhase::Idle => waited > self.idle,
            ConnectionPhase::Head => waited > self.header,
            ConnectionPhase::Busy => false,
        };
        is_too_long || state.stalled_for(now).is_some_and(|ticks| ticks > self.write)
    }

    /// Closes the connections whose clients have read nothing for longest, until enough memory is free.
    fn free_memory(&self, now: u64) {
        let states = self.states.lock();
        let slow = |state: &ConnectionState| state.slow_for(now).filter(|ticks| *ticks >= SLOW);
        let mut readers: Vec<_> = states.iter().filter_map(|state| Some((slow(state)?, state))).collect();
        readers.sort_unstable_by_key(|(ticks, _)| std::cmp::Reverse(*ticks));
        let mut left = self.memory.most() / SHARE_FREED;
        for (_, state) in readers {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(state.held.load(Ordering::Relaxed));
            state.close();
        }
    }

    /// Closes the connections that have waited longest for their clients, except very recent ones.
    pub(super) fn make_room(&self) {
        let now = self.now.load(Ordering::Relaxed);
        let states = self.states.lock();
        let mut waiting: Vec<(u64, &Arc<ConnectionState>)> =
            states.iter().filter_map(|state| Some((state.waits_since(now)?, state))).collect();
        waiting.sort_unstable_by_key(|(since, _)| *since);
        waiting.iter().take(1 + states.len() / SHARE_CLOSED).for_each(|(_, state)| state.close());
    }
}

impl ConnectionState {
    /// What a connection waits for at first.
    fn enter_first(&self) {
        self.enter(match self.protocol {
            Protocol::Http1 => ConnectionPhase::Idle,
            Protocol::Http2 => ConnectionPhase::Head,
        });
    }

    /// A handshake has the patience of a request's head.
    pub(super) fn begin_handshake(&self) {
        self.enter(ConnectionPhase::Head);
    }

    pub(super) fn end_handshake(&self) {
        self.enter_first();
    }

    fn enter(&self, phase: ConnectionPhase) {
        self.phase.store(self.now.load(Ordering::Relaxed) << 2 | phase as u64, Ordering::Relaxed);
    }

    fn phase(&self) -> (ConnectionPhase, u64) {
        let packed = self.phase.load(Ordering::Relaxed);
        let phase = [ConnectionPhase::Idle, ConnectionPhase::Head, ConnectionPhase::Busy, ConnectionPhase::Busy]
            [(packed & 3) as usize];
        (phase, packed >> 2)
    }

    /// For how many ticks its client has not read an answer. With HTTP/2 a client may take one answer and not another, so
    /// what counts is that none moves.
    fn stalled_for(&self, now: u64) -> Option<u64> {
        match self.protocol {
            Protocol::Http1 => Some(now.saturating_sub(self.stalled.load(Ordering::Relaxed).checked_sub(1)?)),
            Protocol::Http2 => self.slow_for(now),
        }
    }

    /// For how many ticks no part of what is counted for its answers was written.
    fn slow_for(&self, now: u64) -> Option<u64> {
        let is_held = self.held.load(Ordering::Relaxed) > 0;
        is_held.then(|| now.saturating_sub(self.moved.load(Ordering::Relaxed)))
    }

    /// Notes the name of its client's certificate, after the handshake.
    #[cfg(feature = "tls")]
    pub(super) fn name_client(&self, name: CertificateName) {
        self.certificate_name.get_or_init(|| name);
    }

    /// The name of its client's certificate; `None` for a client that showed none.
    #[must_use]
    pub fn certificate_name(&self) -> Option<&CertificateName> {
        self.certificate_name.get()
    }

    /// What its client speaks.
    pub(super) const fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Notes that bytes of an answer are on their way.
    pub(super) fn holds(&self, bytes: usize) {
        if self.held.fetch_add(bytes, Ordering::Relaxed) == 0 {
            self.moved.store(self.now.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Notes that such bytes are written, or given up.
    pub(super) fn wrote(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        self.moved.store(self.now.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Since when it has waited for its client, if that is long enough to be closed for another one.
    fn waits_since(&self, now: u64) -> Option<u64> {
        if let Some(ticks) = self.stalled_for(now) {
            return (ticks >= STALLED_TOO_LONG).then(|| now - ticks);
        }
        match self.phase() {
            (ConnectionPhase::Busy, _) => None,
            (_, since) => (since < now).then_some(since),
        }
    }

    /// Whether the process works for this connection, which then must not be closed.
    pub(super) fn is_busy(&self) -> bool {
        let is_stuck = self.stalled_for(self.now.load(Ordering::Relaxed)).is_some_and(|ticks| match self.protocol {
            Protocol::Http1 => true,
            Protocol::Http2 => ticks >= SLOW,
        });
        self.phase().0 == ConnectionPhase::Busy && !is_stuck
    }

    /// Ends the connection, unless the process works for it.
    fn close(&self) {
        self.close.cancel();
        self.notice.cancel();
    }

    /// Whether the connection is to end.
    pub(super) fn is_closed(&self) -> bool {
        self.close.is_cancelled()
    }

    /// Completes when the connection is to end, or the process drains.
    pub(super) fn noticed(&self) -> tokio_util::sync::WaitForCancellationFuture<'_> {
        self.notice.cancelled()
    }

    /// Completes when the connection is to end.
    pub(super) fn closed(&self) -> tokio_util::sync::WaitForCancellationFuture<'_> {
        self.close.cancelled()
    }

    /// Notes what an answer contains that is about to be written.
    pub fn owes(&self, undelivered: Box<dyn Delivery>) {
        self.undelivered.lock().push(undelivered);
    }

    /// Notes that everything is written.
    fn delivered(&self) {
        self.undelivered.lock().drain(..).for_each(|it| it.delivered());
    }

    /// The connection has ended: what is undelivered is given back.
    pub(super) fn give_up(&self) {
        let undelivered = std::mem::take(&mut *self.undelivered.lock());
        drop(undelivered);
    }

    /// Notes that a request has come, until the returned value is dropped. Returns whether its head surely declares its
    /// length in one way only.
    pub fn begin(self: Arc<Self>) -> (Busy, bool) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.enter(ConnectionPhase::Busy);
        let is_plain = self.framing.swap(UNKNOWN, Ordering::Relaxed) == PLAIN;
        (Busy(self), is_plain)
    }
}

const UNKNOWN: u8 = 0;
const PLAIN: u8 = 1;
const AMBIGUOUS: u8 = 2;

/// A request that the process works on.
#[derive(Debug)]
pub struct Busy(Arc<ConnectionState>);

impl Drop for Busy {
    fn drop(&mut self) {
        if self.0.calls.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.enter(ConnectionPhase::Idle);
        }
    }
}

/// A stream that notes what its client does.
#[derive(Debug)]
pub struct Noted {
    stream: Transport,
    state: Arc<ConnectionState>,
    scan: HeadScan,
    /// How many of the first words of HTTP/2 have come.
    preface: u32,
}

impl Noted {
    pub(super) fn new(stream: Transport, state: Arc<ConnectionState>) -> Self {
        Self { stream, state, scan: HeadScan::default(), preface: 0 }
    }

    fn note_read(&mut self, bytes: &[u8]) {
        match self.state.protocol {
            Protocol::Http1 => self.note_head(bytes),
            Protocol::Http2 => self.note_preface(bytes),
        }
    }

    /// After the first words the protocol itself asks whether the client is still there.
    fn note_preface(&mut self, bytes: &[u8]) {
        if self.preface < PREFACE {
            self.preface = self.preface.saturating_add(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
            if self.preface >= PREFACE {
                self.state.enter(ConnectionPhase::Idle);
            }
        }
    }

    fn note_head(&mut self, bytes: &[u8]) {
        match self.state.phase().0 {
            ConnectionPhase::Busy => return,
            ConnectionPhase::Head => {}
            ConnectionPhase::Idle => {
                self.scan = HeadScan::default();
                self.state.enter(ConnectionPhase::Head);
            }
        }
        if let Some(is_ambiguous) = self.scan.read(bytes) {
            self.state.framing.store(if is_ambiguous { AMBIGUOUS } else { PLAIN }, Ordering::Relaxed);
        }
    }

    fn note_written<T>(&self, outcome: &Poll<T>) {
        if outcome.is_pending() && self.state.stalled.load(Ordering::Relaxed) == 0 {
            self.state.stalled.store(self.state.now.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }
}

impl AsyncRead for Noted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        if buffer.filled().len() > before {
            self.note_read(&buffer.filled()[before..]);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Noted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.note_written(&outcome);
        outcome
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.note_written(&outcome);
        outcome
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called when all that was answered so far is written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.state.stalled.store(0, Ordering::Relaxed);
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.state.delivered();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
