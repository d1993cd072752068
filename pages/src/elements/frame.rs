//! What all pages have in common: the frame around a page, the headers of its answer, and the page of a refusal.
//!
//! Every page first asks whether the manager can do its work. If it can't, the answer is a page with the reason.

use axum::{
    Router,
    extract::FromRequestParts,
    http::{HeaderName, StatusCode, header, request::Parts},
    response::{Html, IntoResponse, Response},
};
use jobbers_api::worker::ReadyView;
use jobbers_common::time::Timestamp;
use maud::{DOCTYPE, Markup, html};

use super::words::{prose, sentence, text};
use crate::session::{
    ask::{Api, ApiRefusal},
    ready::Ready,
    token,
    typed::{self, SentForm},
};

/// Everything comes from this manager, and no other page is around this one.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 4] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_FRAME_OPTIONS, "DENY"),
    // The addresses of pages hold ids and searches.
    (header::REFERRER_POLICY, "same-origin"),
];

/// The pages of the navigation, with their addresses.
const PLACES: [(&str, &str); 14] = [
    ("Overview", ""),
    ("Tasks", "tasks"),
    ("Dead letters", "letters"),
    ("Queues", "queues"),
    ("Workers", "workers"),
    ("Kinds", "kinds"),
    ("Schedules", "schedules"),
    ("Workflows", "workflows"),
    ("Submit", "submit"),
    ("Boards", "boards"),
    ("Store", "store"),
    ("Keys", "keys"),
    ("Audit log", "audit"),
    ("Manager", "manager"),
];

/// How long a page without script waits before it asks again whether the manager can do its work.
const AGAIN_SECONDS: u32 = 5;

/// What a page is made from: the API, and what the manager reports of itself.
#[derive(Debug)]
pub(crate) struct Screen {
    pub(crate) api: Api,
    pub(crate) ready: Ready,
}

/// What a page's handler answers.
pub(crate) type Answered = Result<Response, ApiRefusal>;

impl FromRequestParts<Router> for Screen {
    type Rejection = ApiRefusal;

    async fn from_request_parts(parts: &mut Parts, service: &Router) -> Result<Self, ApiRefusal> {
        let api = Api::from_request_parts(parts, service).await?;
        let ready: ReadyView = api.get("/health/ready").await?;
        Ok(Self { api, ready: ready.try_into()? })
    }
}

impl Screen {
    /// The store's present, to which a page relates its times.
    pub(crate) fn now(&self) -> Timestamp {
        self.ready.now.0
    }

    /// A whole page. `here` is its entry in the navigation.
    pub(crate) fn page(&self, here: &str, title: &str, body: &Markup) -> Response {
        let store = html! {
            small { span.live aria-hidden="true" { "●" } " " (text(&self.ready.store)) }
            @if let Some(name) = &self.ready.signed_in_as {
                @if token::signs_out() {
                    form.person method="post" action="../sign-out" {
                        (token::field()) (text(name)) " " button { "Sign out" }
                    }
                } @else {
                    small { (text(name)) }
                }
            }
        };
        let foot = html! {
            (text(&self.ready.durability)) " · Jobbers " (self.ready.version.to_string()) " · "
            a href="../docs/" { "API" } " · "
            a href="../problems" { "Errors" } " · "
            a href="../metrics" { "Metrics" }
        };
        let body = html! {
            @for warning in &self.ready.insecure { p.exposed role="alert" { (prose(&text(warning))) } }
            (body)
        };
        whole(&Frame { root: "../", here, title, head: &html! {}, aside: &store, foot: &foot }, &body).into_response()
    }
}

/// A whole page while the store can't be asked. `here` is its entry in the navigation.
pub(crate) fn page_without_store(here: &str, title: &str, body: &Markup) -> Response {
    let nothing = html! {};
    whole(&Frame { root: "../", here, title, head: &nothing, aside: &nothing, foot: &nothing }, body).into_response()
}

/// The parts of a page around its content.
pub(crate) struct Frame<'a> {
    /// The way to the root of the API.
    pub(crate) root: &'a str,
    pub(crate) here: &'a str,
    pub(crate) title: &'a str,
    pub(crate) head: &'a Markup,
    pub(crate) aside: &'a Markup,
    pub(crate) foot: &'a Markup,
}

/// A whole page around `body`, with its headers.
pub(crate) fn whole(frame: &Frame<'_>, body: &Markup) -> impl IntoResponse + use<> {
    let Frame { root, here, title, head, aside, foot } = frame;
    let version = env!("CARGO_PKG_VERSION");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { (title) " · Jobbers" }
                link rel="icon" href="data:,";
                link rel="stylesheet" href=(format!("{root}ui/style.css?v={version}"));
                script src=(format!("{root}ui/live.js?v={version}")) defer {}
                (head)
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                header {
                    b { "Jobbers" }
                    nav aria-label="Pages" {
                        @for (name, page) in PLACES {
                            a href=(format!("{root}ui/{page}")) aria-current=[(name == *here).then_some("page")] {
                                (name)
                            }
                        }
                    }
                    (aside)
                }
                p #stale role="status" hidden {}
                main #main { (body) }
                footer { p { (foot) } }
            }
        }
    };
    (HEADERS, Html(page.into_string()))
}

impl IntoResponse for ApiRefusal {
    /// The page of what the API refused.
    fn into_response(self) -> Response {
        let Self { status, problem } = self;
        let typed = typed::sent().map(|form| sent_again(&form, status));
        let is_away = status == StatusCode::SERVICE_UNAVAILABLE && typed.is_none();
        let again = html! { @if is_away { noscript { meta http-equiv="refresh" content=(AGAIN_SECONDS); } } };
        let body = html! {
            div #content data-live[typed.is_none()] {
                h1 { (prose(&sentence(&problem.title))) }
                p { (text(&problem.detail)) }
                @if is_away { p.soft { "This page tries again by itself." } }
                p.soft {
                    "Code " a href=(format!("..{}", problem.kind)) { code { (problem.code.to_string()) } }
                    ", HTTP status " (status.as_u16()) "."
                }
            }
            @if let Some(typed) = typed { (typed) }
        };
        let frame =
            Frame { root: "../", here: "", title: &problem.title, head: &again, aside: &html! {}, foot: &html! {} };
        (status, whole(&frame, &body)).into_response()
    }
}

/// A part of a page that could not be read, in its place: the rest of the page is shown.
pub(crate) fn missing(refusal: &ApiRefusal) -> Markup {
    html! {
        p.soft { "This can't be shown: " (text(&refusal.problem.detail)) "." }
    }
}

/// A form that changes something, with the token of the session: every one of the pages is made here.
pub(crate) fn post_form(class: Option<&str>, content: &Markup) -> Markup {
    html! { form class=[class] method="post" { (token::field()) (content) } }
}

/// A form that was refused, with what was typed, to be sent again: not where the object that it changes has changed since.
fn sent_again(form: &SentForm, status: StatusCode) -> Markup {
    let act = form.act.as_deref().filter(|_| status != StatusCode::PRECONDITION_FAILED);
    let content = html! {
        h2 { "What you typed" }
        div.fields {
            @for (name, value) in &form.typed { label { (name.replace('_', " ")) input name=(name) value=(value); } }
        }
        @for (name, value) in &form.carried { input type="hidden" name=(name) value=(value); }
        p {
            @if let Some(act) = act { (button(act, "Send it again", false)) " " }
            a.button href="" { "Open the page as it is now" }
        }
    };
    post_form(Some("card"), &content)
}

/// Why a form did nothing, above the form as it was typed. `done` is what it would have done.
pub(crate) fn refused_form(done: &str, refusal: &ApiRefusal) -> Markup {
    html! {
        p.exposed #refusal role="alert" {
            "Nothing was " (done) ": " (text(&refusal.problem.detail)) ". What you typed is below. ("
            a href=(format!("..{}", refusal.problem.kind)) { code { (refusal.problem.code.to_string()) } } ")"
        }
    }
}

/// What an action asks for before it is done: a summary that opens to what it will do, and the button.
pub(crate) fn action(label: &str, explanation: &Markup, form: &Markup) -> Markup {
    html! {
        details.action {
            summary.button { (label) "…" }
            (post_form(None, &html! { p { (explanation) } (form) }))
        }
    }
}

/// The button of an action, which sends its name.
pub(crate) fn button(act: &str, label: &str, is_danger: bool) -> Markup {
    html! { button.danger[is_danger] name="act" value=(act) { (label) } }
}
