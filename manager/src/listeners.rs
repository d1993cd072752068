//! Where a manager listens.

use std::{io, net::SocketAddr};

use tokio::net::TcpListener;

use crate::config::Config;

/// The ports of a manager.
#[derive(Debug)]
pub struct Listeners {
    /// The native API and what is mounted beside it.
    pub http: TcpListener,
    /// TaskStore's clients, at the root.
    pub taskstore: Option<TcpListener>,
    /// MassTasker's clients, over gRPC.
    pub masstasker: Option<TcpListener>,
}

/// An address can't be had.
#[derive(Debug, thiserror::Error)]
#[error("can't listen on {address}: {source}; choose another address with {flag}")]
pub struct ListenError {
    address: SocketAddr,
    flag: &'static str,
    source: io::Error,
}

impl Listeners {
    /// Listens where the configuration says.
    ///
    /// # Errors
    /// When an address can't be had.
    pub async fn bind(config: &Config) -> Result<Self, ListenError> {
        let http = bind(config.listen, "--listen").await?;
        let taskstore = bind_if_any(config.taskstore_listen, "--taskstore-listen").await?;
        let masstasker = bind_if_any(config.masstasker_socket(), "--masstasker-listen").await?;
        if let Some(warning) = config.masstasker_listen.and_then(|address| address.warning(config.insecure)) {
            tracing::warn!("{warning}");
        }
        Ok(Self { http, taskstore, masstasker })
    }
}

async fn bind_if_any(address: Option<SocketAddr>, flag: &'static str) -> Result<Option<TcpListener>, ListenError> {
    match address {
        Some(address) => Ok(Some(bind(address, flag).await?)),
        None => Ok(None),
    }
}

async fn bind(address: SocketAddr, flag: &'static str) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).await.map_err(|source| ListenError { address, flag, source })
}

impl From<TcpListener> for Listeners {
    fn from(http: TcpListener) -> Self {
        Self { http, taskstore: None, masstasker: None }
    }
}
