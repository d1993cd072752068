//! The exporters that send telemetry by OTLP. A program built without the feature `otlp` has none, and does not start
//! where `OTEL_*` request one.

#[cfg(feature = "otlp")]
pub(super) use self::otlp::{export_lines, export_metrics, export_spans};
#[cfg(not(feature = "otlp"))]
pub(super) use self::without_otlp::{export_lines, export_metrics, export_spans};

#[cfg(feature = "otlp")]
mod otlp {
    use opentelemetry_otlp::{
        ExporterBuildError, LogExporter, MetricExporter, SpanExporter, WithTonicConfig,
        tonic_types::transport::ClientTlsConfig,
    };
    use opentelemetry_sdk::{
        logs::LoggerProviderBuilder,
        metrics::{MeterProviderBuilder, PeriodicReader, Temporality},
        trace::TracerProviderBuilder,
    };

    use crate::telemetry::{
        TelemetryError,
        settings::{Protocol, Settings},
    };

    pub(in crate::telemetry) fn export_metrics(
        provider: MeterProviderBuilder,
        protocol: Protocol,
        settings: &Settings,
    ) -> Result<MeterProviderBuilder, TelemetryError> {
        let temporality = if settings.delta { Temporality::Delta } else { Temporality::Cumulative };
        let builder = MetricExporter::builder().with_temporality(temporality);
        let exporter = match protocol {
            Protocol::Grpc => builder.with_tonic().with_tls_config(roots()).build(),
            Protocol::Http => with_cryptography(builder).with_http().build(),
        };
        let reader =
            PeriodicReader::builder(exporter.map_err(|error| failed(&error))?).with_interval(settings.interval).build();
        Ok(provider.with_reader(reader))
    }

    pub(in crate::telemetry) fn export_spans(
        provider: TracerProviderBuilder,
        protocol: Protocol,
    ) -> Result<TracerProviderBuilder, TelemetryError> {
        let exporter = match protocol {
            Protocol::Grpc => SpanExporter::builder().with_tonic().with_tls_config(roots()).build(),
            Protocol::Http => with_cryptography(SpanExporter::builder()).with_http().build(),
        };
        Ok(provider.with_batch_exporter(exporter.map_err(|error| failed(&error))?))
    }

    pub(in crate::telemetry) fn export_lines(
        provider: LoggerProviderBuilder,
        protocol: Protocol,
    ) -> Result<LoggerProviderBuilder, TelemetryError> {
        let exporter = match protocol {
            Protocol::Grpc => LogExporter::builder().with_tonic().with_tls_config(roots()).build(),
            Protocol::Http => with_cryptography(LogExporter::builder()).with_http().build(),
        };
        Ok(provider.with_batch_exporter(exporter.map_err(|error| failed(&error))?))
    }

    /// Trusts the system's authorities, or those of `SSL_CERT_FILE`; not used for a plain `http://` endpoint. The HTTP
    /// client does the same by itself.
    fn roots() -> ClientTlsConfig {
        ClientTlsConfig::new().with_enabled_roots()
    }

    /// The HTTP client has no cryptography of its own: it takes *ring*, unless the program has chosen.
    fn with_cryptography<B>(builder: B) -> B {
        rustls::crypto::ring::default_provider().install_default().ok();
        builder
    }

    fn failed(error: &ExporterBuildError) -> TelemetryError {
        TelemetryError::Exporter(error.to_string())
    }
}

#[cfg(not(feature = "otlp"))]
mod without_otlp {
    use opentelemetry_sdk::{logs::LoggerProviderBuilder, metrics::MeterProviderBuilder, trace::TracerProviderBuilder};

    use crate::telemetry::{
        TelemetryError,
        settings::{Protocol, Settings},
    };

    pub(in crate::telemetry) fn export_metrics(
        _: MeterProviderBuilder,
        _: Protocol,
        _: &Settings,
    ) -> Result<MeterProviderBuilder, TelemetryError> {
        Err(TelemetryError::WithoutOtlp)
    }

    pub(in crate::telemetry) fn export_spans(
        _: TracerProviderBuilder,
        _: Protocol,
    ) -> Result<TracerProviderBuilder, TelemetryError> {
        Err(TelemetryError::WithoutOtlp)
    }

    pub(in crate::telemetry) fn export_lines(
        _: LoggerProviderBuilder,
        _: Protocol,
    ) -> Result<LoggerProviderBuilder, TelemetryError> {
        Err(TelemetryError::WithoutOtlp)
    }
}
