//! Access keys: who may sign in and do what; create, rotate, revoke and delete them.
//!
//! The text of a key is on the page that answers its creation, and on no other: that page is no redirect, and is not kept.

use axum::http::Method;
use jobbers_api::{
    access::key::{IssuedKeyView, KeyListView, KeyState, KeyView, NewKeyRequest, RotateKeyRequest},
    problem::{Code, Problem},
    wire::path::path,
};
use jobbers_common::{
    access::{AccessRole, Pattern},
    values::duration,
};
use maud::{Markup, html};
use serde::Deserialize;

use crate::{
    elements::{
        done::{Did, back},
        frame::{Answered, Screen, action, button},
        words::{Tone, figure, line, number, shell, state, text, to, when, when_if},
    },
    session::ask::{Api, ApiRefusal, Form, Query},
};

#[derive(Debug, Deserialize)]
pub(crate) struct Params {
    did: Option<Did>,
    #[serde(default)]
    name: String,
}

/// `GET /ui/keys`.
pub(crate) async fn list(screen: Screen, Query(Params { did, name }): Query<Params>) -> Answered {
    let KeyListView { keys } = screen.api.get("/keys").await?;
    let body = html! {
        @if let Some(did) = did { (did.note(&name, None)) }
        h1 { "Keys " small { (number(keys.len() as u64)) } }
        section.card #keys data-live { (table(&screen, &keys)) }
        @if !keys.is_empty() { div.actions { (create()) } }
    };
    Ok(screen.page("Keys", "Keys", &body))
}

fn table(screen: &Screen, keys: &[KeyView]) -> Markup {
    let now = screen.now();
    html! {
        @if keys.is_empty() {
            p.soft {
                "The store has no key: its managers answer every client that reaches them. "
                code { "jobbers keys create ops --role admin" } " makes the first, by the store's address."
            }
        }
        @else {
            table {
                tr {
                    th { "Name" } th { "May" } th { "State" } th { "Used" } th { "Expires" }
                    th.wide { "Created" } th.wide { "By" } th.wide { "Id" }
                }
                @for key in keys {
                    tr {
                        td { a href=(to("key", &[("id", key.id.as_str())])) { (line(&key.name)) } }
                        td { (grants(key)) }
                        td { (standing(key)) }
                        td { (when_if(key.last_used_at, now)) }
                        td { (when_if(key.expires_at, now)) }
                        td.wide { (when(key.created_at, now)) }
                        td.wide { (line(&key.created_by)) }
                        td.wide.id { (key.id) }
                    }
                }
            }
        }
    }
}

fn standing(key: &KeyView) -> Markup {
    let tone = if key.state == KeyState::Valid { Tone::Good } else { Tone::Idle };
    state(tone, key.state.as_str())
}

/// Its role and scopes, and to what they are restricted.
fn grants(key: &KeyView) -> Markup {
    html! {
        (key.role.iter().chain(&key.scopes).map(|name| line(name)).collect::<Vec<_>>().join(", "))
        @for (what, patterns) in [("queues", &key.queues), ("tasks", &key.tasks), ("boards", &key.boards)] {
            @if !patterns.is_empty() {
                "; " (what) " " (patterns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn create() -> Markup {
    let explanation = html! {
        "The next page shows the text of the key, once. A key gives no more than the one that you are signed in with. "
        code { "jobbers keys create NAME --role ROLE" }
    };
    let form = html! {
        div.fields {
            label { "Name" input name="name" required maxlength="128"; }
            label { "Role" select name="role" {
                @for role in AccessRole::ALL { option { (role) } }
            } }
            label { "Only queues" input name="queues" placeholder="mail, team-a.*"; }
            label { "Only tasks" input name="tasks" placeholder="any"; }
            label { "Only boards" input name="boards" placeholder="any"; }
            label { "Expires in" input name="expires_in" placeholder="never, or 90d"; }
        }
        (button("create", "Create", false))
    };
    action("Create a key", &explanation, &form)
}

#[derive(Debug, Deserialize)]
pub(crate) struct NewKey {
    name: String,
    role: String,
    #[serde(default)]
    queues: String,
    #[serde(default)]
    tasks: String,
    #[serde(default)]
    boards: String,
    #[serde(default)]
    expires_in: String,
}

/// `POST /ui/keys`: the only page with the key's text.
pub(crate) async fn issue(screen: Screen, Form(new): Form<NewKey>) -> Answered {
    let expires_in = match new.expires_in.trim() {
        "" => None,
        span => Some(duration::parse(span).map_err(|error| invalid(&error))?),
    };
    let request = NewKeyRequest {
        name: new.name.trim().to_owned(),
        role: Some(new.role),
        scopes: Vec::new(),
        queues: patterns(&new.queues)?,
        tasks: patterns(&new.tasks)?,
        boards: patterns(&new.boards)?,
        expires_in,
    };
    let issued: IssuedKeyView = screen.api.call_with(Method::POST, "/keys", &request).await?;
    Ok(shown(&screen, &issued, "The key is created"))
}

fn invalid(error: &impl std::fmt::Display) -> ApiRefusal {
    Problem::new(Code::InvalidRequest, error.to_string()).into()
}

/// Patterns, as they are typed into one field.
fn patterns(typed: &str) -> Result<Vec<Pattern>, ApiRefusal> {
    let words = typed.split([',', ' ']).filter(|word| !word.is_empty());
    words.map(|word| word.parse().map_err(|error| invalid(&error))).collect()
}

/// The page with a key's text.
fn shown(screen: &Screen, issued: &IssuedKeyView, title: &str) -> axum::response::Response {
    let about = &issued.about;
    let body = html! {
        h1 { (title) " " small { (text(&about.name)) } }
        section.card {
            p { "Copy its text now: it is not shown again." }
            pre { (issued.key) }
            p.soft {
                "Programs send it as " code { "Authorization: Bearer KEY" } "; commands read it from the file that "
                code { "JOBBERS_KEY_FILE" } " names. If you lose it, rotate the key."
            }
        }
        p { a.button href=(to("key", &[("id", about.id.as_str())])) { "The key" } " " a.button href="keys" { "All keys" } }
    };
    screen.page("Keys", title, &body)
}

#[derive(Debug, Deserialize)]
pub(crate) struct OneParams {
    id: String,
    did: Option<Did>,
}

/// `GET /ui/key?id=`.
pub(crate) async fn show(screen: Screen, Query(OneParams { id, did }): Query<OneParams>) -> Answered {
    let key: KeyView = screen.api.get(&path(["keys", &id])).await?;
    let now = screen.now();
    let body = html! {
        @if let Some(did) = did { (did.note(&id, None)) }
        h1 #head data-live { (text(&key.name)) " " (standing(&key)) br; small.id { (key.id) } }
        dl.figures #figures data-live {
            (figure("May", &grants(&key)))
            (figure("Valid secrets", &html! { (key.valid_secrets) }))
            (figure("Used in the hour of", &when_if(key.last_used_at, now)))
            (figure("Expires", &when_if(key.expires_at, now)))
            (figure("Created", &html! { (when(key.created_at, now)) " by " (line(&key.created_by)) }))
            @if key.revoked_at.is_some() { (figure("Revoked", &when_if(key.revoked_at, now))) }
        }
        (actions(&key))
        p { a href=(to("audit", &[("key", key.id.as_str())])) { "What it changed" } }
    };
    Ok(screen.page("Keys", &key.name, &body))
}

fn actions(key: &KeyView) -> Markup {
    let id = shell(key.id.as_str());
    let rotate = html! {
        "The next page shows a new text of the key, once. Earlier ones stay valid for as long as you say, so that you can replace \
         them everywhere meanwhile. " code { "jobbers keys rotate " (id) }
    };
    let keep = html! {
        div.fields { label { "Keep earlier ones for" input name="keep" value="24h" required; } }
        (button("rotate", "Rotate", false))
    };
    let revoke = html! {
        "It signs no client in any more; what is under way with it ends within a second. " code { "jobbers keys revoke " (id) }
    };
    let delete =
        html! { "It is gone from the list; the audit log keeps its id. " code { "jobbers keys delete " (id) } };
    html! {
        div.actions {
            @if key.state == KeyState::Valid {
                (action("Rotate", &rotate, &keep))
                (action("Revoke", &revoke, &button("revoke", "Revoke", true)))
            }
            @else { (action("Delete", &delete, &button("delete", "Delete", true))) }
        }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Change {
    act: Act,
    #[serde(default)]
    keep: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Act {
    Rotate,
    Revoke,
    Delete,
}

/// `POST /ui/key?id=`.
pub(crate) async fn change(
    screen: Screen,
    Query(OneParams { id, .. }): Query<OneParams>,
    Form(Change { act, keep }): Form<Change>,
) -> Answered {
    let (api, at): (&Api, String) = (&screen.api, path(["keys", &id]));
    match act {
        Act::Rotate => {
            let keep = duration::parse(keep.trim()).map_err(|error| invalid(&error))?;
            let request = RotateKeyRequest { keep: Some(keep) };
            let issued: IssuedKeyView = api.call_with(Method::POST, &format!("{at}/rotate"), &request).await?;
            Ok(shown(&screen, &issued, "The key has a new text"))
        }
        Act::Revoke => {
            let _: KeyView = api.call(Method::POST, &format!("{at}/revoke")).await?;
            Ok(back("key", Some(("id", &id)), Did::KeyRevoked, None))
        }
        Act::Delete => {
            api.call::<()>(Method::DELETE, &at).await?;
            Ok(back("keys", Some(("name", &id)), Did::KeyDeleted, None))
        }
    }
}
