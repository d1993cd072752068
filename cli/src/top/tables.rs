//! The tables of `jobbers top`: queues, workers, failures and tasks.

use std::time::Duration;

use jobbers_api::{queue::QueueView, task::view::TaskView, worker::WorkerView};
use jobbers_common::lifecycle::Status;
use ratatui::{
    style::Stylize,
    widgets::{Cell, Table},
};

use super::{
    columns::{Column, right, table},
    snapshot::count,
    state::{Rates, TopState},
};
use crate::terminal::{fit::one_line, hidden::said, output::thousands, when};

/// Waiting longer than this is worth a look, and longer than that is trouble: as on the dashboards.
const WORTH_A_LOOK: f64 = 30.0;
const TROUBLE: f64 = 300.0;

/// The longest name that other columns give way to.
const LONGEST_NAME: u16 = 40;

/// The width that these names need.
fn width_of<'a>(names: impl Iterator<Item = &'a str>, least: u16) -> u16 {
    let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    u16::try_from(longest).unwrap_or(LONGEST_NAME).clamp(least, LONGEST_NAME)
}

/// Queues, with what was in and out of them per second.
pub(super) fn queues(state: &TopState, width: u16) -> Table<'static> {
    let queues = state.queues();
    let row = |queue: &&QueueView| {
        let rates = state.rates.get(queue.name.as_str());
        let of = |pick: fn(&Rates) -> f64| rates.map_or_else(|| "-".to_owned(), |rates| rate(pick(rates)));
        let number = |status| right(thousands(count(queue, status)));
        let bad = count(queue, Status::Failed) + count(queue, Status::Stalled) + count(queue, Status::Dropped);
        vec![
            Cell::from(queue.name.to_string()),
            number(Status::Submitted),
            age(queue.oldest_ready_age),
            right(of(|rates| rates.entered)),
            right(of(|rates| rates.left)),
            number(Status::Started),
            number(Status::Scheduled),
            if bad == 0 { right("0") } else { right(thousands(bad)).red() },
            if queue.paused { Cell::from("paused").yellow() } else { Cell::from("open") },
        ]
    };
    let name = width_of(queues.iter().map(|queue| queue.name.as_str()), 5);
    let columns = [
        Column::new("QUEUE", name).growing(1),
        Column::number("READY", 10),
        Column::number("OLDEST", 8),
        Column::number("IN/S", 8).giving_way(4),
        Column::number("OUT/S", 8).giving_way(3),
        Column::number("RUNNING", 8).giving_way(1),
        Column::number("SCHEDULED", 10).giving_way(5),
        Column::number("FAILED", 8),
        Column::new("STATE", 7).giving_way(2),
    ];
    table(&columns, queues.iter().map(row).collect(), width)
}

fn age(seconds: Option<f64>) -> Cell<'static> {
    let Some(seconds) = seconds else { return right("-").dark_gray() };
    let cell = right(when::span(Duration::try_from_secs_f64(seconds).unwrap_or_default()));
    match seconds {
        TROUBLE.. => cell.red(),
        WORTH_A_LOOK.. => cell.yellow(),
        _ => cell,
    }
}

/// Workers that are alive.
pub(super) fn workers(workers: &[&WorkerView], is_filtered: bool, width: u16) -> Table<'static> {
    let row = |worker: &&WorkerView| {
        let busy = right(format!("{}/{}", worker.running, worker.slots));
        vec![
            Cell::from(match worker.pid {
                // One that speaks HTTP does not say.
                0 => format!("{} ({})", worker.id, worker.host),
                pid => format!("{} ({}, {pid})", worker.id, worker.host),
            }),
            Cell::from(worker.role.to_string()),
            if worker.running >= worker.slots { busy.yellow() } else { busy },
            right(thousands(worker.settled)),
            Cell::from(worker.queues.join(", ")),
            if worker.state == "running" { Cell::from("running") } else { Cell::from(worker.state.clone()).yellow() },
        ]
    };
    let columns = [
        Column::new("WORKER", 26).growing(2),
        Column::new("ROLE", 12).giving_way(2),
        Column::number("SLOTS", 9),
        Column::number("SETTLED", 11).giving_way(3),
        Column::new("QUEUES", 13).growing(1).giving_way(1),
        Column::new("STATE", 8),
    ];
    let no_worker = || match is_filtered {
        true => vec![Cell::from("the filter hides all").dark_gray()],
        false => vec![Cell::from("no worker is alive").red()],
    };
    let rows = if workers.is_empty() { vec![no_worker()] } else { workers.iter().map(row).collect() };
    table(&columns, rows, width)
}

/// Tasks that ended badly, with the reason.
pub(super) fn failures(failures: &[&TaskView], width: u16) -> Table<'static> {
    let row = |task: &&TaskView| {
        let why = task.errors.last().map_or_else(String::new, |error| {
            format!("{}: {}", error.kind, one_line(said(&error.message, task.sensitive)))
        });
        vec![
            Cell::from(task.finished_at.map_or_else(String::new, when::ago)),
            Cell::from(task.status.to_string()).red(),
            Cell::from(task.queue.to_string()),
            Cell::from(task.name.to_string()),
            Cell::from(task.id.to_string()),
            Cell::from(why),
        ]
    };
    let columns = [
        Column::new("FAILED", 11).giving_way(1),
        Column::new("STATUS", 8).giving_way(4),
        Column::new("QUEUE", 14).giving_way(3),
        Column::new("TASK", 16).giving_way(2),
        Column::new("ID", 26),
        Column::new("WHY", 15).growing(1),
    ];
    let none = vec![Cell::from("none").dark_gray()];
    let rows = if failures.is_empty() { vec![none] } else { failures.iter().map(row).collect() };
    table(&columns, rows, width)
}

/// Tasks of a queue or of a worker.
pub(super) fn tasks(tasks: &[&TaskView], width: u16) -> Table<'static> {
    let row = |task: &&TaskView| {
        let status =
            Cell::from(if task.cancel_requested { "to be cancelled".to_owned() } else { task.status.to_string() });
        vec![
            Cell::from(task.id.to_string()),
            Cell::from(task.name.to_string()),
            if task.cancel_requested { status.yellow() } else { status },
            right(match task.started_at {
                Some(at) => when::ago(at),
                None if task.status == Status::Scheduled => when::ahead(task.ready_at),
                None => when::ago(task.ready_at),
            }),
            right(task.attempt.to_string()),
            right(task.progress.as_ref().map_or_else(|| "-".to_owned(), |it| format!("{:.0}%", it.fraction * 100.0))),
            Cell::from(task.worker.as_ref().map(ToString::to_string).unwrap_or_default()),
        ]
    };
    let columns = [
        Column::new("ID", width_of(tasks.iter().map(|task| task.id.as_str()), 26)),
        Column::new("TASK", 12).growing(1),
        Column::new("STATUS", 15),
        Column::number("SINCE", 12),
        Column::number("ATTEMPT", 7).giving_way(2),
        Column::number("DONE", 5).giving_way(3),
        Column::new("WORKER", 26).giving_way(1),
    ];
    let none = vec![Cell::from("none").dark_gray()];
    table(&columns, if tasks.is_empty() { vec![none] } else { tasks.iter().map(row).collect() }, width)
}

/// To three digits: `0`, `0.25`, `7.5`, `1,234`.
pub(super) fn rate(per_second: f64) -> String {
    match per_second {
        0.0 => "0".to_owned(),
        ..1.0 => format!("{per_second:.2}"),
        ..100.0 => format!("{per_second:.1}"),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "rounded, positive, far below 2^64"
        )]
        _ => thousands(per_second.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_three_digits() {
        for (value, words) in [(0.0, "0"), (0.25, "0.25"), (7.52, "7.5"), (99.9, "99.9"), (1_234.4, "1,234")] {
            assert_eq!(rate(value), words);
        }
    }
}
