//! `#[task(remote)]`: the signature of a task whose body another program has.

use proc_macro2::TokenStream;
use syn::{
    Attribute, Error, ItemFn, Meta, Result, Signature, Token, Visibility,
    parse::{Parse, ParseStream},
    parse_quote, parse2,
    punctuated::Punctuated,
};

use crate::signature::{self, Argument, Shape};

/// What a signature without a body may say: what its submissions carry.
const OF_SUBMISSIONS: [&str; 17] = [
    "remote",
    "name",
    "version",
    "expires_in",
    "max_crashes",
    "dead_letter",
    "unique",
    "unique_by",
    "unique_for",
    "unique_while",
    "on_duplicate",
    "queue",
    "priority",
    "labels",
    "concurrency_key",
    "sensitive",
    "crate",
];

/// A function that ends after its signature.
struct Bodyless(ItemFn);

impl Parse for Bodyless {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis: Visibility = input.parse()?;
        let sig: Signature = input.parse()?;
        input.parse::<Token![;]>()?;
        Ok(Self(parse_quote!(#(#attrs)* #vis #sig {})))
    }
}

/// Whether this is a function without a body.
pub(crate) fn is_bodyless(function: &TokenStream) -> bool {
    parse2::<Bodyless>(function.clone()).is_ok()
}

/// Checks that a signature says nothing about its attempts.
pub(crate) fn check(metas: &Punctuated<Meta, Token![,]>) -> Result<()> {
    let says = |meta: &&Meta| !OF_SUBMISSIONS.iter().any(|known| meta.path().is_ident(known));
    let Some(other) = metas.iter().find(says) else { return Ok(()) };
    let word = other.path().require_ident()?;
    let problem =
        format!("`{word}` is said where the task has its body; a `remote` one says only what its submissions carry");
    Err(Error::new(word.span(), problem))
}

/// Reads the signature.
///
/// # Errors
/// A sentence about a body, and about what does not fit a task.
pub(crate) fn read(function: TokenStream) -> Result<ItemFn> {
    if let Ok(with_body) = parse2::<ItemFn>(function.clone()) {
        let problem =
            "another program has the body of a `remote` task: end the signature with `;`, or leave `remote` out";
        return Err(Error::new_spanned(with_body.block, problem));
    }
    parse2::<Bodyless>(function).map(|Bodyless(function)| function)
}

/// The shape of the signature, which has nothing but parameters.
///
/// # Errors
/// A sentence at the part that does not fit.
pub(crate) fn shape(function: &ItemFn) -> Result<Shape<'_>> {
    // Whether the body is async is the other program's affair.
    let shape = signature::read(function, function.sig.asyncness.is_none())?;
    let other = shape.arguments.iter().position(|argument| !matches!(argument, Argument::Job));
    match other.and_then(|place| function.sig.inputs.iter().nth(place)) {
        None => Ok(shape),
        Some(argument) => {
            let problem = "a `remote` task has only its parameters here: its `Context`, `State<…>`, `Labels` and `Fence` are where its body is";
            Err(Error::new_spanned(argument, problem))
        }
    }
}
