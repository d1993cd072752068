//! Each link of each page leads to something that answers, and each page keeps the promises of all pages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use reqwest::{Method, Url};

use super::{Site, addresses, unfollowed_by, unfollowing};
use crate::server::Answer;

/// Most bytes of a page in these tests.
pub(super) const MAX_PAGE: usize = 60 * 1024;

/// Those that a reader must be able to reach from the first page.
pub(super) const REACHED: [&str; 25] = [
    "/ui/",
    "/ui/tasks",
    "/ui/task",
    "/ui/download",
    "/ui/letters",
    "/ui/letter",
    "/ui/operation",
    "/ui/queues",
    "/ui/queue",
    "/ui/workers",
    "/ui/worker",
    "/ui/kinds",
    "/ui/kind",
    "/ui/schedules",
    "/ui/schedule",
    "/ui/new-schedule",
    "/ui/workflows",
    "/ui/workflow",
    "/ui/submit",
    "/ui/store",
    "/ui/boards",
    "/ui/board",
    "/ui/board-task",
    "/ui/keys",
    "/ui/audit",
];

pub(super) async fn every_link_of_every_page_leads_somewhere(site: Site) {
    site.fill().await;
    let found = addresses_of(&site, usize::MAX).await;
    let paths: BTreeSet<&str> = found.iter().filter_map(|(path, _)| path.split('?').next()).collect();
    for page in REACHED {
        assert!(paths.contains(page), "no link leads to {page}: {paths:?}");
    }
}

/// Follows every link from the first page on, and checks each page that it finds; of links to one screen, the first `most`.
/// Returns what it found, in that order, and whether each is a page.
pub(super) async fn addresses_of(site: &Site, most: usize) -> Vec<(String, bool)> {
    let (mut found, mut of_screen) = (Vec::new(), BTreeMap::<String, usize>::new());
    let client = unfollowing();
    let root = Url::parse(&format!("http://{}/", site.address)).unwrap();
    let (mut seen, mut left) = (BTreeSet::new(), VecDeque::from([root.clone()]));
    while let Some(url) = left.pop_front() {
        let is_ours = url.origin() == root.origin();
        if !is_ours || url.scheme() == "data" || !seen.insert((url.path().to_owned(), url.query().map(str::to_owned))) {
            continue;
        }
        let followed = of_screen.entry(url.path().to_owned()).or_default();
        *followed += 1;
        if *followed > most {
            continue;
        }
        let path = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        let answer = unfollowed_by(&client, site.request(Method::GET, &path)).await;
        if answer.status.is_redirection() {
            left.push_back(url.join(answer.headers["location"].to_str().unwrap()).unwrap());
            continue;
        }
        assert!(answer.status.is_success(), "{path} answers {}: {}", answer.status, answer.text);
        let is_page = answer.headers["content-type"].to_str().unwrap().starts_with("text/html");
        let is_page = is_page && !path.starts_with("/docs");
        found.push((path.clone(), is_page));
        if is_page {
            check(&path, &answer);
            left.extend(addresses(&url, &answer.text));
        }
    }
    found
}

/// What holds of each page: small, without script or style of its own, and only with what comes from here.
fn check(path: &str, answer: &Answer) {
    let (html, headers) = (&answer.text, &answer.headers);
    assert!(html.len() <= MAX_PAGE, "{path} has {} bytes", html.len());
    let policy = headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe-inline"), "{path}: {policy}");
    assert!(headers["x-frame-options"] == "DENY" && headers["cache-control"] == "no-store", "{path}: {headers:?}");
    for inline in [" style=", "<style", " onclick=", " onload=", "<script>", "javascript:"] {
        assert!(!html.contains(inline), "{path} has {inline}");
    }
    for tag in ["<main", "<h1", "<html lang=\"en\"><head>", "</title><link"] {
        assert_eq!(html.matches(tag).count(), 1, "{path}: {tag}");
    }
}

#[tokio::test]
async fn the_style_sheet_and_the_script_are_small_and_kept() {
    let server = crate::server::Server::start().await;
    for (path, kind, most) in [("/ui/style.css", "text/css", 8 * 1024), ("/ui/live.js", "text/javascript", 12 * 1024)] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 200);
        assert!(answer.headers["content-type"].to_str().unwrap().starts_with(kind));
        assert!(answer.headers["cache-control"].to_str().unwrap().contains("max-age"));
        assert!(answer.text.len() <= most, "{path} has {} bytes", answer.text.len());
    }
}
