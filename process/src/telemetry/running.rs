//! Telemetry that runs: its providers, and the thread that they and `/metrics` live on.

use std::{
    net::{SocketAddr, TcpListener},
    sync::mpsc,
    thread,
    time::Duration,
};

use tokio::sync::oneshot;

use super::{error::TelemetryError, listener, options::Options, providers::Providers, settings::Settings};
use crate::listen;

/// How long the last points and spans may take to be exported when the process ends.
pub const FLUSH_DEADLINE: Duration = Duration::from_secs(3);

/// Running telemetry. Dropping it without [`Telemetry::shutdown`] loses the last measurements.
#[derive(Debug)]
pub struct Telemetry {
    providers: Option<Providers>,
    address: Option<SocketAddr>,
    settings: Settings,
    /// Dropped when the thread may end.
    _running: Option<oneshot::Sender<()>>,
}

impl Telemetry {
    /// Reads `OTEL_*` and starts what they and `options` request, which may be nothing.
    ///
    /// # Errors
    /// [`TelemetryError`]; then nothing was started.
    pub fn start(options: &Options) -> Result<Self, TelemetryError> {
        Self::start_with(options, Settings::from_env()?)
    }

    fn start_with(options: &Options, settings: Settings) -> Result<Self, TelemetryError> {
        let listener = options.metrics_listen.map(|address| bind(address, options.insecure)).transpose()?;
        let scraped = listener.is_some() || options.exposed_elsewhere;
        if !scraped && settings.is_off() {
            return Ok(Self { providers: None, address: None, settings, _running: None });
        }
        let address = listener.as_ref().and_then(|listener| listener.local_addr().ok());
        let (running, ended) = oneshot::channel::<()>();
        let (answer, answered) = mpsc::channel();
        let (options, kept) = (options.clone(), settings.clone());
        let thread = thread::Builder::new().name("jobbers-telemetry".to_owned());
        let serve = move || run(&options, &settings, scraped, listener, &answer, ended);
        thread.spawn(serve).map_err(|error| TelemetryError::Exporter(error.to_string()))?;
        let providers = answered.recv().map_err(|_| TelemetryError::Exporter("its thread ended".to_owned()))??;
        providers.install();
        Ok(Self { providers: Some(providers), address, settings: kept, _running: Some(running) })
    }

    /// Logs what was started. Logging starts after telemetry, because it feeds telemetry's spans.
    pub fn announce(&self) {
        if let Some(address) = self.address {
            tracing::info!(%address, "serving /metrics");
        }
        let Settings { metrics, traces, logs, delta, .. } = &self.settings;
        if metrics.is_some() || traces.is_some() || logs.is_some() {
            let [metrics, traces, logs] = [metrics, traces, logs].map(|route| route.map(|route| route.protocol));
            tracing::info!(?metrics, ?traces, ?logs, "sending telemetry by OTLP");
        }
        if *delta && metrics.is_some() {
            tracing::warn!("counters leave as differences (delta), which Prometheus drops without a word");
        }
    }

    /// Exports what is left, all signals in parallel, within [`FLUSH_DEADLINE`]. The rest is lost.
    pub async fn shutdown(self) {
        let Some(providers) = &self.providers else { return };
        if tokio::time::timeout(FLUSH_DEADLINE, providers.shutdown()).await.is_err() {
            tracing::warn!("the collector did not take the last points in time; they are lost");
        }
    }
}

fn bind(address: SocketAddr, insecure: bool) -> Result<TcpListener, TelemetryError> {
    listen::check(address, insecure, "--metrics-insecure")?;
    let listener = TcpListener::bind(address).and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    listener.map_err(|source| TelemetryError::Listen { address, source })
}

/// The thread: creates the exporters, which live on its runtime, and serves `/metrics` until it receives the stop
/// signal.
fn run(
    options: &Options,
    settings: &Settings,
    scraped: bool,
    listener: Option<TcpListener>,
    answer: &mpsc::Sender<Result<Providers, TelemetryError>>,
    ended: oneshot::Receiver<()>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            answer.send(Err(TelemetryError::Exporter(error.to_string()))).ok();
            return;
        }
    };
    runtime.block_on(async move {
        let made = Providers::make(options, settings, scraped);
        let exposition = made.as_ref().ok().and_then(|providers| providers.exposition.clone());
        let well = made.is_ok();
        answer.send(made).ok();
        if !well {
            return;
        }
        let serving = async {
            match (listener, exposition) {
                (Some(listener), Some(exposition)) => listener::serve(listener, exposition).await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            () = serving => {}
            _ = ended => {}
        }
    });
    runtime.shutdown_background();
}
