//! The uniqueness attributes of a task, and their expansion.

use std::time::Duration;

use jobbers_terms::{
    lifecycle::Status,
    task::unique::{OnDuplicate, Unique, UniqueError, UniqueKey},
};
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Error, Ident, LitStr, Member, Meta, Result, Token, Type, punctuated::Punctuated, spanned::Spanned};

/// The uniqueness attributes given so far.
#[derive(Debug, Default)]
pub(crate) struct Uniqueness {
    /// One task per value of all parameters.
    pub(crate) by_parameters: bool,
    /// One task per value of these fields.
    pub(crate) by: Vec<ParameterField>,
    pub(crate) span: Option<Duration>,
    pub(crate) statuses: Option<Vec<Status>>,
    pub(crate) on_duplicate: Option<OnDuplicate>,
}

/// A field of the parameters, such as `customer.id`.
#[derive(Debug)]
pub(crate) struct ParameterField {
    pub(crate) name: String,
    path: Vec<Member>,
    span: Span,
}

/// Reads the names of fields; the compiler checks that the parameters have them.
pub(crate) fn fields(names: &[LitStr]) -> Result<Vec<ParameterField>> {
    let mut fields = Vec::<ParameterField>::with_capacity(names.len());
    for literal in names {
        let (name, span) = (literal.value(), literal.span());
        if fields.iter().any(|known| known.name == name) {
            return Err(Error::new(span, format!("`{name}` is named twice")));
        }
        let path = name.split('.').map(syn::parse_str::<Member>).collect::<Result<Vec<_>>>();
        let path =
            path.map_err(|_| Error::new(span, format!("`{name}` is no field: write customer or customer.id")))?;
        fields.push(ParameterField { name, path, span });
    }
    Ok(fields)
}

pub(crate) fn check_span(span: Duration) -> std::result::Result<(), UniqueError> {
    let key = UniqueKey::new("any").map_err(|_| UniqueError { field: "unique_for", rule: "can't be checked" })?;
    Unique { span: Some(span), ..Unique::new(key) }.validate()
}

/// Checks the attributes together.
pub(crate) fn check(said: &Uniqueness, metas: &Punctuated<Meta, Token![,]>) -> Result<()> {
    let find = |key: &str| metas.iter().find(|meta| meta.path().is_ident(key)).map(Spanned::span);
    if let (true, Some(at)) = (said.by_parameters, find("unique_by")) {
        return Err(Error::new(at, "`unique_by` already makes it unique: leave `unique` out"));
    }
    if said.is_unique() {
        return Ok(());
    }
    let rest = ["unique_for", "unique_while", "on_duplicate"].into_iter();
    match rest.filter_map(|key| Some((key, find(key)?))).next() {
        Some((key, at)) => {
            Err(Error::new(at, format!("`{key}` needs `unique`, for all parameters, or `unique_by`, for some of them")))
        }
        None => Ok(()),
    }
}

impl Uniqueness {
    pub(crate) fn is_unique(&self) -> bool {
        self.by_parameters || !self.by.is_empty()
    }

    /// The code added to the task, if uniqueness was requested.
    pub(crate) fn write(&self, job: &Type) -> Option<TokenStream> {
        if !self.is_unique() {
            return None;
        }
        let by = match self.by.as_slice() {
            [] => quote!(::core::option::Option::None),
            fields => {
                let fields = fields.iter().map(ParameterField::write);
                quote!(::core::option::Option::Some(|job: &#job| {
                    ::jobbers_worker::macro_support::key_of_fields([#(#fields),*])
                }))
            }
        };
        let span = match self.span {
            Some(span) => {
                let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
                quote!(::core::option::Option::Some(::core::time::Duration::from_micros(#micros)))
            }
            None => quote!(::core::option::Option::None),
        };
        let statuses = match &self.statuses {
            Some(statuses) => {
                let statuses = statuses.iter().map(variant);
                quote!(::core::option::Option::Some(const { &[#(::jobbers_worker::policy::Status::#statuses),*] }))
            }
            None => quote!(::core::option::Option::None),
        };
        let on_duplicate = variant(&self.on_duplicate.unwrap_or_default());
        Some(quote!(.unique(::jobbers_worker::macro_support::Uniqueness {
            by: #by,
            span: #span,
            statuses: #statuses,
            on_duplicate: ::jobbers_worker::policy::OnDuplicate::#on_duplicate,
        })))
    }
}

/// A variant's name in the code, which is what `Debug` prints.
fn variant<T: std::fmt::Debug>(value: &T) -> Ident {
    format_ident!("{}", format!("{value:?}"))
}

impl ParameterField {
    /// The field's name and value. The tokens keep the place of the name, so that the compiler points there if the
    /// parameters have no such field.
    fn write(&self) -> TokenStream {
        let (name, value) = (&self.name, self.write_value());
        quote!((#name, ::jobbers_worker::macro_support::value_of(#value)))
    }

    /// A reference to the field's value.
    pub(crate) fn write_value(&self) -> TokenStream {
        let span = self.span;
        let path = self.path.iter().cloned().map(|mut member| {
            match &mut member {
                Member::Named(ident) => ident.set_span(span),
                Member::Unnamed(index) => index.span = span,
            }
            member
        });
        quote!(&job #(.#path)*)
    }
}
