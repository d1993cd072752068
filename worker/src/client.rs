//! Submitting typed tasks: `resize.delay(&client, job)`, `resize.with(job).queue("mail").submit(&client)`; and awaiting
//! their results.
//!
//! A client connects directly to the store, for programs next to one, or over HTTP to a manager; requests and answers
//! are the same. With a direct connection it routes by the same rules as the manager, including rules that forbid
//! naming a queue; it does not do the manager's further checks (schemas, strict queues). It caches the rules: it
//! follows a changed rule within a second, and a client in steady use never waits for a read of the configuration.
//!
//! ```no_run
//! # use jobbers_worker::prelude::*;
//! # #[derive(Serialize, Deserialize)]
//! # struct Resize { path: PathBuf, width: u32 }
//! # #[task]
//! # async fn resize(job: Resize) -> Result<u64, TaskError> { Ok(job.width.into()) }
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::http("http://127.0.0.1:8000")?; // or Client::open("sqlite://./jobbers.db").await?
//! let job = Resize { path: "a.png".into(), width: 640 };
//! let handle = resize.with(job).priority(9).max_retries(5).submit(&client).await?;
//! let bytes: u64 = handle.result(Duration::from_secs(30)).await?;
//! # Ok(())
//! # }
//! ```

mod answers;
mod connection;
mod error;
pub(crate) mod graph;
mod handle;
#[cfg(feature = "http")]
mod http;
#[cfg(not(feature = "http"))]
#[path = "client/without_http.rs"]
mod http;
mod leases;
mod named_workflow;
mod parent;
mod store;
mod stored;
pub(crate) mod submission;
mod submit;
mod workflow;

pub(crate) use self::parent::ParentClient;
pub use self::{
    connection::Client,
    error::{ResultError, SubmitError},
    handle::{Handle, PendingResult},
    leases::{Claim, Extended, Extension, LeaseClient, Leased, Leases, Outcome, Return},
    submission::Submission,
    workflow::{Flow, RunHandle},
};
