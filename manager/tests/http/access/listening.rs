//! Whom a manager serves where other machines reach it: with keys, through proxies, or unprotected with a warning.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use jobbers_common::access::AccessRole;
use jobbers_law::model::ModelEngine;
use jobbers_manager::{Config, KeyText};
use reqwest::Method;
use serde_json::json;

use crate::{
    access::keys::create,
    server::{Answer, Server, soon},
};

/// A manager whose port other machines reach.
async fn exposed(config: Config) -> Server {
    let config = Config { config_refresh: Duration::from_millis(20), ..config };
    let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    Server::at(everywhere, Arc::new(ModelEngine::with_system_clock()), config).await
}

async fn by(server: &Server, key: &KeyText) -> Answer {
    server.send(server.request(Method::GET, "/queues").bearer_auth(key.as_str())).await
}

#[tokio::test]
async fn over_tls_no_client_is_served_before_the_first_key_nor_after_the_last() {
    // The test speaks without TLS; what counts is that the manager is configured to.
    let (tls_cert, tls_key) = ("server.pem".to_owned(), "server.key".to_owned());
    let server = exposed(Config { tls_cert, tls_key, ..Config::default() }).await;
    let detail = server.get("/queues").await.refused(401, "key_required")["detail"].to_string();
    assert!(detail.contains("no access key yet") && detail.contains("jobbers keys create"), "{detail}");
    server.post("/tasks", json!({"name": "x"})).await.refused(401, "key_required");
    assert_eq!(server.get("/health/ready").await.expect(200), json!({"status": "ready"}));
    let (text, key) = create(&*server.engine, Some(AccessRole::Viewer), &[]).await;
    soon(async { while by(&server, &text).await.status != 200 {} }).await;
    server.get("/queues").await.refused(401, "key_required");
    server.engine.delete_key(&key.id).await.unwrap();
    soon(async { while !server.get("/queues").await.text.contains("no access key yet") {} }).await;
    by(&server, &text).await.refused(401, "key_required");
    server.stop().await;
}

#[tokio::test]
async fn behind_a_proxy_only_clients_of_its_network_are_served() {
    let behind =
        |network: &str| Config { behind_proxy: [network.parse().unwrap()].into_iter().collect(), ..Config::default() };
    let server = exposed(behind("10.0.0.0/8")).await;
    let refused = server.request(Method::GET, "/health/live").send().await;
    assert!(refused.is_err(), "the connection is closed: {refused:?}");
    server.stop().await;
    let server = exposed(behind("127.0.0.0/8")).await;
    let ready = server.get("/health/ready").await.expect(200);
    let warnings = ready["warnings"].to_string();
    assert!(warnings.contains("127.0.0.0/8 without an access key"), "a proxy is to sign people in: {warnings}");
    assert!(ready.get("insecure").is_none(), "{ready}");
    server.stop().await;
}

#[tokio::test]
async fn wrong_keys_are_limited_by_address_and_a_right_one_is_accepted_from_there() {
    let proxy = ["127.0.0.1".parse().unwrap()].into_iter().collect();
    let config = Config { behind_proxy: proxy, config_refresh: Duration::from_millis(20), ..Config::default() };
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config).await;
    let (text, _) = create(&*server.engine, Some(AccessRole::Viewer), &[]).await;
    soon(async { while server.get("/queues").await.status != 401 {} }).await;
    let other = KeyText::generate();
    let from = async |client: &str, key: &str| {
        let asked = server.request(Method::GET, "/queues").header("x-forwarded-for", client).bearer_auth(key);
        server.send(asked).await
    };
    for wrong in [other.as_str(), "jb_wrong", "", "x"].iter().cycle().take(10) {
        from("198.51.100.1", wrong).await.refused(401, "key_refused");
    }
    // What a client writes in front of what its proxy appends changes nothing.
    for client in ["198.51.100.1", "203.0.113.9, 198.51.100.1", "[::ffff:198.51.100.1]:99"] {
        let limited = from(client, other.as_str()).await;
        limited.refused(429, "too_many_wrong_keys");
        assert_eq!(limited.headers["retry-after"], "1");
    }
    from("198.51.100.2", other.as_str()).await.refused(401, "key_refused");
    assert_eq!(from("198.51.100.1", text.as_str()).await.status, 200, "a right key is accepted");
    let stranger = server.request(Method::GET, "/queues").header("x-forwarded-for", "198.51.100.1");
    server.send(stranger).await.refused(401, "key_required");
    let session = server.json(Method::POST, "/session", json!({"key": other.as_str()}));
    server.send(session.header("x-forwarded-for", "198.51.100.1")).await.refused(429, "too_many_wrong_keys");
    server.stop().await;
}

#[tokio::test]
async fn an_unprotected_address_is_warned_about_on_every_page() {
    let server = exposed(Config { insecure: true, ..Config::default() }).await;
    let ready = server.get("/health/ready").await.expect(200);
    let warning = ready["insecure"][0].as_str().unwrap();
    assert!(warning.contains("without authentication") && ready["warnings"].to_string().contains(warning), "{ready}");
    for page in ["", "queues", "tasks", "workers", "schedules", "workflows", "submit", "manager"] {
        let shown = server.get(&format!("/ui/{page}")).await;
        assert!(shown.text.contains("role=\"alert\"") && shown.text.contains("without authentication"), "{page}");
    }
    let (text, _) = create(&*server.engine, Some(AccessRole::Admin), &[]).await;
    soon(async { while server.get("/queues").await.status != 401 {} }).await;
    let ready = server.send(server.request(Method::GET, "/health/ready").bearer_auth(text.as_str())).await.expect(200);
    assert!(ready["insecure"][0].as_str().unwrap().contains("without TLS"), "{ready}");
    server.stop().await;
}

#[tokio::test]
async fn a_manager_on_loopback_warns_of_nothing() {
    let server = Server::start().await;
    let ready = server.get("/health/ready").await.expect(200);
    assert!(ready.get("insecure").is_none() && ready["warnings"] == json!([]), "{ready}");
    assert!(!server.get("/ui/queues").await.text.contains("role=\"alert\""));
    server.stop().await;
}
