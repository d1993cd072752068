//! Deletes old dead letters, through the manager that keeps them.
//!
//! The archive is a file of one manager ([`jobbers_common::engine::duty`] names it), and only that manager writes to
//! it. So this pass asks over HTTP, as an operator would; any manager forwards the request to the right one.

use std::time::Duration;

use async_trait::async_trait;
use http::Method;
use jobbers_api::{
    client::{self, Client, ClientKey},
    dead_letter::{ChangeView, DeleteRequest},
    value::Rfc3339,
};
use jobbers_common::engine::{Error, Result};
use jobbers_process::client_key;

use crate::pass::{Batch, Pass, Round};

const AGENT: &str = concat!("jobbers-cleaner/", env!("CARGO_PKG_VERSION"));
/// How long the manager may take, beyond the patience of any request: one call deletes very many letters.
const DELETES_WITHIN: Duration = Duration::from_secs(90);

/// Deletes dead letters by their age.
#[derive(Debug, Clone)]
pub struct DeadLetters {
    client: Client,
    older_than: Duration,
}

impl DeadLetters {
    /// A pass that asks the manager at `manager`, with the access key of the environment if it has one.
    ///
    /// # Errors
    /// [`Error::Config`] for an invalid address.
    pub fn new(manager: &str, older_than: Duration) -> Result<Self> {
        let key = client_key::of_environment().map_err(Error::Config)?;
        let key = key.map(|key| ClientKey::new(&key)).transpose().map_err(|error| Error::Config(error.to_string()))?;
        let client = Client::new(manager, AGENT).map_err(|error| Error::Config(error.to_string()))?;
        Ok(Self { client: client.with_key(key), older_than })
    }
}

#[async_trait]
impl Pass for DeadLetters {
    fn name(&self) -> &'static str {
        "dead_letters"
    }

    async fn run_once(&self, round: Round<'_>, _: Option<String>) -> Result<Batch> {
        let request = DeleteRequest {
            failed_before: Some(Rfc3339(round.now.before(self.older_than))),
            all: true,
            dry_run: round.dry_run,
            ..DeleteRequest::default()
        };
        let call = self.client.call(Method::DELETE, "/dead-letter-queue").waiting(DELETES_WITHIN).json(&request);
        let changed: ChangeView =
            call.send().await.and_then(|answer| answer.read()).map_err(|error| failure(&error))?;
        Ok(Batch { removed: changed.changed, ..Batch::default() })
    }
}

/// A refusal of the request is final; without an answer, or while the manager fails, it is worth asking again.
fn failure(error: &client::Error) -> Error {
    match error {
        client::Error::Refused { status, .. } if !status.is_server_error() => Error::Invalid(error.to_string()),
        _ => Error::unavailable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_makes_no_sense_is_refused() {
        for address in ["ftp://localhost", ""] {
            assert!(matches!(DeadLetters::new(address, Duration::ZERO), Err(Error::Config(_))), "{address}");
        }
        for (address, asked) in [
            ("localhost", "http://localhost"),
            ("http://localhost:8000", "http://localhost:8000"),
            ("https://ops.example/jobbers/", "https://ops.example/jobbers"),
        ] {
            assert_eq!(DeadLetters::new(address, Duration::ZERO).unwrap().client.base(), asked);
        }
    }
}
