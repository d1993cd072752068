//! How the OpenAPI document describes the errors of an operation.

use std::collections::BTreeMap;

use jobbers_api::problem::{ALWAYS, Code, MEDIA_TYPE};
use utoipa::openapi::{
    ContentBuilder, Ref, RefOr,
    response::{Response as ResponseDoc, ResponseBuilder},
};

/// The OpenAPI description of these errors, and of [`ALWAYS`]: one response per status that names its codes.
pub(crate) fn describe(groups: &[&[Code]]) -> BTreeMap<String, RefOr<ResponseDoc>> {
    let mut by_status: BTreeMap<String, Vec<Code>> = BTreeMap::new();
    for code in groups.iter().copied().chain([ALWAYS]).flatten() {
        by_status.entry(code.status().as_str().to_owned()).or_default().push(*code);
    }
    by_status
        .into_iter()
        .map(|(status, codes)| {
            let lines: Vec<String> =
                codes.iter().map(|code| format!("`{}`: {}", code.as_str(), code.title())).collect();
            let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
            let response = ResponseBuilder::new().description(lines.join("\n\n")).content(MEDIA_TYPE, content);
            (status, RefOr::T(response.build()))
        })
        .collect()
}

/// Names the errors of an operation, for its `responses(...)`.
macro_rules! problems {
    ($name:ident: $($group:expr),* $(,)?) => {
        #[doc = "The errors of an operation, for its description."]
        struct $name;

        impl utoipa::IntoResponses for $name {
            fn responses()
            -> std::collections::BTreeMap<String, utoipa::openapi::RefOr<utoipa::openapi::response::Response>> {
                $crate::handlers::problem::describe(&[$(&$group),*])
            }
        }
    };
}
pub(crate) use problems;

/// The problems of all operations that need the archive.
pub(crate) const ARCHIVE: &[Code] =
    &[Code::ArchiveUnavailable, Code::ArchiveLocked, Code::ArchiveFull, Code::ArchiveCorrupt, Code::ArchiveSchema];
