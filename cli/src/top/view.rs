//! The picture: a line on the whole, then queues, workers and failures.

use std::time::Duration;

use jobbers_common::lifecycle::Status;
use ratatui::{
    Frame, Terminal,
    backend::TestBackend,
    layout::{Constraint, Layout, Rect},
    style::Stylize,
    text::{Line, Span},
    widgets::{Cell, Table},
};

use super::{
    columns::{Column, right, table},
    snapshot::Snapshot,
    state::{Order, State, count},
};
use crate::{
    client::wire::{Queue, Task, Worker},
    fit::one_line,
    output::thousands,
    when,
};

/// The width of the picture without a terminal.
const TEXT_WIDTH: u16 = 120;
/// Waiting longer than this is worth a look, and longer than that is trouble: as on the dashboards.
const WORTH_A_LOOK: f64 = 30.0;
const TROUBLE: f64 = 300.0;

/// Draws what is known.
pub(crate) fn draw(state: &State, frame: &mut Frame<'_>) {
    let Some(now) = &state.now else {
        let word =
            state.failure.as_ref().map_or_else(|| Line::from("asking the manager …"), |why| why.as_str().red().into());
        return frame.render_widget(word, frame.area());
    };
    let queues = rows_of(now.queues.len());
    // Queues come first; when the terminal is too low for all, workers and failures keep a few lines each.
    let parts = [
        Constraint::Length(2),
        Constraint::Length(queues),
        Constraint::Length(rows_of(now.workers.len())),
        Constraint::Min(4),
    ];
    let [head, queues, workers, failures] = Layout::vertical(parts).areas(frame.area());
    let width = frame.area().width;
    frame.render_widget(headline(state, now, width), head);
    frame.render_widget(queue_table(state, now, width), queues);
    frame.render_widget(worker_table(&now.workers, width), workers);
    frame.render_widget(failure_table(&now.failures, width), failures);
    if let Some(why) = &state.failure {
        let line = Rect { y: head.y + 1, height: 1, ..head };
        frame.render_widget(Line::from(why.as_str()).red(), line);
    }
}

/// A table's lines, with its heading and an empty one below.
fn rows_of(lines: usize) -> u16 {
    u16::try_from(lines.max(1)).unwrap_or(u16::MAX - 2).saturating_add(2)
}

/// The picture as text, as high as it has to be.
pub(crate) fn text(state: &State) -> String {
    let lines = state.now.as_ref().map_or(0, |now| now.queues.len() + now.workers.len() + now.failures.len());
    let height = u16::try_from(lines + 12).unwrap_or(u16::MAX);
    let backend = TestBackend::new(TEXT_WIDTH, height);
    let Ok(mut terminal) = Terminal::new(backend);
    let Ok(_) = terminal.draw(|frame| draw(state, frame));
    let buffer = terminal.backend().buffer();
    let width = usize::from(buffer.area.width);
    let lines: Vec<String> = buffer
        .content
        .chunks(width)
        .map(|line| line.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned())
        .collect();
    format!("{}\n", lines.join("\n").trim_end())
}

fn headline<'a>(state: &'a State, now: &Snapshot, width: u16) -> Line<'a> {
    let sum = |status| now.queues.iter().map(|queue| count(queue, status)).sum::<u64>();
    let entered: f64 = state.rates.values().map(|rates| rates.entered).sum();
    let left: f64 = state.rates.values().map(|rates| rates.left).sum();
    let slots: u64 = now.workers.iter().map(|worker| u64::from(worker.slots)).sum();
    let order = match state.order {
        Order::Trouble => "   by trouble",
        Order::Name => "   by name",
        Order::Size => "   by size",
    };
    let mut words = vec![
        Span::from("jobbers ").bold(),
        Span::from(state.manager.as_str()),
        Span::from(format!(
            "   {} ready   {}/{} slots busy   in {}/s   out {}/s",
            thousands(sum(Status::Submitted)),
            thousands(now.workers.iter().map(|worker| u64::from(worker.running)).sum()),
            thousands(slots),
            rate(entered),
            rate(left),
        )),
        Span::from(order),
    ];
    if state.held {
        words.push(Span::from("   held").yellow());
    }
    // If not everything fits, drop what the user knows anyway: the order, then the address.
    for known in [3, 1] {
        let needed: usize = words.iter().map(Span::width).sum();
        if needed > usize::from(width) {
            words[known] = Span::from("");
        }
    }
    Line::from(words)
}

/// To three digits: `0`, `0.25`, `7.5`, `1,234`.
fn rate(per_second: f64) -> String {
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

/// The longest name that other columns give way to.
const LONGEST_NAME: usize = 40;

fn queue_table(state: &State, now: &Snapshot, width: u16) -> Table<'static> {
    let row = |queue: &Queue| {
        let rates = state.rates.get(&queue.name);
        let of =
            |pick: fn(&super::state::Rates) -> f64| rates.map_or_else(|| "-".to_owned(), |rates| rate(pick(rates)));
        let number = |status| right(thousands(count(queue, status)));
        let bad = count(queue, Status::Failed) + count(queue, Status::Stalled) + count(queue, Status::Dropped);
        vec![
            Cell::from(queue.name.clone()),
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
    let longest = now.queues.iter().map(|queue| queue.name.chars().count()).max().unwrap_or(0);
    let name = u16::try_from(longest.clamp(5, LONGEST_NAME)).unwrap_or(5);
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
    table(&columns, now.queues.iter().map(row).collect(), width)
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

fn worker_table(workers: &[Worker], width: u16) -> Table<'static> {
    let row = |worker: &Worker| {
        let busy = right(format!("{}/{}", worker.running, worker.slots));
        vec![
            Cell::from(format!("{} ({}, {})", worker.id, worker.host, worker.pid)),
            Cell::from(worker.role.clone()),
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
    let no_worker = vec![Cell::from("no worker is alive").red()];
    let rows = if workers.is_empty() { vec![no_worker] } else { workers.iter().map(row).collect() };
    table(&columns, rows, width)
}

fn failure_table(failures: &[Task], width: u16) -> Table<'static> {
    let row = |task: &Task| {
        let why = task
            .errors
            .last()
            .map_or_else(String::new, |error| format!("{}: {}", error.kind, one_line(&error.message)));
        vec![
            Cell::from(task.finished_at.map_or_else(String::new, when::ago)),
            Cell::from(task.status.clone()).red(),
            Cell::from(task.queue.clone()),
            Cell::from(task.name.clone()),
            Cell::from(task.id.clone()),
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use serde_json::json;

    use super::*;
    use crate::{
        failure::Failure,
        top::state::tests::{look, queue},
    };

    fn worker() -> Worker {
        let worker = json!({
            "id": "w-1", "host": "box", "pid": 42, "role": "mail", "queues": ["mail", "bulk"], "slots": 64, "running": 64,
            "state": "draining", "settled": 12_345, "started_at": "2026-01-01T00:00:00Z", "seen_at": "2026-01-01T00:00:00Z",
        });
        serde_json::from_value(worker).unwrap()
    }

    fn failed(message: &str) -> Task {
        let error =
            json!({"at": "2026-01-01T00:00:00Z", "attempt": 1, "worker": "w-1", "kind": "error", "message": message});
        let task = json!({
            "id": "order/7", "name": "send", "version": 1, "queue": "mail", "priority": 5, "status": "failed", "attempt": 1,
            "submitted_at": "2026-01-01T00:00:00Z", "ready_at": "2026-01-01T00:00:00Z",
            "finished_at": "2026-01-01T00:00:00Z", "errors": [error],
        });
        serde_json::from_value(task).unwrap()
    }

    /// After two looks a second apart.
    fn state() -> State {
        let (start, mut state) = (Instant::now(), State::new("http://m:8000"));
        state.look(look(start, vec![queue("mail", 1_000, 10, None)]));
        let mut second = look(
            start + Duration::from_secs(1),
            vec![queue("mail", 2_250, 300, Some(400.0)), queue("idle", 2, 0, None)],
        );
        second.workers.push(worker());
        second.failures.push(failed("no\x1b[2J such\nhost"));
        state.look(second);
        state
    }

    fn line<'a>(picture: &'a str, words: &str) -> Vec<&'a str> {
        let line = picture.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("no {words}: {picture}"));
        line.split_whitespace().collect()
    }

    #[test]
    fn the_picture_shows_queues_workers_and_failures() {
        let picture = text(&state());
        assert!(
            picture.starts_with("jobbers http://m:8000   300 ready   64/64 slots busy   in 1,250/s   out 960/s"),
            "{picture}"
        );
        assert_eq!(line(&picture, "mail    "), ["mail", "300", "6m", "40s", "1,250", "960", "2", "0", "0", "open"]);
        assert_eq!(line(&picture, "idle"), ["idle", "0", "-", "-", "-", "2", "0", "0", "open"]);
        assert_eq!(
            line(&picture, "w-1"),
            ["w-1", "(box,", "42)", "mail", "64/64", "12,345", "mail,", "bulk", "draining"]
        );
        assert!(line(&picture, "order/7").ends_with(&["error:", "no", "[2J", "such", "host"]), "{picture}");
        assert!(!picture.contains('\x1b'), "a message can't steer the terminal");
    }

    #[test]
    fn without_workers_and_failures_it_says_so() {
        let mut state = State::new("http://m");
        state.look(look(Instant::now(), vec![queue("mail", 9, 1, None)]));
        let picture = text(&state);
        assert!(picture.contains("no worker is alive") && picture.contains("none"), "{picture}");
    }

    #[test]
    fn a_manager_that_is_gone_is_said_above_what_was_known() {
        let mut state = state();
        state.fail(&Failure::Unavailable("nobody answers".to_owned()));
        let picture = text(&state);
        assert_eq!(picture.lines().nth(1), Some("nobody answers"));
        assert!(picture.contains("order/7"));
        let mut blind = State::new("http://m");
        assert!(text(&blind).contains("asking the manager"));
        blind.fail(&Failure::Unavailable("nobody answers".to_owned()));
        assert!(text(&blind).contains("nobody answers"));
    }

    fn drawn(state: &State, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(state, frame)).unwrap();
        let cells = &terminal.backend().buffer().content;
        let line = |line: &[ratatui::buffer::Cell]| line.iter().map(ratatui::buffer::Cell::symbol).collect::<String>();
        cells.chunks(usize::from(width)).map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_terminal_of_80_columns_shows_names_reasons_and_the_whole_first_line() {
        let long = "billing.invoices.of-large-customers";
        let mut state = state();
        let mut third = look(Instant::now(), vec![queue("mail", 9, 3, None), queue(long, 9, 1, Some(1.0))]);
        third.workers.push(worker());
        let id = "01M80W721VXEQ3SPFSCYC1YC3N";
        third.failures.push(Task { id: id.to_owned(), ..failed("no such host") });
        state.look(third);
        let picture = drawn(&state, 80, 24);
        for words in
            ["QUEUE", "mail ", long, "READY", "OLDEST", "FAILED", "w-1 (box, 42)", "64/64", id, "error: no such host"]
        {
            assert!(picture.contains(words), "{words}: {picture}");
        }
        assert!(!picture.contains("SCHEDULED") && !picture.contains("IN/S"), "{picture}");
        let first = picture.lines().next().unwrap();
        assert!(first.starts_with("jobbers ") && first.contains("out ") && first.trim_end().ends_with("/s"), "{first}");
        for column in ["SCHEDULED", "IN/S", "OUT/S", "STATUS", "ROLE"] {
            assert!(drawn(&state, 140, 24).contains(column), "{column}");
        }
    }

    #[test]
    fn a_terminal_of_any_size_is_drawn_on() {
        for (width, height) in [(1, 1), (20, 5), (80, 24), (300, 100)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| draw(&state(), frame)).unwrap();
        }
    }

    #[test]
    fn a_queue_in_trouble_is_red() {
        let mut terminal = Terminal::new(TestBackend::new(100, 20)).unwrap();
        terminal.draw(|frame| draw(&state(), frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let red = buffer.content.iter().filter(|cell| cell.fg == ratatui::style::Color::Red);
        let words: String = red.map(ratatui::buffer::Cell::symbol).collect();
        assert!(words.contains("6m 40s") && words.contains("failed"), "{words:?}");
    }

    #[test]
    fn a_rate_has_three_digits() {
        for (value, words) in [(0.0, "0"), (0.25, "0.25"), (7.52, "7.5"), (99.9, "99.9"), (1_234.4, "1,234")] {
            assert_eq!(rate(value), words);
        }
    }
}
