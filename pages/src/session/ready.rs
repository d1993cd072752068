//! What this manager reports about itself. A client that is not signed in sees none of it, and reads how to sign in.

use jobbers_api::{
    problem::{Code, Problem},
    value::{Rfc3339, Word},
    worker::ReadyView,
};

use super::ask::ApiRefusal;

/// `GET /health/ready`, as a client that is signed in gets it.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) version: Word,
    /// In seconds.
    pub(crate) uptime: f64,
    pub(crate) engine: Word,
    pub(crate) store: String,
    pub(crate) server: Option<String>,
    pub(crate) durability: String,
    pub(crate) warnings: Vec<String>,
    /// Where it serves other machines unprotected, in a sentence each.
    pub(crate) insecure: Vec<String>,
    pub(crate) outbox: u64,
    pub(crate) tombstones: u64,
    pub(crate) now: Rfc3339,
    /// The name of the key that its reader has signed in with.
    pub(crate) signed_in_as: Option<String>,
}

impl Ready {
    fn whole(view: ReadyView) -> Option<Self> {
        Some(Self {
            version: view.version?,
            uptime: view.uptime?,
            engine: view.engine?,
            store: view.store?,
            server: view.server,
            durability: view.durability?,
            warnings: view.warnings?,
            insecure: view.insecure,
            outbox: view.outbox?,
            tombstones: view.tombstones?,
            now: view.now?,
            signed_in_as: view.signed_in_as,
        })
    }
}

impl TryFrom<ReadyView> for Ready {
    type Error = ApiRefusal;

    fn try_from(view: ReadyView) -> Result<Self, ApiRefusal> {
        let sign_in = "the pages show what your access key may see: sign in with it at /sign-in";
        Self::whole(view).ok_or_else(|| Problem::new(Code::KeyRequired, sign_in).into())
    }
}
