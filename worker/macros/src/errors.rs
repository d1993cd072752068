//! The errors that `retry_on`, `fatal_on` and `fatal_if` name: words, types and a function.

use jobbers_terms::policy::error_kind::ErrorKind;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Error, Expr, ExprPath, LitStr, Result, Type, TypePath, spanned::Spanned};

/// The entries of one list.
#[derive(Debug, Default)]
pub(crate) struct ErrorList {
    pub(crate) words: Option<Vec<ErrorKind>>,
    pub(crate) types: Vec<TypePath>,
}

/// What the compiler resolves: the types of both lists, and the function.
#[derive(Debug, Default)]
pub(crate) struct ListedErrors {
    pub(crate) retry_on: Vec<TypePath>,
    pub(crate) fatal_on: Vec<TypePath>,
    pub(crate) fatal_if: Option<Expr>,
}

/// A path in a list is a type.
pub(crate) fn type_of(path: &ExprPath) -> TypePath {
    TypePath { attrs: path.attrs.clone(), qself: path.qself.clone(), path: path.path.clone() }
}

/// A text in a list is a word that the program gives to `.kind("…")`, or how an attempt failed. The compiler can't check a
/// type in a text, so a text that looks like one is refused.
pub(crate) fn word(key: &str, text: &LitStr) -> Result<ErrorKind> {
    let word = text.value();
    let is_named_like_type = word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase);
    if word.contains("::") || is_named_like_type && word.chars().all(char::is_alphanumeric) {
        let problem = format!(
            "a type is written without quotes: {key} = [{word}]. A text is a word that the task gives to `.kind(\"…\")`, \
             such as \"rate_limited\""
        );
        return Err(Error::new(text.span(), problem));
    }
    ErrorKind::new(word).map_err(|problem| Error::new(text.span(), problem.to_string()))
}

/// The function of `fatal_if`.
pub(crate) fn judge(value: &Expr) -> Result<Expr> {
    match value {
        Expr::Path(_) | Expr::Closure(_) => Ok(value.clone()),
        other => Err(Error::new(
            other.span(),
            "`fatal_if` is a function of a reference to an error that answers whether it is fatal: \
             fatal_if = is_declined, or fatal_if = |error: &Declined| error.is_final()",
        )),
    }
}

impl ListedErrors {
    fn is_empty(&self) -> bool {
        self.retry_on.is_empty() && self.fatal_on.is_empty() && self.fatal_if.is_none()
    }

    /// The constant that the task and its calls share, and the code added to the task; nothing if none is listed.
    pub(crate) fn write(&self) -> Option<(TokenStream, TokenStream)> {
        if self.is_empty() {
            return None;
        }
        let types = |types: &[TypePath]| quote!(&[#(::jobbers_worker::macro_support::ListedError::of::<#types>()),*]);
        let (retry_on, fatal_on) = (types(&self.retry_on), types(&self.fatal_on));
        let fatal_if = match &self.fatal_if {
            // As a pointer, so that the compiler names the signature that another function should have.
            Some(judge) => quote!(::core::option::Option::Some(|error| {
                let judge: fn(&_) -> bool = #judge;
                ::jobbers_worker::macro_support::holds(judge, error)
            })),
            None => quote!(::core::option::Option::None),
        };
        let constant = quote! {
            const LISTED_ERRORS: ::jobbers_worker::macro_support::ListedErrors =
                ::jobbers_worker::macro_support::ListedErrors {
                    retry_on: #retry_on,
                    fatal_on: #fatal_on,
                    fatal_if: #fatal_if,
                };
        };
        Some((constant, quote!(.listing(LISTED_ERRORS))))
    }

    /// The function that makes a [`TaskError`] of what the task function answers. Its place is that of the error's type, so that
    /// the compiler points there if it is no error.
    pub(crate) fn write_conversion(&self, error: &Type) -> TokenStream {
        let place = error.span();
        let convert = quote_spanned!(place=> ::jobbers_worker::macro_support::AnswerError::into_task_error);
        let argument = quote_spanned!(place=> error);
        if self.is_empty() {
            // In a closure, so that the compiler asks for the trait in one place.
            return quote!(|error| #convert(#argument));
        }
        quote!(|error| {
            #[expect(unused_imports, reason = "one of the two, by whether the error is a carrier of errors")]
            use ::jobbers_worker::macro_support::{InCarrier as _, InPlainError as _};
            let found = (&::jobbers_worker::macro_support::Probe(&error)).find(&LISTED_ERRORS);
            LISTED_ERRORS.sort(#convert(#argument), found)
        })
    }
}
