//! `/roles`: which queues the workers of a role serve.

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use jobbers_api::{
    problem::{Code, Result, WITH_BODY},
    queue::role::{DeleteRoleParams, RefreshedView, RoleListView, RoleRequest, RoleView},
    value::NameDoc,
};
use jobbers_common::{
    engine::{DeleteRole, Error, PutMode},
    name::RoleName,
    queue::Config,
};

use crate::{
    api::lists::pieces,
    app::App,
    audit::audited::Audited,
    handlers::{
        etag::{self, IfMatch},
        extract::{Json, Path, Query},
        problem::problems,
    },
};

problems!(ListProblems:);
problems!(CreateProblems: WITH_BODY, [Code::Exists, Code::UnknownQueue]);
problems!(GetProblems: [Code::UnknownRole]);
problems!(PutProblems: WITH_BODY, [Code::UnknownQueue, Code::Changed]);
problems!(DeleteProblems: [Code::UnknownRole, Code::RoleInUse, Code::Changed]);

/// All roles
#[utoipa::path(
    get, path = "/roles", tag = "roles", operation_id = "list_roles",
    security(("key" = ["config:read"])),
    responses((status = 200, description = "The roles, in the order of their names", body = RoleListView),
        ListProblems)
)]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Response> {
    let config = app.live.fresh().await?;
    let names: Vec<RoleName> = config.roles.keys().cloned().collect();
    let view = move |name| Some(RoleView::new(config.roles.get(&name)?, &config));
    pieces::answer("roles", names.into_iter().filter_map(view))
}

/// Create a role
#[utoipa::path(
    post, path = "/roles", tag = "roles", operation_id = "create_role",
    security(("key" = ["config:write"])),
    request_body = RoleRequest,
    responses((status = 201, description = "The new role", body = RoleView), CreateProblems)
)]
pub(crate) async fn create(State(app): State<Arc<App>>, Json(request): Json<RoleRequest>) -> Result<Response> {
    let role = request.config(None)?;
    let name = role.name.clone();
    let config = app.engine.put_role(role, PutMode::Create).await?;
    app.live.adopt(&config);
    Ok(Audited::object(&name).answer((StatusCode::CREATED, respond(&config, &name)?)))
}

/// One role
#[utoipa::path(
    get, path = "/roles/{role}", tag = "roles", operation_id = "get_role",
    security(("key" = ["config:read"])),
    params(("role" = NameDoc, Path, description = "The role's name")),
    responses((status = 200, description = "The role", body = RoleView), GetProblems)
)]
pub(crate) async fn get(State(app): State<Arc<App>>, Path(name): Path<RoleName>) -> Result<Response> {
    let config = app.live.fresh().await?;
    respond(&config, &name)
}

/// Create a role or replace its queues
///
/// Workers of the role follow within a second. With `If-Match` only if it has not changed since it was read.
#[utoipa::path(
    put, path = "/roles/{role}", tag = "roles", operation_id = "put_role",
    security(("key" = ["config:write"])),
    params(
        ("role" = NameDoc, Path, description = "The role's name"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` it was read with, or `*`"),
    ),
    request_body = RoleRequest,
    responses((status = 200, description = "The role", body = RoleView), PutProblems)
)]
pub(crate) async fn put(
    State(app): State<Arc<App>>,
    Path(name): Path<RoleName>,
    condition: IfMatch,
    Json(request): Json<RoleRequest>,
) -> Result<Response> {
    let stored = app.live.fresh().await?.roles.get(&name).cloned();
    let mut role = request.config(Some(name.clone()))?;
    role.refresh_tag = stored.as_ref().and_then(|stored| stored.refresh_tag.clone());
    let config = app.engine.put_role(role, condition.mode(stored.as_ref())?).await?;
    app.live.adopt(&config);
    respond(&config, &name)
}

/// Ask the role's workers to read the configuration again
///
/// They follow every change within a second without this. The answer's tag is new each time, and kept with the role.
#[utoipa::path(
    post, path = "/roles/{role}/refresh", tag = "roles", operation_id = "refresh_role",
    security(("key" = ["config:write"])),
    params(("role" = NameDoc, Path, description = "The role's name")),
    responses((status = 200, description = "The new tag", body = RefreshedView), GetProblems)
)]
pub(crate) async fn refresh(State(app): State<Arc<App>>, Path(name): Path<RoleName>) -> Result<Response> {
    let refresh_tag = ulid::Ulid::generate().to_string();
    app.live.alter_role(&name, |role| role.refresh_tag = Some(refresh_tag.as_str().into())).await?;
    Ok(axum::Json(RefreshedView { role: name, refresh_tag }).into_response())
}

/// Delete a role
///
/// A role that live workers serve is deleted only with `force`: they stay alive, finish their tasks, claim nothing, and
/// serve it again when a role of that name is created again. With `If-Match` only if it has not changed since it was
/// read.
#[utoipa::path(
    delete, path = "/roles/{role}", tag = "roles", operation_id = "delete_role",
    security(("key" = ["config:write"])),
    params(
        ("role" = NameDoc, Path, description = "The role's name"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` it was read with, or `*`"),
        DeleteRoleParams,
    ),
    responses((status = 204, description = "It is gone"), DeleteProblems)
)]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Path(name): Path<RoleName>,
    condition: IfMatch,
    Query(DeleteRoleParams { force }): Query<DeleteRoleParams>,
) -> Result<StatusCode> {
    let expected = condition.expected(app.live.fresh().await?.roles.get(&name))?;
    app.live.adopt(&app.engine.delete_role(&name, DeleteRole { expected, force }).await?);
    Ok(StatusCode::NO_CONTENT)
}

fn respond(config: &Config, name: &RoleName) -> Result<Response> {
    let role = config.roles.get(name).ok_or_else(|| Error::UnknownRole(name.clone()))?;
    Ok((etag::header_of(role), axum::Json(RoleView::new(role, config))).into_response())
}
