//! People whom a trusted proxy signed in: it names them in a header, and the key of their name says what they may do.

use std::{net::IpAddr, sync::Arc, time::Duration};

use jobbers_common::{
    access::{AccessKey, AccessRole, Scope},
    engine::{Engine, Outcome, PutMode},
    time::Timestamp,
};
use jobbers_law::model::ModelEngine;
use jobbers_manager::{Config, KeyText};
use reqwest::{Client, Method, RequestBuilder, redirect::Policy};
use serde_json::{Value, json};

use crate::{
    access::keys::create,
    archive::dead_letters::{Bench, config},
    server::{Answer, Server, soon},
};

const HEADER: &str = "x-forwarded-user";
/// The address of the proxy, and that of another client of this machine.
const PROXY: &str = "127.0.0.2";
const ELSEWHERE: &str = "127.0.0.1";

fn trusting(config: Config) -> Config {
    let trusted_from = [PROXY, "10.0.0.0/8"].iter().map(|text| text.parse().unwrap()).collect();
    let config_refresh = Duration::from_millis(20);
    Config { trusted_header: "X-Forwarded-User".to_owned(), trusted_from, config_refresh, ..config }
}

/// A client whose connections come from an address.
fn client(from: &str) -> Client {
    let from: IpAddr = from.parse().unwrap();
    jobbers_api::client::http_client().local_address(from).redirect(Policy::none()).build().unwrap()
}

/// A request over a connection from `from`, with such a header for each name.
fn asked(server: &Server, from: &str, method: Method, path: &str, names: &[&str]) -> RequestBuilder {
    let request = client(from).request(method, format!("http://{}{path}", server.address));
    names.iter().fold(request, |request, name| request.header(HEADER, name.as_bytes()))
}

async fn get(server: &Server, names: &[&str], path: &str) -> Answer {
    server.send(asked(server, PROXY, Method::GET, path, names)).await
}

/// A key of a name.
async fn named(engine: &dyn Engine, name: &str, role: Option<AccessRole>, scopes: &[Scope]) -> (KeyText, AccessKey) {
    let (text, key) = create(engine, role, scopes).await;
    let key = AccessKey { name: name.to_owned(), ..key };
    engine.put_key(key.clone(), PutMode::Replace).await.unwrap();
    (text, key)
}

async fn replace(server: &Server, key: AccessKey) {
    server.engine.put_key(key, PutMode::Replace).await.unwrap();
}

/// A manager whose store has a queue, a task, and keys of the operator ada and of the viewer vic.
async fn locked() -> (Server, AccessKey) {
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), trusting(Config::default())).await;
    get(&server, &["root"], "/queues").await.expect(200);
    server.post("/queues", json!({"name": "mail"})).await.expect(201);
    server.post("/tasks", json!({"id": "a", "name": "t", "queue": "mail"})).await.expect(201);
    let (_, ada) = named(&*server.engine, "ada", Some(AccessRole::Operator), &[]).await;
    named(&*server.engine, "vic", Some(AccessRole::Viewer), &[]).await;
    soon(async { while get(&server, &["vic"], "/queues").await.status != 200 {} }).await;
    soon(async { while server.get("/queues").await.status != 401 {} }).await;
    (server, ada)
}

fn detail(problem: &Value) -> String {
    problem["detail"].to_string()
}

#[tokio::test]
async fn the_header_counts_from_the_proxy_alone() {
    let (server, _) = locked().await;
    get(&server, &["ada"], "/queues").await.expect(200);
    let (none, ada) = (&[][..], &["ada"][..]);
    get(&server, none, "/queues").await.refused(401, "key_required");
    for names in [none, ada, &["ada", "vic"], &[""], &["root"]] {
        let forged = asked(&server, ELSEWHERE, Method::GET, "/queues", names);
        server.send(forged).await.refused(401, "key_required");
        // An address that a client only writes is not that of its connection.
        let forged = asked(&server, ELSEWHERE, Method::GET, "/queues", names).header("x-forwarded-for", PROXY);
        server.send(forged).await.refused(401, "key_required");
        let page = asked(&server, ELSEWHERE, Method::GET, "/ui/queues", names).send().await.unwrap();
        assert_eq!(page.status(), 303, "it leads to the sign-in");
    }
    let ready = server.send(asked(&server, ELSEWHERE, Method::GET, "/health/ready", ada)).await.expect(200);
    assert_eq!(ready, json!({"status": "ready"}));
    assert_eq!(get(&server, ada, "/health/ready").await.expect(200)["signed_in_as"], "ada");
    assert_eq!(get(&server, &["root"], "/health/ready").await.expect(200), json!({"status": "ready"}));
    server.stop().await;
}

#[tokio::test]
async fn a_header_that_names_no_person_is_refused_with_the_reason() {
    let (server, _) = locked().await;
    let long = "x".repeat(257);
    for (names, why) in [
        (&["ada", "ada"][..], "is there twice"),
        (&["ada", "vic"], "is there twice"),
        (&[""], "is empty"),
        (&[&long], "has over 256 bytes"),
        (&["a\tda"], "has control characters"),
    ] {
        let refused = get(&server, names, "/queues").await.refused(401, "identity_refused");
        assert!(detail(&refused).contains(&format!("the header {HEADER} {why}")), "{refused}");
        let page = asked(&server, PROXY, Method::GET, "/ui/queues", names).send().await.unwrap();
        assert_eq!(page.status(), 401, "it leads to no sign-in, where no key would help");
        assert!(page.text().await.unwrap().contains(why));
    }
    server.stop().await;
}

#[tokio::test]
async fn a_person_may_do_what_the_one_valid_key_of_their_name_may() {
    let (server, ada) = locked().await;
    let pause = |name: &'static str| {
        asked(&server, PROXY, Method::POST, "/queues/mail/pause", &[name]).header("sec-fetch-site", "same-origin")
    };
    server.send(pause("vic")).await.refused(403, "scope_missing");
    server.send(pause("ada")).await.expect(200);
    for name in ["root", "Ada", "ada ada", "tests", ada.id.as_str()] {
        let refused = get(&server, &[name], "/queues").await.refused(403, "identity_unknown");
        assert!(detail(&refused).contains("jobbers keys create"), "{refused}");
    }

    let (_, second) = named(&*server.engine, "ada", Some(AccessRole::Admin), &[]).await;
    soon(async { while get(&server, &["ada"], "/queues").await.status != 403 {} }).await;
    let refused = get(&server, &["ada"], "/queues").await.refused(403, "identity_unknown");
    assert!(detail(&refused).contains("more than one valid key") && detail(&refused).contains(ada.id.as_str()));
    replace(&server, AccessKey { revoked_at: Some(Timestamp::from_micros(1)), ..second.clone() }).await;
    soon(async { while get(&server, &["ada"], "/queues").await.status != 200 {} }).await;

    let within = AccessKey { queues: vec!["mail".parse().unwrap()], ..ada.clone() };
    replace(&server, within).await;
    soon(async { while get(&server, &["ada"], "/tasks").await.status != 403 {} }).await;
    get(&server, &["ada"], "/tasks").await.refused(403, "out_of_reach");
    get(&server, &["ada"], "/tasks?queue=mail").await.expect(200);
    get(&server, &["ada"], "/queues/other").await.refused(403, "out_of_reach");

    let expired = AccessKey { expires_at: Some(Timestamp::from_micros(1)), ..ada.clone() };
    replace(&server, expired).await;
    soon(async { while get(&server, &["ada"], "/tasks?queue=mail").await.status != 403 {} }).await;
    get(&server, &["ada"], "/tasks?queue=mail").await.refused(403, "identity_unknown");
    server.stop().await;
}

#[tokio::test]
async fn a_stream_ends_with_the_key_of_its_person() {
    let (server, ada) = locked().await;
    let mut stream = asked(&server, PROXY, Method::GET, "/tasks/a/events", &["ada"]).send().await.unwrap();
    let mut of_other = asked(&server, PROXY, Method::GET, "/tasks/a/events", &["vic"]).send().await.unwrap();
    assert!(soon(stream.chunk()).await.unwrap().is_some() && soon(of_other.chunk()).await.unwrap().is_some());
    replace(&server, AccessKey { revoked_at: Some(Timestamp::from_micros(1)), ..ada }).await;
    soon(async { while stream.chunk().await.unwrap().is_some() {} }).await;
    get(&server, &["ada"], "/tasks/a").await.refused(403, "identity_unknown");
    // The stream of another person goes on to the end of the task.
    let task = server.claim("mail", 1).await.remove(0);
    server.settle(&task, Outcome::Completed { result: None }).await;
    let mut rest = String::new();
    soon(async {
        while let Some(chunk) = of_other.chunk().await.unwrap() {
            rest.push_str(&String::from_utf8_lossy(&chunk));
        }
    })
    .await;
    assert!(rest.contains("completed"), "{rest}");
    server.stop().await;
}

#[tokio::test]
async fn a_key_of_the_request_wins_over_the_header_and_the_header_over_a_session() {
    let (server, _) = locked().await;
    let (text, _) = named(&*server.engine, "ci", None, &[Scope::TasksRead]).await;
    let with_key = |key: &str, names: &[&str]| asked(&server, PROXY, Method::GET, "/queues", names).bearer_auth(key);
    // Asked for by name: a key that is not known yet is a wrong one, and only a few of those are looked at.
    soon(async { while !get(&server, &["ci"], "/queues").await.text.contains("scope_missing") {} }).await;
    for names in [&["ada"][..], &["root"], &["ada", "ada"]] {
        server.send(with_key(text.as_str(), names)).await.refused(403, "scope_missing");
    }
    server.send(with_key(KeyText::generate().as_str(), &["ada"])).await.refused(401, "key_refused");

    let begun = server.post("/session", json!({"key": text.as_str()})).await;
    let cookie = begun.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let page = |names: &[&str]| asked(&server, PROXY, Method::GET, "/ui/queues", names).header("cookie", &cookie);
    assert!(server.send(page(&["ada"])).await.text.contains("mail"), "ada sees what the session's key may not");
    assert_eq!(server.send(page(&[])).await.status, 403, "without the header the session counts");
    server.stop().await;
}

/// The token in a page's forms.
fn token_of(page: &Answer) -> String {
    let (_, rest) = page.text.split_once("name=\"csrf\" value=\"").unwrap_or_else(|| panic!("no token: {}", page.text));
    rest.split('"').next().unwrap().to_owned()
}

/// A form as a browser sends it through the proxy.
async fn form(server: &Server, name: &str, path: &str, fields: &str) -> Answer {
    let form = asked(server, PROXY, Method::POST, path, &[name]).header("sec-fetch-site", "same-origin");
    let form = form.header("content-type", "application/x-www-form-urlencoded").body(fields.to_owned());
    server.send(form).await
}

#[tokio::test]
async fn a_page_of_another_site_changes_nothing_in_the_name_of_its_visitor() {
    let (server, _) = locked().await;
    let pause = || asked(&server, PROXY, Method::POST, "/queues/mail/pause", &["ada"]);
    let refused = server.send(pause()).await.refused(403, "foreign_origin");
    assert!(detail(&refused).contains("programs send a key"), "{refused}");
    for (header, value) in
        [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-site")]
    {
        server.send(pause().header(header, value)).await.refused(403, "foreign_origin");
    }
    let of = async |name: &str| token_of(&get(&server, &[name], "/ui/queue?name=mail").await);
    let (own, other) = (of("ada").await, of("vic").await);
    assert_ne!(own, other);
    for fields in ["act=pause", "act=pause&csrf=", &format!("act=pause&csrf={other}")] {
        let refused = form(&server, "ada", "/ui/queue?name=mail", fields).await;
        assert!(refused.status == 403 && refused.text.contains("was not made for your session"), "{}", refused.text);
    }
    let chosen = asked(&server, PROXY, Method::POST, "/ui/queue?name=mail", &["ada"]);
    let chosen = chosen.header("content-type", "application/x-www-form-urlencoded").header("jobbers-form-token", "x");
    assert_eq!(server.send(chosen.body("act=pause&csrf=x")).await.status, 403, "a client chooses no token");
    assert_eq!(get(&server, &["ada"], "/queues/mail").await.expect(200)["paused"], false);
    let done = form(&server, "ada", "/ui/queue?name=mail", &format!("act=pause&csrf={own}")).await;
    assert_eq!(done.status, 303, "{}", done.text);
    assert_eq!(get(&server, &["ada"], "/queues/mail").await.expect(200)["paused"], true);
    let own_page = pause().header("origin", format!("http://{}", server.address));
    server.send(own_page).await.expect(200);
    server.stop().await;
}

#[tokio::test]
async fn pages_show_who_is_signed_in_and_offer_no_sign_out() {
    let (server, _) = locked().await;
    for page in ["", "queues", "queue?name=mail", "tasks", "task?id=a", "workers", "submit", "manager"] {
        let shown = get(&server, &["ada"], &format!("/ui/{page}")).await;
        assert_eq!(shown.status, 200, "{page}");
        assert!(shown.text.contains("<small>ada</small>") && !shown.text.contains("Sign out"), "{page}");
        for form in shown.text.split("<form").skip(1).filter(|form| form.contains("method=\"post\"")) {
            let begins = form.split_once('>').unwrap().1;
            assert!(begins.starts_with("<input type=\"hidden\" name=\"csrf\""), "{page}: {begins}");
        }
    }
    // Open pages of two people share nothing.
    let live = |name: &'static str| {
        server.send(asked(&server, PROXY, Method::GET, "/ui/queues", &[name]).header("jobbers-live", "1"))
    };
    let (ada, vic, root) = tokio::join!(live("ada"), live("vic"), live("root"));
    assert!(ada.text.contains("<small>ada</small>") && vic.text.contains("<small>vic</small>"));
    assert!(root.status == 403 && !root.text.contains("mail") && root.text.contains("jobbers keys create"));
    let other = live("rosa").await;
    assert!(other.text.contains("rosa") && !other.text.contains("root"), "{}", other.text);
    server.stop().await;
}

#[tokio::test]
async fn the_audit_log_names_the_key_and_the_way_and_another_manager_believes_a_trusted_one() {
    let folder = tempfile::tempdir().unwrap();
    let engine: Arc<dyn Engine> = Arc::new(ModelEngine::with_system_clock());
    // The keeper is asked by the other manager, from loopback.
    let from_all = [ELSEWHERE, PROXY].iter().map(|text| text.parse().unwrap()).collect();
    let keeper = Config { trusted_from: from_all, ..trusting(config(&folder)) };
    let keeper = Bench { server: Server::with(Arc::clone(&engine), keeper).await, folder };
    keeper.fail("a", "x", "boom").await;
    keeper.archived(1).await;
    let other = Server::with(Arc::clone(&engine), trusting(Config::default())).await;
    let (_, key) = named(&*engine, "ada", Some(AccessRole::Admin), &[]).await;
    soon(async { while other.get("/queues").await.status != 401 || keeper.get("/queues").await.status != 401 {} })
        .await;
    let letter = get(&other, &["ada"], "/ui/letter?id=a").await;
    assert!(letter.text.contains("boom"), "{}", letter.text);
    let sent = form(&other, "ada", "/ui/letter?id=a", &format!("act=resubmit&csrf={}", token_of(&letter))).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    let make = other.json(Method::POST, "/queues", json!({"name": "mail"})).build().unwrap();
    let queue = asked(&other, PROXY, Method::POST, "/queues", &["ada"]).header("sec-fetch-site", "same-origin");
    let queue = queue.headers(make.headers().clone()).body(json!({"name": "mail"}).to_string());
    other.send(queue).await.expect(201);
    let log = soon(async {
        loop {
            let log = get(&other, &["ada"], "/audit").await.expect(200);
            let changes = log["changes"].as_array().unwrap();
            if changes.len() == 2 && changes.iter().all(|change| change["outcome"] == "done") {
                break log;
            }
        }
    })
    .await;
    for change in log["changes"].as_array().unwrap() {
        let who = (change["way"].as_str(), change["by"].as_str(), change["key"].as_str());
        assert_eq!(who, (Some("header"), Some("ada"), Some(key.id.as_str())), "{log}");
    }
    // The address of a manager that the keeper does not trust is that of any client.
    let forged = asked(&other, ELSEWHERE, Method::GET, "/dead-letter-queue", &["ada"]).header("jobbers-passed-on", "1");
    other.send(forged).await.refused(401, "key_required");
    other.stop().await;
}
