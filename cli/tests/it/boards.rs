//! `jobbers boards`, with TaskStore's clients as those who fill a board.

use serde_json::{Value, json};

use crate::jobbers::Up;

/// Puts tasks as a client of TaskStore does.
fn add(up: &Up, adds: &Value) {
    let sent = async {
        let client = jobbers_api::client::http_client().build().unwrap();
        let body = json!({"clientid": 5, "adds": adds}).to_string();
        client.post(format!("{}/taskstore/update", up.url)).body(body).send().await.unwrap()
    };
    let answer = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(sent);
    assert!(answer.status().is_success(), "{answer:?}");
}

#[test]
fn a_board_is_looked_at_and_changed_from_the_terminal() {
    let up = Up::start();
    assert_eq!(up.jobbers(&["boards"]).ok().out, "");
    let many = [json!({"group": "a b", "data": "spaced"}), json!({"group": "mail", "data": "to: Ada\n"})];
    add(&up, &json!(many));
    add(&up, &json!([{"group": "mail", "timespec": -3_600_000, "data": "later"}]));
    let listed = up.jobbers(&["boards"]).ok().out;
    assert!(listed.contains("BOARD") && listed.lines().nth(1).unwrap().starts_with("taskstore "), "{listed}");
    let groups = up.jobbers(&["boards", "groups", "taskstore"]).ok().out;
    assert!(groups.contains("a b") && groups.contains("mail"), "{groups}");
    let tasks = up.jobbers(&["boards", "list", "taskstore", "mail"]).ok().out;
    assert!(tasks.contains("to: Ada\\n") && tasks.contains("later"), "{tasks}");
    let visible = up.jobbers(&["boards", "list", "taskstore", "mail", "--visible"]).ok().out;
    assert!(!visible.contains("later"), "{visible}");
    let page = up.jobbers(&["boards", "list", "taskstore", "a b", "--json"]).ok().json();
    assert_eq!((&page["tasks"][0]["data"], &page["total"]), (&json!("spaced"), &json!(1)));
    let shown = up.jobbers(&["boards", "show", "taskstore", "2"]).ok().out;
    assert!(shown.contains("group") && shown.ends_with("to: Ada\n\n"), "{shown:?}");
    let released = up.jobbers(&["boards", "release", "taskstore", "3"]).ok().out;
    assert_eq!(released, "visible, at revision 4\n");
    up.jobbers(&["boards", "delete", "taskstore", "4", "--yes"]).ok();
    assert_eq!(up.jobbers(&["boards", "delete", "taskstore", "--group", "mail", "--yes"]).ok().out, "1 task deleted\n");
    assert_eq!(up.jobbers(&["boards", "delete", "taskstore", "--group", "a b", "-y"]).ok().out, "1 task deleted\n");
    assert_eq!(up.jobbers(&["boards", "list", "taskstore", "mail"]).ok().out, "");
    // Without a terminal it does not ask, and deletes nothing.
    add(&up, &json!([{"group": "mail", "data": "kept"}]));
    up.jobbers(&["boards", "delete", "taskstore", "--group", "mail"]).fails(2, "--yes");
    assert!(up.jobbers(&["boards", "list", "taskstore", "mail"]).ok().out.contains("kept"));
    let examined = up.jobbers(&["doctor"]).ok().out;
    assert!(examined.contains("boards") && examined.contains("1 board, 1 task"), "{examined}");
}

#[test]
fn a_board_or_a_task_that_does_not_exist_is_an_error() {
    let up = Up::start();
    up.jobbers(&["boards", "groups", "none"]).fails(1, "unknown_board");
    up.jobbers(&["boards", "list", "none", "g"]).fails(1, "unknown_board");
    up.jobbers(&["boards", "show", "none", "1"]).fails(1, "unknown_board_task");
    up.jobbers(&["boards", "release", "none", "1"]).fails(1, "unknown_board_task");
    up.jobbers(&["boards", "delete", "none", "1", "--yes"]).fails(1, "unknown_board_task");
    for wrong in [
        &["boards", "groups", "no name"][..],
        &["boards", "show", "b", "one"],
        &["boards", "list", "b"],
        &["boards", "delete", "b", "--yes"],
        &["boards", "delete", "b", "1", "--group", "g"],
        &["boards", "groups", "b", "--limit", "0"],
    ] {
        up.jobbers(wrong).ends_with(2);
    }
}
