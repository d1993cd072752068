//! Sessions of the pages: a person signs in with an access key, does what it may, and is signed out with it.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    access::{AccessKey, AccessRole, Scope},
    engine::{Engine, PutMode},
    time::Timestamp,
};
use jobbers_law::model::ModelEngine;
use jobbers_manager::{Config, KeyText};
use reqwest::{Method, RequestBuilder};
use serde_json::json;

use crate::{
    access::keys::create,
    archive::dead_letters::{Bench, config},
    pages::unfollowed,
    server::{Answer, Server, soon},
};

const PAGES: [&str; 10] =
    ["", "queues", "queue?name=mail", "tasks", "workers", "schedules", "workflows", "submit", "manager", "task?id=a"];

fn quick(config: Config) -> Config {
    Config { config_refresh: Duration::from_millis(20), ..config }
}

/// A manager whose store has keys, with a queue and a task.
async fn locked() -> (Server, KeyText, AccessKey) {
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), quick(Config::default())).await;
    server.post("/queues", json!({"name": "mail"})).await.expect(201);
    server.post("/tasks", json!({"id": "a", "name": "t"})).await.expect(201);
    let (text, key) = create(&*server.engine, Some(AccessRole::Operator), &[]).await;
    soon(async { while server.get("/queues").await.status != 401 {} }).await;
    (server, text, key)
}

/// A form as a browser sends it from a page of this manager.
fn form(server: &Server, path: &str, fields: &str) -> RequestBuilder {
    let form = server.request(Method::POST, path).header("origin", format!("http://{}", server.address));
    let form = form.header("sec-fetch-site", "same-origin").header("content-type", "application/x-www-form-urlencoded");
    form.body(fields.to_owned())
}

/// The cookie that an answer sets, as the browser sends it back.
fn cookie_of(answer: &Answer) -> String {
    let set = answer.headers["set-cookie"].to_str().unwrap();
    set.split(';').next().unwrap().to_owned()
}

async fn sign_in(server: &Server, key: &KeyText) -> String {
    let answer = unfollowed(form(server, "/sign-in", &format!("key={}&back=ui%2Fqueues", key.as_str()))).await;
    assert_eq!((answer.status.as_u16(), answer.headers["location"].to_str().unwrap()), (303, "ui/queues"));
    cookie_of(&answer)
}

async fn open(server: &Server, cookie: &str, path: &str) -> Answer {
    unfollowed(server.request(Method::GET, path).header("cookie", cookie)).await
}

fn leads_to_sign_in(answer: &Answer) -> bool {
    answer.status == 303 && answer.headers["location"].to_str().unwrap().starts_with("../sign-in?back=ui%2F")
}

/// The token in a page's forms.
fn token_of(page: &Answer) -> String {
    let (_, rest) = page.text.split_once("name=\"csrf\" value=\"").unwrap_or_else(|| panic!("no token: {}", page.text));
    rest.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_page_leads_to_the_sign_in_and_from_there_back() {
    let (server, key, _) = locked().await;
    for page in PAGES {
        let answer = unfollowed(server.request(Method::GET, &format!("/ui/{page}"))).await;
        assert!(leads_to_sign_in(&answer) && !answer.text.contains("mail"), "{page}: {}", answer.text);
    }
    let asked = server.get("/sign-in?back=ui%2Ftasks%3Fstatus%3Dfailed").await;
    assert!(asked.text.contains("value=\"ui/tasks?status=failed\""), "{}", asked.text);
    let elsewhere = server.get("/sign-in?back=https%3A%2F%2Fevil.example").await;
    assert!(!elsewhere.text.contains("evil"), "{}", elsewhere.text);
    for wrong in ["", "jb_wrong", KeyText::generate().as_str()] {
        let refused = unfollowed(form(&server, "/sign-in", &format!("key={wrong}&back=ui%2F"))).await;
        assert_eq!(refused.status, 401, "{wrong}");
        assert!(!refused.headers.contains_key("set-cookie") && refused.text.contains("role=\"alert\""), "{wrong}");
    }
    let foreign = server.request(Method::POST, "/sign-in").header("origin", "https://evil.example");
    let foreign =
        foreign.header("content-type", "application/x-www-form-urlencoded").body(format!("key={}", key.as_str()));
    assert_eq!(unfollowed(foreign).await.status, 403, "another site signs no visitor in");
    let cookie = sign_in(&server, &key).await;
    for page in PAGES {
        let shown = open(&server, &cookie, &format!("/ui/{page}")).await;
        assert_eq!(shown.status, 200, "{page}");
        assert!(shown.text.contains("tests") && shown.text.contains("Sign out"), "{page}: who is signed in is shown");
    }
    let basic = server.request(Method::GET, "/ui/queues").basic_auth("ada", Some(key.as_str()));
    assert!(leads_to_sign_in(&unfollowed(basic).await), "a login of the browser is none");
    server.stop().await;
}

#[tokio::test]
async fn keys_are_issued_and_ended_at_the_pages_and_the_audit_log_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), quick(config(&folder))).await;
    let (admin, _) = create(&*server.engine, Some(AccessRole::Admin), &[]).await;
    soon(async { while server.get("/queues").await.status != 401 {} }).await;
    let cookie = sign_in(&server, &admin).await;
    let token = token_of(&open(&server, &cookie, "/ui/keys").await);
    let send = async |path: &str, fields: &str| {
        let sent = form(&server, path, &format!("csrf={token}&{fields}")).header("cookie", &cookie);
        unfollowed(sent).await
    };
    let fields = "act=create&name=%3Cci%3E&role=viewer&queues=mail%2C+team-a.*&tasks=&expires_in=90d";
    let page = send("/ui/keys", fields).await;
    assert_eq!((page.status.as_u16(), page.headers["cache-control"].to_str().unwrap()), (200, "no-store"));
    let text = |page: &Answer| {
        let (_, rest) = page.text.split_once("<pre>").unwrap();
        rest.split('<').next().unwrap().parse::<KeyText>().unwrap()
    };
    let made = text(&page);
    let listed = open(&server, &cookie, "/ui/keys").await.text;
    assert!(listed.contains("&lt;ci&gt;") && listed.contains("queues mail, team-a.*"), "{listed}");
    assert!(!listed.contains("jb_"), "no text is shown again");
    let at = format!("/ui/key?id={}", made.id());
    for (fields, words) in [("act=rotate&keep=soon", "duration"), ("act=rotate&keep=", "duration")] {
        let refused = send(&at, fields).await;
        assert!(refused.status == 422 && refused.text.contains(words), "{fields}: {}", refused.text);
    }
    let rotated = send(&at, "act=rotate&keep=1h").await;
    assert!(rotated.status == 200 && text(&rotated) != made && text(&rotated).id() == made.id());
    let revoked = send(&at, "act=revoke").await;
    assert_eq!(revoked.status, 303);
    let shown = open(&server, &cookie, &format!("{at}&did=key_revoked")).await.text;
    assert!(shown.contains("signs no client in any more") && shown.contains("revoked"), "{shown}");
    assert_eq!(send(&at, "act=delete").await.status, 303);
    assert_eq!(open(&server, &cookie, &at).await.status, 404);
    let logged = async || open(&server, &cookie, "/ui/audit").await.text;
    soon(async { while !logged().await.contains("delete_key") {} }).await;
    let log = logged().await;
    for words in ["create_key", "rotate_key", "revoke_key", "&lt;ci&gt;", "before and after", "page"] {
        assert!(log.contains(words), "{words}: {log}");
    }
    assert!(!log.contains("jb_"), "no text is logged");
    let none = open(&server, &cookie, "/ui/audit?operation=purge_queue").await.text;
    assert!(none.contains("No change matches."), "{none}");
    server.stop().await;
}

#[tokio::test]
async fn the_cookie_is_kept_from_scripts_other_sites_and_plain_connections() {
    let (server, key, _) = locked().await;
    let body = json!({"key": key.as_str()});
    let begin = || server.json(Method::POST, "/session", &body);
    let plain = server.send(begin()).await;
    let view = plain.expect(201);
    assert_eq!((view["key"].as_str(), view["name"].as_str()), (Some(key.id().as_str()), Some("tests")));
    let set = plain.headers["set-cookie"].to_str().unwrap();
    assert!(
        set.starts_with("jobbers=") && set.ends_with("; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"),
        "{set}"
    );
    let secure = server.send(begin().header("x-forwarded-proto", "https")).await;
    let set = secure.headers["set-cookie"].to_str().unwrap();
    assert!(set.starts_with("__Host-jobbers=") && set.ends_with("; HttpOnly; SameSite=Strict; Secure"), "{set}");
    assert!(!set.contains(key.as_str()) && cookie_of(&secure) != cookie_of(&plain));
    server.post("/session", json!({"key": "jb_wrong"})).await.refused(401, "key_refused");
    server.post("/session", json!({"kye": "x"})).await.refused(422, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn a_session_signs_in_pages_and_no_call_of_the_api() {
    let (server, key, _) = locked().await;
    let cookie = sign_in(&server, &key).await;
    let with = |method, path: &str| server.request(method, path).header("cookie", &cookie);
    server.send(with(Method::GET, "/queues")).await.refused(401, "key_required");
    server.send(with(Method::POST, "/queues/mail/pause")).await.refused(401, "key_required");
    let passed_on = with(Method::POST, "/queues/mail/pause").header("jobbers-passed-on", "1");
    server.send(passed_on).await.refused(401, "key_required");
    let ready = server.send(with(Method::GET, "/health/ready")).await.expect(200);
    assert_eq!(ready, json!({"status": "ready"}));
    server.stop().await;
}

#[tokio::test]
async fn a_form_without_the_token_of_its_session_changes_nothing() {
    let (server, operator, _) = locked().await;
    let (viewer, _) = create(&*server.engine, Some(AccessRole::Viewer), &[]).await;
    let [mine, other] = [sign_in(&server, &operator).await, sign_in(&server, &operator).await];
    for page in PAGES {
        let shown = open(&server, &mine, &format!("/ui/{page}")).await;
        for form in shown.text.split("<form").skip(1).filter(|form| form.contains("method=\"post\"")) {
            let begins = form.split_once('>').unwrap().1;
            assert!(begins.starts_with("<input type=\"hidden\" name=\"csrf\""), "{page}: {begins}");
        }
    }
    let token = async |cookie: &str| token_of(&open(&server, cookie, "/ui/queue?name=mail").await);
    let (own, foreign) = (token(&mine).await, token(&other).await);
    let pause = async |cookie: &str, fields: &str| {
        unfollowed(form(&server, "/ui/queue?name=mail", fields).header("cookie", cookie)).await
    };
    let is_paused = async || {
        let shown = server.send(server.request(Method::GET, "/queues/mail").bearer_auth(viewer.as_str())).await;
        shown.expect(200)["paused"].clone()
    };
    for fields in ["act=pause", "act=pause&csrf=", &format!("act=pause&csrf={foreign}"), "csrf=%zz"] {
        let refused = pause(&mine, fields).await;
        assert_eq!(refused.status, 403, "{fields}");
        assert!(refused.text.contains("was not made for your session"), "{}", refused.text);
        assert_eq!(is_paused().await, false, "{fields}");
    }
    assert!(leads_to_sign_in(&unfollowed(form(&server, "/ui/queue?name=mail", "act=pause")).await));
    let of_viewer = sign_in(&server, &viewer).await;
    let refused = pause(&of_viewer, &format!("act=pause&csrf={}", token(&of_viewer).await)).await;
    assert!(refused.status == 403 && refused.text.contains("queues:control"), "{}", refused.text);
    assert_eq!(is_paused().await, false);
    assert_eq!(pause(&mine, &format!("act=pause&csrf={own}")).await.status, 303);
    assert_eq!(is_paused().await, true);
    server.stop().await;
}

#[tokio::test]
async fn who_may_not_act_on_all_that_match_sees_why() {
    let (server, ..) = locked().await;
    let (viewer, _) = create(&*server.engine, Some(AccessRole::Viewer), &[]).await;
    let read = || server.request(Method::GET, "/tasks/a").bearer_auth(viewer.as_str());
    soon(async { while server.send(read()).await.status != 200 {} }).await;
    let cookie = sign_in(&server, &viewer).await;
    let list = "/ui/tasks?name=t";
    let token = token_of(&open(&server, &cookie, list).await);
    let send = async |fields: &str| {
        let sent = form(&server, list, &format!("csrf={token}&{fields}")).header("cookie", &cookie);
        unfollowed(sent).await
    };
    for (act, scope) in
        [("delete_all", "tasks:delete"), ("cancel_all", "tasks:control"), ("delete&id=a", "tasks:delete")]
    {
        assert_eq!(send(&format!("act={act}")).await.status, 200, "{act}: one may ask how many they are");
        let refused = send(&format!("act={act}&sure=yes")).await;
        assert!(refused.status == 403 && refused.text.contains(scope), "{act}: {}", refused.text);
    }
    assert_eq!(server.send(read()).await.expect(200)["status"], "submitted", "nothing was done");
    server.stop().await;
}

#[tokio::test]
async fn the_first_page_shows_what_a_key_may_read_and_says_why_the_rest_is_missing() {
    let (server, operator, _) = locked().await;
    let (reader, _) = create(&*server.engine, None, &[Scope::QueuesRead]).await;
    let asked = || server.request(Method::GET, "/workers").bearer_auth(reader.as_str());
    soon(async { while server.send(asked()).await.status != 403 {} }).await;
    let whole = open(&server, &sign_in(&server, &operator).await, "/ui/").await;
    assert!(whole.text.contains("<h1>One thing needs you.</h1>"), "{}", whole.text);
    let part = open(&server, &sign_in(&server, &reader).await, "/ui/").await;
    assert_eq!(part.status, 200, "{}", part.text);
    for shown in ["<h1>What needs you</h1>", "This can't be shown", "workers:read", "queue?name=mail"] {
        assert!(part.text.contains(shown), "{shown}: {}", part.text);
    }
    assert!(!part.text.contains("needs you."), "what it can't read is not counted: {}", part.text);
    server.stop().await;
}

#[tokio::test]
async fn a_session_ends_with_a_sign_out_and_with_its_key() {
    let (server, key, stored) = locked().await;
    let [first, second, third] =
        [sign_in(&server, &key).await, sign_in(&server, &key).await, sign_in(&server, &key).await];
    let token = token_of(&open(&server, &first, "/ui/queues").await);
    let out = |fields: &str| unfollowed(form(&server, "/sign-out", fields).header("cookie", &first));
    assert_eq!(out("").await.status, 403, "another page signs no person out");
    let gone = out(&format!("csrf={token}")).await;
    assert_eq!((gone.status.as_u16(), cookie_of(&gone).as_str()), (303, "jobbers="));
    assert!(leads_to_sign_in(&open(&server, &first, "/ui/queues").await), "the cookie is of no more use");
    assert_eq!(open(&server, &second, "/ui/queues").await.status, 200, "another session goes on");

    // Rotated, without keeping the secret that the sessions were begun with.
    let renewed = KeyText::for_id(&stored.id);
    let mut rotated = stored.clone();
    rotated.secrets[0].digest = renewed.digest();
    server.engine.put_key(rotated.clone(), PutMode::Replace).await.unwrap();
    soon(async { while !leads_to_sign_in(&open(&server, &second, "/ui/queues").await) {} }).await;
    let fourth = sign_in(&server, &renewed).await;
    let at = Some(Timestamp::from_micros(1));
    server.engine.put_key(AccessKey { revoked_at: at, ..rotated }, PutMode::Replace).await.unwrap();
    soon(async { while !leads_to_sign_in(&open(&server, &fourth, "/ui/queues").await) {} }).await;
    for odd in [&format!("{third}; jobbers=other"), "jobbers=", &format!("jobbers={}", "x".repeat(5_000)), "jobbers"] {
        assert!(leads_to_sign_in(&open(&server, odd, "/ui/queues").await), "{odd}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_session_is_one_at_every_manager_also_for_dead_letters() {
    let folder = tempfile::tempdir().unwrap();
    let engine: Arc<dyn Engine> = Arc::new(ModelEngine::with_system_clock());
    let keeper = Bench { server: Server::with(Arc::clone(&engine), quick(config(&folder))).await, folder };
    keeper.fail("a", "x", "boom").await;
    keeper.archived(1).await;
    let other = Server::with(Arc::clone(&engine), quick(Config::default())).await;
    let (operator, _) = create(&*engine, Some(AccessRole::Operator), &[]).await;
    soon(async { while other.get("/queues").await.status != 401 || keeper.get("/queues").await.status != 401 {} })
        .await;
    let cookie = sign_in(&other, &operator).await;
    for server in [&other, &*keeper] {
        let shown = open(server, &cookie, "/ui/letters").await;
        assert!(shown.status == 200 && shown.text.contains("boom"), "{}", shown.text);
    }
    let letter = open(&other, &cookie, "/ui/letter?id=a").await;
    let fields = format!("act=resubmit&csrf={}", token_of(&letter));
    let sent = unfollowed(form(&other, "/ui/letter?id=a", &fields).header("cookie", &cookie)).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    let status = other.send(other.request(Method::GET, "/tasks/a").bearer_auth(operator.as_str())).await;
    assert_eq!(status.expect(200)["status"], "submitted");
    other.stop().await;
}
