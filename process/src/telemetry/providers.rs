//! The providers behind OpenTelemetry's global meter and tracer, and behind exported log lines.

use std::thread;

use jobbers_common::metrics;
use opentelemetry::{Key, KeyValue, global, metrics::MeterProvider, trace::TracerProvider};
use opentelemetry_sdk::{
    Resource,
    logs::SdkLoggerProvider,
    metrics::{Instrument, SdkMeterProvider, Stream},
    trace::SdkTracerProvider,
};
use prometheus::Registry;
use tokio::sync::oneshot;

use super::{
    error::TelemetryError,
    exporters,
    exposition::{self, Exposition},
    logs,
    options::{Options, SCOPE},
    process,
    settings::{Sampling, Settings},
    traces::sdk::{self, RootSampler},
};

/// The running providers.
#[derive(Debug)]
pub(super) struct Providers {
    meters: SdkMeterProvider,
    tracers: Option<(SdkTracerProvider, Sampling)>,
    loggers: Option<SdkLoggerProvider>,
    pub(super) exposition: Option<Exposition>,
}

impl Providers {
    /// Creates the requested providers. Call it on a runtime that lives as long as they do, because their connections
    /// run on it.
    pub(super) fn make(options: &Options, settings: &Settings, scraped: bool) -> Result<Self, TelemetryError> {
        let resource = resource(options);
        let mut meters = SdkMeterProvider::builder().with_resource(resource.clone()).with_view(limit);
        if let Some(route) = settings.metrics {
            meters = exporters::export_metrics(meters, route, settings)?;
        }
        let mut shown = None;
        if scraped {
            let registry = Registry::new();
            let reader = opentelemetry_prometheus::exporter().with_registry(registry.clone()).scope_info_enabled(false);
            let reader = reader.build().map_err(|error| TelemetryError::Exporter(error.to_string()))?;
            meters = meters.with_reader(reader);
            shown = Some(Exposition::new(registry));
        }
        let meters = meters.build();
        process::observe(&meters.meter(SCOPE), options.service, options.version);
        let tracers = settings.traces.map(|route| {
            let sampler = RootSampler(settings.sampling);
            let builder = SdkTracerProvider::builder().with_resource(resource.clone()).with_sampler(sampler);
            exporters::export_spans(builder, route).map(|builder| (builder.build(), settings.sampling))
        });
        let loggers = settings.logs.map(|route| {
            let builder =
                SdkLoggerProvider::builder().with_resource(resource.clone()).with_log_processor(logs::Labeller);
            exporters::export_lines(builder, route).map(|builder| builder.build())
        });
        let (tracers, loggers) = (tracers.transpose()?, loggers.transpose()?);
        Ok(Self { meters, tracers, loggers, exposition: shown })
    }

    /// Installs them as the process's global providers.
    pub(super) fn install(&self) {
        global::set_meter_provider(self.meters.clone());
        if let Some((tracers, sampling)) = &self.tracers {
            global::set_tracer_provider(tracers.clone());
            sdk::install(tracers.tracer(SCOPE), *sampling);
        }
        if let Some(loggers) = &self.loggers {
            logs::install(loggers.clone());
        }
        if let Some(exposition) = &self.exposition {
            exposition::show(exposition.clone());
        }
    }

    /// Exports what is left, all signals at once. Each uses a thread that may hang: a collector that accepts and never
    /// answers would hold it for too long.
    pub(super) async fn shutdown(&self) {
        let meters = self.meters.clone();
        let tracers = self.tracers.as_ref().map(|(tracers, _)| tracers.clone());
        let loggers = self.loggers.clone();
        let metrics = aside(move || meters.shutdown().is_ok());
        let spans = aside(move || tracers.is_none_or(|tracers| tracers.shutdown().is_ok()));
        let lines = aside(move || loggers.is_none_or(|loggers| loggers.shutdown().is_ok()));
        let (metrics, spans) = (metrics.await.unwrap_or(false), spans.await.unwrap_or(false));
        let lines = lines.await.unwrap_or(false);
        if !(metrics && spans && lines) {
            tracing::debug!(metrics, spans, lines, "not all telemetry was delivered");
        }
    }
}

/// Runs on a thread of its own.
fn aside(run: impl FnOnce() -> bool + Send + 'static) -> oneshot::Receiver<bool> {
    let (done, outcome) = oneshot::channel();
    let thread = thread::Builder::new().name("jobbers-flush".to_owned());
    // If no thread can be started, the sender is dropped, which the receiver notices too.
    thread.spawn(move || done.send(run()).ok()).ok();
    outcome
}

/// The catalogue's bound on the series of each of its metrics.
fn limit(instrument: &Instrument) -> Option<Stream> {
    let metric = metrics::find(instrument.name())?;
    Stream::builder().with_cardinality_limit(metric.most_series).build().ok()
}

/// The identity of this process. Values of `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` win.
fn resource(options: &Options) -> Resource {
    let said = Resource::builder().build();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let instance = format!("{}:{}", host.trim(), std::process::id());
    let name = match options.service {
        "jobbers" => "jobbers".to_owned(),
        part => format!("jobbers-{part}"),
    };
    let own = [
        KeyValue::new("service.name", name),
        KeyValue::new("service.version", options.version),
        KeyValue::new("service.instance.id", instance),
        KeyValue::new("host.name", host.trim().to_owned()),
    ];
    let missing = own.into_iter().filter(|attribute| is_missing(&said, &attribute.key));
    Resource::builder().with_attributes(missing).build()
}

fn is_missing(said: &Resource, key: &Key) -> bool {
    // The SDK fills in a name of its own if none is set.
    said.get(key).is_none_or(|value| value.as_str().starts_with("unknown_service"))
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, BTreeSet},
        time::Duration,
    };

    use jobbers_common::metrics::{ALL, Kind, catalogue::SUBMISSIONS_REFUSED};
    use opentelemetry::metrics::Meter;

    use super::*;

    fn providers() -> Providers {
        let options = Options {
            service: "worker",
            version: "1.2.3",
            metrics_listen: None,
            insecure: false,
            exposed_elsewhere: true,
        };
        let settings = Settings {
            metrics: None,
            traces: None,
            logs: None,
            interval: Duration::from_secs(15),
            delta: false,
            sampling: Sampling { parent_based: true, ratio: 1.0 },
        };
        Providers::make(&options, &settings, true).unwrap()
    }

    fn text(providers: &Providers) -> String {
        providers.exposition.as_ref().unwrap().text().unwrap()
    }

    fn emit_every(meter: &Meter) {
        for metric in ALL {
            let attributes: Vec<KeyValue> =
                metric.attributes.iter().map(|attribute| KeyValue::new(attribute.key, "x")).collect();
            match metric.kind {
                Kind::Counter => metric.counter(meter).add(1, &attributes),
                Kind::Histogram => metric.histogram(meter).record(1.0, &attributes),
                Kind::Gauge => {
                    metric.gauge(meter, move |gauge| gauge.observe(1.0, &attributes));
                }
                Kind::ObservedCounter => {
                    metric.observed_counter(meter, move |counter| counter.observe(1.0, &attributes));
                }
            }
        }
    }

    #[test]
    fn prometheus_calls_every_metric_what_the_catalogue_says() {
        let providers = providers();
        emit_every(&providers.meters.meter("test"));
        let text = text(&providers);
        let families: BTreeMap<&str, &str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
            .filter(|(name, _)| *name != "target_info")
            .collect();
        let named: Vec<(String, &str)> =
            ALL.iter().map(|metric| (metric.prometheus_name(), metric.kind.as_str())).collect();
        let expected: BTreeMap<&str, &str> = named.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
        assert_eq!(families, expected);
    }

    #[test]
    fn histograms_have_the_catalogue_s_buckets() {
        let providers = providers();
        emit_every(&providers.meters.meter("test"));
        let text = text(&providers);
        for metric in ALL.iter().filter(|metric| metric.kind == Kind::Histogram) {
            let series = format!("{}_bucket{{", metric.prometheus_name());
            let bounds: Vec<f64> = text
                .lines()
                .filter(|line| line.starts_with(&series))
                .filter_map(|line| line.rsplit_once("le=\"")?.1.split('"').next()?.parse().ok())
                .filter(|bound: &f64| bound.is_finite())
                .collect();
            assert_eq!(bounds, metric.buckets, "{}", metric.name);
        }
    }

    #[test]
    fn series_past_the_bound_are_counted_as_one() {
        let providers = providers();
        let refused = SUBMISSIONS_REFUSED.counter(&providers.meters.meter("test"));
        for code in 0..1_000 {
            refused.add(1, &[KeyValue::new("code", format!("made-up-{code}"))]);
        }
        let text = text(&providers);
        let series: Vec<&str> =
            text.lines().filter(|line| line.starts_with("jobbers_submissions_refused_total{")).collect();
        let counted: f64 = series.iter().map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum();
        assert!(series.len() <= SUBMISSIONS_REFUSED.most_series + 1, "{} series", series.len());
        assert!(series.iter().any(|line| line.contains("otel_metric_overflow=\"true\"")), "{series:?}");
        assert_eq!(counted, 1_000.0, "nothing is lost");
    }

    #[test]
    fn a_reading_that_panics_leaves_the_others_alone() {
        let providers = providers();
        let meter = providers.meters.meter("test");
        metrics::catalogue::QUEUE_PAUSED.gauge(&meter, |_| panic!("on purpose"));
        metrics::catalogue::WORKERS_ALIVE.gauge(&meter, |gauge| gauge.observe(3.0, &[]));
        for _ in 0..2 {
            let text = text(&providers);
            let told: BTreeSet<&str> = text.lines().filter(|line| line.starts_with("jobbers_workers_alive")).collect();
            assert_eq!(told.len(), 1, "{text}");
        }
    }

    #[test]
    fn a_process_says_who_it_is() {
        let text = text(&providers());
        assert!(text.contains("jobbers_build_info{service=\"worker\",version=\"1.2.3\"} 1"), "{text}");
        assert!(text.contains("service_name=\"jobbers-worker\""), "{text}");
        assert!(text.contains("jobbers_process_cpu_time_seconds_total{service=\"worker\"}"), "{text}");
    }
}
