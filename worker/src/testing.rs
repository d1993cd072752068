//! For the tests of programs with tasks: a store in memory, a clock that is moved by hand, tasks that run when the test
//! drains them, and assertions on submissions.
//!
//! ```standalone_crate
//! use jobbers_worker::{prelude::*, testing::TestBench};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Welcome {
//!     user: String,
//! }
//!
//! #[task(max_retries = 1, retry_delay = "1h")]
//! async fn welcome(ctx: Context, job: Welcome) -> Result<String, TaskError> {
//!     match ctx.attempt() {
//!         1 => Err(TaskError::retry("the post office is closed")),
//!         _ => Ok(format!("hello, {}", job.user)),
//!     }
//! }
//!
//! /// What the program does; it is given a client.
//! async fn sign_up(client: &Client, user: &str) -> Result<(), SubmitError> {
//!     welcome.delay(client, Welcome { user: user.to_owned() }).await.map(drop)
//! }
//! # use jobbers_worker::SubmitError;
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let bench = TestBench::new().await?;
//!     sign_up(bench.client(), "ada").await?;
//!     let welcomes = bench.enqueued(&welcome).await?;
//!     assert_eq!(welcomes[0].parameters, Welcome { user: "ada".to_owned() });
//!
//!     assert_eq!(bench.drain().await?.retried, 1);
//!     assert_eq!(bench.drain().await?.attempts(), 0, "its hour has not come");
//!     bench.advance(Duration::from_secs(3_600)).await?;
//!     assert_eq!(bench.drain().await?.completed, 1);
//!     let greeting: String = bench.result(&welcomes[0].id).await?;
//!     assert_eq!(greeting, "hello, ada");
//!     Ok(())
//! }
//! ```
//!
//! Tasks run one after another, by the policy they would have in a worker: retries, backoff, errors, checkpoints and dead
//! letters are those of the real thing. Time limits are not moved with the clock: a task that waits, waits.
//!
//! [`Faults`] makes happen what the guarantees allow: workers that die, leases and answers that are lost. [`TestAttempt`]
//! runs a task's function alone. [`live`] is a running `jobbers up`, for a test of all together.

mod attempt;
mod bench;
mod builder;
mod enqueued;
mod error;
mod faults;
pub mod live;
mod schedules;

pub use self::{
    attempt::TestAttempt,
    bench::{Drained, TestBench},
    builder::Builder,
    enqueued::Enqueued,
    error::TestError,
    faults::{Faults, LEASE},
};
