//! `POST /session` and `DELETE /session`: people sign in at the pages with an access key, and out again.

use std::{sync::Arc, time::SystemTime};

use axum::{
    Extension, Json as JsonAnswer,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use jobbers_api::{
    access::session::{SessionRequest, SessionView},
    problem::{Code, Problem, Result, WITH_BODY},
    value::Rfc3339,
};
use jobbers_common::time::Timestamp;

use crate::{
    app::App,
    doors::{self, sessions},
    handlers::{extract::JsonBytes, problem::problems},
    listening::client_address::ClientAddress,
};

problems!(BeginProblems: WITH_BODY);
problems!(EndProblems:);

/// Begin a session of the pages
///
/// With an access key. The answer sets a cookie, `__Host-jobbers` over TLS, which signs in the pages for twelve hours, and no other
/// operation. A program sends its key with each request, and needs no session.
#[utoipa::path(
    post, path = "/session", tag = "health", operation_id = "begin_session",
    security(()),
    request_body = SessionRequest,
    responses((status = 201, description = "It has begun; see Set-Cookie", body = SessionView), BeginProblems)
)]
pub(crate) async fn begin(
    State(app): State<Arc<App>>,
    client: Option<Extension<ClientAddress>>,
    body: JsonBytes,
) -> Result<Response> {
    let SessionRequest { key } = body.decode(&app).await?;
    let refused = |problem| app.failures.answer(problem, client.map(|Extension(client)| client), &app.meters);
    // A key that was made just now may not be in the snapshot yet.
    let config = app.live.fresh().await?;
    if config.keys.is_empty() {
        let detail = "the store has no access key, so the pages ask for none; `jobbers keys create` makes one";
        return Err(Problem::new(Code::InvalidRequest, detail).at("/key"));
    }
    let now: Timestamp = SystemTime::now().into();
    let (text, key) = doors::find_by_text(&config, key.trim(), now).map_err(refused)?;
    let cookie = sessions::begin(&*app.engine, &text, &body.headers, app.speaks_tls()).await?;
    let view = SessionView {
        key: key.id.as_str().to_owned().into(),
        name: key.name.clone(),
        expires_at: Rfc3339(now.after(sessions::LASTS)),
    };
    tracing::info!(key = %key.id, name = key.name, "a person signed in at the pages");
    Ok((StatusCode::CREATED, [(header::SET_COOKIE, cookie)], JsonAnswer(view)).into_response())
}

/// End a session of the pages
///
/// The one of the request's cookie. The answer removes the cookie. Without a session, nothing happens.
#[utoipa::path(
    delete, path = "/session", tag = "health", operation_id = "end_session",
    security(()),
    responses((status = 204, description = "It has ended"), EndProblems)
)]
pub(crate) async fn end(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response> {
    let cookie = sessions::end(&*app.engine, &headers, app.speaks_tls()).await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}
