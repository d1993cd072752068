//! A collector of a test's own: takes OTLP by gRPC or HTTP, and tells what came, exactly.
//!
//! Also two that no sender deserves: one that accepts and never answers, and one that answers everything with a failure.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, StatusCode, body::Bytes, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::{
    collector::{
        logs::v1::{
            ExportLogsServiceRequest, ExportLogsServiceResponse,
            logs_service_server::{LogsService, LogsServiceServer},
        },
        metrics::v1::{
            ExportMetricsServiceRequest, ExportMetricsServiceResponse,
            metrics_service_server::{MetricsService, MetricsServiceServer},
        },
        trace::v1::{
            ExportTraceServiceRequest, ExportTraceServiceResponse,
            trace_service_server::{TraceService, TraceServiceServer},
        },
    },
    common::v1::{AnyValue, KeyValue, any_value::Value},
    metrics::v1::{metric::Data, number_data_point},
    resource::v1::Resource,
};
use prost::Message;
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};
use tonic::{
    Status,
    transport::{Server, server::TcpIncoming},
};

/// A span that came.
#[derive(Debug, Clone)]
pub struct Span {
    /// Its name.
    pub name: String,
    /// The trace it belongs to.
    pub trace: Vec<u8>,
    /// Itself.
    pub id: Vec<u8>,
    /// The span above it; empty for a root.
    pub parent: Vec<u8>,
    /// The spans it links to, as trace and span.
    pub links: Vec<(Vec<u8>, Vec<u8>)>,
    /// Its attributes.
    pub attributes: BTreeMap<String, String>,
    /// Whether it failed.
    pub failed: bool,
}

/// A log line that came.
#[derive(Debug, Clone)]
pub struct Line {
    /// Who logged it, by `service.name`.
    pub service: String,
    /// INFO and its like.
    pub level: String,
    /// What it says.
    pub message: String,
    /// Its fields.
    pub attributes: BTreeMap<String, String>,
}

/// A histogram's point.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
}

/// The sender's instance, the metric, and the attributes of a series.
type Series = (String, String, BTreeMap<String, String>);

#[derive(Debug, Default)]
struct Received {
    /// The latest point of each series: all are cumulative.
    numbers: BTreeMap<Series, f64>,
    distributions: BTreeMap<Series, Distribution>,
    spans: Vec<Span>,
    lines: Vec<Line>,
}

/// How it treats what it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Kind,
    Frozen,
    Failing,
}

/// A collector. It ends when it is dropped.
#[derive(Debug)]
pub struct Collector {
    /// Where it listens.
    pub address: SocketAddr,
    received: Arc<Mutex<Received>>,
    connections: Arc<AtomicUsize>,
    /// How one that speaks HTTP treats what it gets from now on.
    manner: Arc<Mutex<Manner>>,
    serving: JoinHandle<()>,
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Collector {
    /// One that speaks gRPC.
    ///
    /// # Panics
    /// When it can't listen.
    pub async fn grpc() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it has an address");
        let received: Arc<Mutex<Received>> = Arc::default();
        let service = Service(Arc::clone(&received));
        let server = Server::builder()
            .add_service(MetricsServiceServer::new(service.clone()))
            .add_service(LogsServiceServer::new(service.clone()))
            .add_service(TraceServiceServer::new(service));
        let serving = tokio::spawn(async move {
            server.serve_with_incoming(TcpIncoming::from(listener)).await.expect("it serves");
        });
        Self { address, received, connections: Arc::default(), manner: Arc::new(Mutex::new(Manner::Kind)), serving }
    }

    /// One that speaks protocol buffers over HTTP.
    pub async fn http() -> Self {
        Self::over_http(Manner::Kind).await
    }

    /// One that accepts connections and never answers.
    pub async fn frozen() -> Self {
        Self::over_http(Manner::Frozen).await
    }

    /// One that answers everything with 503.
    pub async fn failing() -> Self {
        Self::over_http(Manner::Failing).await
    }

    async fn over_http(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it has an address");
        let (received, connections): (Arc<Mutex<Received>>, Arc<AtomicUsize>) = Default::default();
        let manner = Arc::new(Mutex::new(manner));
        let (taken, counted, now) = (Arc::clone(&received), Arc::clone(&connections), Arc::clone(&manner));
        let serving = tokio::spawn(async move {
            // They end with this.
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let (taken, now) = (Arc::clone(&taken), Arc::clone(&now));
                open.spawn(async move {
                    let answer = service_fn(|request| {
                        let manner = *now.lock().expect("nobody panics here");
                        answer(request, manner, Arc::clone(&taken))
                    });
                    http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await.ok();
                });
            }
        });
        Self { address, received, connections, manner, serving }
    }

    /// From now on one that speaks HTTP accepts everything and answers nothing.
    ///
    /// # Panics
    /// Never: no code panics with the lock held.
    pub fn freeze(&self) {
        *self.manner.lock().expect("nobody panics here") = Manner::Frozen;
    }

    /// Where senders are to send, for `OTEL_EXPORTER_OTLP_ENDPOINT`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many connections were made to one that speaks HTTP.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn received(&self) -> MutexGuard<'_, Received> {
        self.received.lock().expect("no receiver panics")
    }

    /// The sum of a metric's latest points over all senders and all series that have these attributes.
    #[must_use]
    pub fn number(&self, metric: &str, attributes: &[(&str, &str)]) -> f64 {
        let received = self.received();
        let matching = received.numbers.iter().filter(|(series, _)| matches(series, metric, attributes));
        matching.map(|(_, number)| number).sum()
    }

    /// The same for a histogram.
    #[must_use]
    pub fn distribution(&self, metric: &str, attributes: &[(&str, &str)]) -> Distribution {
        let received = self.received();
        let matching = received.distributions.iter().filter(|(series, _)| matches(series, metric, attributes));
        matching.fold(Distribution { count: 0, sum: 0.0 }, |all, (_, one)| Distribution {
            count: all.count + one.count,
            sum: all.sum + one.sum,
        })
    }

    /// The attributes of each series of a metric.
    #[must_use]
    pub fn series(&self, metric: &str) -> Vec<BTreeMap<String, String>> {
        let received = self.received();
        let all = received.numbers.keys().chain(received.distributions.keys());
        all.filter(|(_, name, _)| name == metric).map(|(_, _, attributes)| attributes.clone()).collect()
    }

    /// The names of all metrics that came.
    #[must_use]
    pub fn names(&self) -> std::collections::BTreeSet<String> {
        let received = self.received();
        let all = received.numbers.keys().chain(received.distributions.keys());
        all.map(|(_, name, _)| name.clone()).collect()
    }

    /// The spans that came, by the beginning of their names.
    #[must_use]
    pub fn spans(&self, prefix: &str) -> Vec<Span> {
        self.received().spans.iter().filter(|span| span.name.starts_with(prefix)).cloned().collect()
    }

    /// The log lines that came.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        self.received().lines.clone()
    }
}

fn matches((_, name, of): &Series, metric: &str, attributes: &[(&str, &str)]) -> bool {
    name == metric && attributes.iter().all(|(key, value)| of.get(*key).is_some_and(|found| found == value))
}

impl Received {
    fn metrics(&mut self, request: ExportMetricsServiceRequest) {
        for resource in request.resource_metrics {
            let instance = instance(resource.resource.as_ref());
            for metric in resource.scope_metrics.into_iter().flat_map(|scope| scope.metrics) {
                let series = |attributes| (instance.clone(), metric.name.clone(), read(attributes));
                match metric.data {
                    Some(Data::Histogram(histogram)) => {
                        for point in histogram.data_points {
                            let sum = point.sum.unwrap_or_default();
                            let point_of = Distribution { count: point.count, sum };
                            self.distributions.insert(series(point.attributes), point_of);
                        }
                    }
                    Some(Data::Sum(sum)) => {
                        for point in sum.data_points {
                            self.numbers.insert(series(point.attributes), number(point.value));
                        }
                    }
                    Some(Data::Gauge(gauge)) => {
                        for point in gauge.data_points {
                            self.numbers.insert(series(point.attributes), number(point.value));
                        }
                    }
                    other => panic!("a kind of data nobody sends: {other:?}"),
                }
            }
        }
    }

    fn logs(&mut self, request: ExportLogsServiceRequest) {
        for resource in request.resource_logs {
            let service = said_of(resource.resource.as_ref(), "service.name");
            for record in resource.scope_logs.into_iter().flat_map(|scope| scope.log_records) {
                let (level, message) = (record.severity_text, text(record.body));
                self.lines.push(Line { service: service.clone(), level, message, attributes: read(record.attributes) });
            }
        }
    }

    fn traces(&mut self, request: ExportTraceServiceRequest) {
        let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        for span in scopes.flat_map(|scope| scope.spans) {
            self.spans.push(Span {
                name: span.name,
                trace: span.trace_id,
                id: span.span_id,
                parent: span.parent_span_id,
                links: span.links.into_iter().map(|link| (link.trace_id, link.span_id)).collect(),
                attributes: read(span.attributes),
                failed: span.status.is_some_and(|status| status.code == 2),
            });
        }
    }
}

fn instance(resource: Option<&Resource>) -> String {
    said_of(resource, "service.instance.id")
}

fn said_of(resource: Option<&Resource>, key: &str) -> String {
    let attributes = read(resource.map(|resource| resource.attributes.clone()).unwrap_or_default());
    attributes.get(key).cloned().unwrap_or_default()
}

fn read(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    attributes.into_iter().map(|attribute| (attribute.key, text(attribute.value))).collect()
}

fn text(value: Option<AnyValue>) -> String {
    match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(flag)) => flag.to_string(),
        other => format!("{other:?}"),
    }
}

fn number(value: Option<number_data_point::Value>) -> f64 {
    match value {
        Some(number_data_point::Value::AsDouble(number)) => number,
        Some(number_data_point::Value::AsInt(number)) => number as f64,
        None => f64::NAN,
    }
}

async fn answer(
    request: Request<hyper::body::Incoming>,
    manner: Manner,
    received: Arc<Mutex<Received>>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await?.to_bytes();
    let mut response = Response::new(Full::default());
    match manner {
        Manner::Frozen => return std::future::pending().await,
        Manner::Failing => *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE,
        Manner::Kind => {
            let mut received = received.lock().expect("no receiver panics");
            match path.as_str() {
                "/v1/metrics" => {
                    received.metrics(ExportMetricsServiceRequest::decode(body).expect("metrics by OTLP"));
                }
                "/v1/logs" => received.logs(ExportLogsServiceRequest::decode(body).expect("log lines by OTLP")),
                "/v1/traces" => received.traces(ExportTraceServiceRequest::decode(body).expect("spans by OTLP")),
                other => panic!("nobody sends to {other}"),
            }
        }
    }
    Ok(response)
}

#[derive(Clone)]
struct Service(Arc<Mutex<Received>>);

#[tonic::async_trait]
impl MetricsService for Service {
    async fn export(
        &self,
        request: tonic::Request<ExportMetricsServiceRequest>,
    ) -> Result<tonic::Response<ExportMetricsServiceResponse>, Status> {
        self.0.lock().expect("no receiver panics").metrics(request.into_inner());
        Ok(tonic::Response::new(ExportMetricsServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl LogsService for Service {
    async fn export(
        &self,
        request: tonic::Request<ExportLogsServiceRequest>,
    ) -> Result<tonic::Response<ExportLogsServiceResponse>, Status> {
        self.0.lock().expect("no receiver panics").logs(request.into_inner());
        Ok(tonic::Response::new(ExportLogsServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl TraceService for Service {
    async fn export(
        &self,
        request: tonic::Request<ExportTraceServiceRequest>,
    ) -> Result<tonic::Response<ExportTraceServiceResponse>, Status> {
        self.0.lock().expect("no receiver panics").traces(request.into_inner());
        Ok(tonic::Response::new(ExportTraceServiceResponse::default()))
    }
}
