//! Exports log lines to a collector, in addition to standard error. Off by default.
//!
//! A line is exported as it was logged: level, target, message and fields, with the current span and the attempt it
//! comes from ([`crate::logging::label`]). Payloads are never logged, so none is exported. Lines of the exporting
//! libraries themselves are not exported: each export would cause the next.

use std::sync::OnceLock;

use opentelemetry::{InstrumentationScope, logs::LogRecord};
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_sdk::{
    error::OTelSdkResult,
    logs::{LogProcessor, SdkLogRecord, SdkLoggerProvider},
};
use tracing::Subscriber;
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};

use super::exporters::carries_telemetry;
use crate::logging::label;

static CURRENT: OnceLock<SdkLoggerProvider> = OnceLock::new();

pub(super) fn install(provider: SdkLoggerProvider) {
    CURRENT.set(provider).ok();
}

/// Exports log lines; does nothing unless it was requested.
pub(crate) fn layer<S>() -> Option<impl Layer<S>>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    CURRENT.get().map(bridge)
}

fn bridge<S>(provider: &SdkLoggerProvider) -> impl Layer<S> + use<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let layer = OpenTelemetryTracingBridge::new(provider);
    layer.with_filter(filter_fn(|it| it.is_event() && !carries_telemetry(it.target())))
}

/// Adds the attempt to its log lines. Runs where the line is logged, before any batch.
#[derive(Debug)]
pub(super) struct Labeller;

impl LogProcessor for Labeller {
    fn emit(&self, record: &mut SdkLogRecord, _scope: &InstrumentationScope) {
        let Some(labels) = label::current() else { return };
        let label = labels.label();
        record.add_attribute("messaging.message.id", label.id.to_owned());
        record.add_attribute("jobbers.task.name", label.name.to_owned());
        record.add_attribute("jobbers.task.attempt", i64::from(label.attempt));
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: std::time::Duration) -> OTelSdkResult {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};

    use opentelemetry::{
        Context,
        logs::AnyValue,
        trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState},
    };
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;
    use crate::logging::label::{AttemptLabel, Labels};

    struct Running;

    impl Labels for Running {
        fn label(&self) -> AttemptLabel<'_> {
            AttemptLabel { id: "a/1", name: "resize", attempt: 2, trace_id: None, is_sensitive: false }
        }
    }

    #[derive(Debug, Clone, Default)]
    struct Taken(Arc<Mutex<Vec<SdkLogRecord>>>);

    impl LogProcessor for Taken {
        fn emit(&self, record: &mut SdkLogRecord, _scope: &InstrumentationScope) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record.clone());
        }

        fn force_flush(&self) -> OTelSdkResult {
            Ok(())
        }

        fn shutdown_with_timeout(&self, _timeout: std::time::Duration) -> OTelSdkResult {
            Ok(())
        }
    }

    fn attribute(record: &SdkLogRecord, key: &str) -> Option<AnyValue> {
        record.attributes_iter().find(|(name, _)| name.as_str() == key).map(|(_, value)| value.clone())
    }

    #[test]
    fn a_line_leaves_with_its_attempt_and_its_span_and_those_of_the_exporters_stay() {
        let taken = Taken::default();
        let provider =
            SdkLoggerProvider::builder().with_log_processor(Labeller).with_log_processor(taken.clone()).build();
        let span =
            SpanContext::new(TraceId::from(7_u128), SpanId::from(9_u64), TraceFlags::SAMPLED, true, TraceState::NONE);
        let subscriber = tracing_subscriber::registry().with(bridge(&provider));
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("outside");
            tracing::warn!(target: "opentelemetry_sdk", "not me");
            tracing::warn!(target: "hyper_util::client", "nor me");
            let context = Context::new().with_remote_span_context(span);
            label::enter(Arc::new(Running), Some(context), || tracing::warn!(bytes = 7_i64, "inside"));
        });
        let records = taken.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let [outside, inside] = records.as_slice() else { panic!("two lines: {records:?}") };
        assert_eq!(outside.body(), Some(&AnyValue::from("outside")));
        assert_eq!((attribute(outside, "jobbers.task.name"), outside.trace_context().is_none()), (None, true));
        assert_eq!(attribute(inside, "messaging.message.id"), Some(AnyValue::from("a/1")));
        assert_eq!(attribute(inside, "jobbers.task.attempt"), Some(AnyValue::Int(2)));
        assert_eq!(attribute(inside, "bytes"), Some(AnyValue::Int(7)));
        let trace = inside.trace_context().map(|context| (context.trace_id, context.span_id));
        assert_eq!(trace, Some((TraceId::from(7_u128), SpanId::from(9_u64))));
    }
}
