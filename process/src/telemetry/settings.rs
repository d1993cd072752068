//! The values of the standard `OTEL_*` variables.
//!
//! The exporters themselves read endpoint, headers, timeout and compression of each signal, and the limits of the batch
//! processor. This module reads what OpenTelemetry's SDK leaves to the program.

use std::time::Duration;

/// The default export interval of metrics. The SDK's minute would leave Grafana's usual windows empty.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(15);

/// A variable with an invalid value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value:?}: {rule}")]
pub struct SettingsError {
    /// Its name.
    pub variable: String,
    /// Its value.
    pub value: String,
    /// The values it may have.
    pub rule: &'static str,
}

/// What is exported by OTLP.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Metrics, if exported.
    pub metrics: Option<ExportRoute>,
    /// Traces, if exported.
    pub traces: Option<ExportRoute>,
    /// Log lines, if exported.
    pub logs: Option<ExportRoute>,
    /// The export interval of metrics.
    pub interval: Duration,
    /// Whether counters are exported as differences; never to Prometheus, which drops them.
    pub delta: bool,
    /// Which traces are kept.
    pub sampling: Sampling,
}

/// How a signal reaches its collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportRoute {
    /// The protocol.
    pub protocol: OtlpProtocol,
    /// Whether the collector's address is `https`.
    pub has_tls: bool,
}

/// The protocol of OTLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtlpProtocol {
    /// gRPC, port 4317.
    Grpc,
    /// Protocol buffers over HTTP, port 4318.
    Http,
}

/// `OTEL_TRACES_SAMPLER`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Whether a parent's decision is followed.
    pub parent_based: bool,
    /// The share of traces without a parent that is kept, 0 to 1.
    pub ratio: f64,
}

impl Settings {
    /// Reads the process's environment.
    ///
    /// # Errors
    /// [`SettingsError`] for the first invalid variable.
    pub fn from_env() -> Result<Self, SettingsError> {
        Self::read(&|name| std::env::var(name).ok())
    }

    /// Whether nothing is exported.
    #[must_use]
    pub const fn is_off(&self) -> bool {
        self.metrics.is_none() && self.traces.is_none() && self.logs.is_none()
    }

    fn read(variable: &Lookup<'_>) -> Result<Self, SettingsError> {
        let said = |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let off = said("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let signal = |name| if off { Ok(None) } else { signal(&said, name) };
        Ok(Self {
            metrics: signal("METRICS")?,
            traces: signal("TRACES")?,
            logs: if logs_are_asked_for(&said) { signal("LOGS")? } else { None },
            interval: interval(&said)?,
            delta: delta(&said)?,
            sampling: sampling(&said)?,
        })
    }
}

/// Most installations collect lines from standard error, where they always are. So an endpoint for all signals is not
/// enough to send them a second time.
fn logs_are_asked_for(said: &Lookup<'_>) -> bool {
    said("OTEL_LOGS_EXPORTER").is_some() || said("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT").is_some()
}

type Lookup<'a> = dyn Fn(&str) -> Option<String> + 'a;

fn wrong(variable: impl Into<String>, value: impl Into<String>, rule: &'static str) -> SettingsError {
    SettingsError { variable: variable.into(), value: value.into(), rule }
}

/// Whether and how one signal is exported. Its own variable wins over the one for all.
fn signal(said: &Lookup<'_>, name: &str) -> Result<Option<ExportRoute>, SettingsError> {
    let exporter = format!("OTEL_{name}_EXPORTER");
    match said(&exporter).as_deref() {
        None | Some("otlp") => {}
        Some("none") => return Ok(None),
        // `/metrics` is always available.
        Some("prometheus") if name == "METRICS" => return Ok(None),
        Some(other) => return Err(wrong(exporter, other, "otlp or none")),
    }
    let either = |what: &str| {
        let own = format!("OTEL_EXPORTER_OTLP_{name}_{what}");
        let general = format!("OTEL_EXPORTER_OTLP_{what}");
        said(&own).map(|value| (own, value)).or_else(|| said(&general).map(|value| (general, value)))
    };
    let Some((variable, endpoint)) = either("ENDPOINT") else { return Ok(None) };
    if !["http://", "https://"].iter().any(|scheme| endpoint.starts_with(scheme)) {
        return Err(wrong(variable, endpoint, "must begin with http:// or https://"));
    }
    let protocol = match either("PROTOCOL") {
        None => OtlpProtocol::Http,
        Some((_, value)) if value == "http/protobuf" => OtlpProtocol::Http,
        Some((_, value)) if value == "grpc" => OtlpProtocol::Grpc,
        Some((variable, value)) => return Err(wrong(variable, value, "grpc or http/protobuf")),
    };
    Ok(Some(ExportRoute { protocol, has_tls: endpoint.starts_with("https://") }))
}

/// How long one export of a signal may take: by its own variable, the one for all, or ten seconds.
#[cfg(feature = "otlp")]
pub(super) fn timeout_of(signal: &str) -> Duration {
    let millis = |name: String| std::env::var(name).ok().and_then(|value| value.trim().parse().ok());
    let millis = millis(format!("OTEL_EXPORTER_OTLP_{signal}_TIMEOUT"))
        .or_else(|| millis("OTEL_EXPORTER_OTLP_TIMEOUT".to_owned()));
    millis.map_or(opentelemetry_otlp::OTEL_EXPORTER_OTLP_TIMEOUT_DEFAULT, Duration::from_millis)
}

fn interval(said: &Lookup<'_>) -> Result<Duration, SettingsError> {
    let variable = "OTEL_METRIC_EXPORT_INTERVAL";
    let Some(value) = said(variable) else { return Ok(DEFAULT_INTERVAL) };
    match value.parse() {
        Ok(millis) if millis > 0 => Ok(Duration::from_millis(millis)),
        _ => Err(wrong(variable, value, "milliseconds, above 0")),
    }
}

fn delta(said: &Lookup<'_>) -> Result<bool, SettingsError> {
    let variable = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
    let Some(value) = said(variable) else { return Ok(false) };
    match value.to_ascii_lowercase().as_str() {
        "cumulative" => Ok(false),
        "delta" | "lowmemory" => Ok(true),
        _ => Err(wrong(variable, value, "cumulative, delta or lowmemory")),
    }
}

fn sampling(said: &Lookup<'_>) -> Result<Sampling, SettingsError> {
    let (variable, argument) = ("OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG");
    let ratio = || match said(argument) {
        None => Ok(1.0),
        Some(value) => match value.parse::<f64>() {
            Ok(ratio) if (0.0..=1.0).contains(&ratio) => Ok(ratio),
            _ => Err(wrong(argument, value, "a number from 0 to 1")),
        },
    };
    let sampling = |parent_based, ratio| Ok(Sampling { parent_based, ratio });
    match said(variable).as_deref() {
        None | Some("parentbased_always_on") => sampling(true, 1.0),
        Some("parentbased_always_off") => sampling(true, 0.0),
        Some("parentbased_traceidratio") => sampling(true, ratio()?),
        Some("always_on") => sampling(false, 1.0),
        Some("always_off") => sampling(false, 0.0),
        Some("traceidratio") => sampling(false, ratio()?),
        Some(other) => {
            Err(wrong(variable, other, "always_on, always_off or traceidratio, or parentbased_ before one of these"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        Settings::read(&|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    const fn plain(protocol: OtlpProtocol) -> Option<ExportRoute> {
        Some(ExportRoute { protocol, has_tls: false })
    }

    #[test]
    fn nothing_leaves_until_an_endpoint_is_named() {
        for silent in [
            &[][..],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
            &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"), ("OTEL_SDK_DISABLED", "TRUE")],
        ] {
            assert!(read(silent).unwrap().is_off(), "{silent:?}");
        }
        assert_eq!(read(&[]).unwrap().interval, Duration::from_secs(15));
    }

    #[test]
    fn each_signal_goes_its_own_way() {
        let settings = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "500"),
        ])
        .unwrap();
        assert_eq!((settings.metrics, settings.traces), (plain(OtlpProtocol::Http), plain(OtlpProtocol::Grpc)));
        assert_eq!(settings.interval, Duration::from_millis(500));
        let settings = read(&[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c:4318/v1/traces"),
            ("OTEL_METRICS_EXPORTER", "none"),
        ]);
        let traces = Some(ExportRoute { protocol: OtlpProtocol::Http, has_tls: true });
        assert_eq!(settings.map(|settings| (settings.metrics, settings.traces)), Ok((None, traces)));
    }

    #[test]
    fn log_lines_leave_only_when_they_are_asked_for() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318");
        let logs = |more: &[(&str, &str)]| read(&[&[endpoint][..], more].concat()).unwrap().logs;
        assert_eq!(logs(&[]), None);
        assert_eq!(logs(&[("OTEL_LOGS_EXPORTER", "none")]), None);
        assert_eq!(logs(&[("OTEL_LOGS_EXPORTER", "otlp")]), plain(OtlpProtocol::Http));
        let own = [("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://d:4317"), ("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "grpc")];
        assert_eq!(logs(&own), plain(OtlpProtocol::Grpc));
        assert!(read(&own[..1]).is_ok_and(|settings| settings.metrics.is_none() && settings.logs.is_some()));
        assert!(read(&[("OTEL_LOGS_EXPORTER", "otlp")]).unwrap().is_off(), "without an endpoint nothing leaves");
        assert!(read(&[("OTEL_LOGS_EXPORTER", "console")]).is_err());
    }

    #[test]
    fn the_standard_samplers_are_known() {
        let sampling = |name, arg| {
            read(&[("OTEL_TRACES_SAMPLER", name), ("OTEL_TRACES_SAMPLER_ARG", arg)]).map(|settings| settings.sampling)
        };
        assert_eq!(read(&[]).unwrap().sampling, Sampling { parent_based: true, ratio: 1.0 });
        assert_eq!(sampling("parentbased_traceidratio", "0.01"), Ok(Sampling { parent_based: true, ratio: 0.01 }));
        assert_eq!(sampling("always_off", ""), Ok(Sampling { parent_based: false, ratio: 0.0 }));
        assert!(sampling("traceidratio", "2").is_err());
    }

    #[test]
    fn nonsense_is_named_with_what_is_allowed() {
        for (variable, value, others) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://c:4317", &[][..]),
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "c:4317", &[]),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c")]),
            ("OTEL_METRIC_EXPORT_INTERVAL", "15s", &[]),
            ("OTEL_TRACES_SAMPLER", "sometimes", &[]),
            ("OTEL_TRACES_EXPORTER", "zipkin", &[]),
            ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "both", &[]),
        ] {
            let mut variables = others.to_vec();
            variables.push((variable, value));
            let error = read(&variables).unwrap_err();
            assert_eq!((error.variable.as_str(), error.value.as_str()), (variable, value));
        }
    }
}
