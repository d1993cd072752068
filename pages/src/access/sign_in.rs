//! Signing in with an access key, and out again; and what holds for each page because of it.
//!
//! A browser has a cookie for the session, and sends it with each request, also with one that a page of another site made it
//! send. The manager refuses those. Each form has a token besides, which only a page of this session has, and [`around`]
//! refuses a form without it. A page whose caller is not signed in leads to [`show`], and from there back.

use axum::{
    body::Body,
    extract::Request,
    http::{Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use jobbers_api::{
    access::session::{SessionRequest, SessionView},
    problem::{Code, Problem},
};
use maud::html;
use serde::{Deserialize, Serialize};

use crate::{
    elements::{
        frame::{Frame, whole},
        words::text,
    },
    session::{
        ask::{Api, ApiRefusal, Form, Query, pairs, read_form},
        token::{self, TOKEN, TOKEN_FIELD},
    },
};

/// Where a person goes who signed in without coming from a page.
const FIRST_PAGE: &str = "ui/";

/// Makes a page: its forms get the token of the session, a form that was sent has it, and a caller who is not signed in is led
/// to do so.
pub(crate) async fn around(request: Request, next: Next) -> Response {
    let token = token::of(request.headers());
    // A person whom a proxy signed in is shown what is wrong: no key that they could sign in with counts.
    let is_of_proxy = token.as_ref().is_some_and(|token| token.is_of_proxy);
    // Behind a proxy that serves the manager below a path, only a relative address leads back.
    let page = request.uri().path_and_query().map_or(FIRST_PAGE, |page| page.as_str().trim_start_matches('/'));
    let back = back_to(page);
    let request = match (&token, request.method().is_safe()) {
        (Some(token), false) => match with_token(request, &token.text).await {
            Ok(request) => request,
            Err(refusal) => return refusal.into_response(),
        },
        _ => request,
    };
    let response = TOKEN.scope(token, next.run(request)).await;
    match response.status() {
        StatusCode::UNAUTHORIZED if !is_of_proxy => Redirect::to(&format!("../sign-in?{back}")).into_response(),
        _ => response,
    }
}

/// A form that was sent, if it has the token of its session.
async fn with_token(request: Request, token: &str) -> Result<Request, ApiRefusal> {
    let (parts, body) = request.into_parts();
    let body = read_form(body).await?;
    if !pairs(&body)?.iter().any(|(name, value)| name == TOKEN_FIELD && value == token) {
        let detail = "the form was not made for your session, which may have ended meanwhile: open the page again, and send it from there";
        return Err(Problem::new(Code::ForeignOrigin, detail).into());
    }
    Ok(Request::from_parts(parts, Body::from(body)))
}

/// Where a person was, or wants to go.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Back {
    back: Option<String>,
}

fn back_to(page: &str) -> String {
    serde_html_form::to_string(Back { back: Some(page.to_owned()) }).unwrap_or_default()
}

impl Back {
    /// A page of this manager; the first one for any other address.
    fn page(&self) -> &str {
        let is_page =
            |page: &&str| page.starts_with("ui/") && page.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        self.back.as_deref().filter(is_page).unwrap_or(FIRST_PAGE)
    }
}

/// `GET /sign-in`.
pub(crate) async fn show(Query(back): Query<Back>) -> Response {
    page(&back, None).into_response()
}

/// What the form holds.
#[derive(Deserialize)]
pub(crate) struct SignIn {
    #[serde(default)]
    key: String,
    back: Option<String>,
}

/// `POST /sign-in`.
pub(crate) async fn begin(api: Api, Form(SignIn { key, back }): Form<SignIn>) -> Response {
    let back = Back { back };
    match api.set_cookie::<SessionView>(Method::POST, "/session", Some(&SessionRequest { key })).await {
        Ok(cookie) => ([(header::SET_COOKIE, cookie)], Redirect::to(back.page())).into_response(),
        Err(refusal) => (refusal.status, page(&back, Some(&refusal))).into_response(),
    }
}

/// `POST /sign-out`.
pub(crate) async fn end(api: Api) -> Response {
    match api.set_cookie::<()>(Method::DELETE, "/session", None::<&()>).await {
        Ok(cookie) => ([(header::SET_COOKIE, cookie)], Redirect::to("sign-in")).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

fn page(back: &Back, refusal: Option<&ApiRefusal>) -> impl IntoResponse + use<> {
    let body = html! {
        h1 { "Sign in" }
        p { "The pages show and do what your access key may. " code { "jobbers keys create" } " makes one." }
        @if let Some(refusal) = refusal { p.exposed role="alert" { (text(&refusal.problem.detail)) } }
        form.card method="post" {
            input type="hidden" name="back" value=(back.page());
            label { "Access key" input type="password" name="key" required autocomplete="current-password" autofocus; }
            p { button { "Sign in" } }
        }
    };
    let nothing = html! {};
    whole(&Frame { root: "", here: "", title: "Sign in", head: &nothing, aside: &nothing, foot: &nothing }, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_led_back_to_a_page_of_this_manager_alone() {
        let to = |back: &str| Back { back: Some(back.to_owned()) }.page().to_owned();
        for page in ["ui/", "ui/tasks?status=failed&queue=a%2Fb"] {
            assert_eq!(to(page), page);
        }
        for other in ["", "/ui/", "//evil.example", "https://evil.example", "ui/\\evil", "ui/ x", "tasks", "ui"] {
            assert_eq!(to(other), FIRST_PAGE, "{other}");
        }
    }
}
