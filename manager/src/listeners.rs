//! Where a manager listens.

use std::{io, net::SocketAddr, sync::Arc};

use jobbers_process::{
    listen,
    server::{
        Listener, Protocol,
        tls::{Tls, TlsError, TlsFiles},
    },
};
use tokio::net::TcpListener;

use crate::config::Config;

/// The ports of a manager.
#[derive(Debug)]
pub struct Listeners {
    /// The native API and what is mounted beside it.
    pub http: Listener,
    /// TaskStore's clients, at the root.
    pub taskstore: Option<Listener>,
    /// MassTasker's clients, over gRPC.
    pub masstasker: Option<Listener>,
}

/// An address where clients without a certificate are served.
#[derive(Debug)]
pub(crate) struct OpenAddress {
    address: SocketAddr,
    asks_for_keys: bool,
}

impl OpenAddress {
    /// What an operator should know of it.
    pub(crate) fn warning(&self, has_keys: bool) -> Option<String> {
        let Self { address, asks_for_keys } = self;
        match (asks_for_keys, has_keys) {
            (true, true) => None,
            (_, false) => listen::exposure(*address),
            (false, true) => Some(format!(
                "{address} serves its clients without an access key, because they can't send one: any client that reaches \
                 it changes the tasks of boards"
            )),
        }
    }
}

/// An address can't be listened on, or the files of TLS can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The system refuses the address.
    #[error("can't listen on {address}: {source}; choose another address with {flag}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// The flag that names it.
        flag: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The files of TLS can't be used.
    #[error("TLS: {0}")]
    Tls(#[from] TlsError),
}

impl Listeners {
    /// Listens where the configuration says.
    ///
    /// # Errors
    /// When an address can't be had, or the files of TLS can't be used.
    pub async fn bind(config: &Config) -> Result<Self, ListenError> {
        let files = config.tls_files();
        let http = bind(config.listen, files.as_ref(), Protocol::Http1, "--listen").await?;
        let taskstore =
            bind_if_any(config.taskstore_listen, files.as_ref(), Protocol::Http1, "--taskstore-listen").await?;
        let files = files.filter(|_| config.masstasker_tls);
        let masstasker =
            bind_if_any(config.masstasker_socket(), files.as_ref(), Protocol::Http2, "--masstasker-listen").await?;
        let anywhere = config.may_listen_anywhere(config.masstasker_tls);
        if let Some(warning) = config.masstasker_listen.and_then(|address| address.warning(anywhere)) {
            tracing::warn!("{warning}");
        }
        Ok(Self { http, taskstore, masstasker })
    }

    /// The addresses where clients without a certificate are served.
    pub(crate) fn open(&self) -> Vec<OpenAddress> {
        let fronts = [self.taskstore.as_ref(), self.masstasker.as_ref()].into_iter().flatten().map(|it| (it, false));
        let open = std::iter::once((&self.http, true)).chain(fronts);
        let open = open.filter(|(listener, _)| !listener.tls().is_some_and(|tls| tls.knows_clients()));
        open.filter_map(|(listener, asks_for_keys)| {
            Some(OpenAddress { address: listener.local_addr().ok()?, asks_for_keys })
        })
        .collect()
    }

    /// The identities of the listeners that speak TLS.
    pub(crate) fn identities(&self) -> Vec<Arc<Tls>> {
        self.all().filter_map(|listener| listener.tls().cloned()).collect()
    }

    fn all(&self) -> impl Iterator<Item = &Listener> {
        [Some(&self.http), self.taskstore.as_ref(), self.masstasker.as_ref()].into_iter().flatten()
    }
}

async fn bind_if_any(
    address: Option<SocketAddr>,
    files: Option<&TlsFiles>,
    protocol: Protocol,
    flag: &'static str,
) -> Result<Option<Listener>, ListenError> {
    match address {
        Some(address) => Ok(Some(bind(address, files, protocol, flag).await?)),
        None => Ok(None),
    }
}

async fn bind(
    address: SocketAddr,
    files: Option<&TlsFiles>,
    protocol: Protocol,
    flag: &'static str,
) -> Result<Listener, ListenError> {
    let tls = files.map(|files| Tls::open(files.clone(), protocol)).transpose()?;
    let socket = TcpListener::bind(address).await.map_err(|source| ListenError::Address { address, flag, source })?;
    Ok(Listener::with_tls(socket, tls))
}

impl From<TcpListener> for Listeners {
    fn from(http: TcpListener) -> Self {
        Self { http: http.into(), taskstore: None, masstasker: None }
    }
}
