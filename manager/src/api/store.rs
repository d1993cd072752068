//! `/store`: whether everything in the store agrees, and its repair.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Json, extract::State, response::Response};
use jobbers_api::{
    problem::{Code, Problem, Result},
    store::{ExaminationView, ExamineParams},
};
use jobbers_common::{
    engine::{AuditRequest, Error, Finding, Flaw},
    limits::MAX_BATCH,
};

use crate::{
    app::App,
    audit::audited::Audited,
    handlers::{extract::Query, problem::problems},
};

/// How long a request looks. The piece that has begun by then is looked at to its end.
const PATIENCE: Duration = Duration::from_secs(5);

problems!(StoreProblems: [Code::InvalidParameter]);

/// Examine the store
///
/// Whether everything in it agrees, as `jobbers doctor` looks: it reads each task and entry, changes nothing, and everything
/// else goes on meanwhile. A request looks for five seconds, or at `limit` tasks and entries; `next_cursor` says that more is
/// left, and where. What can't be read for damage is a finding.
#[utoipa::path(
    get, path = "/store/examination", tag = "store", operation_id = "examine_store",
    security(("key" = ["tasks:read", "queues:read"])),
    params(ExamineParams),
    responses((status = 200, description = "What was found", body = ExaminationView), StoreProblems)
)]
pub(crate) async fn examine(
    State(app): State<Arc<App>>,
    Query(params): Query<ExamineParams>,
) -> Result<Json<ExaminationView>> {
    Ok(Json(look_over(&app, params, false).await?))
}

/// Repair the store
///
/// The same, and mends what has only one answer, as `jobbers cleaner --repair` does. What was mended is a finding too, with
/// `repaired`. Safe to repeat.
#[utoipa::path(
    post, path = "/store/repair", tag = "store", operation_id = "repair_store",
    security(("key" = ["tasks:delete", "queues:write"])),
    params(ExamineParams),
    responses((status = 200, description = "What was found and mended", body = ExaminationView), StoreProblems)
)]
pub(crate) async fn repair(State(app): State<Arc<App>>, Query(params): Query<ExamineParams>) -> Result<Response> {
    let view = look_over(&app, params, true).await?;
    let counts = [("repaired", view.repaired), ("left", view.total() - view.repaired)];
    Ok(Audited::counts(counts).answer(Json(view)))
}

async fn look_over(app: &App, ExamineParams { limit, cursor }: ExamineParams, repair: bool) -> Result<ExaminationView> {
    let (began, most) = (Instant::now(), limit.unwrap_or(u64::MAX));
    if most == 0 {
        return Err(Problem::new(Code::InvalidParameter, "limit is at least 1"));
    }
    let mut view = ExaminationView { next_cursor: cursor, ..ExaminationView::default() };
    loop {
        let left = usize::try_from(most - view.looked_at).unwrap_or(MAX_BATCH);
        let request = AuditRequest { limit: left.min(MAX_BATCH), repair, cursor: view.next_cursor.take() };
        let piece = match app.engine.audit(request).await {
            Err(Error::Corrupt(why)) => {
                let subject = "store".to_owned();
                view.add(&Finding { flaw: Flaw::FileDamaged, subject, detail: why, repaired: false });
                return Ok(view);
            }
            piece => {
                piece.map_err(|error| Problem::from(error).recode(Code::InvalidRequest, Code::InvalidParameter))?
            }
        };
        view.looked_at += piece.looked_at;
        piece.findings.iter().for_each(|finding| view.add(finding));
        view.next_cursor = piece.next;
        if view.next_cursor.is_none() || view.looked_at >= most || began.elapsed() > PATIENCE {
            return Ok(view);
        }
    }
}
