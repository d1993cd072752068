//! `GET /metrics`.

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use jobbers_api::problem::{Code, Problem, Result};
use jobbers_process::telemetry::{TEXT_FORMAT, exposition};

use crate::handlers::problem::problems;

problems!(MetricsProblems: []);

/// All metrics of this process, for Prometheus
#[utoipa::path(
    get, path = "/metrics", tag = "health", operation_id = "metrics",
    security(("key" = ["metrics:read"])),
    responses((status = 200, description = "Prometheus text", content_type = "text/plain"), MetricsProblems)
)]
pub(crate) async fn metrics() -> Result<Response> {
    // Reading them takes a while where there are many.
    let text = tokio::task::spawn_blocking(|| exposition().map_or_else(|| Ok(String::new()), |all| all.text()));
    let text = text.await.unwrap_or_else(|error| Err(error.to_string()));
    let text = text.map_err(|error| {
        tracing::error!(error, "the metrics could not be written");
        Problem::new(Code::Internal, "a defect was met; the log tells more")
    })?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static(TEXT_FORMAT))], text).into_response())
}
