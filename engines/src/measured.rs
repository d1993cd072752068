//! Measures every call to a store: how long it took, and how it failed.
//!
//! One wrapper for both engines; [`crate::open`] puts it on. It changes no answer and retries nothing. `wait` and
//! `await_finished` pass through unmeasured: they take as long as nothing happens.

use std::{future::Future, time::Instant};

use async_trait::async_trait;
use jobbers_common::{
    engine::{Engine, Error, Result, backup::Backup, boards::Boards, sealed::Sealed, verbs::types::*},
    engine_verbs,
    metrics::catalogue::{BOARD_CALLS, ENGINE_ERRORS, ENGINE_OPERATION_DURATION},
};
use opentelemetry::{
    KeyValue,
    metrics::{BoundHistogram, Counter, Meter},
};

mod backup;
mod boards;

macro_rules! operations {
    ($($noun:ident { $($verb:ident($($argument:ident: $type:ty),*) -> $answer:ty;)* })*) => {
        operations! { @all $($($verb)*)*
            board_commit board_take board_get board_list board_groups board_names
            backup_settle_edges backup_dump backup_restore backup_link backup_board_marks backup_restore_board
        }
    };
    (@all $($name:ident)*) => {
        /// The histogram of each verb, bound once.
        #[derive(Debug)]
        struct VerbHistograms {
            $($name: BoundHistogram<f64>),*
        }

        impl VerbHistograms {
            fn new(engine: &'static str, meter: &Meter) -> Self {
                let histogram = ENGINE_OPERATION_DURATION.histogram(meter);
                let of = |name| histogram.bind(&[KeyValue::new("engine", engine), KeyValue::new("operation", name)]);
                Self { $($name: of(stringify!($name))),* }
            }
        }
    };
}

engine_verbs!(operations);

/// A store whose calls are measured.
#[derive(Debug)]
pub struct Measured {
    inner: Arc<dyn Engine>,
    boards: Arc<dyn Boards>,
    backup: Arc<dyn Backup>,
    engine: &'static str,
    operations: VerbHistograms,
    errors: Counter<u64>,
    board_calls: Counter<u64>,
}

impl Measured {
    /// Measures the calls to `inner` on `meter`; `engine` is `sqlite` or `redis`.
    #[must_use]
    pub fn new(inner: Arc<dyn Engine>, engine: &'static str, meter: &Meter) -> Self {
        let (operations, errors) = (VerbHistograms::new(engine, meter), ENGINE_ERRORS.counter(meter));
        let board_calls = BOARD_CALLS.counter(meter);
        let (boards, backup) = (Arc::clone(&inner).boards(), Arc::clone(&inner).backup());
        Self { inner, boards, backup, engine, operations, errors, board_calls }
    }

    async fn measure<T>(
        &self,
        name: &'static str,
        histogram: &BoundHistogram<f64>,
        call: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        let began = Instant::now();
        let answer = call.await;
        self.note(name, histogram, began, answer.as_ref().err());
        answer
    }

    fn note(&self, name: &'static str, histogram: &BoundHistogram<f64>, began: Instant, error: Option<&Error>) {
        histogram.record(began.elapsed().as_secs_f64());
        if let Some(error) = error {
            self.errors.add(
                1,
                &[
                    KeyValue::new("engine", self.engine),
                    KeyValue::new("operation", name),
                    KeyValue::new("error", error.kind()),
                ],
            );
        }
    }
}

macro_rules! measured {
    ($($noun:ident { $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)* })*) => {
        $(
            #[async_trait]
            impl $noun for Measured {
                $(
                    async fn $name(&self, $($argument: $type),*) -> Result<$answer> {
                        self.measure(stringify!($name), &self.operations.$name, self.inner.$name($($argument),*)).await
                    }
                )*
            }
        )*
    };
}

engine_verbs!(measured);

#[async_trait]
impl Waiting for Measured {
    async fn wait(&self, worker: &WorkerId, timeout: Duration) {
        self.inner.wait(worker, timeout).await;
    }

    async fn await_finished(&self, id: &TaskId, timeout: Duration) -> Result<Option<Task>> {
        self.inner.await_finished(id, timeout).await
    }
}

impl Sealed for Measured {}

impl Engine for Measured {
    fn boards(self: Arc<Self>) -> Arc<dyn Boards> {
        self
    }

    fn backup(self: Arc<Self>) -> Arc<dyn Backup> {
        self
    }
}

#[cfg(test)]
mod tests {
    use jobbers_law::model::ModelEngine;
    use opentelemetry::metrics::MeterProvider;
    use opentelemetry_sdk::metrics::{
        InMemoryMetricExporter, SdkMeterProvider,
        data::{AggregatedMetrics, MetricData},
    };

    use super::*;

    /// The values of attributes, in the order of their keys.
    pub(super) fn words<'a>(attributes: impl Iterator<Item = &'a KeyValue>) -> String {
        let mut pairs: Vec<(&str, String)> =
            attributes.map(|pair| (pair.key.as_str(), pair.value.to_string())).collect();
        pairs.sort();
        pairs.into_iter().map(|(_, value)| value).collect::<Vec<_>>().join(" ")
    }

    #[tokio::test]
    async fn calls_and_failures_are_counted_by_verb_and_kind() {
        let exporter = InMemoryMetricExporter::default();
        let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
        let engine = Measured::new(Arc::new(ModelEngine::with_system_clock()), "model", &provider.meter("test"));
        engine.health().await.unwrap();
        engine.health().await.unwrap();
        let none = QueueName::new("none").unwrap();
        assert_eq!(engine.queue_stats(&none).await, Err(Error::UnknownQueue(none)));
        provider.force_flush().unwrap();

        let (mut calls, mut errors) = (Vec::new(), Vec::new());
        for resource in exporter.get_finished_metrics().unwrap() {
            for metric in resource.scope_metrics().flat_map(|scope| scope.metrics()) {
                match metric.data() {
                    AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                        calls.extend(histogram.data_points().map(|point| (words(point.attributes()), point.count())));
                    }
                    AggregatedMetrics::U64(MetricData::Sum(sum)) => {
                        errors.extend(sum.data_points().map(|point| (words(point.attributes()), point.value())));
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        calls.sort();
        let calls: Vec<_> = calls.into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(calls, [("model health".to_owned(), 2), ("model queue_stats".to_owned(), 1)]);
        assert_eq!(errors, [("model unknown_queue queue_stats".to_owned(), 1)]);
    }
}
