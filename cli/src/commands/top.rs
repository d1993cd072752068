//! `jobbers top`: queues, workers and the latest failures, live; dead letters, schedules and workflows in a line each.

use std::{process::ExitCode, time::Duration};

use jobbers_common::values::duration;
use jobbers_process::exit;

use crate::{
    client::{ManagerArgs, ManagerClient},
    commands::up::on_signals,
    failure::Failure,
    terminal::output,
    top::{keys::Keys, screen::RawTerminal, snapshot, state::TopState, steer::KeyEffect},
};

const AFTER_HELP: &str = "\
Keys:
  up, down, Tab    select a row; the next list
  Enter, Esc       open a queue, a worker or a task; back
  /                show only rows that contain a text
  s                order all lists by trouble (the longest waiting first), by name, or by size (tasks by attempts)
  space            hold the picture, and go on
  p                pause or resume the queue
  d                drain or resume the worker
  r, c             send the task again, cancel it
  q, Ctrl-C        leave

A change is made once it is confirmed. IN/S is what queues took in, OUT/S what left them: finished, or deleted before it ran. \
Rates are those of the last interval.";

/// Flags of `jobbers top`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    manager: ManagerArgs,
    /// Look this often
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = interval)]
    every: Duration,
    /// Print one picture and end: two looks, so that there are rates
    #[arg(long)]
    once: bool,
}

/// Between looks. Every look is eight requests, one for the ends of scheduled tasks, one for each new failure, and two inside a queue, a worker or a task.
fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration::parse(text).map_err(|error| error.to_string())?;
    if (Duration::from_millis(100)..=Duration::from_secs(3_600)).contains(&interval) {
        Ok(interval)
    } else {
        Err("look every 100ms to 1h".to_owned())
    }
}

/// Shows the system until the user quits.
///
/// # Errors
/// Without a terminal to draw on; with `--once` also when the manager can't be asked.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let client = args.manager.client()?;
    if args.once {
        return once(&client, args.every).await;
    }
    if !output::is_terminal() {
        return Err(Failure::Usage("standard output is no terminal: print one picture with --once".to_owned()));
    }
    watch(&client, args.every).await?;
    Ok(exit::OK)
}

async fn once(client: &ManagerClient, every: Duration) -> Result<ExitCode, Failure> {
    let mut state = TopState::new(client.base());
    state.look(snapshot::take(client, None, state.steer.view()).await?);
    tokio::time::sleep(every).await;
    let second = snapshot::take(client, state.now.as_ref(), state.steer.view()).await?;
    state.look(second);
    output::write(&crate::top::view::text(&state))?;
    Ok(exit::OK)
}

/// Draws after each look and each key. A manager that does not answer is said on the screen and asked again.
async fn watch(client: &ManagerClient, every: Duration) -> Result<(), Failure> {
    let shutdown = on_signals()?;
    let mut state = TopState::new(client.base());
    let mut screen = RawTerminal::open()?;
    let mut keys = Keys::follow();
    let mut due = tokio::time::interval(every);
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = shutdown.drain.cancelled() => return Ok(()),
            key = keys.next() => match key.map(|key| state.press(key)) {
                None | Some(Some(KeyEffect::Leave)) => return Ok(()),
                Some(Some(KeyEffect::Look)) => due.reset_immediately(),
                Some(Some(KeyEffect::Make(change))) => {
                    // A key press gives up the wait here too; the manager may still make the change.
                    state.steer.answer = Some(tokio::select! {
                        made = change.make(client) => made.unwrap_or_else(|failure| failure.to_string()),
                        () = keys.ready() => "no answer yet: it may still be made".to_owned(),
                    });
                    due.reset_immediately();
                }
                Some(None) => {}
            },
            _ = due.tick() => {
                // A key press cancels the request under way, so that a manager that hangs does not block the user.
                let taken = tokio::select! {
                    taken = snapshot::take(client, state.now.as_ref(), state.steer.view()) => Some(taken),
                    () = keys.ready() => None,
                };
                match taken {
                    Some(Ok(snapshot)) => state.look(snapshot),
                    Some(Err(failure)) => state.fail(&failure),
                    None => {}
                }
            }
        }
        screen.draw(&state)?;
    }
}
