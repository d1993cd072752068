//! Boards: what clients of MassTasker and TaskStore keep now, by group; and one group with its tasks, which may be deleted
//! as a whole.

pub(super) mod task;

use axum::http::Method;
use jobbers_api::{
    board::{BoardListView, BoardTaskListView, BoardTaskView, GroupListView, Nanoseconds, cursor_of_group, group_of},
    queue::PurgedView,
    value::Rfc3339,
    wire::path::path,
};
use jobbers_common::time::Timestamp;
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::{
    elements::{
        done::{Did, back},
        frame::{Answered, Screen, action, button},
        words::{Tone, line, many, number, shell, state, to, when},
    },
    session::ask::{Api, ApiRefusal, Form, Query},
};

/// How many boards, groups or tasks are on a page.
const ROWS: usize = 50;

#[derive(Debug, Deserialize)]
pub(super) struct ListParams {
    cursor: Option<String>,
}

/// `GET /ui/boards`.
pub(super) async fn list(screen: Screen, Query(ListParams { cursor }): Query<ListParams>) -> Answered {
    let page: BoardListView = screen.api.get(&to("/boards", &paged(&[], cursor.as_deref()))).await?;
    let body = html! {
        h1 { "Boards" }
        p.soft {
            "Clients of MassTasker and TaskStore keep their tasks on boards. Those of lakeFS use queues: see "
            a href="queues" { "Queues" } "."
        }
        section.card #boards data-live {
            @if page.boards.is_empty() { p.soft { "There are none. A board is there from its first task on." } }
            @else {
                table {
                    tr { th { "Board" } th.n { "Tasks" } th.n { "Latest revision" } }
                    @for board in &page.boards {
                        tr {
                            td { a href=(to("board", &[("name", board.name.as_str())])) { (board.name) } }
                            td.n { (number(board.tasks)) } td.n { (number(board.revision)) }
                        }
                    }
                }
            }
        }
        (pages(cursor.is_some(), "boards", page.next_cursor.map(|next| to("boards", &[("cursor", next)]))))
        p.soft { code { "jobbers boards" } }
    };
    Ok(screen.page("Boards", "Boards", &body))
}

fn paged<'a>(query: &[(&'a str, &'a str)], cursor: Option<&'a str>) -> Vec<(&'a str, String)> {
    let said = query.iter().map(|(name, value)| (*name, (*value).to_owned()));
    let cursor = cursor.map(|cursor| ("cursor", cursor.to_owned()));
    said.chain([("limit", ROWS.to_string())]).chain(cursor).collect()
}

fn pages(is_later: bool, first: &str, next: Option<String>) -> Markup {
    html! {
        nav.pages aria-label="Parts of the list" {
            @if is_later { a.button href=(first) { "First page" } }
            @if let Some(next) = next { a.button rel="next" href=(next) { "Next page" } }
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Params {
    name: String,
    /// A group, with `~` in front, as its name may be empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    #[serde(skip_serializing)]
    did: Option<Did>,
    #[serde(skip_serializing)]
    n: Option<u64>,
}

impl Params {
    /// Another place of the same board.
    fn at(&self, group: Option<&str>, cursor: Option<String>) -> String {
        let group = group.map(cursor_of_group);
        to("board", &Self { group, cursor, ..self.clone() })
    }
}

/// `GET /ui/board?name=`: its groups; with `group=` the tasks of one.
pub(super) async fn show(screen: Screen, Query(params): Query<Params>) -> Answered {
    let body = match params.group.as_deref() {
        Some(group) => group_page(&screen, &params, group_of(group)?).await?,
        None => groups_page(&screen, &params).await?,
    };
    Ok(screen.page("Boards", &params.name, &body))
}

async fn groups_page(screen: &Screen, params: &Params) -> Result<Markup, ApiRefusal> {
    let name = &params.name;
    let query = paged(&[], params.cursor.as_deref());
    let page: GroupListView = screen.api.get(&to(&path(["boards", name, "groups"]), &query)).await?;
    Ok(html! {
        @if let Some(did) = params.did { (did.note(name, params.n)) }
        h1 { "Board " (line(name)) }
        section.card #groups data-live {
            h2 { "Groups" }
            @if page.groups.is_empty() { p.soft { "No group holds a task now." } }
            table {
                @for one in &page.groups {
                    tr {
                        td.wrap { a href=(params.at(Some(&one.group), None)) { (group_name(&one.group)) } }
                        td.n { (number(one.tasks)) }
                    }
                }
            }
        }
        (pages(params.cursor.is_some(), &params.at(None, None), page.next_cursor.map(|next| params.at(None, Some(next)))))
        p.soft { code { "jobbers boards groups " (shell(name)) } }
    })
}

fn group_name(group: &str) -> Markup {
    html! { @if group.is_empty() { i { "without a name" } } @else { (line(group)) } }
}

async fn group_page(screen: &Screen, params: &Params, group: &str) -> Result<Markup, ApiRefusal> {
    let name = &params.name;
    let query = paged(&[("group", group)], params.cursor.as_deref());
    let page: BoardTaskListView = screen.api.get(&to(&path(["boards", name, "tasks"]), &query)).await?;
    let next = page.next_cursor.clone().map(|next| params.at(Some(group), Some(next)));
    Ok(html! {
        @if let Some(did) = params.did { (did.note(name, params.n)) }
        h1 {
            "Group " (group_name(group)) " " small { (many(page.total, "task")) } br;
            small { "of board " a href=(params.at(None, None)) { (line(name)) } }
        }
        @if page.total > 0 { div.actions { (delete_action(name, group, page.total)) } }
        section.card #tasks data-live {
            h2 { "Tasks, in the order in which they are taken" }
            (table(screen, name, &page.tasks))
        }
        (pages(params.cursor.is_some(), &params.at(Some(group), None), next))
        p.soft { code { "jobbers boards list " (shell(name)) " " (shell(group)) } }
    })
}

fn table(screen: &Screen, board: &str, tasks: &[BoardTaskView]) -> Markup {
    html! {
        @if tasks.is_empty() { p.soft { "It holds none now." } }
        @else {
            table {
                tr { th { "Revision" } th { "State" } th.wide { "Changed last by" } th.n { "Bytes" } th { "Data" } }
                @for one in tasks {
                    @let at = [("board", board), ("revision", &one.revision.to_string())];
                    tr {
                        td { a href=(to("board-task", &at)) { (one.revision) } }
                        td { (standing(screen, one)) }
                        td.wide { (one.owner) }
                        td.n { (number(one.data_bytes as u64)) }
                        td.wrap {
                            code { (line(&one.data)) }
                            @if !one.error.is_empty() { br; (state(Tone::Bad, "error")) " " code { (line(&one.error)) } }
                        }
                    }
                }
            }
        }
    }
}

/// Whether a task can be taken now, or from when on.
pub(super) fn standing(screen: &Screen, one: &BoardTaskView) -> Markup {
    let Nanoseconds(at) = one.at;
    let at = Rfc3339(Timestamp::from_micros(at.0 / 1_000));
    html! {
        @if one.visible { (state(Tone::Good, "may be taken")) }
        @else { (state(Tone::Warn, "leased or delayed")) " until " (when(at, screen.now())) }
    }
}

fn delete_action(board: &str, group: &str, total: u64) -> Markup {
    let words = html! {
        "This deletes the tasks of the group, leased ones too: " b { (number(total)) } " now. It can't be undone. "
        code { "jobbers boards delete " (shell(board)) " --group " (shell(group)) }
    };
    action(
        "Delete all",
        &words,
        &html! {
            input type="hidden" name="shown" value=(total);
            label {
                "Type " (total) " to delete them "
                input name="typed" inputmode="numeric" autocomplete="off" required;
            }
            (button("delete", "Delete", true))
        },
    )
}

#[derive(Debug, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(super) enum Change {
    Delete { shown: String, typed: String },
}

/// `POST /ui/board?name=&group=`: deletes no more than was shown and typed.
pub(super) async fn change(Query(params): Query<Params>, api: Api, Form(change): Form<Change>) -> Answered {
    let Change::Delete { shown, typed } = change;
    let group = group_of(params.group.as_deref().unwrap_or_default())?;
    let tasks = to(&path(["boards", &params.name, "tasks"]), &[("group", group), ("limit", "1")]);
    let found: BoardTaskListView = api.get(&tasks).await?;
    let is_meant = typed.trim() == shown && shown.parse::<u64>().is_ok_and(|shown| found.total <= shown);
    let page = params.at(Some(group), None);
    if !is_meant {
        return Ok(back(&page, None, Did::Moved, Some(found.total)));
    }
    let all = to(&path(["boards", &params.name, "tasks"]), &[("group", group)]);
    let PurgedView { removed, more } = api.call(Method::DELETE, &all).await?;
    let did = if more { Did::BoardTasksDeletedInPart } else { Did::BoardTasksDeleted };
    Ok(back(&page, None, did, Some(removed)))
}
