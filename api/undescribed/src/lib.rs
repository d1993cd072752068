//! `ToSchema` and `IntoParams` for a `jobbers-api` without its feature `openapi`: they derive nothing.
//!
//! A client needs no OpenAPI description, and is built without what derives it. The
//! attributes of the description stay on the types and are accepted here.

use proc_macro::TokenStream;

/// Accepts what utoipa's derive macro of this name accepts.
#[proc_macro_derive(ToSchema, attributes(schema, serde))]
pub fn to_schema(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// Accepts what utoipa's derive macro of this name accepts.
#[proc_macro_derive(IntoParams, attributes(into_params, param, serde))]
pub fn into_params(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
