//! The store away, and the manager asked by a page of another site.

use std::sync::Arc;

use jobbers_common::engine::Error;
use jobbers_law::double::Double;
use jobbers_manager::Config;
use serde_json::json;

use super::unfollowed;
use crate::{
    fault::{Fault, FaultyEngine},
    server::Server,
};

const PAGES: [&str; 15] = [
    "/ui/",
    "/ui/tasks",
    "/ui/task?id=x",
    "/ui/letters",
    "/ui/queues",
    "/ui/queue?name=default",
    "/ui/workers",
    "/ui/kinds",
    "/ui/kind?name=echo",
    "/ui/schedules",
    "/ui/new-schedule",
    "/ui/workflows",
    "/ui/submit",
    "/ui/manager",
    "/ui/operation?id=x",
];

#[tokio::test]
async fn every_page_says_that_the_store_is_away_and_comes_back_with_it() {
    let engine = Arc::new(Double(FaultyEngine::new()));
    let server = Server::with(engine.clone(), Config::default()).await;
    engine.set(Fault::Fails(Error::unavailable("connection refused")));
    for page in PAGES {
        let answer = server.get(page).await;
        assert_eq!(answer.status, 503, "{page}: {}", answer.text);
        assert!(answer.headers["content-type"].to_str().unwrap().starts_with("text/html"), "{page}");
        for said in ["connection refused", "tries again by itself", "http-equiv=\"refresh\""] {
            assert!(answer.text.contains(said), "{page}: {said}: {}", answer.text);
        }
    }
    engine.set(Fault::None);
    assert_eq!(server.get("/ui/").await.status, 200);
}

#[tokio::test]
async fn what_a_store_refuses_is_a_page_that_says_why() {
    let engine = Arc::new(Double(FaultyEngine::new()));
    let server = Server::with(engine.clone(), Config::default()).await;
    for (error, says) in [
        (Error::ReadOnly("it is a replica".to_owned()), "it is a replica"),
        (Error::Full("the disk is full".to_owned()), "the disk is full"),
        (Error::Corrupt("page 7 can't be read".to_owned()), "page 7 can't be read"),
    ] {
        engine.set(Fault::Fails(error));
        let pause =
            server.request(reqwest::Method::POST, "/ui/queue?name=default").header("sec-fetch-site", "same-origin");
        let pause = pause.header("content-type", "application/x-www-form-urlencoded").body("act=pause");
        for answer in [server.get("/ui/queue?name=default").await, server.send(pause).await] {
            assert!(answer.status.is_server_error(), "{}: {}", answer.status, answer.text);
            assert!(answer.text.starts_with("<!DOCTYPE html>") && answer.text.contains(says), "{}", answer.text);
        }
        engine.set(Fault::None);
        assert_eq!(server.get("/queues/default").await.expect(200)["paused"], false);
    }
}

#[tokio::test]
async fn a_page_of_another_site_does_nothing_here() {
    let server = Server::start().await;
    let post = |header: (&'static str, &'static str)| {
        let request = server.request(reqwest::Method::POST, "/ui/queue?name=default").header(header.0, header.1);
        server.send(request.header("content-type", "application/x-www-form-urlencoded").body("act=pause"))
    };
    for foreign in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site"), ("origin", "null")] {
        post(foreign).await.refused(403, "foreign_origin");
    }
    assert_eq!(server.get("/queues/default").await.expect(200)["paused"], false);
    assert_eq!(post(("sec-fetch-site", "same-origin")).await.status, 200, "it is sent back to the page");
    assert_eq!(server.get("/queues/default").await.expect(200)["paused"], true);
}

#[tokio::test]
async fn a_link_from_another_site_leads_to_a_page() {
    let server = Server::start().await;
    for page in ["/ui/", "/ui/tasks", "/ui/queue?name=default"] {
        let link = server.request(reqwest::Method::GET, page).header("sec-fetch-site", "cross-site");
        assert_eq!(server.send(link).await.status, 200, "{page}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_a_page_that_says_so() {
    let server = Server::start().await;
    for (page, status, says) in [
        ("/ui/task?id=none", 404, "task none does not exist"),
        ("/ui/queue?name=none", 404, "none"),
        ("/ui/workflow?id=none", 404, "none"),
        ("/ui/worker?id=none", 404, "none"),
        ("/ui/queue", 400, "name"),
        ("/ui/tasks?did=nonsense", 400, "nonsense"),
    ] {
        let answer = server.get(page).await;
        assert_eq!(answer.status, status, "{page}: {}", answer.text);
        assert!(answer.text.starts_with("<!DOCTYPE html>") && answer.text.contains(says), "{page}: {}", answer.text);
    }
    let first = unfollowed(server.request(reqwest::Method::GET, "/")).await;
    assert_eq!((first.status.as_u16(), &first.headers["location"]), (307, &"ui/".parse().unwrap()));
    server.post("/ui/queues", json!({})).await.refused(405, "method_not_allowed");
}
