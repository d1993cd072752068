//! `/routing`: the queue of a task whose submission names none.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use jobbers_api::{
    problem::{Code, Result, WITH_BODY},
    queue::route::{DeletedRuleView, Rule, RuleListView, RuleParams},
};
use jobbers_common::queue::routing::{RouteKey, RouteRule};

use crate::{
    api::lists::pieces,
    app::App,
    audit::audited::Audited,
    handlers::{
        extract::{Json, Query},
        problem::problems,
    },
};

problems!(ListProblems:);
problems!(PutProblems: WITH_BODY, [Code::UnknownQueue, Code::RulesOverlap]);

/// All routing rules
#[utoipa::path(
    get, path = "/routing", tag = "routing", operation_id = "list_routing_rules",
    security(("key" = ["config:read"])),
    responses((status = 200, description = "The rules", body = RuleListView), ListProblems)
)]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Response> {
    let config = app.live.fresh().await?;
    let keys: Vec<RouteKey> = config.routes.keys().cloned().collect();
    pieces::answer("rules", keys.into_iter().filter_map(move |key| config.routes.get_key_value(&key).map(Rule::from)))
}

/// Create or replace a routing rule
///
/// A rule is for one version of a task, a range of versions, or all. If several rules match a version, the narrowest
/// applies; two rules of one task must be disjoint or nested, or the later one is refused. A queue named in a
/// submission wins over rules, unless the rule has `"explicit_queue": "forbid"`: then the submission is refused if the
/// rule could not have chosen that queue.
#[utoipa::path(
    put, path = "/routing", tag = "routing", operation_id = "put_routing_rule",
    security(("key" = ["config:write"])),
    request_body = Rule,
    responses((status = 200, description = "The rule", body = Rule), PutProblems)
)]
pub(crate) async fn put(State(app): State<Arc<App>>, Json(rule): Json<Rule>) -> Result<Response> {
    let key = RouteKey { name: rule.name, versions: rule.version };
    let rule = RouteRule { route: rule.route.into(), explicit_queue: rule.explicit_queue };
    let told = Rule::from((&key, &rule));
    let audited = Audited::object(&key);
    app.live.adopt(&app.engine.put_route(key, rule).await?);
    Ok(audited.answer(axum::Json(told)))
}

/// Delete a routing rule; not an error if it does not exist
#[utoipa::path(
    delete, path = "/routing", tag = "routing", operation_id = "delete_routing_rule",
    security(("key" = ["config:write"])),
    params(RuleParams),
    responses((status = 200, description = "It does not exist any more", body = DeletedRuleView), ListProblems)
)]
pub(crate) async fn delete(State(app): State<Arc<App>>, Query(params): Query<RuleParams>) -> Result<Response> {
    let key: RouteKey = params.try_into()?;
    let deleted = app.live.fresh().await?.routes.contains_key(&key);
    app.live.adopt(&app.engine.delete_route(&key).await?);
    Ok(Audited::object(&key).answer(axum::Json(DeletedRuleView { deleted })))
}
