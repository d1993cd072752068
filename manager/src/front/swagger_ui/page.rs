//! The files of the page. They come from the archive of `utoipa-swagger-ui-vendored`, stay compressed in the program and are
//! decompressed when the first page is asked for.

use std::{
    borrow::Cow,
    io::{Cursor, Read},
    sync::OnceLock,
};

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use jobbers_api::problem::{Code, Problem};
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::{ZipArchive, result::ZipResult};

/// What the page loads, with the types of the files. Other files of the archive are sources and other builds.
const FILES: [(&str, &str); 7] = [
    ("index.html", "text/html; charset=utf-8"),
    ("index.css", "text/css; charset=utf-8"),
    ("swagger-ui.css", "text/css; charset=utf-8"),
    ("swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
    ("swagger-ui-standalone-preset.js", "text/javascript; charset=utf-8"),
    ("favicon-16x16.png", "image/png"),
    ("favicon-32x32.png", "image/png"),
];

/// The file that the archive has for a description of its own.
const INITIALIZER: &str = "swagger-initializer.js";

const INITIALIZE: &str = r##"window.onload = () => {
  window.ui = SwaggerUIBundle({
    url: "../openapi.json",
    dom_id: "#swagger-ui",
    deepLinking: true,
    presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
    plugins: [SwaggerUIBundle.plugins.DownloadUrl],
    layout: "StandaloneLayout",
  });
};
"##;

/// A file of the page, answered with its type by `answer`.
pub(super) fn serve(name: &str, answer: fn(&'static str, Bytes) -> Response) -> Response {
    if name == INITIALIZER {
        return answer("text/javascript; charset=utf-8", Bytes::from_static(INITIALIZE.as_bytes()));
    }
    let Some(at) = FILES.iter().position(|(known, _)| *known == name) else {
        let problem = Problem::new(Code::NotFound, format!("there is nothing at /docs/{name}; see /docs/"));
        return problem.into_response();
    };
    static CONTENTS: OnceLock<ZipResult<Vec<Bytes>>> = OnceLock::new();
    match CONTENTS.get_or_init(decompress) {
        Ok(contents) => answer(FILES[at].1, contents[at].clone()),
        Err(error) => {
            tracing::error!(%error, "the files of Swagger UI can't be read");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// The contents of [`FILES`], in this order.
fn decompress() -> ZipResult<Vec<Bytes>> {
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    let paths: Vec<String> = archive.file_names().map(|name| name.map(Cow::into_owned)).collect::<ZipResult<_>>()?;
    FILES
        .iter()
        .map(|(name, _)| {
            let end = format!("/dist/{name}");
            let path = paths.iter().filter(|path| path.ends_with(&end)).min_by_key(|path| path.len());
            let mut file = archive.by_name(path.map_or(name, String::as_str))?;
            let mut contents = Vec::with_capacity(usize::try_from(file.size()).unwrap_or_default());
            file.read_to_end(&mut contents)?;
            Ok(contents.into())
        })
        .collect()
}
