//! Keys are created, rotated, revoked and deleted over HTTP, by keys that grant as much.

use std::{sync::Arc, time::Duration};

use jobbers_common::access::{AccessRole, Scope};
use jobbers_law::model::ModelEngine;
use jobbers_manager::{Config, KeyText};
use jobbers_test_support::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    access::keys::create,
    server::{Answer, Server},
};

/// A bound, not a measurement.
const PATIENCE: Duration = Duration::from_secs(10);

async fn server() -> Server {
    let config = Config { config_refresh: Duration::from_millis(20), ..Config::default() };
    Server::with(Arc::new(ModelEngine::with_system_clock()), config).await
}

async fn ask(server: &Server, key: &str, method: Method, path: &str, body: Value) -> Answer {
    server.send(server.json(method, path, body).bearer_auth(key)).await
}

async fn post(server: &Server, key: &str, path: &str, body: Value) -> Answer {
    ask(server, key, Method::POST, path, body).await
}

async fn get(server: &Server, key: &str, path: &str) -> Answer {
    server.send(server.request(Method::GET, path).bearer_auth(key)).await
}

/// Whether a key signs in, once the manager has followed the change.
async fn until_it(server: &Server, key: &str, status: u16) {
    let answered = async || (get(server, key, "/queues").await.status == status).then_some(());
    until(PATIENCE, "the manager follows", answered).await;
}

#[tokio::test]
async fn a_key_is_issued_rotated_revoked_and_deleted() {
    let server = server().await;
    let (admin, _) = create(&*server.engine, Some(AccessRole::Admin), &[]).await;
    let admin = admin.as_str();
    until_it(&server, admin, 200).await;
    let wanted = json!({"name": "ci", "role": "viewer", "queues": ["team-a.*"], "expires_in": "90d"});
    let issued = post(&server, admin, "/keys", wanted).await;
    assert_eq!(issued.headers["cache-control"], "no-store");
    let issued = issued.expect(201);
    let (text, id) = (issued["key"].as_str().unwrap().to_owned(), issued["about"]["id"].as_str().unwrap().to_owned());
    assert_eq!(text.parse::<KeyText>().unwrap().id().as_str(), id);
    let about = &issued["about"];
    assert_eq!(
        (&about["created_by"], &about["state"], &about["queues"]),
        (&json!("tests"), &json!("valid"), &json!(["team-a.*"]))
    );
    assert!(about["expires_at"].is_string() && about.get("last_used_at").is_none());
    get(&server, &text, "/queues/team-a.x").await.refused(404, "unknown_queue");
    let listed = get(&server, admin, "/keys").await.expect(200);
    assert_eq!(listed["keys"].as_array().unwrap().len(), 2);
    assert!(!listed.to_string().contains("jb_"), "no text");

    let path = format!("/keys/{id}");
    let rotated = post(&server, admin, &format!("{path}/rotate"), json!({"keep": "1h"})).await.expect(200);
    assert_eq!(rotated["about"]["valid_secrets"], 2);
    let second = rotated["key"].as_str().unwrap().to_owned();
    for valid in [&text, &second] {
        get(&server, valid, "/queues/team-a.x").await.refused(404, "unknown_queue");
    }
    // Without a body, as by `curl -X POST`.
    let request = server.request(Method::POST, &format!("{path}/rotate")).bearer_auth(admin);
    assert_eq!(server.send(request).await.expect(200)["about"]["valid_secrets"], 3);
    ask(&server, admin, Method::DELETE, &path, json!({})).await.refused(409, "key_state");
    let revoked = post(&server, admin, &format!("{path}/revoke"), json!({})).await.expect(200);
    assert_eq!((&revoked["state"], &revoked["valid_secrets"]), (&json!("revoked"), &json!(0)));
    for ended in [&text, &second] {
        until_it(&server, ended, 401).await;
    }
    let again = post(&server, admin, &format!("{path}/revoke"), json!({})).await.expect(200);
    assert_eq!(again["revoked_at"], revoked["revoked_at"], "it was revoked once");
    post(&server, admin, &format!("{path}/rotate"), json!({})).await.refused(409, "key_state");
    assert_eq!(ask(&server, admin, Method::DELETE, &path, json!({})).await.status, 204);
    get(&server, admin, &path).await.refused(404, "unknown_key");
    ask(&server, admin, Method::DELETE, &path, json!({})).await.refused(404, "unknown_key");
    server.stop().await;
}

#[tokio::test]
async fn a_key_gives_and_takes_no_more_than_it_has() {
    let server = server().await;
    let (_, admin) = create(&*server.engine, Some(AccessRole::Admin), &[]).await;
    let scopes = [Scope::KeysRead, Scope::KeysWrite];
    let (lesser, _) = create(&*server.engine, Some(AccessRole::Viewer), &scopes).await;
    let lesser = lesser.as_str();
    until_it(&server, lesser, 200).await;
    let made = post(&server, lesser, "/keys", json!({"name": "ci", "role": "viewer"})).await.expect(201);
    let below = format!("/keys/{}", made["about"]["id"].as_str().unwrap());
    for wanted in [json!({"name": "x", "role": "admin"}), json!({"name": "x", "scopes": ["tasks:submit"]})] {
        post(&server, lesser, "/keys", wanted).await.refused(403, "scope_missing");
    }
    let above = format!("/keys/{}", admin.id);
    for verb in ["rotate", "revoke"] {
        post(&server, lesser, &format!("{above}/{verb}"), json!({})).await.refused(403, "scope_missing");
        post(&server, lesser, &format!("{below}/{verb}"), json!({})).await.expect(200);
    }
    ask(&server, lesser, Method::DELETE, &above, json!({})).await.refused(403, "scope_missing");
    assert_eq!(ask(&server, lesser, Method::DELETE, &below, json!({})).await.status, 204);
    let keys = server.engine.config().await.unwrap();
    assert_eq!(*keys.keys[&admin.id].secrets, admin.secrets, "the other key is as it was");
    server.stop().await;
}

#[tokio::test]
async fn the_first_key_is_made_by_the_store_s_address_alone() {
    let server = server().await;
    let wanted = json!({"name": "mine", "role": "admin"});
    let refused = server.send(server.json(Method::POST, "/keys", wanted)).await.refused(401, "key_required");
    assert!(refused["detail"].to_string().contains("jobbers keys create"), "{refused}");
    assert!(server.engine.config().await.unwrap().keys.is_empty());
    assert_eq!(server.get("/keys").await.expect(200), json!({"keys": []}));
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_key_is_refused_and_nothing_is_stored() {
    let server = server().await;
    let (admin, _) = create(&*server.engine, Some(AccessRole::Admin), &[]).await;
    let admin = admin.as_str();
    until_it(&server, admin, 200).await;
    for wrong in [
        json!({}),
        json!({"name": "x"}),
        json!({"name": "", "role": "viewer"}),
        json!({"name": "x".repeat(129), "role": "viewer"}),
        json!({"name": "a\nb", "role": "viewer"}),
        json!({"name": "x", "role": "root"}),
        json!({"name": "x", "scopes": ["tasks:all"]}),
        json!({"name": "x", "role": "viewer", "queues": ["*a"]}),
        json!({"name": "x", "role": "viewer", "queues": vec!["a"; 101]}),
        json!({"name": "x", "role": "viewer", "expires_in": "soon"}),
        json!({"name": "x", "role": "viewer", "secret": "mine"}),
    ] {
        post(&server, admin, "/keys", wrong.clone()).await.refused(422, "invalid_request");
    }
    post(&server, admin, "/keys/a%20b/rotate", json!({})).await.refused(400, "invalid_parameter");
    assert_eq!(server.engine.config().await.unwrap().keys.len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn the_hour_of_its_last_use_is_noted_with_a_key() {
    let server = server().await;
    let (text, key) = create(&*server.engine, Some(AccessRole::Admin), &[]).await;
    until_it(&server, text.as_str(), 200).await;
    let used = async || server.engine.config().await.unwrap().keys[&key.id].last_used_at;
    let at = until(PATIENCE, "its use is noted", used).await;
    let about = get(&server, text.as_str(), &format!("/keys/{}", key.id)).await.expect(200);
    assert!(about["last_used_at"].as_str().unwrap().ends_with(":00:00Z"), "{about}");
    let version = server.engine.config().await.unwrap().version;
    for _ in 0..20 {
        get(&server, text.as_str(), "/queues").await.expect(200);
    }
    let config = server.engine.config().await.unwrap();
    let is_next_hour = config.keys[&key.id].last_used_at != Some(at);
    assert!(is_next_hour || config.version == version, "it is written once");
    server.stop().await;
}
