//! One HTTP/2 connection for the generated client: no pool, no balancing, no retries, so that what is measured is the
//! server.

use std::{
    future::Future,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use anyhow::Result;
use hyper::{Request, Response, body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use jobbers_boards::masstasker::proto::mass_tasker_client::MassTaskerClient;
use tokio::net::TcpStream;
use tonic::body::Body;
use tower_service::Service;

/// A MassTasker client with a connection of its own.
pub(super) type Client = MassTaskerClient<Connection>;

/// The connection.
#[derive(Debug, Clone)]
pub(super) struct Connection(http2::SendRequest<Body>);

/// Connects.
pub(super) async fn connect(address: SocketAddr) -> Result<Client> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    // It ends with its last sender; what went wrong is what the next call answers.
    tokio::spawn(connection);
    Ok(MassTaskerClient::with_origin(Connection(sender), format!("http://{address}").parse()?))
}

impl Service<Request<Body>> for Connection {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}
