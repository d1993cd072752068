//! The pages below `/ui`: what runs, what is wrong and why, and what to do about it, for people with a browser.
//!
//! A page knows the API and nothing else. It asks the API of its own process ([`session::ask`]), whose answers are the views of
//! [`jobbers_api`], and makes HTML of them. So it shows nothing that a program can't get, and changes nothing that a
//! program can't change in the same way: every action names the command that does the same. It reads no store and no
//! configuration. It keeps a page for a moment, for other open pages that ask for the same ([`session::shared`]).
//!
//! The pages work without script and load nothing from elsewhere; `live.js` keeps an open page current. Each page is
//! directly below `/ui`, and names are in the query (`/ui/task?id=a/b`): all links are relative, so a proxy may serve the
//! manager below any path.
//!
//! An action is a `POST`, answered with a redirect to a page that says what was done. The manager refuses it when a page of
//! another site sends it, and [`access::sign_in`] without the token of its session.
//!
//! Start reading at [`elements::frame`], then [`overview`].

use std::sync::Arc;

use axum::{
    Extension, Router,
    http::header,
    middleware::{from_fn, from_fn_with_state},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};

mod access;
mod boards;
mod elements;
mod errors;
mod kinds;
mod manager;
mod overview;
mod queues;
mod schedules;
mod session;
mod settings;
mod store;
mod tasks;
mod workers;
mod workflows;

pub use self::{session::token::FORM_TOKEN, settings::PageSettings};

/// The style sheet and the script, with the version of the program in the address of each ([`elements::frame`]).
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("live.js");
/// What a browser may keep for a day: another version of the program has another address for it.
const KEPT: &str = "public, max-age=86400";

/// The pages. `api` is the whole API of this manager, with its checks.
pub fn routes(api: Router, settings: PageSettings) -> Router {
    Router::new()
        .route("/sign-out", post(access::sign_in::end))
        .route("/", get(async || Redirect::temporary("ui/")))
        .route("/ui", get(async || Redirect::temporary("ui/")))
        .route("/ui/", get(overview::show))
        .route("/ui/queues", get(queues::show))
        .route("/ui/queue", get(queues::queue::show).post(queues::queue::change))
        .route("/ui/tasks", get(tasks::show).post(tasks::acts::change))
        .route("/ui/task", get(tasks::task::show).post(tasks::task::change))
        .route("/ui/letters", get(tasks::letters::show).post(tasks::letters::change))
        .route("/ui/letter", get(tasks::letter::show).post(tasks::letter::change))
        .route("/ui/operation", get(tasks::letter::operation).post(tasks::letter::stop))
        .route("/ui/workers", get(workers::list).post(workers::change))
        .route("/ui/worker", get(workers::show).post(workers::change_one))
        .route("/ui/kinds", get(kinds::list))
        .route("/ui/kind", get(kinds::show))
        .route("/ui/schedules", get(schedules::list))
        .route("/ui/schedule", get(schedules::show).post(schedules::change))
        .route("/ui/new-schedule", get(schedules::create::show).post(schedules::create::create))
        .route("/ui/workflows", get(workflows::list))
        .route("/ui/workflow", get(workflows::show).post(workflows::change))
        .route("/ui/submit", get(tasks::submit::show).post(tasks::submit::submit))
        .route("/ui/boards", get(boards::list))
        .route("/ui/board", get(boards::show).post(boards::change))
        .route("/ui/board-task", get(boards::task::show).post(boards::task::change))
        .route("/ui/store", get(store::show).post(store::change))
        .route("/ui/keys", get(access::keys::list).post(access::keys::issue))
        .route("/ui/key", get(access::keys::show).post(access::keys::change))
        .route("/ui/audit", get(access::audit::list))
        .route("/ui/manager", get(manager::show))
        .route("/ui/download", get(elements::payload::download))
        .layer(from_fn(session::typed::around))
        .layer(from_fn(access::sign_in::around))
        .layer(Extension(Arc::new(settings)))
        .layer(from_fn_with_state(Arc::<session::shared::SharedPages>::default(), session::shared::around))
        .route("/sign-in", get(access::sign_in::show).post(access::sign_in::begin))
        .route("/ui/style.css", get(async || asset("text/css; charset=utf-8", STYLE)))
        .route("/ui/live.js", get(async || asset("text/javascript; charset=utf-8", SCRIPT)))
        .route("/problems", get(errors::list))
        .route("/problems/{code}", get(errors::one))
        .with_state(api)
}

fn asset(content_type: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, KEPT)], text).into_response()
}
