//! `GET /problems` and `GET /problems/{code}`: what each error means and what to do, as pages for people. The `type` of an
//! error is the address of its page.

use axum::response::Response;
use jobbers_api::problem::{Code, Problem, Result};
use maud::{Markup, html};

use crate::{api::page, extract::Path};

/// The page of all errors.
pub(crate) async fn list() -> Response {
    let body = html! {
        h1 { "Errors" }
        p.note { "What a request can be refused with. An error names its page in " code { "type" } "." }
        table {
            tr { th { "status" } th { "code" } th { "what it means, and what to do" } }
            @for code in Code::ALL {
                tr {
                    td { (code.status().as_u16()) }
                    td { a href=(format!("problems/{}", code.as_str())) { code { (code.as_str()) } } }
                    td { (prose(code.help())) }
                }
            }
        }
    };
    page::answer("Errors of Jobbers", &body)
}

/// The page of one error.
pub(crate) async fn one(Path(name): Path<String>) -> Result<Response> {
    let found = Code::ALL.iter().find(|code| code.as_str() == name);
    let code = found.ok_or_else(|| {
        Problem::new(Code::NotFound, format!("no error has the code {name:?}; /problems lists all codes"))
    })?;
    let body = html! {
        h1 { (code.title()) }
        p.note { "HTTP status " (code.status()) ", code " code { (code.as_str()) } }
        p { (prose(code.help())) }
        nav { a href="../problems" { "All errors" } a href="../docs/" { "API" } a href="../" { "Jobbers" } }
    };
    Ok(page::answer(code.title(), &body))
}

/// A text with its parts between backticks set as code.
fn prose(text: &str) -> Markup {
    html! {
        @for (place, part) in text.split('`').enumerate() {
            @if place % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
