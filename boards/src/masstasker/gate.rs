//! Who may call, which the host decides: it knows keys, and this front knows the connection and the call.

use std::{fmt::Debug, net::IpAddr};

use axum::http::HeaderMap;
use futures_util::future::BoxFuture;
use jobbers_process::server::connections::ConnectionState;

/// Lets calls in.
pub trait Gate: Debug + Send + Sync {
    /// Lets a call in, or refuses it. A call that is let in may go on until the future that is returned completes.
    fn let_in<'a>(&'a self, call: GatedCall<'a>) -> BoxFuture<'a, Result<BoxFuture<'static, ()>, GateRefusal>>;
}

/// A call that is to be let in.
#[derive(Debug, Clone, Copy)]
pub struct GatedCall<'a> {
    /// The connection of its client.
    pub connection: &'a ConnectionState,
    /// The address of its client; `None` for one of a socket in the file system.
    pub address: Option<IpAddr>,
    /// What the client sent with it.
    pub headers: &'a HeaderMap,
    /// What it does.
    pub access: BoardAccess,
}

/// What a call does with the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoardAccess {
    /// It looks at tasks.
    Look,
    /// It changes them, or takes one.
    Change,
}

/// Why a call is not let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateRefusal {
    /// Its client has no key.
    Unauthenticated(String),
    /// The client's key may not do this.
    Forbidden(String),
    /// It can't be decided now.
    Undecided(String),
}

/// How the paths of calls begin that need nothing: the health of the service, and its declarations.
#[cfg(feature = "grpc")]
const OPEN: [&str; 2] = ["/grpc.health.", "/grpc.reflection."];

#[cfg(feature = "grpc")]
impl BoardAccess {
    /// What a call does by its path; `None` if it does not touch the board. A call that is not known changes it.
    pub(super) fn of(path: &str) -> Option<Self> {
        match path {
            "/masstasker.MassTasker/Debug" => Some(Self::Look),
            path if OPEN.iter().any(|open| path.starts_with(open)) => None,
            _ => Some(Self::Change),
        }
    }
}

#[cfg(all(test, feature = "grpc"))]
mod tests {
    use super::*;

    #[test]
    fn only_health_and_declarations_are_open_and_what_is_not_known_changes_the_board() {
        for (path, access) in [
            ("/masstasker.MassTasker/Debug", Some(BoardAccess::Look)),
            ("/masstasker.MassTasker/Query", Some(BoardAccess::Change)),
            ("/masstasker.MassTasker/Update", Some(BoardAccess::Change)),
            ("/masstasker.MassTasker/BulkSet", Some(BoardAccess::Change)),
            ("/masstasker.MassTasker/Debug2", Some(BoardAccess::Change)),
            ("/", Some(BoardAccess::Change)),
            ("/grpc.health.v1.Health/Check", None),
            ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", None),
        ] {
            assert_eq!(BoardAccess::of(path), access, "{path}");
        }
    }
}
