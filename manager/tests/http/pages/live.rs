//! An open page as an event stream: what has changed is sent, and the manager's bounds hold.

use std::{pin::Pin, sync::Arc, time::Duration};

use futures_util::{Stream, StreamExt};
use jobbers_law::model::ModelEngine;
use jobbers_manager::Config;
use reqwest::{Method, RequestBuilder};
use serde_json::json;

use super::Site;
use crate::server::{Server, soon};

/// A browser that listens to a page.
pub(crate) struct Listener {
    pieces: Pin<Box<dyn Stream<Item = reqwest::Result<bytes::Bytes>>>>,
    text: String,
}

impl Listener {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        let response = request.header("accept", "text/event-stream").send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { pieces: Box::pin(response.bytes_stream()), text: String::new() }
    }

    /// The name of the next event and its data; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<(String, String)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let fields = |name: &str| {
                    let lines = event.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
                };
                let read = (fields("event"), fields("data"));
                self.text = rest.to_owned();
                return Some(read);
            }
            let piece = soon(self.pieces.next()).await?.unwrap();
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }
}

pub(super) async fn a_page_is_sent_when_it_has_changed(site: Site) {
    site.post("/queues", json!({"name": "mail"})).await.expect(201);
    let mut listener = Listener::of(site.request(Method::GET, "/ui/queue?name=mail")).await;
    site.post("/queues/mail/pause", "").await.expect(200);
    let (name, html) = listener.next().await.unwrap();
    assert!(name == "page" && html.starts_with("<!DOCTYPE html>") && html.contains("paused"), "{name}: {html}");
    // What would end a line of an event is in the address, and so in a field of the page.
    let mut search = Listener::of(site.request(Method::GET, "/ui/tasks?name=%0D%0Ax")).await;
    let (name, html) = search.next().await.unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>"), "{name}: {html}");
}

#[tokio::test]
async fn a_page_that_stays_as_it_is_is_sent_once() {
    let server = Server::start().await;
    let mut listener = Listener::of(server.request(Method::GET, "/ui/submit")).await;
    let (name, html) = listener.next().await.unwrap();
    assert!(name == "page" && html.contains("Submit a task"), "{name}");
    for _ in 0..2 {
        assert_eq!(listener.next().await.unwrap(), ("same".to_owned(), String::new()));
    }
    server.stop().await;
}

#[tokio::test]
async fn streams_of_pages_are_bounded_and_end_with_the_manager() {
    let config = Config { max_connections: 6, drain_timeout: Duration::from_secs(3_600), ..Config::default() };
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config).await;
    let mut listeners = Vec::new();
    for _ in 0..3 {
        listeners.push(Listener::of(server.request(Method::GET, "/ui/")).await);
    }
    let further = server.request(Method::GET, "/ui/").header("accept", "text/event-stream");
    let refused = server.send(further).await;
    refused.refused(503, "overloaded");
    assert_eq!(server.get("/ui/").await.status, 200, "the page itself is answered");
    soon(server.stop()).await;
    for mut listener in listeners {
        while let Some((name, _)) = listener.next().await {
            assert_eq!(name, "page");
        }
    }
}
