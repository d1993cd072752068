//! `send {queue}`: the span of a submission, one for each of its queues, and the trace context that the tasks carry.

use std::collections::BTreeMap;

use jobbers_common::{name::QueueName, task::NewTask};
use jobbers_process::telemetry::traces;
use opentelemetry::{Context, trace::TraceContextExt};

/// The spans of one submission; none while this process traces nothing.
#[derive(Debug, Default)]
pub(crate) struct Sends(BTreeMap<QueueName, Context>);

impl Sends {
    /// Begins them, below `parent` (a `traceparent`) if given, and sets each span's context on its tasks. While nothing
    /// is traced here, tasks keep their submitter's context.
    pub(crate) fn begin(tasks: &mut [NewTask], parent: Option<&str>) -> Self {
        let Some(tracing) = traces::current() else { return Self::default() };
        let mut sizes: BTreeMap<QueueName, usize> = BTreeMap::new();
        for task in &*tasks {
            *sizes.entry(task.queue.clone()).or_default() += 1;
        }
        let parent = parent.and_then(traces::read).map_or_else(Context::new, traces::below);
        let begin = |(queue, size): (QueueName, usize)| {
            let span = tracing.send(queue.as_str(), size, &parent);
            (queue, span)
        };
        let spans: BTreeMap<QueueName, Context> = sizes.into_iter().map(begin).collect();
        for task in tasks {
            if let Some(context) = spans.get(&task.queue) {
                task.trace = Some(traces::write(context.span().span_context()).into_boxed_str());
            }
        }
        Self(spans)
    }

    /// Ends them; `failure` is the kind of the store's refusal.
    pub(crate) fn end(self, failure: Option<&'static str>) {
        for span in self.0.values() {
            traces::end(span, failure);
        }
    }
}
