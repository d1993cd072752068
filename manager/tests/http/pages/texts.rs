//! What clients send: it stays text, and it stays bounded.

use jobbers_common::{engine::Outcome, payload::Payload};
use serde_json::json;

use super::{LONG, Site};

/// Pages that show what clients sent, and of which kinds.
const SHOWING: [&str; 11] = [
    "/ui/",
    "/ui/tasks",
    "/ui/task?id=ready",
    "/ui/task?id=failed-1",
    "/ui/letters",
    "/ui/letter?id=failed-1",
    "/ui/workers",
    "/ui/worker?id=worker-1",
    "/ui/queue?name=mail",
    "/ui/submit?from=ready",
    "/ui/board?name=masstasker&group=~mail",
];

/// A page without the values of its fields: those are sent back, so they are what they were.
fn visible(html: &str) -> String {
    let mut parts = html.split(" value=\"");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |page, part| page + part.split_once('"').map_or("", |(_, rest)| rest))
}

pub(super) async fn what_clients_send_stays_text_on_every_page(site: Site) {
    site.fill().await;
    for path in SHOWING {
        let html = visible(&site.page(path).await);
        assert!(!html.contains("<img") && !html.contains('\u{202e}') && !html.contains('\u{200b}'), "{path}: {html}");
        if path != "/ui/tasks" {
            assert!(html.contains("&lt;img src=x onerror=alert(1)&gt;"), "{path}: {html}");
            assert!(html.contains("\\u{202e}") || html.contains("\\u202e"), "{path} shows what reorders text: {html}");
        }
    }
    let query =
        |path: &str, name: &str| reqwest::Url::parse_with_params(&format!("http://x{path}"), [(name, LONG)]).unwrap();
    for (path, name) in [("/ui/task", "id"), ("/ui/queue", "name")] {
        let url = query(path, name);
        let html = site.page(&format!("{}?{}", url.path(), url.query().unwrap())).await;
        assert!(html.contains(LONG), "{html}");
    }
    // What the address holds is text too.
    for path in [
        "/ui/task?id=%3Cimg%3E",
        "/ui/tasks?name=%3Cimg%20src%3Dx%3E",
        "/ui/letters?error=%3Cimg%3E",
        "/ui/submit?name=%3Cimg%3E",
        "/ui/tasks?cursor=%3Cimg%3E",
    ] {
        let answer = site.get(path).await;
        assert!(answer.headers["content-type"].to_str().unwrap().starts_with("text/html"), "{path}: {}", answer.text);
        assert!(!answer.text.contains("<img"), "{path}: {}", answer.text);
    }
}

pub(super) async fn a_large_result_is_shown_in_part_and_downloaded_whole(site: Site) {
    site.post("/tasks", json!({"id": "big", "name": "echo"})).await.expect(201);
    let task = site.claim("default", 1).await.remove(0);
    let result = format!("\"{}\"", "x".repeat(500_000));
    site.settle(&task, Outcome::Completed { result: Some(Payload::json(result.clone().into_bytes())) }).await;
    let html = site.page("/ui/task?id=big").await;
    assert!(html.len() < 60 * 1024 && html.contains("of 500,002 bytes"), "{}", html.len());
    let whole = site.get("/ui/download?id=big&source=task&part=result").await;
    assert_eq!((whole.status.as_u16(), whole.text == result), (200, true));
    assert!(whole.headers["content-disposition"].to_str().unwrap().starts_with("attachment"));
    let none = site.get("/ui/download?id=big&source=task&part=checkpoint").await;
    assert_eq!(none.status, 404);
}

pub(super) async fn a_list_of_many_is_shown_in_pages(site: Site) {
    let tasks: Vec<_> = (0..120).map(|n| json!({"id": format!("task-{n:03}"), "name": "echo"})).collect();
    site.post("/tasks", json!({"tasks": tasks})).await.expect(201);
    let (mut path, mut found) = ("/ui/tasks?queue=default".to_owned(), Vec::new());
    loop {
        let html = site.page(&path).await;
        let ids = html.split("name=\"id\" value=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
        let before = found.len();
        found.extend(ids);
        assert!(found.len() - before <= 50, "{path}");
        let next = html.split("rel=\"next\" href=\"").nth(1).and_then(|rest| rest.split('"').next());
        let Some(next) = next else { break };
        assert!(next.contains("queue=default"), "the search goes on: {next}");
        path = format!("/ui/{}", next.replace("&amp;", "&"));
    }
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 120);
}
