//! Certificates that stand for keys, in real processes: a client that shows one and sends no key has the rights of the key of its name, at
//! the API, at every manager, and at the addresses of MassTasker's and TaskStore's clients.

use std::{net::SocketAddr, time::Duration};

use jobbers_api::client::{Client, http_client};
use jobbers_boards::masstasker::proto::{
    DebugRequest, QueryRequest, Task, UpdateRequest, mass_tasker_client::MassTaskerClient,
};
use jobbers_test_support::{
    authority::{Authority, Days, Names},
    port::free_port,
    program::Program,
    tls::tunnel::TlsTunnel,
    wait::until,
};
use prost_types::Timestamp;
use reqwest::{StatusCode, header::AUTHORIZATION};
use serde_json::{Value, json};
use tokio::time::timeout;
use tonic::{
    Code,
    transport::{Channel, Endpoint},
};

use crate::{
    engines::Kind,
    secrets::{
        keys::{create, keys},
        tls::{address_in, secure_manager},
    },
    stack::Stack,
};

/// A change is followed within a second; this much more is for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
const VALID: Days = Days { since: 0, left: 90 };
/// The second of the year 2100, until which no task of this test is due.
const FAR: i64 = 4_102_444_800;

on_both_engines!(
    a_certificate_stands_for_the_key_of_its_name,
    a_front_asks_for_the_key_of_a_certificate,
    a_manager_names_the_client_of_what_it_passes_on_by_its_own_certificate,
);

/// A store, and an authority whose certificates name keys.
struct Site {
    stack: Stack,
    authority: Authority,
}

/// An answer: its status, and its code and detail if it is a problem.
type Answered = (StatusCode, Value);

impl Site {
    async fn on(kind: Kind) -> Self {
        let site = Self { stack: Stack::on(kind).await, authority: Authority::new() };
        let common = |name| Names { common: Some(name), dns: &[] };
        for name in ["ops", "viewer", "mailer", "mapper", "brief", "nobody", "manager"] {
            site.authority.vouch_for_client(name, common(name), VALID);
        }
        let ci = Names { common: Some("ops"), dns: &["ci.example.org", "b.example.org"] };
        site.authority.vouch_for_client("ci", ci, VALID);
        site.authority.vouch_for_client("nameless", Names { common: None, dns: &[] }, VALID);
        site.authority.vouch_for_client("over", common("ops"), Days { since: 2, left: 0 });
        site
    }

    async fn manager(&self, listen: &str, arguments: &[&str]) -> (Program, SocketAddr, SocketAddr) {
        let clients = self.authority.file("ca.pem").display().to_string();
        let named = ["--tls-client-ca", &clients, "--tls-client-keys"];
        secure_manager(&self.stack, &self.authority, listen, &[&named, arguments].concat()).await
    }

    /// The address of a manager for a client with the certificate in `FILE.pem`.
    fn url(&self, port: u16, client: &str) -> String {
        let file = |name: &str| self.authority.file(name).display().to_string();
        let [cert, key] = ["pem", "key"].map(|kind| file(&format!("{client}.{kind}")));
        format!("https://localhost:{port}?ca={}&cert={cert}&key={key}", file("ca.pem"))
    }

    fn client(&self, manager: SocketAddr, client: &str) -> Client {
        Client::new(&self.url(manager.port(), client), "tests").unwrap()
    }

    async fn get(&self, manager: SocketAddr, client: &str, path: &str) -> Answered {
        read(self.client(manager, client).get(path).exchange().await.unwrap()).await
    }

    async fn post(&self, manager: SocketAddr, client: &str, path: &str, body: &Value) -> Answered {
        read(self.client(manager, client).post(path).json(body).exchange().await.unwrap()).await
    }

    /// Until a client is answered so.
    async fn answered(&self, manager: SocketAddr, client: &str, path: &str, status: StatusCode) -> Value {
        until(PATIENCE, "the keys are followed", async || {
            let (found, body) = self.get(manager, client, path).await;
            (found == status).then_some(body)
        })
        .await
    }

    /// Until a manager knows the key of a client, which was created last.
    async fn followed(&self, manager: SocketAddr, client: &str) {
        // While it knows none, it answers every client.
        self.answered(manager, "nobody", "/queues", StatusCode::FORBIDDEN).await;
        self.answered(manager, client, "/queues", StatusCode::OK).await;
    }

    /// Creates a key by a command, and returns its text.
    async fn key(&self, name: &str, role: &str) -> String {
        create(&self.stack, name, role).await
    }

    async fn revoke(&self, text: &str) {
        keys(&self.stack, &["revoke", text.split('_').nth(1).unwrap(), "--yes"]).await;
    }
}

async fn read(answer: reqwest::Response) -> Answered {
    let status = answer.status();
    let text = answer.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status}: {text}")))
}

fn assert_refused((status, problem): &Answered, expected: u16, code: &str, words: &str) {
    assert_eq!((status.as_u16(), problem["code"].as_str()), (expected, Some(code)), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
}

async fn a_certificate_stands_for_the_key_of_its_name(kind: Kind) {
    let site = Site::on(kind).await;
    let (_manager, http, _) = site.manager("127.0.0.1:0", &[]).await;
    for client in ["nobody", "nameless"] {
        assert_eq!(site.get(http, client, "/queues").await.0, StatusCode::OK, "{client}: the store has no key");
    }
    keys(&site.stack, &["create", "mailer", "--role", "operator", "--queue", "mail"]).await;
    let (ci, ops) = (site.key("ci.example.org", "submitter").await, site.key("ops", "admin").await);
    site.followed(http, "ops").await;
    assert_eq!(site.get(http, "ops", "/keys").await.0, StatusCode::OK);
    assert_eq!(site.post(http, "ops", "/queues", &json!({"name": "mail"})).await.0, StatusCode::CREATED);
    let task = json!({"name": "t", "queue": "mail"});
    assert_eq!(site.post(http, "ci", "/tasks", &task).await.0, StatusCode::CREATED);
    assert_refused(&site.get(http, "ci", "/keys").await, 403, "scope_missing", "(ci.example.org)");
    assert_eq!(site.get(http, "mailer", "/tasks?queue=mail").await.0, StatusCode::OK);
    assert_refused(&site.get(http, "mailer", "/tasks").await, 403, "out_of_reach", "restricted to queues mail");
    assert_refused(&site.get(http, "nobody", "/queues").await, 403, "identity_unknown", "is that of \"nobody\"");
    assert_refused(&site.get(http, "nameless", "/queues").await, 401, "identity_refused", "neither a DNS name nor");

    let with_key = async |client: &str, key: &str, path: &str| {
        let client = site.client(http, client);
        let call = client.get(path).header(AUTHORIZATION, &format!("Bearer {key}"));
        read(call.exchange().await.unwrap()).await
    };
    assert_refused(&with_key("ops", &ci, "/keys").await, 403, "scope_missing", "(ci.example.org)");
    assert_refused(&with_key("ops", &ci.replace(&ci[14..], &ops[14..]), "/queues").await, 401, "key_refused", "");
    for client in ["nobody", "nameless"] {
        assert_eq!(with_key(client, &ops, "/keys").await.0, StatusCode::OK, "{client}");
    }
    let stranger = Authority::new();
    stranger.vouch_for_client("ops", Names { common: Some("ops"), dns: &[] }, VALID);
    let of_stranger = |kind: &str| stranger.file(&format!("ops.{kind}")).display().to_string();
    let ca = site.authority.file("ca.pem").display().to_string();
    let (cert, key) = (of_stranger("pem"), of_stranger("key"));
    let of_stranger = format!("https://localhost:{}?ca={ca}&cert={cert}&key={key}", http.port());
    for url in [of_stranger, site.url(http.port(), "over")] {
        let client = Client::new(&url, "tests").unwrap();
        assert!(client.get("/health/live").exchange().await.is_err(), "{url} gets no connection");
    }
    is_logged_and_followed(&site, http, &ops).await;
}

/// A change is logged with the key of its certificate; a key that ends, or is revoked, ends it for the certificate too.
async fn is_logged_and_followed(site: &Site, http: SocketAddr, ops: &str) {
    let log = until(PATIENCE, "the change is in the archive", async || {
        let (_, log) = site.get(http, "ops", "/audit").await;
        let changes = log["changes"].as_array()?.iter();
        changes
            .filter(|change| change["operation"] == "create_queue")
            .find(|change| change["outcome"] == "done")
            .cloned()
    })
    .await;
    let id = ops.split('_').nth(1);
    let who = (log["way"].as_str(), log["by"].as_str(), log["key"].as_str());
    assert_eq!(who, (Some("certificate"), Some("ops"), id), "{log}");
    keys(&site.stack, &["create", "brief", "--role", "viewer", "--expires", "3s"]).await;
    site.answered(http, "brief", "/queues", StatusCode::OK).await;
    let refused = site.answered(http, "brief", "/queues", StatusCode::FORBIDDEN).await;
    assert_eq!(refused["code"], "identity_unknown", "{refused}");
    site.revoke(ops).await;
    let refused = site.answered(http, "ops", "/queues", StatusCode::FORBIDDEN).await;
    assert_eq!(refused["code"], "identity_unknown", "{refused}");
}

/// A client of MassTasker that shows a certificate.
async fn masstasker(site: &Site, grpc: SocketAddr, client: &str) -> (TlsTunnel, MassTaskerClient<Channel>) {
    let tunnel = TlsTunnel::start(grpc, &site.authority, client, b"h2").await;
    let channel = Endpoint::from_shared(tunnel.url()).unwrap().connect().await.unwrap();
    (tunnel, MassTaskerClient::new(channel))
}

fn adding(group: &str) -> UpdateRequest {
    let not_before = Some(Timestamp { seconds: FAR, nanos: 0 });
    let created = vec![Task { group: group.to_owned(), not_before, ..Task::default() }];
    UpdateRequest { created, ..UpdateRequest::default() }
}

async fn a_front_asks_for_the_key_of_a_certificate(kind: Kind) {
    let site = Site::on(kind).await;
    let (manager, http, grpc) = site.manager("127.0.0.1:0", &["--taskstore-listen", "127.0.0.1:0"]).await;
    let taskstore = address_in(&manager.line("TaskStore's clients are answered").await);
    let ops = site.key("ops", "operator").await;
    keys(&site.stack, &["create", "mapper", "--role", "operator", "--board", "masstasker"]).await;
    keys(&site.stack, &["create", "mailer", "--role", "operator", "--queue", "mail"]).await;
    site.key("viewer", "viewer").await;
    site.followed(http, "viewer").await;
    for path in ["/boards", "/boards/taskstore/groups", "/tasks?queue=mail", "/queues/mail", "/workers"] {
        assert_refused(&site.get(http, "mapper", path).await, 403, "out_of_reach", "restricted to boards masstasker");
    }

    let taskstore = async |client: &str| {
        let tunnel = TlsTunnel::start(taskstore, &site.authority, client, b"http/1.1").await;
        let asker = http_client().build().unwrap();
        let look = asker.get(format!("{}/groups", tunnel.url())).send().await.unwrap();
        let body = json!({"clientid": 7, "adds": [{"group": "work", "data": "x"}]}).to_string();
        let change = asker.post(format!("{}/update", tunnel.url())).body(body).send().await.unwrap();
        [look.status().as_u16(), change.status().as_u16()]
    };
    for (client, look, change, statuses) in [
        ("ops", Code::Ok, Code::Ok, [200, 200]),
        ("viewer", Code::Ok, Code::PermissionDenied, [200, 403]),
        ("mailer", Code::PermissionDenied, Code::PermissionDenied, [403, 403]),
        ("mapper", Code::Ok, Code::Ok, [403, 403]),
        ("nobody", Code::PermissionDenied, Code::PermissionDenied, [403, 403]),
        ("nameless", Code::Unauthenticated, Code::Unauthenticated, [401, 401]),
    ] {
        let (_tunnel, mut caller) = masstasker(&site, grpc, client).await;
        let code = |answer: Result<(), tonic::Status>| answer.map_or_else(|refused| refused.code(), |()| Code::Ok);
        let listed = caller.debug(DebugRequest { group: "work".to_owned(), limit: 1 }).await;
        assert_eq!(code(listed.map(drop)), look, "{client}");
        assert_eq!(code(caller.update(adding("work")).await.map(drop)), change, "{client}");
        assert_eq!(taskstore(client).await, statuses, "{client}");
    }

    assert_eq!(site.get(http, "mapper", "/boards/masstasker/groups").await.0, StatusCode::OK);
    let (_tunnel, mut caller) = masstasker(&site, grpc, "ops").await;
    let waiting = tokio::spawn(async move {
        caller.query(QueryRequest { group: "work".to_owned(), wait: true, ..QueryRequest::default() }).await
    });
    site.revoke(&ops).await;
    let refused = timeout(PATIENCE, waiting).await.expect("it ends with its key").unwrap().unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated, "{refused:?}");
}

async fn a_manager_names_the_client_of_what_it_passes_on_by_its_own_certificate(kind: Kind) {
    let site = Site::on(kind).await;
    let port = free_port();
    let advertised = site.url(port, "manager");
    let (_keeper, keeper, _) = site.manager(&format!("127.0.0.1:{port}"), &["--advertise-url", &advertised]).await;
    let (_other, other, _) = site.manager("127.0.0.1:0", &["--dlq-path", "none"]).await;
    let _worker = site.stack.worker().await;
    let of_manager = site.key("manager", "admin").await;
    site.key("ops", "operator").await;
    site.key("viewer", "viewer").await;
    for manager in [keeper, other] {
        site.followed(manager, "viewer").await;
    }
    let doomed = json!({"id": "a", "name": "doomed"});
    assert_refused(&site.post(other, "ops", "/tasks", &doomed).await, 403, "scope_missing", "tasks:submit");
    assert_eq!(site.post(other, "manager", "/tasks", &doomed).await.0, StatusCode::CREATED);
    for manager in [keeper, other] {
        until(PATIENCE, "each manager lists the letter", async || {
            let (_, letters) = site.get(manager, "viewer", "/dead-letter-queue").await;
            letters.to_string().contains("doomed").then_some(())
        })
        .await;
    }
    assert_refused(&site.get(other, "viewer", "/audit").await, 403, "scope_missing", "audit:read");
    let (status, sent) = site.post(other, "ops", "/dead-letter-queue/resubmit", &json!({"ids": ["a"]})).await;
    assert!(status.is_success(), "{sent}");
    let log = until(PATIENCE, "the change is in the archive", async || {
        let (_, log) = site.get(other, "manager", "/audit").await;
        let mut changes = log["changes"].as_array()?.iter();
        changes.find(|change| change["by"] == "ops").cloned()
    })
    .await;
    assert_eq!(log["way"], "certificate", "{log}");

    // A client that says it is a manager is not believed.
    for client in ["ops", "viewer", "nobody", "nameless"] {
        let client = site.client(keeper, client);
        let call = client.get("/audit").header("jobbers-passed-on".parse().unwrap(), "1");
        let forged = call.header("jobbers-certificate-name".parse().unwrap(), "manager").exchange().await.unwrap();
        assert_refused(&read(forged).await, 401, "identity_refused", "names no key with every scope");
    }
    let manager = site.client(keeper, "manager");
    let unnamed = manager.get("/audit").header("jobbers-passed-on".parse().unwrap(), "1");
    assert_refused(&read(unnamed.exchange().await.unwrap()).await, 401, "key_required", "");
    site.revoke(&of_manager).await;
    until(PATIENCE, "the keeper does not believe the other manager any more", async || {
        let (status, refused) = site.get(other, "viewer", "/dead-letter-queue").await;
        (status == StatusCode::UNAUTHORIZED && refused["code"] == "identity_refused").then_some(())
    })
    .await;
}
