//! What all operations have in common in the OpenAPI document: where they are served, what they need, and the headers of answers.

use utoipa::openapi::{
    HeaderBuilder, OpenApi, RefOr, ServerBuilder,
    header::Header,
    path::Operation,
    response::Response,
    schema::{ObjectBuilder, Type},
    security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};

use crate::{
    doors::{self, Requirement, requirement},
    listening::version,
};

/// Operations whose answer has the tag of the entry's settings.
const TAGGED: [&str; 14] = [
    "create_queue",
    "get_queue",
    "put_queue",
    "pause_queue",
    "resume_queue",
    "create_role",
    "get_role",
    "put_role",
    "refresh_role",
    "create_schedule",
    "get_schedule",
    "put_schedule",
    "pause_schedule",
    "resume_schedule",
];
/// Operations that make something, whose answer has its address.
const LOCATED: [&str; 5] = [
    "submit_tasks",
    "resubmit_dead_letters",
    "delete_dead_letters",
    "get_resubmit_operation",
    "cancel_resubmit_operation",
];

/// Adds all of it.
pub(crate) fn add_to(document: &mut OpenApi) {
    // Relative to the document, which may be served below a path.
    let server = |url: &str, description: &str| ServerBuilder::new().url(url).description(Some(description)).build();
    let versioned = server(version::PREFIX.trim_start_matches('/'), "Version 1");
    document.servers = Some(vec![versioned, server(".", "The latest version")]);
    let key = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("jb_<id>_<secret>").description(Some(
        "An access key that has the scopes of the operation. While the store has no key, none is needed.",
    ));
    let components = document.components.get_or_insert_default();
    components.add_security_scheme(doors::SCHEME, SecurityScheme::Http(key.build()));
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete];
        operations.into_iter().flatten().for_each(describe);
    }
}

fn describe(operation: &mut Operation) {
    let id = operation.operation_id.clone().unwrap_or_default();
    let responses = &mut operation.responses.responses;
    for (status, response) in &mut *responses {
        let RefOr::T(response) = response else { continue };
        if status == "503" || status == "429" {
            add_header(response, "Retry-After", retry_after());
        }
        if status.starts_with('2') && LOCATED.contains(&id.as_str()) {
            add_header(response, "Location", text("Where to look at it: a task that is the only one, or an operation"));
        }
        if status.starts_with('2') && TAGGED.contains(&id.as_str()) {
            add_header(response, "ETag", text("The tag of the entry's settings, for `If-Match`"));
        }
    }
    if let Ok(Requirement::Scopes(scopes)) = requirement(operation) {
        let scopes: Vec<String> = scopes.iter().map(|scope| format!("`{scope}`")).collect();
        let description = operation.description.get_or_insert_default();
        let gap = if description.is_empty() { "" } else { "\n\n" };
        description.push_str(&format!("{gap}Once the store has access keys, it needs {}.", scopes.join(" and ")));
    }
}

fn add_header(response: &mut Response, name: &str, header: Header) {
    response.headers.insert(name.to_owned(), RefOr::T(header));
}

fn text(description: &str) -> Header {
    header(Type::String, description)
}

fn retry_after() -> Header {
    header(Type::Integer, "After how many seconds it is worth sending the request again, if that is known")
}

fn header(kind: Type, description: &str) -> Header {
    let schema = ObjectBuilder::new().schema_type(kind).build();
    HeaderBuilder::new().schema(Some(schema)).description(Some(description)).build()
}
