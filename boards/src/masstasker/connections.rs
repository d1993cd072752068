//! The listener: HTTP/2 without TLS, the deadlines of calls, and a graceful stop. It knows no call.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
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
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use jobbers_process::shutdown::Shutdown;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::{Code, Status, body::Body, codegen::Service as _, service::Routes};

use super::{Settings, undelivered::Undelivered};

/// How often a connection is asked whether its client is still there, so that a call which waits for a machine that has
/// vanished ends.
const PING_EVERY: Duration = Duration::from_secs(10);
/// How long a client may take over the answer.
const PING_PATIENCE: Duration = Duration::from_secs(10);
/// Most calls at a time on one connection; further ones wait in the client.
const MOST_CALLS: u32 = 1_000;

/// Serves until `shutdown` is cancelled; returns when no connection is left.
pub(super) async fn serve(listener: TcpListener, routes: Routes, settings: &Settings, shutdown: &Shutdown) {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_PATIENCE)
        .max_concurrent_streams(MOST_CALLS);
    let places = Arc::new(Semaphore::new(settings.max_connections));
    let (graceful, connections, cut) = (GracefulShutdown::new(), TaskTracker::new(), CancellationToken::new());
    while let Some(Some((stream, place))) = shutdown.drain.run_until_cancelled(accept(&listener, &places)).await {
        let routes = routes.clone();
        let service = service_fn(move |request| answer(routes.clone(), request));
        let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), service));
        let cut = cut.clone();
        connections.spawn(async move {
            if let Some(Err(error)) = cut.run_until_cancelled(connection).await {
                tracing::debug!(%error, "a connection broke");
            }
            drop(place);
        });
    }
    drop(listener);
    tokio::select! {
        () = graceful.shutdown() => {}
        () = tokio::time::sleep(settings.drain_timeout) => {
            tracing::warn!(connections = connections.len(), "calls were still under way at the drain deadline");
        }
        () = shutdown.now.cancelled() => {}
    }
    cut.cancel();
    connections.close();
    connections.wait().await;
}

/// The next connection, once there is room for one. `None` when there will be no more.
async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are small and written at once; waiting to fill a packet would only add latency.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "TCP_NODELAY was refused");
                }
                return Some((stream, place));
            }
            // Mostly "too many open files", which passes when a connection ends; no event announces that.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Answers one call, or reports that its deadline is over. The call's future ends with its deadline, and with its caller.
async fn answer(mut routes: Routes, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let deadline = request.headers().get("grpc-timeout").and_then(deadline);
    let call = routes.call(request);
    let mut response = match deadline {
        None => call.await?,
        Some(deadline) => match tokio::time::timeout(deadline, call).await {
            Ok(response) => response?,
            Err(_) => Status::deadline_exceeded("the deadline of the call is over").into_http(),
        },
    };
    exhausted_if_too_large(response.headers_mut());
    Ok(match response.extensions_mut().remove() {
        Some(undelivered) => response.map(|body| Body::new(Delivery { body, undelivered })),
        None => response,
    })
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
struct Delivery {
    body: Body,
    undelivered: Undelivered,
}

impl hyper::body::Body for Delivery {
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
