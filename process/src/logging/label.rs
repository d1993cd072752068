//! Marks log lines with the attempt they come from.
//!
//! The code that runs a task function sets the label while the function is polled ([`Labelled`], or [`enter`] for one
//! that blocks). Every line written meanwhile, by any crate, carries the task's id, name, attempt and trace. A span
//! around each attempt would do the same at a hundred times the cost for a task that logs nothing.

use std::{
    cell::RefCell,
    fmt::{self, Write as _},
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use serde::Serialize;
use tracing::{Event, Subscriber};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// The attempt, as log lines show it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Label<'a> {
    /// The task's id.
    pub id: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Which attempt, 1 for the first.
    pub attempt: u32,
    /// The trace it belongs to, 32 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<&'a str>,
}

/// A value that log lines can be labelled with.
pub trait Labels: Send + Sync {
    /// The label.
    fn label(&self) -> Label<'_>;
}

type Shared = Arc<dyn Labels>;

thread_local! {
    static CURRENT: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

/// Restores the previous label when it is dropped.
struct Entered<'a>(&'a mut Option<Shared>);

impl<'a> Entered<'a> {
    fn new(slot: &'a mut Option<Shared>) -> Self {
        swap(slot);
        Self(slot)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        swap(self.0);
    }
}

/// Exchanges the thread's label. A thread that is ending has none.
fn swap(slot: &mut Option<Shared>) {
    CURRENT
        .try_with(|current| {
            if let Ok(mut current) = current.try_borrow_mut() {
                std::mem::swap(&mut *current, slot);
            }
        })
        .ok();
}

/// The label of the task this thread runs; `None` between two tasks and on a thread that is ending.
pub(crate) fn current() -> Option<Shared> {
    let current = CURRENT.try_with(|current| current.try_borrow().ok().and_then(|current| current.clone()));
    current.ok().flatten()
}

/// The same for a function that blocks.
pub fn enter<T>(labels: Shared, span: Option<opentelemetry::Context>, run: impl FnOnce() -> T) -> T {
    let mut slot = Some(labels);
    let _entered = Entered::new(&mut slot);
    let _attached = span.map(opentelemetry::Context::attach);
    run()
}

/// A future that labels the lines logged while it is polled. Its span, if it has one, is the current one meanwhile.
pub struct Labelled<F> {
    labels: Option<Shared>,
    span: Option<opentelemetry::Context>,
    future: F,
}

impl<F> Labelled<F> {
    /// Labels `future`.
    pub const fn new(labels: Shared, span: Option<opentelemetry::Context>, future: F) -> Self {
        Self { labels: Some(labels), span, future }
    }
}

impl<F: Future + Unpin> Future for Labelled<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { labels, span, future } = self.get_mut();
        let _entered = Entered::new(labels);
        let _attached = span.clone().map(opentelemetry::Context::attach);
        Pin::new(future).poll(context)
    }
}

impl<F> fmt::Debug for Labelled<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Labelled")
    }
}

/// Formats a line. If an attempt runs, `label` inserts its label before the line's end.
fn labelled<S, N>(
    format: &impl FormatEvent<S, N>,
    context: &FmtContext<'_, S, N>,
    mut writer: Writer<'_>,
    event: &Event<'_>,
    label: impl FnOnce(&mut String, Label<'_>) -> fmt::Result,
) -> fmt::Result
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    let Some(labels) = current() else { return format.format_event(context, writer, event) };
    let mut line = String::new();
    format.format_event(context, Writer::new(&mut line), event)?;
    line.truncate(line.trim_end().len());
    label(&mut line, labels.label())?;
    line.push('\n');
    writer.write_str(&line)
}

/// Writes a line with its control characters escaped, so that a task's text can't look like a line of its own. The
/// escape character begins our colours; the formatter has already escaped it in logged values.
fn write_on_one_line(writer: &mut Writer<'_>, line: &str) -> fmt::Result {
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| c.is_control() && !matches!(c, '\t' | '\u{1b}')) {
        let (clean, after) = rest.split_at(at);
        writer.write_str(clean)?;
        let mut after = after.chars();
        after.next().map_or(Ok(()), |control| write!(writer, "{}", control.escape_default()))?;
        rest = after.as_str();
    }
    writer.write_str(rest)?;
    writer.write_char('\n')
}

/// Lines for people, with the label at the end.
#[derive(Debug)]
pub(super) struct Text<F>(pub(super) F);

impl<S, N, F: FormatEvent<S, N>> FormatEvent<S, N> for Text<F>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut line = String::new();
        labelled(&self.0, context, Writer::new(&mut line), event, |line, label| {
            write!(line, " task.id={} task.name={} task.attempt={}", label.id, label.name, label.attempt)?;
            label.trace_id.map_or(Ok(()), |trace| write!(line, " trace_id={trace}"))
        })?;
        write_on_one_line(&mut writer, line.trim_end_matches('\n'))
    }
}

/// JSON objects, with the label as the member `task`.
#[derive(Debug)]
pub(super) struct Json<F>(pub(super) F);

impl<S, N, F: FormatEvent<S, N>> FormatEvent<S, N> for Json<F>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        labelled(&self.0, context, writer, event, |line, label| {
            let label = serde_json::to_string(&label).map_err(|_| fmt::Error)?;
            if line.pop() != Some('}') {
                return Err(fmt::Error);
            }
            write!(line, ",\"task\":{label}}}")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::ready,
        io,
        sync::{Mutex, PoisonError},
    };

    use tracing_subscriber::{fmt as format, layer::SubscriberExt};

    use super::*;

    struct Running;

    impl Labels for Running {
        fn label(&self) -> Label<'_> {
            Label { id: "a/1", name: "resize", attempt: 2, trace_id: Some("4bf92f3577b34da6a3ce929d0e0e4736") }
        }
    }

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Lines {
        fn read(&self) -> Vec<String> {
            let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            String::from_utf8(bytes.clone()).unwrap().lines().map(str::to_owned).collect()
        }
    }

    fn log_inside_and_outside() {
        tracing::info!("before");
        enter(Arc::new(Running), None, || tracing::info!(bytes = 7, "inside"));
        let mut future = Labelled::new(Arc::new(Running), None, Box::pin(async { tracing::warn!("polled") }));
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(Pin::new(&mut future).poll(&mut context).is_ready());
        drop(ready(()));
        tracing::info!("after");
    }

    #[test]
    fn a_line_of_a_task_says_which_attempt_it_comes_from() {
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = format::layer().with_ansi(false).with_writer(move || writer.clone());
        let subscriber = tracing_subscriber::registry().with(layer.event_format(Text(format::format())));
        tracing::subscriber::with_default(subscriber, log_inside_and_outside);
        let label = "task.id=a/1 task.name=resize task.attempt=2 trace_id=4bf92f3577b34da6a3ce929d0e0e4736";
        let labelled: Vec<bool> = lines.read().iter().map(|line| line.ends_with(label)).collect();
        assert_eq!(labelled, [false, true, true, false], "{:#?}", lines.read());
    }

    #[test]
    fn what_is_logged_for_people_stays_on_one_line() {
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = format::layer().with_ansi(false).with_writer(move || writer.clone());
        let subscriber = tracing_subscriber::registry().with(layer.event_format(Text(format::format())));
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(error = %"boom\n2026-01-01 ERROR forged\r\0", "failed");
            enter(Arc::new(Running), None, || tracing::warn!(error = %"a\nb", "inside"));
        });
        let read = lines.read();
        assert_eq!(read.len(), 2, "{read:#?}");
        assert!(read[0].ends_with(r"error=boom\n2026-01-01 ERROR forged\r\u{0}"), "{read:#?}");
        assert!(read[1].contains(r"a\nb task.id=a/1"), "{read:#?}");
    }

    #[test]
    fn a_json_line_carries_the_attempt_as_an_object() {
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = format::layer().json().with_writer(move || writer.clone());
        let subscriber = tracing_subscriber::registry().with(layer.event_format(Json(format::format().json())));
        tracing::subscriber::with_default(subscriber, log_inside_and_outside);
        let lines: Vec<serde_json::Value> =
            lines.read().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ids: Vec<Option<&str>> = lines.iter().map(|line| line["task"]["id"].as_str()).collect();
        assert_eq!(ids, [None, Some("a/1"), Some("a/1"), None]);
        assert_eq!((&lines[1]["task"]["attempt"], &lines[1]["fields"]["bytes"]), (&2.into(), &7.into()));
    }
}
