//! Which tasks are traced, and how the spans of one task find each other.
//!
//! A task carries a W3C `traceparent`: that of the `send {queue}` span that submitted it, or its submitter's if this
//! process traces nothing. The first attempt is a child of that span if the wait was short (5 min). A later attempt, or
//! one after a long wait, begins a trace of its own and links to that span, so that no trace stays open for hours and
//! retries appear side by side. It also links to the attempt before it, whose span was stored with the task when it was
//! settled ([`jobbers_common::task::Task::last_span`]): a retry, one that was given back, a dead letter sent again. A
//! worker that vanishes settles nothing, so an attempt after a crash links to the last settled attempt, if any. An
//! attempt that is not kept costs a comparison and no span.
//!
//! The module uses OpenTelemetry's API directly. Spans that user code makes with `tracing` become children of the
//! attempt's span, through `sdk::layer`.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use opentelemetry::{
    Context, KeyValue, SpanId, TraceFlags, TraceId,
    trace::{Link, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt, TraceState, Tracer},
};

use super::settings::Sampling;

#[cfg(feature = "metrics")]
pub(crate) mod sdk;

#[cfg(not(feature = "metrics"))]
type OwnTracer = opentelemetry::trace::noop::NoopTracer;
#[cfg(feature = "metrics")]
type OwnTracer = opentelemetry_sdk::trace::SdkTracer;

/// The longest wait after which an attempt still belongs to the trace of its submission.
pub const LONGEST_CHILD_WAIT: Duration = Duration::from_secs(300);

static CURRENT: OnceLock<Arc<Tracing>> = OnceLock::new();

/// Creates spans.
#[derive(Debug)]
pub struct Tracing {
    tracer: OwnTracer,
    sampling: Sampling,
}

/// The process's tracing; `None` while it traces nothing.
#[must_use]
pub fn current() -> Option<Arc<Tracing>> {
    CURRENT.get().cloned()
}

/// Marks that the decision to keep a trace has been made.
#[derive(Debug)]
struct Kept;

/// Reads a W3C `traceparent`.
#[must_use]
pub fn read(traceparent: &str) -> Option<SpanContext> {
    let mut parts = traceparent.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    if version != "00" || trace.len() != 32 || span.len() != 16 || flags.len() != 2 {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    Some(SpanContext::new(trace, span, flags, true, TraceState::NONE)).filter(SpanContext::is_valid)
}

/// The context for children of another process's span.
#[must_use]
pub fn below(span: SpanContext) -> Context {
    Context::new().with_remote_span_context(span)
}

/// Writes a W3C `traceparent`.
#[must_use]
pub fn write(span: &SpanContext) -> String {
    format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), span.trace_flags().to_u8() & 1)
}

/// Whether a `traceparent` marks its trace as kept; read from its last character.
fn says_kept(traceparent: &str) -> bool {
    traceparent
        .as_bytes()
        .last()
        .is_some_and(|last| matches!(last, b'1' | b'3' | b'5' | b'7' | b'9' | b'b' | b'd' | b'f'))
}

/// The facts of an attempt that its span shows.
#[derive(Debug, Clone, Copy)]
pub struct AttemptFacts<'a> {
    /// The task's queue.
    pub queue: &'a str,
    /// The task's id.
    pub id: &'a str,
    /// The task's name.
    pub task: &'a str,
    /// The task's version.
    pub version: u32,
    /// 1 for the first.
    pub attempt: u32,
    /// Leases lost before.
    pub crashes: u32,
    /// From the submission to the claim.
    pub waited: Duration,
    /// The `traceparent` that the task carries.
    pub traceparent: Option<&'a str>,
    /// The `traceparent` of the last settled attempt's span.
    pub last_span: Option<&'a str>,
}

impl Tracing {
    /// Begins `send {queue}`: the submission of `tasks` tasks. The tasks carry the returned context, kept or not, so
    /// that every process that runs them decides alike.
    #[must_use]
    pub fn send(&self, queue: &str, tasks: usize, parent: &Context) -> Context {
        let builder = SpanBuilder::from_name(format!("send {queue}")).with_kind(SpanKind::Producer).with_attributes([
            KeyValue::new("messaging.system", "jobbers"),
            KeyValue::new("messaging.operation.name", "send"),
            KeyValue::new("messaging.operation.type", "send"),
            KeyValue::new("messaging.destination.name", queue.to_owned()),
            KeyValue::new("messaging.batch.message_count", i64::try_from(tasks).unwrap_or(i64::MAX)),
        ]);
        parent.with_span(self.tracer.build_with_context(builder, parent))
    }

    /// Begins `process {queue}`, if the attempt's trace is kept.
    #[must_use]
    pub fn process(&self, of: AttemptFacts<'_>) -> Option<Context> {
        if self.sampling.parent_based && of.traceparent.is_some_and(|parent| !says_kept(parent)) {
            return None;
        }
        let sent = of.traceparent.and_then(read);
        let before = of.last_span.and_then(read);
        let is_first = of.attempt == 1 && of.crashes == 0 && before.is_none();
        let is_child = sent.is_some() && is_first && of.waited <= LONGEST_CHILD_WAIT;
        let follows = self.sampling.parent_based && sent.is_some();
        if !follows && !is_child && !self.draw() {
            return None;
        }
        let above = match &sent {
            Some(sent) if is_child => below(sent.clone()),
            _ => Context::new().with_value(Kept),
        };
        let links = sent.filter(|_| !is_child).into_iter().chain(before);
        let links = links.map(|span| Link::new(span, Vec::new(), 0)).collect();
        let builder = SpanBuilder::from_name(format!("process {}", of.queue))
            .with_kind(SpanKind::Consumer)
            .with_links(links)
            .with_attributes([
                KeyValue::new("messaging.system", "jobbers"),
                KeyValue::new("messaging.operation.name", "process"),
                KeyValue::new("messaging.operation.type", "process"),
                KeyValue::new("messaging.destination.name", of.queue.to_owned()),
                KeyValue::new("messaging.message.id", of.id.to_owned()),
                KeyValue::new("jobbers.task.name", of.task.to_owned()),
                KeyValue::new("jobbers.task.version", i64::from(of.version)),
                KeyValue::new("jobbers.task.attempt", i64::from(of.attempt)),
            ]);
        let span = self.tracer.build_with_context(builder, &above);
        let kept = opentelemetry::trace::Span::is_recording(&span);
        kept.then(|| Context::new().with_span(span))
    }

    fn draw(&self) -> bool {
        self.sampling.ratio >= 1.0 || self.sampling.ratio > 0.0 && rand::random::<f64>() < self.sampling.ratio
    }
}

/// Ends a span, as failed if there is a reason: its kind, such as `timeout`, and never a payload.
pub fn end(context: &Context, failure: Option<&'static str>) {
    let span = context.span();
    if let Some(kind) = failure {
        span.set_attribute(KeyValue::new("error.type", kind));
        span.set_status(Status::error(kind));
    }
    span.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_reads_back_as_it_was_written() {
        assert_eq!(write(&read(KEPT).unwrap()), KEPT);
        assert!(says_kept(KEPT) && !says_kept(&KEPT.replace("-01", "-00")));
        for bad in ["", "00-1-1-01", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", &KEPT.replace('4', "x")]
        {
            assert!(read(bad).is_none(), "{bad}");
        }
    }
}
