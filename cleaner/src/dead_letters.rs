//! Deletes old dead letters, through the manager that keeps them.
//!
//! The archive is a file of one manager ([`jobbers_common::engine::duty`] names it), and only that manager writes to
//! it. So this pass asks over HTTP, as an operator would; any manager forwards the request to the right one.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::engine::{Error, Result};
use reqwest::{Client, Url};
use serde::Deserialize;
use serde_json::json;

use crate::pass::{Batch, Pass, Round};

/// How long the manager may take; one call deletes very many letters.
const PATIENCE: Duration = Duration::from_secs(120);

/// Deletes dead letters by their age.
#[derive(Debug, Clone)]
pub struct DeadLetters {
    client: Client,
    url: Url,
    older_than: Duration,
}

/// The manager's answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Changed {
    changed: u64,
    detail: String,
}

impl DeadLetters {
    /// A pass that asks the manager at `manager`.
    ///
    /// # Errors
    /// [`Error::Config`] for an invalid address.
    pub fn new(manager: &str, older_than: Duration) -> Result<Self> {
        let wrong = |error: String| Error::Config(format!("{manager:?} is not a manager's address: {error}"));
        let mut url = Url::parse(manager).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("write http://HOST:PORT, or https:// with the address of its proxy".to_owned()));
        }
        url.path_segments_mut()
            .map_err(|()| wrong("it can't have a path".to_owned()))?
            .pop_if_empty()
            .push("dead-letter-queue");
        // The manager is asked directly, because a proxy of the environment is meant for other hosts.
        let client = Client::builder().no_proxy().timeout(PATIENCE).build();
        let client = client.map_err(|error| Error::Config(format!("can't make an HTTP client: {error}")))?;
        Ok(Self { client, url, older_than })
    }
}

#[async_trait]
impl Pass for DeadLetters {
    fn name(&self) -> &'static str {
        "dead_letters"
    }

    async fn run_once(&self, round: Round<'_>, _: Option<String>) -> Result<Batch> {
        let before = jiff::Timestamp::from_microsecond(round.now.before(self.older_than).as_micros());
        let before = before.map_err(|error| Error::Invalid(error.to_string()))?;
        let body = json!({"failed_before": before.to_string(), "all": true, "dry_run": round.dry_run});
        let silent = |error: reqwest::Error| Error::unavailable(format!("the manager at {}: {error}", self.url));
        let answer = self.client.delete(self.url.clone()).json(&body).send().await.map_err(silent)?;
        let status = answer.status();
        let changed: reqwest::Result<Changed> = answer.json().await;
        if status.is_success() {
            let strange =
                |error| Error::unavailable(format!("{} answers, but not as a manager does: {error}", self.url));
            return Ok(Batch { removed: changed.map_err(strange)?.changed, ..Batch::default() });
        }
        let changed = changed.unwrap_or_default();
        if status.is_server_error() {
            return Err(Error::unavailable(format!(
                "the manager at {} answers {status}: {}",
                self.url, changed.detail
            )));
        }
        Err(Error::Invalid(format!("the manager at {} refuses ({status}): {}", self.url, changed.detail)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_makes_no_sense_is_refused() {
        for address in ["localhost", "ftp://localhost", ""] {
            assert!(matches!(DeadLetters::new(address, Duration::ZERO), Err(Error::Config(_))), "{address}");
        }
        for (address, asked) in [
            ("http://localhost:8000", "http://localhost:8000/dead-letter-queue"),
            ("https://ops.example/jobbers/", "https://ops.example/jobbers/dead-letter-queue"),
        ] {
            assert_eq!(DeadLetters::new(address, Duration::ZERO).unwrap().url.as_str(), asked);
        }
    }
}
