//! `/metrics`, `/health/live` and `/health/ready` for a process without another listener.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use clap::Args;
use http_body_util::Full;
use hyper::{Method, Request, Response, StatusCode, body::Incoming, header, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use tokio::{net::TcpListener, sync::Semaphore};

use super::exposition::{Exposition, TEXT_FORMAT};
use crate::{listen, readiness};

/// Concurrent readers: a few Prometheus servers and a person.
const MOST_READERS: usize = 16;
/// How long a reader may take to send its request; an idle connection is closed after the same time.
const PATIENCE: Duration = Duration::from_secs(75);

/// Where to serve `/metrics`. Flatten it into a binary's arguments.
#[derive(Debug, Clone, Default, Args, Serialize)]
pub struct MetricsArgs {
    /// Serve Prometheus metrics at http://ADDRESS/metrics, and probes at /health/live and /health/ready
    #[arg(long, env = "METRICS_LISTEN", value_name = "ADDRESS", value_parser = listen::parse)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_listen: Option<SocketAddr>,
    /// Serve metrics on an address that isn't loopback, without authentication
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub metrics_insecure: bool,
}

/// Serves until it is dropped.
pub(super) async fn serve(listener: std::net::TcpListener, exposition: Exposition) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "/metrics can't be served");
            return std::future::pending().await;
        }
    };
    let readers = Arc::new(Semaphore::new(MOST_READERS));
    loop {
        let Ok(reader) = Arc::clone(&readers).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a reader of /metrics could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let exposition = exposition.clone();
        tokio::spawn(async move {
            let answer = service_fn(|request| answer(request, exposition.clone()));
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
            if let Err(error) = server.serve_connection(TokioIo::new(stream), answer).await {
                tracing::debug!(%error, "a reader of /metrics went away");
            }
            drop(reader);
        });
    }
}

async fn answer(request: Request<Incoming>, exposition: Exposition) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, kind, body) = match (request.uri().path(), request.method()) {
        ("/metrics", &Method::GET | &Method::HEAD) => match exposition.text() {
            Ok(text) => (StatusCode::OK, TEXT_FORMAT, text),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, "text/plain", error),
        },
        ("/health/live", &Method::GET | &Method::HEAD) => (StatusCode::OK, "text/plain", "live\n".to_owned()),
        ("/health/ready", &Method::GET | &Method::HEAD) => match readiness::get() {
            Ok(()) => (StatusCode::OK, "text/plain", "ready\n".to_owned()),
            Err(why) => (StatusCode::SERVICE_UNAVAILABLE, "text/plain", format!("not ready: {why}\n")),
        },
        ("/metrics" | "/health/live" | "/health/ready", _) => {
            (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "GET only\n".to_owned())
        }
        _ => {
            let paths = "there are only /metrics, /health/live and /health/ready here\n";
            (StatusCode::NOT_FOUND, "text/plain", paths.to_owned())
        }
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    Ok(response)
}
