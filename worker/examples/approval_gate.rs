//! A release that waits for an approval: it is built, and published if it is approved in time. Else it is withdrawn.
//!
//! `cargo run -p jobbers-worker --example approval_gate -- FOLDER VERSION` builds a release into a folder and asks for the
//! approval, on an embedded store in memory. Anything but `y` waits until the approval is too late.

#![cfg_attr(not(test), expect(clippy::print_stdout, reason = "what the example is for"))]

use std::{io::ErrorKind, path::Path};

use jobbers_worker::{
    RunHandle, SubmitError,
    canvas::{ResultOf, chain},
    policy::OnTimeout,
    prelude::*,
};

/// The signal that a release waits for.
const APPROVED: &str = "approved";

/// What is to be published.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Release {
    pub(crate) folder: PathBuf,
    pub(crate) version: String,
}

/// A release and where it was built.
#[derive(Serialize, Deserialize)]
struct Built {
    release: Release,
    file: ResultOf<PathBuf>,
}

impl Release {
    fn file(&self, stage: &str) -> PathBuf {
        self.folder.join(stage).join(&self.version)
    }
}

async fn make_room(file: &Path) -> std::io::Result<()> {
    match file.parent() {
        Some(folder) => tokio::fs::create_dir_all(folder).await,
        None => Ok(()),
    }
}

/// Builds a release, where no user finds it yet.
#[task(max_retries = 3, retry_delay = "1s")]
async fn build_release(release: Release) -> Result<PathBuf, TaskError> {
    let file = release.file("staged");
    make_room(&file).await?;
    tokio::fs::write(&file, format!("release {}\n", release.version)).await?;
    Ok(file)
}

/// Runs when the release is built and approved.
#[task(max_retries = 3, retry_delay = "1s")]
async fn publish_release(ctx: Context, built: Built) -> Result<PathBuf, TaskError> {
    let (from, to) = (built.file.read(&ctx).await?, built.release.file("published"));
    make_room(&to).await?;
    tokio::fs::copy(&from, &to).await?;
    Ok(to)
}

/// Runs when the release could not be built or published, or was not approved in time.
#[task(max_retries = 3, retry_delay = "1s")]
async fn withdraw_release(release: Release) -> Result<(), TaskError> {
    match tokio::fs::remove_file(release.file("staged")).await {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Begins a release. Its approval must come within this time.
pub(crate) async fn start(
    client: &Client,
    release: &Release,
    within: Duration,
) -> Result<RunHandle<PathBuf>, SubmitError> {
    let publish = |file| {
        let publish = publish_release.with(Built { release: release.clone(), file }).id("publish");
        publish.wait_for_signal_within(APPROVED, within, OnTimeout::Abort)
    };
    chain![build_release.with(release.clone())]
        .then_with(publish)
        .on_error(withdraw_release.with(release.clone()).id("withdraw"))
        .workflow()
        .id(format!("release-{}", release.version))
        .submit(client)
        .await
}

/// Approves a release. Returns whether it had not been approved before.
pub(crate) async fn approve(client: &Client, version: &str) -> Result<bool, SubmitError> {
    client.signal(&format!("release-{version}/publish").parse()?, APPROVED).await
}

#[cfg(not(test))]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(folder), Some(version)) = (arguments.next(), arguments.next().and_then(|it| it.into_string().ok()))
    else {
        return Err("name a folder and a version: FOLDER VERSION".into());
    };
    let client = Client::open("sqlite::memory:").await?;
    let engine = client.engine().ok_or("a client of a store")?;
    let shutdown = jobbers_worker::Shutdown::new();
    let worker = Worker::new(jobbers_worker::Config::default(), std::sync::Arc::clone(engine));
    let worker = tokio::spawn(worker.run_until(shutdown.clone()));
    let release = Release { folder: folder.into(), version };
    let run = start(&client, &release, Duration::from_secs(30)).await?;
    println!("Publish release {}? [y/N]", release.version);
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if answer.trim() == "y" {
        approve(&client, &release.version).await?;
    }
    let end = loop {
        // A manager does this each second: it times out the signals that have not come in time.
        engine.promote_due(1_000).await?;
        match run.result(Duration::from_secs(1)).await {
            Err(jobbers_worker::ResultError::NotYet(_)) => {}
            end => break end,
        }
    };
    match end {
        Ok(file) => println!("published as {}", file.display()),
        Err(reason) => println!("not published: {reason}"),
    }
    shutdown.drain.cancel();
    worker.await??;
    Ok(())
}
