//! The listener: HTTP/2 without TLS, the deadlines of calls, and a graceful stop. It knows no call.

use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hyper::{
    Request, Response,
    body::{Frame, Incoming, SizeHint},
    header::{HeaderMap, HeaderValue},
    server::conn::http2,
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use jobbers_process::{
    server::{
        self, Listener, Policy, Protocol,
        answer::CountedBody,
        connections::ConnectionState,
        memory::{Kind, MemoryShare},
    },
    shutdown::Shutdown,
};
use tonic::{Code, Status, body::Body, codegen::Service as _, service::Routes};

use super::{
    fields::Fields,
    gate::{BoardAccess, Gate, GateRefusal, GatedCall},
    settings::Settings,
    undelivered::Undelivered,
};

/// How often a connection is asked whether its client is still there, so that a call which waits for a machine that has
/// vanished ends.
const PING_EVERY: Duration = Duration::from_secs(10);
/// How long a client may take over the answer.
const PING_PATIENCE: Duration = Duration::from_secs(10);
/// Most calls at a time on one connection; further ones wait in the client.
const MOST_CALLS: u32 = 1_000;
/// How much of the calls of a connection is read ahead, in all.
const READ_AHEAD: u32 = 1024 * 1024;
/// How much of one call is read ahead.
const READ_AHEAD_OF_A_CALL: u32 = 64 * 1024;
/// What a call counts until it is answered, besides its message.
const CALL_BYTES: usize = 8 * 1024;
/// What a byte of a message counts: for itself, for the texts that are read from it, and for the call of the store. Its fields
/// count besides.
const MESSAGE_FACTOR: usize = 3;

/// Serves until `shutdown` is cancelled; returns when no connection is left.
pub(super) async fn serve(listener: Listener, routes: Routes, settings: &Settings, shutdown: &Shutdown) {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_PATIENCE)
        .initial_connection_window_size(READ_AHEAD)
        .initial_stream_window_size(READ_AHEAD_OF_A_CALL)
        .max_concurrent_streams(MOST_CALLS);
    let policy = Policy {
        protocol: Protocol::Http2,
        max_connections: settings.max_connections,
        idle_timeout: settings.idle_timeout,
        header_timeout: settings.header_timeout,
        write_timeout: settings.write_timeout,
        drain_timeout: settings.drain_timeout,
        clients: settings.clients.clone(),
    };
    let (memory, gate) = (Arc::clone(&settings.memory), settings.gate.clone());
    server::serve(listener, &policy, &settings.memory, shutdown, move |stream, peer, state| {
        let (routes, memory) = (routes.clone(), Arc::clone(&memory));
        let client = GatedClient { gate: gate.clone(), peer, state };
        let service = service_fn(move |request| answer(routes.clone(), request, memory.share(), client.clone()));
        builder.serve_connection(stream, service)
    })
    .await;
}

/// The client of a connection, and what lets its calls in.
#[derive(Debug, Clone)]
struct GatedClient {
    gate: Option<Arc<dyn Gate>>,
    peer: Option<SocketAddr>,
    state: Arc<ConnectionState>,
}

impl GatedClient {
    /// The answer of a call that is let in, for as long as it may go on.
    async fn call(&self, mut routes: Routes, request: Request<Message>) -> Result<Response<Body>, Infallible> {
        let access = BoardAccess::of(request.uri().path());
        let (Some(gate), Some(access)) = (&self.gate, access) else { return routes.call(request).await };
        let address = self.peer.map(|peer| peer.ip().to_canonical());
        let call = GatedCall { connection: &self.state, address, headers: request.headers(), access };
        let ended = match gate.let_in(call).await {
            Ok(ended) => ended,
            Err(refusal) => return Ok(Status::from(refusal).into_http()),
        };
        tokio::select! {
            biased;
            answer = routes.call(request) => answer,
            () = ended => Ok(Status::unauthenticated("the key was revoked or has expired during the call").into_http()),
        }
    }
}

impl From<GateRefusal> for Status {
    fn from(refusal: GateRefusal) -> Self {
        match refusal {
            GateRefusal::Unauthenticated(why) => Self::unauthenticated(why),
            GateRefusal::Forbidden(why) => Self::permission_denied(why),
            GateRefusal::Undecided(why) => Self::unavailable(why),
        }
    }
}

/// Answers one call, or reports that its deadline is over. The call's future ends with its deadline, and with its caller.
async fn answer(
    routes: Routes,
    request: Request<Incoming>,
    share: MemoryShare,
    client: GatedClient,
) -> Result<Response<Body>, Infallible> {
    let state = Arc::clone(&client.state);
    let (busy, _) = Arc::clone(&state).begin();
    let deadline = request.headers().get("grpc-timeout").and_then(deadline);
    let own = share.own();
    let share = Arc::new(share);
    let mut response = match share.grow(Kind::Request, CALL_BYTES) {
        false => overloaded().into_http(),
        true => {
            let fields = Fields::of(request.uri().path());
            let call = client.call(routes, request.map(|body| Message { body, share: Arc::clone(&share), fields }));
            match deadline {
                None => call.await?,
                Some(deadline) => match tokio::time::timeout(deadline, call).await {
                    Ok(response) => response?,
                    Err(_) => Status::deadline_exceeded("the deadline of the call is over").into_http(),
                },
            }
        }
    };
    exhausted_if_too_large(response.headers_mut());
    let undelivered = response.extensions_mut().remove::<Undelivered>();
    Ok(response.map(|body| {
        let body = CountedBody::new(body, own, state, busy, None);
        match undelivered {
            Some(undelivered) => Body::new(Handed { body, undelivered }),
            None => Body::new(body),
        }
    }))
}

fn overloaded() -> Status {
    Status::unavailable("the server holds too much for its clients; nothing was changed: try again in a second")
}

/// The message of a call, which counts until the call is answered.
struct Message {
    body: Incoming,
    share: Arc<MemoryShare>,
    fields: Fields,
}

impl hyper::body::Body for Message {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let polled = ready!(Pin::new(&mut self.body).poll_frame(cx));
        Poll::Ready(polled.map(|frame| {
            let frame = frame.map_err(|error| Status::from_error(error.into()))?;
            let Some(data) = frame.data_ref() else { return Ok(frame) };
            let bytes = self.fields.count(data)?.saturating_add(data.len() * MESSAGE_FACTOR);
            if self.share.grow(Kind::Payload, bytes) { Ok(frame) } else { Err(overloaded()) }
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Reads the header `grpc-timeout`: at most eight digits and a unit. `None` for anything else, which sets no deadline.
fn deadline(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let amount: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(amount * 3_600)),
        "M" => Some(Duration::from_secs(amount * 60)),
        "S" => Some(Duration::from_secs(amount)),
        "m" => Some(Duration::from_millis(amount)),
        "u" => Some(Duration::from_micros(amount)),
        "n" => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

/// A message past the bound is `RESOURCE_EXHAUSTED` for clients in every language; `tonic` says `OUT_OF_RANGE`, which no
/// call of ours answers otherwise.
fn exhausted_if_too_large(headers: &mut HeaderMap) {
    const OUT_OF_RANGE: Code = Code::OutOfRange;
    if let Some(status) = headers.get_mut(Status::GRPC_STATUS)
        && Code::from_bytes(status.as_bytes()) == OUT_OF_RANGE
    {
        *status = HeaderValue::from(Code::ResourceExhausted as i32);
    }
}

/// The body of an answer with a taken task: once the connection took all of it, the task counts as delivered.
struct Handed {
    body: CountedBody<Body>,
    undelivered: Undelivered,
}

impl hyper::body::Body for Handed {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            Poll::Ready(None) => self.undelivered.delivered(),
            Poll::Ready(Some(Ok(frame))) if frame.is_trailers() => self.undelivered.delivered(),
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_read_in_every_unit() {
        let read = |text: &str| deadline(&HeaderValue::from_str(text).unwrap());
        assert_eq!(read("2H"), Some(Duration::from_secs(7_200)));
        assert_eq!(read("3M"), Some(Duration::from_secs(180)));
        assert_eq!(read("99999999S"), Some(Duration::from_secs(99_999_999)));
        assert_eq!(read("250m"), Some(Duration::from_millis(250)));
        assert_eq!(read("7u"), Some(Duration::from_micros(7)));
        assert_eq!(read("7n"), Some(Duration::from_nanos(7)));
        for none in ["", "S", "1", "1s", "-1S", "+1S", "999999999S", "1 S"] {
            assert_eq!(read(none), None, "{none:?}");
        }
    }
}
