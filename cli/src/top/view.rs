//! The picture: a line on the whole, then queues, workers and failures, or what is inside one of them.

use jobbers_api::task::{
    explain::ExplainView,
    view::{AttemptView, TaskView},
};
use jobbers_common::lifecycle::Status;
use jobbers_process::printable::is_unprintable;
use ratatui::{
    Frame, Terminal,
    backend::TestBackend,
    layout::{Constraint, Layout, Rect},
    style::{Style, Stylize},
    text::{Line, Span},
    widgets::{Paragraph, Table, TableState, Wrap},
};

use super::{
    navigation::{ListTab, TopView},
    snapshot::{Inside, Snapshot, count},
    state::TopState,
    tables::{self, rate},
};
use crate::terminal::{
    fit::one_line,
    hidden::{HIDDEN, said},
    output::thousands,
    past, when,
};

/// A picture of so many lines has no room for more than its lists.
const LOW: u16 = 16;

/// The width of the picture without a terminal.
const TEXT_WIDTH: u16 = 120;

/// Draws what is known, with what is selected and what the keys do.
pub(crate) fn draw(state: &TopState, frame: &mut Frame<'_>) {
    let [picture, foot] = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(frame.area());
    draw_place(state, frame, picture, true);
    frame.render_widget(foot_line(state), foot);
    make_printable(frame);
}

/// Replaces what a terminal would obey, which texts of clients may contain.
fn make_printable(frame: &mut Frame<'_>) {
    for cell in &mut frame.buffer_mut().content {
        if cell.symbol().contains(is_unprintable) {
            cell.set_char(char::REPLACEMENT_CHARACTER);
        }
    }
}

fn draw_place(state: &TopState, frame: &mut Frame<'_>, area: Rect, is_steered: bool) {
    let Some(now) = &state.now else {
        let word =
            state.failure.as_ref().map_or_else(|| Line::from("asking the manager …"), |why| why.as_str().red().into());
        return frame.render_widget(word, area);
    };
    let sections = match state.steer.view() {
        TopView::Overview if area.height > LOW => now.sections.as_slice(),
        _ => &[],
    };
    let lines = u16::try_from(sections.len()).unwrap_or(0);
    let parts = [Constraint::Length(2), Constraint::Length(lines), Constraint::Min(0)];
    let [head, beside, body]: [Rect; 3] = Layout::vertical(parts).areas(area);
    frame.render_widget(Paragraph::new(sections.iter().map(|it| Line::from(it.as_str())).collect::<Vec<_>>()), beside);
    frame.render_widget(headline(state, now, area.width), head);
    let second = match (&state.failure, &now.history) {
        (Some(why), _) => Some(Line::from(why.as_str()).red()),
        (None, Some(history)) => Some(Line::from(format!("last hour {}", past::line(history)))),
        (None, None) => None,
    };
    if let Some(second) = second {
        frame.render_widget(second, Rect { y: head.y + 1, height: head.height.min(1), ..head });
    }
    match state.steer.view() {
        TopView::Overview => draw_overview(state, frame, body, is_steered),
        TopView::Queue(name) => draw_tasks(state, frame, body, &format!("tasks of queue {name}")),
        TopView::Worker(id) => draw_tasks(state, frame, body, &format!("tasks of worker {id}")),
        TopView::Task(id) => {
            let lines = match &now.inside {
                Some(Inside::Task(task, why)) => task_lines(task, why),
                Some(Inside::NoTask) => vec![Line::from(format!("task {id} does not exist"))],
                _ => vec![Line::from("asking the manager …")],
            };
            frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), body);
        }
    }
}

fn draw_overview(state: &TopState, frame: &mut Frame<'_>, area: Rect, is_steered: bool) {
    let (queues, workers, failures) = (state.queues(), state.workers(), state.failures());
    // Queues come first; when the terminal is too low for all, workers and failures keep a few lines each.
    let parts =
        [Constraint::Length(rows_of(queues.len())), Constraint::Length(rows_of(workers.len())), Constraint::Min(4)];
    let areas: [Rect; 3] = Layout::vertical(parts).areas(area);
    let tables = [
        (ListTab::Queues, tables::queues(state, area.width)),
        (ListTab::Workers, tables::workers(&workers, !state.steer.filter.is_empty(), area.width)),
        (ListTab::Failures, tables::failures(&failures, area.width)),
    ];
    for ((list, table), area) in tables.into_iter().zip(areas) {
        let selected = if is_steered { state.selection(list) } else { None };
        draw_table(frame, area, table, selected);
    }
}

fn draw_tasks(state: &TopState, frame: &mut Frame<'_>, area: Rect, title: &str) {
    let [title_area, area] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let is_cut = matches!(state.now.as_ref().and_then(|now| now.inside.as_ref()), Some(Inside::Tasks(_, true)));
    let title = if is_cut { format!("the first {title}") } else { title.to_owned() };
    frame.render_widget(Line::from(title).bold(), title_area);
    draw_table(frame, area, tables::tasks(&state.tasks(), area.width), state.selection(ListTab::Tasks));
}

fn draw_table(frame: &mut Frame<'_>, area: Rect, table: Table<'static>, selected: Option<usize>) {
    let table = table.row_highlight_style(Style::new().reversed());
    frame.render_stateful_widget(table, area, &mut TableState::new().with_selected(selected));
}

/// All that is known of a task.
fn task_lines(task: &TaskView, why: &ExplainView) -> Vec<Line<'static>> {
    let fact = |name: &str, what: String| Line::from(vec![Span::from(format!("{name:<12}")).bold(), Span::from(what)]);
    let mut lines = vec![
        fact("task", format!("{}  {}@{}", task.id, task.name, task.version)),
        fact("queue", format!("{}, priority {}", task.queue, task.priority)),
        fact(
            "status",
            if task.cancel_requested { format!("{}, to be cancelled", task.status) } else { task.status.to_string() },
        ),
        fact("attempt", format!("{}, {} leases lost", task.attempt, task.crashes)),
        fact("submitted", when::full(task.submitted_at)),
    ];
    lines.extend(task.started_at.map(|at| fact("started", when::full(at))));
    lines.extend(task.finished_at.map(|at| fact("over", when::full(at))));
    lines.extend(task.worker.as_ref().map(|worker| fact("worker", worker.to_string())));
    lines.extend(task.progress.as_ref().map(|it| {
        fact("progress", format!("{:.0}% {}", it.fraction * 100.0, one_line(said(&it.message, task.sensitive))))
    }));
    if task.sensitive {
        lines.push(fact("parameters", HIDDEN.to_owned()));
        lines.push(fact("result", HIDDEN.to_owned()));
    }
    lines.extend(task.parameters.as_ref().map(|it| fact("parameters", one_line(it.get()))));
    lines.extend(task.result.as_ref().map(|it| fact("result", one_line(it.get()))));
    lines.extend(Some(&why.store).filter(|store| !store.is_empty()).map(|store| fact("store", one_line(store))));
    lines.extend(why.reasons.iter().map(|reason| fact("why", one_line(&reason.message))));
    let error = |it: &AttemptView| {
        fact(
            &format!("error {}", it.attempt),
            format!(
                "{}: {}  ({}, on {})",
                it.kind,
                one_line(said(&it.message, task.sensitive)),
                when::ago(it.at),
                it.worker
            ),
        )
    };
    lines.extend(task.errors.iter().map(error));
    lines
}

/// What is asked, what the last change did, or what the keys do here.
fn foot_line(state: &TopState) -> Line<'_> {
    let steer = &state.steer;
    if let Some(asked) = &steer.asked {
        return Line::from(vec![Span::from(asked.question()).bold(), Span::from("  y yes   any other key: no")]);
    }
    if steer.is_typing {
        return Line::from(vec![Span::from("filter: ").bold(), Span::from(format!("{}_", steer.filter))]);
    }
    if let Some(answer) = &steer.answer {
        return Line::from(answer.as_str()).bold();
    }
    let keys = match (steer.view(), steer.list()) {
        (TopView::Queue(_), _) => "⏎ open  / filter  s sort  p pause  r send again  c cancel  esc back  q leave",
        (TopView::Worker(_), _) => "↑↓ select  ⏎ open  / filter  s sort  d drain  c cancel  esc back  q leave",
        (TopView::Task(_), _) => "r send again  c cancel  esc back  q leave",
        (_, Some(ListTab::Workers)) => "↑↓ select  ⇥ list  ⏎ open  / filter  s sort  d drain  space hold  q leave",
        (_, Some(ListTab::Failures)) => {
            "↑↓ select  ⇥ list  ⏎ open  / filter  s sort  r send again  space hold  q leave"
        }
        _ => "↑↓ select  ⇥ list  ⏎ open  / filter  s sort  p pause  space hold  q leave",
    };
    let mut words = vec![Span::from(keys).dark_gray()];
    if !steer.filter.is_empty() {
        words.insert(0, Span::from(format!("filter: {}   ", steer.filter)).yellow());
    }
    Line::from(words)
}

/// A table's lines, with its heading and an empty one below.
fn rows_of(lines: usize) -> u16 {
    u16::try_from(lines.max(1)).unwrap_or(u16::MAX - 2).saturating_add(2)
}

/// The picture as text, as high as it has to be.
pub(crate) fn text(state: &TopState) -> String {
    let lines = state.now.as_ref().map_or(0, |now| now.queues.len() + now.workers.len() + now.failures.len());
    let sections = state.now.as_ref().map_or(0, |now| now.sections.len());
    let height = u16::try_from(lines + sections + 17).unwrap_or(u16::MAX);
    let backend = TestBackend::new(TEXT_WIDTH, height);
    let Ok(mut terminal) = Terminal::new(backend);
    let Ok(_) = terminal.draw(|frame| {
        draw_place(state, frame, frame.area(), false);
        make_printable(frame);
    });
    let buffer = terminal.backend().buffer();
    let width = usize::from(buffer.area.width);
    let lines: Vec<String> = buffer
        .content
        .chunks(width)
        .map(|line| line.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned())
        .collect();
    format!("{}\n", lines.join("\n").trim_end())
}

fn headline<'a>(state: &'a TopState, now: &Snapshot, width: u16) -> Line<'a> {
    let sum = |status| match &now.totals {
        Some(totals) => totals.tasks.get(&status).copied().unwrap_or_default(),
        None => now.queues.iter().map(|queue| count(queue, status)).sum::<u64>(),
    };
    let entered: f64 = state.rates.values().map(|rates| rates.entered).sum();
    let left: f64 = state.rates.values().map(|rates| rates.left).sum();
    let slots: u64 = now.workers.iter().map(|worker| u64::from(worker.slots)).sum();
    let order = state.steer.list().map_or_else(String::new, |list| format!("   {}", state.order.of(list)));
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
    // If not everything fits, drop what the user knows anyway: the address, then the order.
    for known in [1, 3] {
        let needed: usize = words.iter().map(Span::width).sum();
        if needed > usize::from(width) {
            words[known] = Span::from("");
        }
    }
    Line::from(words)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::{Duration, Instant};

    use jobbers_api::{
        queue::history::{By, HistoryView},
        worker::WorkerView,
    };
    use jobbers_common::history::{Counts, Slot};
    use serde_json::json;

    use super::*;
    use crate::{
        failure::Failure,
        top::{
            keys::Key,
            state::tests::{look, queue},
        },
    };

    /// A worker whose slots are all busy.
    pub(crate) fn worker() -> WorkerView {
        let worker = json!({
            "id": "w-1", "host": "box", "pid": 42, "version": "1", "tasks": [], "role": "mail", "queues": ["mail", "bulk"], "slots": 64, "running": 64,
            "state": "draining", "settled": 12_345, "started_at": "2026-01-01T00:00:00Z", "seen_at": "2026-01-01T00:00:00Z",
            "expires_at": "2026-01-01T00:00:00Z",
        });
        serde_json::from_value(worker).unwrap()
    }

    /// A task that failed.
    pub(crate) fn failed(message: &str) -> TaskView {
        let error =
            json!({"at": "2026-01-01T00:00:00Z", "attempt": 1, "worker": "w-1", "kind": "error", "message": message});
        let task = json!({
            "id": "order/7", "name": "send", "version": 1, "queue": "mail", "priority": 5, "status": "failed", "attempt": 1,
            "revision": 1, "policy": {}, "crashes": 0, "blames": 0, "suspicion": 0, "cancel_requested": false, "dead_letter": true,
            "submitted_at": "2026-01-01T00:00:00Z", "ready_at": "2026-01-01T00:00:00Z",
            "finished_at": "2026-01-01T00:00:00Z", "errors": [error],
        });
        serde_json::from_value(task).unwrap()
    }

    /// After two looks a second apart.
    fn state() -> TopState {
        let (start, mut state) = (Instant::now(), TopState::new("http://m:8000"));
        state.look(look(start, vec![queue("mail", 1_000, 10, None)]));
        let mut second = look(
            start + Duration::from_secs(1),
            vec![queue("mail", 2_250, 300, Some(400.0)), queue("idle", 2, 0, None)],
        );
        second.workers.push(worker());
        second.sections =
            ["dead letters 3", "schedules    1   nightly in 3h", "workflows    0 running"].map(str::to_owned).into();
        second.failures.push(failed("no\x1b[2J such\nhost"));
        let slot = Slot { counts: Counts { accepted: 9, completed: 7, ..Counts::default() }, ..Slot::default() };
        second.history = Some(HistoryView::new(None, By::Minute, slot.at, &[slot], Some(60)));
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
        assert!(line(&picture, "last hour").ends_with(&["9", "accepted,", "7", "completed,", "0", "failed"]));
        assert_eq!(line(&picture, "idle"), ["idle", "0", "-", "-", "-", "2", "0", "0", "open"]);
        assert_eq!(
            line(&picture, "w-1"),
            ["w-1", "(box,", "42)", "mail", "64/64", "12,345", "mail,", "bulk", "draining"]
        );
        assert!(line(&picture, "order/7").ends_with(&["error:", r"no\u{1b}[2J", "such", "host"]), "{picture}");
        assert!(!picture.contains('\x1b'), "a message can't steer the terminal");
        for (at, section) in
            ["dead letters 3", "schedules    1   nightly in 3h", "workflows    0 running"].iter().enumerate()
        {
            assert_eq!(picture.lines().nth(2 + at), Some(*section), "{picture}");
            assert!(drawn(&state(), 80, 24).contains(section) && drawn(&state(), 80, 24).contains("order/7"));
            assert!(!drawn(&state(), 80, 12).contains(section), "a low terminal keeps its lists");
        }
    }

    #[test]
    fn without_workers_and_failures_it_says_so() {
        let mut state = TopState::new("http://m");
        state.look(look(Instant::now(), vec![queue("mail", 9, 1, None)]));
        let picture = text(&state);
        assert!(picture.contains("no worker is alive") && picture.contains("none"), "{picture}");
    }

    #[test]
    fn a_filter_that_hides_all_is_no_absence_of_workers() {
        let mut state = state();
        state.steer.filter = "elsewhere".to_owned();
        let picture = text(&state);
        assert!(picture.contains("the filter hides all") && !picture.contains("no worker is alive"), "{picture}");
    }

    #[test]
    fn a_manager_that_is_gone_is_said_above_what_was_known() {
        let mut state = state();
        state.fail(&Failure::Unavailable("nobody answers".to_owned()));
        let picture = text(&state);
        assert_eq!(picture.lines().nth(1), Some("nobody answers"));
        assert!(picture.contains("order/7"));
        let mut blind = TopState::new("http://m");
        assert!(text(&blind).contains("asking the manager"));
        blind.fail(&Failure::Unavailable("nobody answers".to_owned()));
        assert!(text(&blind).contains("nobody answers"));
    }

    fn drawn(state: &TopState, width: u16, height: u16) -> String {
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
        third.failures.push(TaskView { id: id.parse().unwrap(), ..failed("no such host") });
        state.look(third);
        let picture = drawn(&state, 80, 24);
        for words in
            ["QUEUE", "mail ", long, "READY", "OLDEST", "FAILED", "w-1 (box, 42)", "64/64", id, "error: no such host"]
        {
            assert!(picture.contains(words), "{words}: {picture}");
        }
        assert!(!picture.contains("SCHEDULED") && !picture.contains("IN/S"), "{picture}");
        let first = picture.lines().next().unwrap();
        assert!(first.starts_with("jobbers ") && first.contains("out "), "{first}");
        assert!(first.trim_end().ends_with("/s   by trouble"), "{first}");
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

    fn press(state: &mut TopState, keys: &[Key]) {
        for key in keys {
            state.press(*key);
        }
    }

    #[test]
    fn the_last_line_says_what_the_keys_do_and_what_is_asked() {
        let mut state = state();
        let foot = |state: &TopState| drawn(state, 100, 30).lines().last().unwrap().trim_end().to_owned();
        assert!(foot(&state).starts_with("↑↓ select") && foot(&state).contains("p pause"));
        press(&mut state, &[Key::Char('p')]);
        assert!(foot(&state).starts_with("pause queue mail: "), "{}", foot(&state));
        press(&mut state, &[Key::Char('n'), Key::Char('/'), Key::Char('i')]);
        assert_eq!(foot(&state), "filter: i_");
        press(&mut state, &[Key::Char('d'), Key::Enter]);
        let picture = drawn(&state, 100, 30);
        assert!(picture.contains("idle") && !picture.contains("mail    "), "{picture}");
        assert!(foot(&state).starts_with("filter: id   ↑↓"), "{}", foot(&state));
    }

    #[test]
    fn where_room_is_scarce_the_order_stays_and_the_address_goes() {
        let state = state();
        let head = |width| drawn(&state, width, 24).lines().next().unwrap().to_owned();
        assert!(head(120).contains(&state.manager) && head(120).contains("by trouble"), "{}", head(120));
        assert!(!head(80).contains(&state.manager) && head(80).contains("by trouble"), "{}", head(80));
    }

    #[test]
    fn what_the_keys_do_fits_into_80_columns_everywhere() {
        let mut state = state();
        // The three lists, then a task that failed, a worker, and a queue.
        let inside_another = [Key::Escape, Key::Tab, Key::Tab, Key::Enter];
        let ways: [&[Key]; 6] = [&[], &[Key::Tab], &[Key::Tab], &[Key::Enter], &inside_another, &inside_another];
        for keys in ways {
            press(&mut state, keys);
            let picture = drawn(&state, 80, 24);
            let foot = picture.lines().last().unwrap().trim_end().to_owned();
            assert!(foot.ends_with("q leave"), "{:?}: {foot}", state.steer.view());
        }
    }

    #[test]
    fn inside_a_queue_are_its_tasks_and_inside_a_task_is_why_it_failed() {
        let mut state = state();
        press(&mut state, &[Key::Enter]);
        state.now.as_mut().unwrap().inside = Some(Inside::Tasks(vec![failed("no such host")], true));
        let picture = drawn(&state, 120, 20);
        assert!(picture.contains("the first tasks of queue mail") && picture.contains("order/7"), "{picture}");
        press(&mut state, &[Key::Enter]);
        let reason = json!({"code": "over", "message": "it failed for good"});
        let why = json!({"id": "order/7", "queue": "mail", "store": "sqlite:///srv/jobbers.db", "status": "failed",
            "reasons": [reason]});
        let why = serde_json::from_value(why).unwrap();
        state.now.as_mut().unwrap().inside = Some(Inside::Task(Box::new(failed("no\x1b[2J such host")), why));
        let picture = drawn(&state, 120, 20);
        for words in
            ["order/7  send@1", "sqlite:///srv/jobbers.db", "it failed for good", r"error: no\u{1b}[2J such host"]
        {
            assert!(picture.contains(words), "{words}: {picture}");
        }
        state.now.as_mut().unwrap().inside = Some(Inside::NoTask);
        assert!(drawn(&state, 120, 20).contains("task order/7 does not exist"));
    }
}
