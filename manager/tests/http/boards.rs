//! `/boards`: what an operator sees of the tasks of MassTasker's and TaskStore's clients, and may change.

mod masstasker;
mod taskstore;

use std::sync::Arc;

use jobbers_common::{
    engine::boards::{
        Boards, Commit, CommitAnswer, Create, Take, TakeOrder,
        task::{Content, When},
    },
    name::BoardName,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::Server;

/// An hour in nanoseconds.
const HOUR: i64 = 3_600_000_000_000;

fn board() -> BoardName {
    BoardName::new("masstasker").unwrap()
}

pub(crate) fn boards(server: &Server) -> Arc<dyn Boards> {
    Arc::clone(&server.engine).boards()
}

/// Puts a task into a group, and answers its revision.
pub(crate) async fn put(server: &Server, group: &str, data: &[u8], at: When) -> u64 {
    let content = Content { data: data.to_vec().into(), ..Content::default() };
    let create = vec![Create { group: group.to_owned(), at, content }];
    match boards(server).commit(Commit { create, ..Commit::new(board(), 7) }).await.unwrap() {
        CommitAnswer::Done(done) => done.created[0].revision,
        refused => panic!("{refused:?}"),
    }
}

/// The revision of the task that a client takes for an hour.
async fn take(server: &Server, group: &str) -> Option<u64> {
    let (order, group) = (TakeOrder::FirstInFirstOut, group.to_owned());
    let lease = Some(HOUR.unsigned_abs());
    let take = Take { board: board(), group, order, owner: 7, now: None, lease, require: Vec::new() };
    boards(server).take(take).await.unwrap().task.map(|task| task.revision)
}

fn revisions(page: &Value) -> Vec<u64> {
    page["tasks"].as_array().unwrap().iter().map(|task| task["revision"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn boards_groups_and_tasks_are_listed_page_by_page() {
    let server = Server::start().await;
    assert_eq!(server.get("/boards").await.expect(200), json!({"boards": []}));
    for group in ["", "a/b c&d", "a/b c&d", "mail", "\u{e9}"] {
        put(&server, group, b"x", When::NOW).await;
    }
    let boards = server.get("/boards").await.expect(200);
    assert_eq!(boards, json!({"boards": [{"name": "masstasker", "revision": 5, "tasks": 5}]}));
    let (mut names, mut path) = (Vec::new(), "/boards/masstasker/groups?limit=1".to_owned());
    loop {
        let page = server.get(&path).await.expect(200);
        let groups = page["groups"].as_array().unwrap().clone();
        names.extend(groups.iter().map(|group| (group["group"].as_str().unwrap().to_owned(), group["tasks"].clone())));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        let query = reqwest::Url::parse_with_params("http://h/", [("limit", "1"), ("cursor", cursor)]).unwrap();
        path = format!("/boards/masstasker/groups?{}", query.query().unwrap());
    }
    let expected = [("", 1), ("a/b c&d", 2), ("mail", 1), ("\u{e9}", 1)].map(|(name, n)| (name.to_owned(), json!(n)));
    assert_eq!(names, expected);

    let first = server.get("/boards/masstasker/tasks?group=a%2Fb%20c%26d&limit=1").await.expect(200);
    assert_eq!((revisions(&first), &first["total"]), (vec![2], &json!(2)));
    let cursor = first["next_cursor"].as_str().unwrap();
    let path = format!("/boards/masstasker/tasks?group=a%2Fb%20c%26d&cursor={cursor}");
    let second = server.get(&path).await.expect(200);
    assert_eq!((revisions(&second), &second["next_cursor"]), (vec![3], &json!(null)));
    assert_eq!(revisions(&server.get("/boards/masstasker/tasks?group=").await.expect(200)), [1]);
    assert_eq!(revisions(&server.get("/boards/masstasker/tasks?group=none").await.expect(200)), [0_u64; 0]);
}

#[tokio::test]
async fn a_task_is_shown_with_its_data_as_text_or_base64() {
    let server = Server::start().await;
    put(&server, "g", "h\u{e9}llo".as_bytes(), When::NOW).await;
    put(&server, "g", b"\xff\x00", When::In(HOUR)).await;
    put(&server, "g", &[b'x'; 300_000], When::NOW).await;
    let text = server.get("/boards/masstasker/tasks/1").await.expect(200);
    assert_eq!((&text["data"], &text["data_encoding"]), (&json!("h\u{e9}llo"), &json!("text")));
    assert_eq!((&text["visible"], &text["owner"], &text["group"]), (&json!(true), &json!(7), &json!("g")));
    let bytes = server.get("/boards/masstasker/tasks/2").await.expect(200);
    assert_eq!((&bytes["data"], &bytes["data_encoding"]), (&json!("/wA="), &json!("base64")));
    assert_eq!(bytes["visible"], false);
    let large = server.get("/boards/masstasker/tasks/3").await.expect(200);
    assert_eq!((&large["data_bytes"], &large["truncated"]), (&json!(300_000), &json!(true)));
    assert_eq!(large["data"].as_str().unwrap().len(), 256 * 1_024);
    let listed = server.get("/boards/masstasker/tasks?group=g&visible=true").await.expect(200);
    assert_eq!((revisions(&listed), &listed["total"]), (vec![1, 3], &json!(3)));
    assert_eq!(listed["tasks"][1]["data"].as_str().unwrap().len(), 1_024);
}

#[tokio::test]
async fn a_lease_is_ended_early_and_its_holder_is_refused() {
    let server = Server::start().await;
    put(&server, "g", b"x", When::NOW).await;
    let held = take(&server, "g").await.unwrap();
    assert_eq!(take(&server, "g").await, None);
    let released = server.post(&format!("/boards/masstasker/tasks/{held}/release"), json!(null)).await.expect(200);
    assert_eq!((&released["revision"], &released["visible"]), (&json!(held + 1), &json!(true)));
    assert_eq!(released["data"], "x");
    // One that is visible keeps its place and its revision.
    let path = format!("/boards/masstasker/tasks/{}/release", held + 1);
    assert_eq!(server.post(&path, json!(null)).await.expect(200)["revision"], held + 1);
    let path = format!("/boards/masstasker/tasks/{held}");
    server.get(&path).await.refused(404, "unknown_board_task");
    server.delete(&path).await.refused(404, "unknown_board_task");
    server.post(&format!("{path}/release"), json!(null)).await.refused(404, "unknown_board_task");
    assert_eq!(take(&server, "g").await, Some(held + 2));
}

#[tokio::test]
async fn tasks_are_deleted_by_revision_and_by_group() {
    let server = Server::start().await;
    for _ in 0..2_500 {
        put(&server, "many", b"x", When::In(HOUR)).await;
    }
    let kept = put(&server, "few", b"x", When::NOW).await;
    let gone = put(&server, "few", b"x", When::NOW).await;
    assert_eq!(server.delete(&format!("/boards/masstasker/tasks/{gone}")).await.status, 204);
    let removed = server.delete("/boards/masstasker/tasks?group=many").await.expect(200);
    assert_eq!(removed, json!({"removed": 2_500, "more": false}));
    let removed = server.delete("/boards/masstasker/tasks?group=many").await.expect(200);
    assert_eq!(removed, json!({"removed": 0, "more": false}));
    assert_eq!(revisions(&server.get("/boards/masstasker/tasks?group=few").await.expect(200)), [kept]);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let server = Server::start().await;
    put(&server, "g", b"x", When::NOW).await;
    let long = "g".repeat(1_025);
    for path in [
        "/boards?limit=0",
        "/boards?limit=1001",
        "/boards?cursor=no%20name",
        "/boards/no%20name/groups",
        "/boards/masstasker/groups?limit=0",
        "/boards/masstasker/groups?cursor=mail",
        &format!("/boards/masstasker/groups?cursor=~{long}"),
        "/boards/masstasker/tasks",
        "/boards/masstasker/tasks?group=g&limit=0",
        "/boards/masstasker/tasks?group=g&cursor=1",
        "/boards/masstasker/tasks?group=g&visible=perhaps",
        &format!("/boards/masstasker/tasks?group={long}"),
        "/boards/masstasker/tasks/one",
        "/boards/masstasker/tasks/-1",
    ] {
        server.get(path).await.refused(400, "invalid_parameter");
    }
    for path in ["/boards/masstasker/tasks", "/boards/masstasker/tasks/one"] {
        server.delete(path).await.refused(400, "invalid_parameter");
    }
    server.delete(&format!("/boards/masstasker/tasks?group={long}")).await.refused(400, "invalid_parameter");
    for path in ["/boards/mastasker/groups", "/boards/mastasker/tasks?group=g"] {
        server.get(path).await.refused(404, "unknown_board");
    }
    server.delete("/boards/mastasker/tasks?group=g").await.refused(404, "unknown_board");
    for path in ["/boards/masstasker/tasks/99", "/boards/mastasker/tasks/1"] {
        server.get(path).await.refused(404, "unknown_board_task");
    }
    let put = server.send(server.request(Method::PUT, "/boards/masstasker/tasks/1")).await;
    put.refused(405, "method_not_allowed");
    assert_eq!(server.get("/boards").await.expect(200)["boards"][0]["tasks"], 1);
}
