//! `/keys`: what clients sign in with. The first key of a store is made by the store's address (`jobbers keys create`).
//!
//! A key can't give more than it has: it creates, rotates, revokes and deletes only keys whose scopes it grants too.

use std::{sync::Arc, time::SystemTime};

use axum::{
    Extension, Json as JsonAnswer,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use jobbers_api::{
    access::key::{IssuedKeyView, KeyListView, KeyView, NewKeyRequest, RotateKeyRequest},
    problem::{Code, Problem, Result, WITH_BODY},
};
use jobbers_common::{access::AccessKey, engine::PutMode, name::KeyId, time::Timestamp};

use crate::{
    app::App,
    audit::audited::Audited,
    credentials::key_text::KeyText,
    doors::Signer,
    handlers::{
        extract::{Json, Path, WholeRequest},
        problem::problems,
    },
    keys::{self, KeyRefusal},
};

problems!(ListProblems:);
problems!(CreateProblems: WITH_BODY);
problems!(GetProblems: [Code::UnknownKey]);
problems!(RotateProblems: WITH_BODY, [Code::UnknownKey, Code::KeyState]);
problems!(DeleteProblems: [Code::UnknownKey, Code::KeyState]);

/// The key that signed the request in. While the store has none, keys are made by the store's address alone.
type By = Option<Extension<Signer>>;

/// All access keys
///
/// Without their secrets, which the store does not have.
#[utoipa::path(
    get, path = "/keys", tag = "keys", operation_id = "list_keys",
    security(("key" = ["keys:read"])),
    responses((status = 200, description = "The keys, in the order of their ids", body = KeyListView), ListProblems)
)]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Response> {
    let (config, now) = (app.live.fresh().await?, now());
    let keys = config.keys.values().map(|key| KeyView::of(key, now)).collect();
    Ok(JsonAnswer(KeyListView { keys }).into_response())
}

/// Create an access key
///
/// Its text is in this answer and in no other. If the answer is lost, revoke the key that the list shows and create another one. A key
/// grants no scope that the one it is created with lacks. The first key of a store is made by the store's address.
#[utoipa::path(
    post, path = "/keys", tag = "keys", operation_id = "create_key",
    security(("key" = ["keys:write"])),
    request_body = NewKeyRequest,
    responses((status = 201, description = "The new key and its text", body = IssuedKeyView), CreateProblems)
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    by: By,
    Json(request): Json<NewKeyRequest>,
) -> Result<Response> {
    let signer = signer(by.as_ref())?;
    let (text, key) = keys::issued(request, &signer.name, now());
    check_granted(&key, signer)?;
    let config = app.engine.put_key(key.clone(), PutMode::Create).await?;
    app.live.adopt(&config);
    tracing::info!(key = %key.id, name = key.name, by = %signer.id, "a key was created");
    Ok(Audited::object(&key.id).answer((StatusCode::CREATED, issued(&text, &key))))
}

/// One access key
#[utoipa::path(
    get, path = "/keys/{key}", tag = "keys", operation_id = "get_key",
    security(("key" = ["keys:read"])),
    params(("key" = String, Path, description = "The key's id")),
    responses((status = 200, description = "The key", body = KeyView), GetProblems)
)]
pub(crate) async fn get(State(app): State<Arc<App>>, Path(id): Path<KeyId>) -> Result<Response> {
    let config = app.live.fresh().await?;
    let key = config.keys.get(&id).ok_or_else(|| unknown(&id))?;
    Ok(JsonAnswer(KeyView::of(key, now())).into_response())
}

/// Give a key a new secret
///
/// Its text is in this answer and in no other. Earlier secrets stay valid for a while, so that the text can be replaced everywhere
/// meanwhile. A key has at most four valid secrets.
#[utoipa::path(
    post, path = "/keys/{key}/rotate", tag = "keys", operation_id = "rotate_key",
    security(("key" = ["keys:write"])),
    params(("key" = String, Path, description = "The key's id")),
    request_body(content = Option<RotateKeyRequest>, description = "Optional"),
    responses((status = 200, description = "The key and its new text", body = IssuedKeyView), RotateProblems)
)]
pub(crate) async fn rotate(
    State(app): State<Arc<App>>,
    by: By,
    Path(id): Path<KeyId>,
    request: WholeRequest,
) -> Result<Response> {
    let signer = signer(by.as_ref())?;
    let RotateKeyRequest { keep } = request.json_if_any(&app).await?;
    let rotate = |stored: &AccessKey| {
        check_granted(stored, signer)?;
        let (text, key) =
            keys::rotated(stored, keep.unwrap_or(keys::KEEP), now()).map_err(|refusal| refused(&refusal))?;
        Ok::<_, Problem>((key, text))
    };
    let (key, text) = app.live.alter_key(&id, rotate).await?;
    tracing::info!(key = %key.id, name = key.name, by = %signer.id, "a key has a new secret");
    Ok(issued(&text, &key))
}

/// Revoke a key
///
/// It signs no client in any more; long polls and streams that are under way with it end within a second. It stays in the list.
#[utoipa::path(
    post, path = "/keys/{key}/revoke", tag = "keys", operation_id = "revoke_key",
    security(("key" = ["keys:write"])),
    params(("key" = String, Path, description = "The key's id")),
    responses((status = 200, description = "The key", body = KeyView), GetProblems)
)]
pub(crate) async fn revoke(State(app): State<Arc<App>>, by: By, Path(id): Path<KeyId>) -> Result<Response> {
    let signer = signer(by.as_ref())?;
    let revoke = |stored: &AccessKey| {
        check_granted(stored, signer)?;
        Ok::<_, Problem>((keys::revoked(stored, now()), ()))
    };
    let (key, ()) = app.live.alter_key(&id, revoke).await?;
    tracing::info!(key = %key.id, name = key.name, by = %signer.id, "a key was revoked");
    Ok(JsonAnswer(KeyView::of(&key, now())).into_response())
}

/// Delete a key that was revoked or has expired
#[utoipa::path(
    delete, path = "/keys/{key}", tag = "keys", operation_id = "delete_key",
    security(("key" = ["keys:write"])),
    params(("key" = String, Path, description = "The key's id")),
    responses((status = 204, description = "It is gone"), DeleteProblems)
)]
pub(crate) async fn delete(State(app): State<Arc<App>>, by: By, Path(id): Path<KeyId>) -> Result<StatusCode> {
    let signer = signer(by.as_ref())?;
    let config = app.live.fresh().await?;
    let key = config.keys.get(&id).ok_or_else(|| unknown(&id))?;
    check_granted(key, signer)?;
    keys::check_deletable(key, now()).map_err(|refusal| refused(&refusal))?;
    app.live.adopt(&app.engine.delete_key(&id).await?);
    tracing::info!(key = %key.id, name = key.name, by = %signer.id, "a key was deleted");
    Ok(StatusCode::NO_CONTENT)
}

fn now() -> Timestamp {
    SystemTime::now().into()
}

fn signer(by: Option<&Extension<Signer>>) -> Result<&AccessKey> {
    let Some(Extension(Signer(key))) = by else {
        let detail =
            "the store has no access key yet; the first one is made by the store's address: `jobbers keys create`";
        return Err(Problem::new(Code::KeyRequired, detail));
    };
    Ok(key)
}

/// Refuses what concerns a key that grants more than the one that signed in.
fn check_granted(key: &AccessKey, signer: &AccessKey) -> Result<()> {
    match keys::granted_beyond(key, signer) {
        None => Ok(()),
        Some(scope) => {
            let detail = format!("key {} does not have the scope {scope}, which the other key grants", signer.id);
            Err(Problem::new(Code::ScopeMissing, detail))
        }
    }
}

fn unknown(id: &KeyId) -> Problem {
    jobbers_common::engine::Error::UnknownKey(id.clone()).into()
}

fn refused(refusal: &KeyRefusal) -> Problem {
    Problem::new(Code::KeyState, refusal.to_string())
}

/// The only answer with a key's text: no cache may keep it.
fn issued(text: &KeyText, key: &AccessKey) -> Response {
    let view = IssuedKeyView { key: text.as_str().to_owned(), about: KeyView::of(key, now()) };
    ([(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], JsonAnswer(view)).into_response()
}
