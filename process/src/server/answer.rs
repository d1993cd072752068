//! Answers, whose bytes count in the account until the connection has written them.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use super::{
    connections::{Busy, ConnectionState, Delivery},
    memory::MemoryShare,
};

/// Up to this size an answer is part of what its connection counts.
pub const SMALL_ANSWER: usize = 4 * 1024;
/// A connection is handed so many bytes at a time, which shows how fast its client reads.
const PIECE: usize = 64 * 1024;

/// The body of an answer. Its memory counts until the connection has written all of it, and its request counts as under
/// way until the connection has taken all of it.
pub struct CountedBody<B> {
    body: B,
    /// What counts already of what is to come.
    ahead: MemoryShare,
    /// What is left of the frame that is handed over, with its share.
    rest: Bytes,
    share: Arc<MemoryShare>,
    state: Arc<ConnectionState>,
    delivery: Option<Box<dyn Delivery>>,
    _busy: Busy,
}

/// A piece of an answer on its way to the client.
struct BodyPiece {
    bytes: Bytes,
    /// Of the whole frame: its memory is free when the last piece is.
    _share: Arc<MemoryShare>,
    state: Arc<ConnectionState>,
}

impl<B> CountedBody<B> {
    /// An answer of which `ahead` is counted already. `delivery` is what it contains.
    pub fn new(
        body: B,
        mut ahead: MemoryShare,
        state: Arc<ConnectionState>,
        busy: Busy,
        delivery: Option<Box<dyn Delivery>>,
    ) -> Self {
        let share = Arc::new(ahead.split(0));
        Self { body, ahead, rest: Bytes::new(), share, state, delivery, _busy: busy }
    }

    fn take_in(&mut self, data: Bytes) {
        let share = self.ahead.split(data.len());
        share.add(data.len() - share.bytes());
        (self.rest, self.share) = (data, Arc::new(share));
    }

    fn next_piece(&mut self) -> Bytes {
        let bytes = self.rest.split_to(self.rest.len().min(PIECE));
        self.state.holds(bytes.len());
        Bytes::from_owner(BodyPiece { bytes, _share: Arc::clone(&self.share), state: Arc::clone(&self.state) })
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for CountedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.rest.is_empty() {
            let polled = ready!(Pin::new(&mut self.body).poll_frame(cx));
            match polled.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.take_in(data),
                Some(Ok(Err(trailers))) => return Poll::Ready(Some(Ok(trailers))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let piece = self.next_piece();
        if self.is_end_stream()
            && let Some(delivery) = self.delivery.take()
        {
            // The connection's next flush is after this piece, which it buffers in this same poll.
            self.state.owes(delivery);
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (mut hint, rest) = (self.body.size_hint(), self.rest.len() as u64);
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
    }
}

impl AsRef<[u8]> for BodyPiece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for BodyPiece {
    fn drop(&mut self) {
        self.state.wrote(self.bytes.len());
    }
}
