//! What makes the spans: the SDK's tracer, its sampler, and the layer for spans of user code.

use std::sync::Arc;

use opentelemetry::{
    Context, KeyValue, TraceId,
    trace::{Link, SpanContext, SpanKind, TraceContextExt, TraceState},
};
use opentelemetry_sdk::trace::{SamplingDecision, SamplingResult, SdkTracer, ShouldSample};
use tracing::Subscriber;
use tracing_subscriber::{Layer, registry::LookupSpan};

use super::{CURRENT, Kept, Tracing, current};
use crate::telemetry::{exporters::carries_telemetry, settings::Sampling};

pub(in crate::telemetry) fn install(tracer: SdkTracer, sampling: Sampling) {
    CURRENT.set(Arc::new(Tracing { tracer, sampling })).ok();
}

/// Turns user code's `tracing` spans into OpenTelemetry's; nothing while this process traces nothing.
pub(crate) fn layer<S>() -> Option<impl Layer<S>>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let tracing = current()?;
    let layer = tracing_opentelemetry::layer()
        .with_tracer(tracing.tracer.clone())
        .with_threads(false)
        .with_location(false)
        .with_target(false)
        .with_tracked_inactivity(false);
    Some(layer.with_filter(tracing_subscriber::filter::filter_fn(|it| it.is_span() && !carries_telemetry(it.target()))))
}

/// Follows the parent's decision if configured, keeps what is already decided, and else samples at random.
#[derive(Debug, Clone)]
pub(in crate::telemetry) struct RootSampler(pub(in crate::telemetry) Sampling);

impl ShouldSample for RootSampler {
    fn should_sample(
        &self,
        parent: Option<&Context>,
        trace: TraceId,
        _name: &str,
        _kind: &SpanKind,
        _attributes: &[KeyValue],
        _links: &[Link],
    ) -> SamplingResult {
        let kept = parent.is_some_and(|parent| parent.get::<Kept>().is_some());
        let above = parent.map(|parent| parent.span().span_context().clone()).filter(SpanContext::is_valid);
        let keep = kept
            || match &above {
                Some(above) if self.0.parent_based => above.is_sampled(),
                _ => keeps(self.0.ratio, trace),
            };
        SamplingResult {
            decision: if keep { SamplingDecision::RecordAndSample } else { SamplingDecision::Drop },
            attributes: Vec::new(),
            trace_state: above.map_or_else(TraceState::default, |above| above.trace_state().clone()),
        }
    }
}

/// Whether a trace belongs to the share that is kept. Decided by its id, so that all processes agree.
fn keeps(ratio: f64, trace: TraceId) -> bool {
    let [.., a, b, c, d, e, f, g, h] = trace.to_bytes();
    let draw = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1;
    ratio >= 1.0 || (draw as f64) < ratio * (1_u64 << 63) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_the_asked_for_share_of_traces_is_kept() {
        let kept = (0..100_000_u128)
            .filter(|i| keeps(0.01, TraceId::from(i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))))
            .count();
        assert!((800..1_200).contains(&kept), "{kept} of 100,000 at 1 %");
    }
}
