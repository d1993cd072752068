//! The exporters that send telemetry by OTLP. A program built without the feature `otlp` has none, and does not start
//! where `OTEL_*` request one.

#[cfg(feature = "otlp")]
pub(super) use self::otlp::{export_lines, export_metrics, export_spans};
#[cfg(not(feature = "otlp"))]
pub(super) use self::without_otlp::{export_lines, export_metrics, export_spans};

/// Whether `target` is a library that exports telemetry. Exporting its spans and lines would make each export cause the
/// next.
pub(super) fn carries_telemetry(target: &str) -> bool {
    ["opentelemetry", "h2", "hyper", "tonic", "tower", "reqwest"].iter().any(|of| target.starts_with(of))
}

#[cfg(feature = "otlp")]
mod otlp {
    use std::{fmt::Display, thread};

    use opentelemetry_otlp::{
        LogExporter, MetricExporter, SpanExporter, WithHttpConfig, WithTonicConfig,
        tonic_types::transport::ClientTlsConfig,
    };
    use opentelemetry_sdk::{
        logs::LoggerProviderBuilder,
        metrics::{MeterProviderBuilder, PeriodicReader, Temporality},
        trace::TracerProviderBuilder,
    };
    use reqwest::blocking;

    use crate::telemetry::{
        error::TelemetryError,
        settings::{ExportRoute, OtlpProtocol, Settings, timeout_of},
    };

    pub(in crate::telemetry) fn export_metrics(
        provider: MeterProviderBuilder,
        route: ExportRoute,
        settings: &Settings,
    ) -> Result<MeterProviderBuilder, TelemetryError> {
        let temporality = if settings.delta { Temporality::Delta } else { Temporality::Cumulative };
        let builder = MetricExporter::builder().with_temporality(temporality);
        let exporter = match route.protocol {
            OtlpProtocol::Grpc => with_authorities(builder.with_tonic(), route)?.build(),
            OtlpProtocol::Http => builder.with_http().with_http_client(http_client(route, "METRICS")?).build(),
        };
        let reader =
            PeriodicReader::builder(exporter.map_err(|error| failed(&error))?).with_interval(settings.interval).build();
        Ok(provider.with_reader(reader))
    }

    pub(in crate::telemetry) fn export_spans(
        provider: TracerProviderBuilder,
        route: ExportRoute,
    ) -> Result<TracerProviderBuilder, TelemetryError> {
        let exporter = match route.protocol {
            OtlpProtocol::Grpc => with_authorities(SpanExporter::builder().with_tonic(), route)?.build(),
            OtlpProtocol::Http => {
                SpanExporter::builder().with_http().with_http_client(http_client(route, "TRACES")?).build()
            }
        };
        Ok(provider.with_batch_exporter(exporter.map_err(|error| failed(&error))?))
    }

    pub(in crate::telemetry) fn export_lines(
        provider: LoggerProviderBuilder,
        route: ExportRoute,
    ) -> Result<LoggerProviderBuilder, TelemetryError> {
        let exporter = match route.protocol {
            OtlpProtocol::Grpc => with_authorities(LogExporter::builder().with_tonic(), route)?.build(),
            OtlpProtocol::Http => {
                LogExporter::builder().with_http().with_http_client(http_client(route, "LOGS")?).build()
            }
        };
        Ok(provider.with_batch_exporter(exporter.map_err(|error| failed(&error))?))
    }

    /// With TLS, trusts the system's authorities or those of `SSL_CERT_FILE`. A plain endpoint needs none.
    fn with_authorities<B: WithTonicConfig>(builder: B, route: ExportRoute) -> Result<B, TelemetryError> {
        if !route.has_tls {
            return Ok(builder);
        }
        check_authorities()?;
        Ok(builder.with_tls_config(ClientTlsConfig::new().with_enabled_roots()))
    }

    /// The client of one signal. The exporter's own would read the system's authorities for a plain endpoint too, and
    /// fail where there are none. It has no cryptography of its own: it takes *ring*, unless the program has chosen.
    fn http_client(route: ExportRoute, signal: &str) -> Result<blocking::Client, TelemetryError> {
        rustls::crypto::ring::default_provider().install_default().ok();
        let builder = blocking::Client::builder().timeout(timeout_of(signal));
        let builder = if route.has_tls {
            check_authorities()?;
            builder
        } else {
            builder.tls_certs_only([])
        };
        // Such a client is made with a runtime of its own, which refuses to start on a thread of another.
        let made = thread::spawn(move || builder.build()).join();
        made.map_err(|_| failed(&"the thread that makes its HTTP client panicked"))?.map_err(|error| failed(&error))
    }

    fn check_authorities() -> Result<(), TelemetryError> {
        if rustls_native_certs::load_native_certs().certs.is_empty() {
            return Err(TelemetryError::NoAuthorities);
        }
        Ok(())
    }

    fn failed(error: &dyn Display) -> TelemetryError {
        TelemetryError::Exporter(error.to_string())
    }
}

#[cfg(not(feature = "otlp"))]
mod without_otlp {
    use opentelemetry_sdk::{logs::LoggerProviderBuilder, metrics::MeterProviderBuilder, trace::TracerProviderBuilder};

    use crate::telemetry::{
        error::TelemetryError,
        settings::{ExportRoute, Settings},
    };

    pub(in crate::telemetry) fn export_metrics(
        _: MeterProviderBuilder,
        _: ExportRoute,
        _: &Settings,
    ) -> Result<MeterProviderBuilder, TelemetryError> {
        Err(TelemetryError::WithoutOtlp)
    }

    pub(in crate::telemetry) fn export_spans(
        _: TracerProviderBuilder,
        _: ExportRoute,
    ) -> Result<TracerProviderBuilder, TelemetryError> {
        Err(TelemetryError::WithoutOtlp)
    }

    pub(in crate::telemetry) fn export_lines(
        _: LoggerProviderBuilder,
        _: ExportRoute,
    ) -> Result<LoggerProviderBuilder, TelemetryError> {
        Err(TelemetryError::WithoutOtlp)
    }
}
