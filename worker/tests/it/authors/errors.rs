//! Errors that a policy lists by their types, and errors on their way through `anyhow`, `eyre` and boxes.

use std::{
    error::Error,
    fmt,
    io::{self, ErrorKind},
};

use anyhow::Context as _;
use eyre::WrapErr as _;
use jobbers_common::{lifecycle::Status, task::Task};
use jobbers_worker::{prelude::*, testing::TestBench};

/// Runs one attempt of a task.
async fn attempt<P, R>(task: &'static TaskFn<P, R>, job: P) -> Task
where
    P: jobbers_worker::Encode + jobbers_worker::Decode + Send + 'static,
    R: jobbers_worker::Encode + Send + 'static,
{
    let bench = TestBench::builder().task(task).build().await.unwrap();
    let id = task.delay(bench.client(), job).await.unwrap().id;
    bench.drain().await.unwrap();
    bench.get(&id).await.unwrap().unwrap()
}

/// Of an attempt that was the last; and the kind of its error.
fn is_fatal(task: &Task) -> (bool, &str) {
    let kind = task.errors[0].error_kind.as_ref().map_or("", |kind| kind.as_str());
    (task.status == Status::Failed && task.attempt == 1, kind)
}

fn not_found() -> io::Error {
    io::Error::new(ErrorKind::NotFound, "no such file")
}

/// Another type of the same name as `io::Error`.
mod other {
    #[derive(Debug, thiserror::Error)]
    #[error("another error")]
    pub(super) struct Error;
}

#[derive(Debug, thiserror::Error)]
#[error("the letter")]
struct Letter(#[source] io::Error);

const IO_ERROR: &str = "std::io::error::Error";

#[task(fatal_on = [io::Error, "spam"], retry_delay = "1h", unlisted)]
async fn reads(what: String) -> Result<(), TaskError> {
    match what.as_str() {
        "plain" => Err(not_found())?,
        "cause" => Err(Letter(not_found()))?,
        "delayed" => Err(TaskError::retry_after(Duration::from_secs(1), not_found())),
        "spam" => Err(TaskError::retry("refused").kind("spam")),
        "renamed" => Err(TaskError::retry(not_found()).kind("busy")),
        "other" => Err(other::Error)?,
        _ => Err(anyhow::Error::from(not_found()).context("reading"))?,
    }
}

#[tokio::test]
async fn a_listed_type_is_found_by_what_it_is_and_not_by_its_name() {
    for (what, fatal, kind) in [
        ("plain", true, IO_ERROR),
        ("cause", true, IO_ERROR),
        ("delayed", true, IO_ERROR),
        ("spam", true, "spam"),
        ("renamed", false, "busy"),
        ("other", false, concat!(module_path!(), "::other::Error")),
        ("below context", true, IO_ERROR),
    ] {
        assert_eq!(is_fatal(&attempt(&reads, what.to_owned()).await), (fatal, kind), "{what}");
    }
    let listed: Vec<_> = reads.policy().fatal_on.iter().map(|kind| kind.as_str().to_owned()).collect();
    assert_eq!(listed, ["spam", IO_ERROR], "clients see the policy with its types");
}

#[task(retry_on = [Letter], retry_delay = "1h", unlisted)]
async fn retries_letters(is_letter: bool) -> anyhow::Result<()> {
    Err(if is_letter { Letter(not_found()).into() } else { not_found().into() })
}

#[task(retry_on = [Letter], retry_delay = "1h", unlisted)]
async fn retries_reported_letters(is_letter: bool) -> eyre::Result<()> {
    Err(if is_letter { eyre::Report::new(Letter(not_found())).wrap_err("at noon") } else { not_found().into() })
}

#[task(retry_on = [Letter], retry_delay = "1h", unlisted)]
async fn retries_boxed_letters(is_letter: bool) -> Result<(), Box<dyn Error + Send + Sync>> {
    Err(if is_letter { Letter(not_found()).into() } else { not_found().into() })
}

#[tokio::test]
async fn a_listed_type_is_found_in_what_carries_it() {
    let letter = concat!(module_path!(), "::Letter");
    for task in [attempt(&retries_letters, true).await, attempt(&retries_reported_letters, true).await] {
        assert_eq!(is_fatal(&task), (false, letter));
    }
    assert_eq!(is_fatal(&attempt(&retries_boxed_letters, true).await), (false, letter));
    assert!(is_fatal(&attempt(&retries_letters, false).await).0);
    assert!(is_fatal(&attempt(&retries_reported_letters, false).await).0);
    assert!(is_fatal(&attempt(&retries_boxed_letters, false).await).0);
}

#[derive(Debug)]
enum Charge {
    Declined,
    Busy,
}

impl fmt::Display for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Error for Charge {}

fn is_declined(error: &Charge) -> bool {
    matches!(error, Charge::Declined)
}

#[task(fatal_if = is_declined, retry_delay = "1h", unlisted)]
async fn charges(declined: bool) -> Result<(), Charge> {
    Err(if declined { Charge::Declined } else { Charge::Busy })
}

#[task(fatal_if = |error: &Charge| matches!(error, Charge::Declined), retry_delay = "1h", unlisted)]
async fn charges_anyhow(declined: bool) -> anyhow::Result<()> {
    let error = if declined { Charge::Declined } else { Charge::Busy };
    Err(anyhow::Error::new(error).context("the card"))
}

#[tokio::test]
async fn a_function_decides_by_the_value_of_an_error() {
    for declined in [true, false] {
        let kind = concat!(module_path!(), "::Charge");
        assert_eq!(is_fatal(&attempt(&charges, declined).await), (declined, kind));
        assert_eq!(is_fatal(&attempt(&charges_anyhow, declined).await).0, declined);
    }
}

/// Errors of each sort, with a kind of their own.
fn all_sorts() -> [TaskError; 5] {
    [
        TaskError::fatal("declined").kind("card"),
        TaskError::abort("void"),
        TaskError::retry_after(Duration::from_secs(7), "busy"),
        TaskError::retry(Letter(not_found())),
        TaskError::Cancelled,
    ]
}

fn in_anyhow(error: TaskError) -> anyhow::Result<()> {
    Err(error)?;
    Ok(())
}

fn in_eyre(error: TaskError) -> eyre::Result<()> {
    Err(error)?;
    Ok(())
}

fn in_a_box(error: TaskError) -> Result<(), Box<dyn Error + Send + Sync>> {
    Err(error.into_error())?;
    Ok(())
}

/// The same error, with texts in front of its message.
fn below(context: &str, error: TaskError) -> TaskError {
    let add = |reason: &mut jobbers_worker::Reason| reason.message = format!("{context}: {}", reason.message);
    let mut error = error;
    match &mut error {
        TaskError::Retry(reason)
        | TaskError::RetryAfter(_, reason)
        | TaskError::Fatal(reason)
        | TaskError::Aborted(reason) => add(reason),
        TaskError::Cancelled => {}
    }
    error
}

#[test]
fn an_error_comes_back_from_other_types_as_what_it_was() {
    for error in all_sorts() {
        let as_it_was = error.clone();
        assert_eq!(TaskError::from(in_anyhow(error.clone()).unwrap_err()), as_it_was);
        assert_eq!(TaskError::from(in_eyre(error.clone()).unwrap_err()), as_it_was);
        assert_eq!(TaskError::from(in_a_box(error.clone()).unwrap_err()), as_it_was);
        assert_eq!(TaskError::from(error.clone().into_error()), as_it_was);
        let twice = in_anyhow(TaskError::from(in_eyre(error.clone()).unwrap_err())).unwrap_err();
        assert_eq!(TaskError::from(twice), as_it_was);

        let below_both = below("at noon: the order", as_it_was.clone());
        let anyhow = in_anyhow(error.clone()).context("the order").context("at noon").unwrap_err();
        assert_eq!(TaskError::from(anyhow), below_both);
        let eyre = in_eyre(error.clone()).wrap_err("the order").wrap_err("at noon").unwrap_err();
        assert_eq!(TaskError::from(eyre), below_both);
        let converted = anyhow::Error::new(error.into_error()).context("at noon: the order");
        assert_eq!(TaskError::from(converted), below_both);
    }
}

#[test]
fn what_is_said_of_a_carried_error_holds() {
    let carried = in_anyhow(TaskError::retry("busy").kind("rate_limited")).context("the card").unwrap_err();
    let fatal = TaskError::fatal(carried);
    assert_eq!(fatal, TaskError::fatal("the card: busy").kind("rate_limited"));
}

#[task(retry_delay = "1h", unlisted)]
async fn uses_the_context_in_anyhow(ctx: Context) -> anyhow::Result<u32> {
    ctx.heartbeat().await?;
    ctx.checkpoint(&1).await?;
    Ok(ctx.last_checkpoint::<u32>().map_err(anyhow::Error::from).context("the last page")?.unwrap_or_default())
}

#[task(retry_delay = "1h", unlisted)]
async fn gives_up_in_eyre() -> eyre::Result<u32> {
    Err(TaskError::fatal("declined"))?;
    Ok(1)
}

#[tokio::test]
async fn a_task_that_answers_another_result_uses_the_library_s_own_calls() {
    assert_eq!(attempt(&uses_the_context_in_anyhow, NoParameters).await.status, Status::Completed);
    assert!(is_fatal(&attempt(&gives_up_in_eyre, NoParameters).await).0);
}
