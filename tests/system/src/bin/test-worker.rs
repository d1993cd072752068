//! The worker whose tasks the system tests run: each leaves a trace that can be counted, and some wait for the test.
//!
//! `TEST_EFFECTS` is the file for the traces, `TEST_GATE` the file whose appearance is the gate's opening.

use std::{path::Path, process::ExitCode, time::Duration};

use jobbers_test_support::effects::Effects;
use jobbers_worker::prelude::*;

fn effects() -> Result<Effects, TaskError> {
    Ok(Effects::at(std::env::var("TEST_EFFECTS")?))
}

/// How often the gate is looked at: not every platform reports the appearance of a file.
const LOOK: Duration = Duration::from_millis(10);

fn gate_is_open() -> Result<bool, TaskError> {
    Ok(Path::new(&std::env::var("TEST_GATE")?).exists())
}

async fn gate_opens() -> Result<(), TaskError> {
    while !gate_is_open()? {
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

fn trace(ctx: &Context, event: &str) -> Result<(), TaskError> {
    Ok(effects()?.append(event, ctx.id().as_str(), ctx.attempt(), ctx.fence().0)?)
}

/// Leaves a trace, and that is all.
#[task]
async fn note(ctx: Context) -> Result<(), TaskError> {
    trace(&ctx, "done")
}

/// Takes a moment, in which its worker may die.
#[task]
async fn nap(ctx: Context) -> Result<(), TaskError> {
    trace(&ctx, "started")?;
    tokio::time::sleep(Duration::from_millis(100)).await;
    trace(&ctx, "done")
}

/// Takes a second.
#[task]
async fn doze(ctx: Context) -> Result<(), TaskError> {
    trace(&ctx, "started")?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    trace(&ctx, "done")
}

/// Runs until the gate opens or a stop request comes.
#[task]
async fn hold(ctx: Context) -> Result<(), TaskError> {
    trace(&ctx, "started")?;
    tokio::select! {
        opened = gate_opens() => opened?,
        () = ctx.cancelled() => {
            trace(&ctx, "interrupted")?;
            return Err(TaskError::Cancelled);
        }
    }
    trace(&ctx, "done")
}

/// Runs until the gate opens and ignores stop requests: a blocking task can't be stopped from outside.
#[task(blocking)]
fn stubborn(ctx: Context) -> Result<(), TaskError> {
    trace(&ctx, "started")?;
    while !gate_is_open()? {
        std::thread::sleep(LOOK);
    }
    trace(&ctx, "done")
}

/// Blocks the thread of the runtime that it runs on, so that no limit and no cancel reaches it.
#[task]
async fn deaf(ctx: Context) -> Result<(), TaskError> {
    trace(&ctx, "started")?;
    while !gate_is_open()? {
        std::thread::sleep(LOOK);
    }
    trace(&ctx, "done")
}

/// Asks for a state that this program does not have.
#[task]
async fn homeless(ctx: Context) -> Result<(), TaskError> {
    ctx.state::<std::net::IpAddr>()?;
    trace(&ctx, "done")
}

/// Fails for as long as the gate is closed.
#[task(name = "fail-until-open")]
async fn fail_until_open(ctx: Context) -> Result<(), TaskError> {
    if !gate_is_open()? {
        return Err(TaskError::Retry("the gate is closed".into()));
    }
    trace(&ctx, "done")
}

/// Fails twice, then does not.
#[task]
async fn flaky(ctx: Context) -> Result<(), TaskError> {
    trace(&ctx, "started")?;
    if ctx.attempt() < 3 {
        return Err(TaskError::Retry("not yet".into()));
    }
    trace(&ctx, "done")
}

/// Fails for good.
#[task]
async fn doomed(ctx: Context) -> Result<(), TaskError> {
    trace(&ctx, "started")?;
    Err(TaskError::Fatal("there is no way".into()))
}

/// What [`obey`] is to do.
#[derive(Serialize, Deserialize)]
struct Order {
    fails: bool,
}

/// Fails for good if it is asked to.
#[task]
async fn obey(ctx: Context, order: Order) -> Result<(), TaskError> {
    if order.fails {
        trace(&ctx, "refused")?;
        return Err(TaskError::Fatal("as it was asked to".into()));
    }
    trace(&ctx, "done")
}

/// Panics.
#[task]
async fn panicky(ctx: Context) -> Result<(), TaskError> {
    trace(&ctx, "started")?;
    panic!("at the sight of {}", ctx.id())
}

/// Takes its worker with it.
#[task]
async fn die(ctx: Context) -> Result<(), TaskError> {
    trace(&ctx, "started")?;
    std::process::abort()
}

/// What [`speak`] and [`whisper`] say, and how they end.
#[derive(Serialize, Deserialize)]
struct Speech {
    words: String,
    ends: Ending,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ending {
    Well,
    Error,
    Panic,
    Gate,
}

/// Says its words in every way that a task has.
async fn say(ctx: &Context, Speech { words, ends }: Speech) -> Result<String, TaskError> {
    ctx.progress(0.5, &words).await?;
    ctx.checkpoint(&words).await?;
    match ends {
        Ending::Well => Ok(words),
        Ending::Error => Err(TaskError::fatal(words).kind("loud")),
        Ending::Panic => panic!("{words}"),
        Ending::Gate => gate_opens().await.map(|()| words),
    }
}

/// Says its words to all.
#[task]
async fn speak(ctx: Context, speech: Speech) -> Result<String, TaskError> {
    say(&ctx, speech).await
}

/// Says the same, and readers do not see it.
#[task(sensitive)]
async fn whisper(ctx: Context, speech: Speech) -> Result<String, TaskError> {
    say(&ctx, speech).await
}

#[tokio::main]
async fn main() -> ExitCode {
    Worker::from_env().run().await
}
