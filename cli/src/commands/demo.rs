//! `jobbers demo`: the whole system on the files of a folder, and whether it counted right.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use jobbers_api::task::view::TaskView;
use jobbers_common::{lifecycle::Status, name::TaskId};
use jobbers_process::{
    engine_url::EngineArgs,
    exit,
    logging::{self, LogArgs},
    shutdown::Shutdown,
};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    client::ManagerClient,
    commands::up,
    demo::{
        corpus::{self, Corpus},
        outcome::{DemoFigures, FileResult, WordCheck},
        report::DemoResult,
        split, work,
    },
    failure::Failure,
    scratch::Scratch,
    stack::{Stack, StackPlan},
    terminal::{output, progress::ProgressLine},
};

const AFTER_HELP: &str = "\
Starts a manager on a free port of this machine and a worker, on a fresh store that is removed again; submits one \
text.wordcount task per text file over HTTP, and a few tasks that fail on purpose; and sets what they answer beside a \
direct count of the same files. Files that git ignores, hidden ones and drawings (.svg) are left alone.

With --engine-url redis://..., the store is a key prefix of its own on that server, removed again too.

Exit codes: 0 verified; 1 not verified, or interrupted; 2 no such folder; 69 the store can't be had.";

/// Flags of `jobbers demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, mut_arg("log", |arg| arg.default_value("off")))]
pub struct Args {
    /// Whose text files are counted
    #[arg(default_value = ".")]
    folder: PathBuf,
    #[command(flatten)]
    engine: EngineArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Leave it running afterwards, until Ctrl-C
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    log: LogArgs,
}

/// Runs the demo.
///
/// # Errors
/// When the folder or the store can't be had.
pub async fn run(args: Args) -> Result<ExitCode, Failure> {
    logging::init(&args.log).map_err(Failure::Config)?;
    let shutdown = up::on_signals()?;
    let corpus = look_through(args.folder.clone()).await?;
    if corpus.skipped.total() > 0 {
        output::note(corpus.skipped);
    }
    let scratch = Scratch::open(args.engine.given()).await?;
    let played = play(&args, corpus, &scratch, &shutdown).await;
    scratch.remove().await?;
    Ok(if played? { exit::OK } else { exit::FAILURE.into() })
}

async fn look_through(folder: PathBuf) -> Result<Corpus, Failure> {
    blocking(move || corpus::look_through(&folder)).await?
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Failure::Negative(error.to_string()))
}

/// Starts the system, has it count, and stops it. Answers whether it counted right.
async fn play(args: &Args, corpus: Corpus, scratch: &Scratch, shutdown: &Shutdown) -> Result<bool, Failure> {
    let engine = Arc::clone(&scratch.engine);
    let health = engine.health().await.map_err(|error| Failure::Unavailable(error.to_string()))?;
    let parts = TempDir::new().map_err(|error| Failure::Unavailable(format!("no temporary folder: {error}")))?;
    let manager = jobbers_manager::Config {
        listen: ([127, 0, 0, 1], 0).into(),
        dlq_path: scratch.dead_letters().display().to_string(),
        ..jobbers_manager::Config::default()
    };
    let plan = StackPlan {
        listeners: up::bind(&manager).await?,
        manager,
        worker: Some(jobbers_worker::Config {
            stock_root: [args.folder.as_path(), parts.path()].into_iter().collect(),
            ..jobbers_worker::Config::default()
        }),
        engine,
        now: shutdown.now.clone(),
    };
    work::expect_panic();
    let stack = Stack::start(plan).await?;
    let client = ManagerClient::new(&format!("http://{}", stack.address))?;
    let outcome = tokio::select! {
        outcome = count(&client, corpus, parts.path(), health.engine) => outcome,
        () = shutdown.drain.cancelled() => Err(Failure::Negative("interrupted".to_owned())),
        () = stack.ended() => Err(Failure::Negative("the worker or the manager broke down".to_owned())),
    };
    let shown = outcome.and_then(|outcome| {
        if args.json { outcome.print_json() } else { outcome.print_table() }?;
        Ok(outcome.is_verified())
    });
    if args.keep && shown.is_ok() {
        keep(&client, shutdown).await;
    }
    stack.stop().await?;
    shown
}

/// Has the system count the words of the files, and checks what it says.
async fn count(
    client: &ManagerClient,
    corpus: Corpus,
    parts: &Path,
    engine: &'static str,
) -> Result<DemoResult, Failure> {
    let failing = work::failing();
    let doomed = failing.iter().filter(|(_, completes)| !completes);
    let meant_to_fail =
        doomed.filter_map(|(task, _)| task["parameters"]["message"].as_str().map(str::to_owned)).collect();
    let progress = ProgressLine::new((corpus.files.len() + failing.len()) as u64);
    let mut run = DemoRun { client, progress: &progress, tasks: Vec::new() };
    let (unlucky, expected): (Vec<Value>, Vec<bool>) = failing.into_iter().unzip();
    let counting = corpus.files.iter().map(|path| work::counting(path));
    let tasks = run.through(unlucky.into_iter().chain(counting).collect()).await?;
    let (unlucky, counted) = tasks.split_at(expected.len());
    let mut check = WordCheck { differences: complaints(unlucky, &expected), ..WordCheck::default() };
    let mut answers: Vec<FileResult> = counted.iter().map(FileResult::of).collect();
    for (path, answer) in corpus.files.iter().zip(&mut answers) {
        if matches!(answer, FileResult::TooMany) {
            *answer = run.in_parts(path, parts).await?;
        }
    }
    progress.say("counting the same files directly");
    let figures = DemoFigures::of(&run.tasks)?;
    let files = corpus.files.len() as u64;
    let check = blocking(move || {
        check.files(corpus.files.into_iter().zip(answers));
        check
    });
    let check = check.await?;
    Ok(DemoResult { files, engine, figures, check, meant_to_fail })
}

/// Where the tasks that fail on purpose did not end as they should.
fn complaints(tasks: &[TaskView], expected: &[bool]) -> Vec<String> {
    let wrong = tasks
        .iter()
        .zip(expected)
        .filter(|(task, completes)| task.status != if **completes { Status::Completed } else { Status::Failed });
    wrong
        .map(|(task, _)| format!("the task {} ({}) should not have ended as {}", task.id, task.name, task.status))
        .collect()
}

/// Tasks on their way through the system.
struct DemoRun<'a> {
    client: &'a ManagerClient,
    progress: &'a ProgressLine,
    /// All that are over.
    tasks: Vec<TaskView>,
}

impl DemoRun<'_> {
    /// Submits tasks, waits until they are over, and reads them back.
    async fn through(&mut self, tasks: Vec<Value>) -> Result<Vec<TaskView>, Failure> {
        let ids: Vec<TaskId> = work::submit(self.client, &tasks).await?;
        work::watch(self.client, (self.tasks.len() + ids.len()) as u64, self.progress).await?;
        let tasks = work::read_back(self.client, &ids).await?;
        self.tasks.extend(tasks.iter().cloned());
        Ok(tasks)
    }

    /// Has a file counted whose words don't fit in one result.
    async fn in_parts(&mut self, file: &Path, folder: &Path) -> Result<FileResult, Failure> {
        let (from, to, name) = (file.to_owned(), folder.to_owned(), self.tasks.len().to_string());
        let parts = match blocking(move || split::into_parts(&from, &to, &name)).await? {
            Ok(parts) => parts,
            Err(error) => return Ok(FileResult::Nothing(format!("it can't be split into parts: {error}"))),
        };
        self.progress.add(parts.len() as u64);
        let tasks = self.through(parts.iter().map(|part| work::counting(part)).collect()).await?;
        Ok(FileResult::sum(tasks.iter().map(FileResult::of)))
    }
}

/// Says how to go on, and waits.
async fn keep(client: &ManagerClient, shutdown: &Shutdown) {
    let base = client.base();
    output::note(format_args!(
        "\nit goes on running at {base}; Ctrl-C stops it and removes its store. For example:\n\
         \n  curl -s '{base}/tasks?status=failed'\
         \n  curl -s -X POST {base}/tasks -H 'content-type: application/json' \\\
         \n       -d '{{\"name\": \"sleep\", \"parameters\": {{\"seconds\": 2}}}}'\
         \n  curl -s {base}/active-tasks\
         \n  curl -s '{base}/tasks/ID?wait=30s'\
         \n  curl -s {base}/queues/default\
         \n  jobbers list --manager {base}\n\
         \nthe API is described at {base}/docs",
    ));
    shutdown.drain.cancelled().await;
}
