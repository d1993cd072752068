//! The identity of a program that is built without TLS. It can't be opened, so a value of this type does not exist.

use std::{convert::Infallible, io, sync::Arc};

use tokio::net::TcpStream;

use super::{
    super::{Protocol, connections::ConnectionState, transport::Transport},
    TlsError, TlsFiles, Validity,
};

/// An identity that can't be opened.
#[derive(Debug)]
pub struct Tls(Infallible);

impl Tls {
    /// Refuses.
    ///
    /// # Errors
    /// [`TlsError::Absent`].
    pub fn open(_: TlsFiles, _: Protocol) -> Result<Arc<Self>, TlsError> {
        Err(TlsError::Absent)
    }

    /// Never called.
    pub fn validity(&self) -> Validity {
        match self.0 {}
    }

    /// Never called.
    pub const fn knows_clients(&self) -> bool {
        match self.0 {}
    }

    pub(in super::super) async fn accept(&self, _: TcpStream, _: &ConnectionState) -> io::Result<Transport> {
        match self.0 {}
    }

    pub(in super::super) async fn watch(self: Arc<Self>) {
        match self.0 {}
    }
}
