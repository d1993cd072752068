//! `GET /problems` and `GET /problems/{code}`: what each error means and what to do. The `type` of an error is the address
//! of its page.

use axum::{
    extract::Path,
    response::{IntoResponse, Response},
};
use jobbers_api::problem::{Code, Problem};
use maud::{Markup, html};

use super::elements::{
    frame::{Frame, whole},
    words::prose,
};

/// The page of all errors.
pub(super) async fn list() -> Response {
    let body = html! {
        h1 { "Errors" }
        p.soft { "What a request can be refused with. An error names its page in " code { "type" } "." }
        section.card {
            table {
                tr { th { "Status" } th { "Code" } th { "What it means, and what to do" } }
                @for code in Code::ALL {
                    tr {
                        td { (code.status().as_u16()) }
                        td { a href=(format!("problems/{}", code.as_str())) { code { (code.as_str()) } } }
                        td.wrap { (prose(code.help())) }
                    }
                }
            }
        }
    };
    page("", "Errors", &body)
}

/// The page of one error.
pub(super) async fn one(Path(name): Path<String>) -> Result<Response, Problem> {
    let found = Code::ALL.iter().find(|code| code.as_str() == name);
    let code = found.ok_or_else(|| {
        Problem::new(Code::NotFound, format!("no error has the code {name:?}; /problems lists all codes"))
    })?;
    let body = html! {
        h1 { (code.title()) }
        p.soft { "HTTP status " (code.status()) ", code " code { (code.as_str()) } }
        p { (prose(code.help())) }
        p { a href="../problems" { "All errors" } " · " a href="../docs/" { "API" } }
    };
    Ok(page("../", code.title(), &body))
}

fn page(root: &str, title: &str, body: &Markup) -> Response {
    let nothing = html! {};
    whole(&Frame { root, here: "", title, head: &nothing, aside: &nothing, foot: &nothing }, body).into_response()
}
