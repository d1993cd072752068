//! One task of a board: what it holds, who has it; release, delete.

use axum::http::Method;
use jobbers_api::{
    board::{BoardTaskView, cursor_of_group},
    wire::path::path,
};
use maud::{Markup, html};
use serde::Deserialize;

use super::standing;
use crate::{
    elements::{
        done::{Did, back},
        frame::{Answered, Screen, action, button},
        words::{line, number, shell, text, to},
    },
    session::ask::{Api, Form, Query},
};

#[derive(Debug, Deserialize)]
pub(crate) struct Params {
    board: String,
    revision: u64,
    did: Option<Did>,
    n: Option<u64>,
}

impl Params {
    fn task(&self) -> String {
        path(["boards", &self.board, "tasks", &self.revision.to_string()])
    }
}

/// `GET /ui/board-task?board=&revision=`.
pub(crate) async fn show(screen: Screen, Query(params): Query<Params>) -> Answered {
    let found: BoardTaskView = screen.api.get(&params.task()).await?;
    let group = cursor_of_group(&found.group);
    let body = html! {
        @if let Some(did) = params.did { (did.note(&params.board, params.n)) }
        h1 {
            "Task at revision " (found.revision) " " (standing(&screen, &found)) br;
            small {
                a href=(to("board", &[("name", &params.board), ("group", &group)])) { "group " (line(&found.group)) }
                " of board " a href=(to("board", &[("name", &params.board)])) { (line(&params.board)) }
            }
        }
        (actions(&params.board, &found))
        section.card { h2 { "Details" } (details(&found)) }
        @if !found.error.is_empty() {
            section.card { h2 { "Error of an earlier attempt" } pre tabindex="0" { (text(&found.error)) } }
        }
        section.card {
            h2 {
                "Data " small { (number(found.data_bytes as u64)) " bytes, as " (found.data_encoding.to_string()) }
                @if found.truncated { small { ", the beginning" } }
            }
            pre tabindex="0" { (text(&found.data)) }
        }
        p.soft { code { "jobbers boards show " (shell(&params.board)) " " (found.revision) } }
    };
    Ok(screen.page("Boards", &params.board, &body))
}

fn details(found: &BoardTaskView) -> Markup {
    html! {
        table {
            tr { th { "May be taken from" } td.wrap { (found.at) } }
            tr { th { "Changed last by client" } td { (found.owner) } }
            @if !found.data_type.is_empty() { tr { th { "Type of the data" } td.wrap { (line(&found.data_type)) } } }
            @for (name, value) in &found.labels { tr { th { "Label " (line(name)) } td.wrap { (line(value)) } } }
        }
    }
}

fn actions(board: &str, found: &BoardTaskView) -> Markup {
    let command = |verb: &str| html! { " " code { "jobbers boards " (verb) " " (shell(board)) " " (found.revision) } };
    let release = html! {
        "It may be taken at once, with a new revision. A client that holds it is refused at its next change."
        (command("release"))
    };
    let delete = html! {
        "It is deleted, also if a client holds it. It can't be undone." (command("delete"))
    };
    html! {
        div.actions {
            @if !found.visible { (action("Release", &release, &button("release", "Release it", false))) }
            (action("Delete", &delete, &button("delete", "Delete it", true)))
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(crate) enum Change {
    Release,
    Delete,
}

/// `POST /ui/board-task?board=&revision=`.
pub(crate) async fn change(Query(params): Query<Params>, api: Api, Form(change): Form<Change>) -> Answered {
    let board = params.board.as_str();
    match change {
        Change::Release => {
            let released: BoardTaskView = api.call(Method::POST, &format!("{}/release", params.task())).await?;
            let page = to("board-task", &[("board", board), ("revision", &released.revision.to_string())]);
            Ok(back(&page, None, Did::BoardTaskReleased, None))
        }
        Change::Delete => {
            let found: BoardTaskView = api.get(&params.task()).await?;
            api.call::<()>(Method::DELETE, &params.task()).await?;
            let page = to("board", &[("name", board), ("group", &cursor_of_group(&found.group))]);
            Ok(back(&page, None, Did::BoardTasksDeleted, Some(1)))
        }
    }
}
