//! Where a manager listens.

use std::{io, sync::Arc};

use jobbers_process::{
    listen::Endpoint,
    server::{
        Listener, Protocol, SocketFileListener,
        networks::Networks,
        tls::{Tls, TlsError, TlsFiles},
    },
};
use tokio::net::TcpListener;

use crate::config::{Config, Door, Ground};

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

/// A listener, and why it may have its address.
#[derive(Debug)]
pub(crate) struct Exposure {
    door: Door,
    ground: Ground,
    /// The networks of the only clients that are served, if there are any.
    networks: Networks,
}

impl Exposure {
    /// Whether it serves no client while the store has no access key.
    pub(crate) fn needs_keys(&self) -> bool {
        self.ground == Ground::Keys
    }

    /// Whether it serves clients of other machines although nothing protects it from them.
    pub(crate) fn is_insecure(&self) -> bool {
        self.ground == Ground::Insecure
    }

    /// What an operator should know of it.
    pub(crate) fn warning(&self, has_keys: bool) -> Option<String> {
        let Self { door: Door { address, asks_for_keys, .. }, ground, networks } = self;
        match (ground, asks_for_keys, has_keys) {
            (Ground::Certificates | Ground::SocketFile, ..)
            | (Ground::Loopback, true, _)
            | (Ground::Loopback, false, false) => None,
            (Ground::Proxies | Ground::Keys, true, true) | (Ground::Proxies, false, false) => None,
            (Ground::Insecure, true, true) => Some(format!(
                "{address} serves other machines without TLS (--insecure): keys and tasks can be read on their way"
            )),
            (Ground::Insecure, _, false) => Some(format!(
                "{address} is open to other machines without authentication (--insecure): any client that reaches it can \
                 submit, read and cancel tasks; `jobbers keys create` makes access keys"
            )),
            (Ground::Proxies, true, false) => Some(format!(
                "{address} serves the clients of {networks} without an access key: a proxy there has to sign people in, or \
                 `jobbers keys create` makes access keys"
            )),
            (Ground::Keys, _, false) => Some(format!(
                "{address} serves no client until the store has an access key: `jobbers keys create` makes one"
            )),
            (_, false, true) => Some(format!(
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
        address: Endpoint,
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
        let http = bind(config.listen.into(), files.as_ref(), Protocol::Http1, "--listen").await?;
        let taskstore =
            bind_if_any(config.taskstore_listen.clone(), files.as_ref(), Protocol::Http1, "--taskstore-listen").await?;
        let files = files.filter(|_| config.masstasker_tls);
        let masstasker =
            bind_if_any(config.masstasker_endpoint(), files.as_ref(), Protocol::Http2, "--masstasker-listen").await?;
        let anywhere = config.serves_masstasker_anywhere();
        if let Some(warning) = config.masstasker_listen.as_ref().and_then(|address| address.warning(anywhere)) {
            tracing::warn!("{warning}");
        }
        Ok(Self { http, taskstore, masstasker })
    }

    /// Why they may have their addresses.
    pub(crate) fn exposures(&self, config: &Config) -> Vec<Exposure> {
        let address = |listener: Option<&Listener>| listener?.endpoint().ok();
        let taskstore = address(self.taskstore.as_ref()).map(|address| config.taskstore_door(address));
        let masstasker = address(self.masstasker.as_ref()).map(|address| config.masstasker_door(address));
        let doors = [address(Some(&self.http)).map(|address| config.http_door(address)), taskstore, masstasker];
        let exposure = |door| {
            // The caller has refused an address without a ground.
            let ground = config.ground(&door).unwrap_or(Ground::Insecure);
            Exposure { door, ground, networks: config.behind_proxy.clone() }
        };
        doors.into_iter().flatten().map(exposure).collect()
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
    address: Option<Endpoint>,
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
    address: Endpoint,
    files: Option<&TlsFiles>,
    protocol: Protocol,
    flag: &'static str,
) -> Result<Listener, ListenError> {
    let bound = match &address {
        Endpoint::Tcp(address) => {
            let tls = files.map(|files| Tls::open(files.clone(), protocol)).transpose()?;
            TcpListener::bind(address).await.map(|socket| Listener::with_tls(socket, tls))
        }
        Endpoint::Unix(file) => SocketFileListener::bind(file.clone()).await.map(Listener::from),
    };
    bound.map_err(|source| ListenError::Address { address, flag, source })
}

impl From<TcpListener> for Listeners {
    fn from(http: TcpListener) -> Self {
        Self { http: http.into(), taskstore: None, masstasker: None }
    }
}
