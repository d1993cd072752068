//! What is written in the function's place.

use jobbers_common::{name::TaskName, policy::PolicyOverrides};
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Error, ItemFn, Result, parse2};

use crate::{
    attributes::{self, Attributes},
    signature::{self, Shape},
};

/// The expansion, or the problems found together with the function as it was, so that the compiler does not complain
/// of a missing name as well.
pub(crate) fn expand(attributes: TokenStream, function: &TokenStream) -> TokenStream {
    try_expand(attributes, function.clone()).unwrap_or_else(|problems| {
        let problems = problems.to_compile_error();
        quote!(#problems #function)
    })
}

fn try_expand(attributes: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let function: ItemFn = parse2(function)?;
    let attributes = attributes::parse(attributes)?;
    let shape = signature::read(&function, attributes.blocking)?;
    let name = match &attributes.name {
        Some(name) => name.clone(),
        None => TaskName::new(function.sig.ident.to_string().trim_start_matches("r#"))
            .map_err(|problem| Error::new_spanned(&function.sig.ident, problem.to_string()))?,
    };
    Ok(write(&attributes, &name, &shape, &function))
}

fn write(attributes: &Attributes, name: &TaskName, shape: &Shape<'_>, function: &ItemFn) -> TokenStream {
    let (visibility, handle, output) = (&function.vis, &function.sig.ident, shape.output);
    let docs = function.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
    let job = shape.job.map_or_else(|| quote!(::jobbers_worker::NoParameters), |job| quote!(#job));

    // Under another name, so that inside its body the function's name means the task: it can submit itself.
    let plain = format_ident!("__{}", handle);
    let mut body = function.clone();
    body.sig.ident = plain.clone();
    body.vis = syn::Visibility::Inherited;
    // Its arguments are owned because every task's are, so nobody is to be told that a reference would do: lints leave
    // alone what a macro wrote.
    body.sig.fn_token.span = Span::call_site();

    let context = shape.context.then(|| quote!(context,));
    let parameters = shape.job.map(|_| quote!(job));
    let call = quote!(#plain(#context #parameters));
    let call = if attributes.blocking {
        quote!(::jobbers_worker::TaskCall::Blocking(|context, job| {
            let _ = (&context, &job);
            ::core::result::Result::map_err(#call, ::core::convert::Into::into)
        }))
    } else {
        quote!(::jobbers_worker::TaskCall::Async(|context, job| {
            let _ = (&context, &job);
            ::std::boxed::Box::pin(async move {
                ::core::result::Result::map_err(#call.await, ::core::convert::Into::into)
            })
        }))
    };

    let (name, version, policy) = (name.as_str(), attributes.version.unwrap_or(1), policy(&attributes.policy));
    let listed = (!attributes.unlisted).then(|| {
        quote!(::jobbers_worker::macro_support::submit! { ::jobbers_worker::macro_support::Listed(&#handle) })
    });
    quote! {
        #(#docs)*
        #[expect(non_upper_case_globals, reason = "a task is called by its function's name")]
        #visibility static #handle: ::jobbers_worker::TaskFn<#job, #output> = {
            #body
            ::jobbers_worker::TaskFn::new(#name, #version, #policy, #call)
        };
        #listed
    }
}

/// The default policy with what was said laid over it, as a constant.
fn policy(said: &PolicyOverrides) -> TokenStream {
    let time = |duration: std::time::Duration| {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        quote!(::core::time::Duration::from_micros(#micros))
    };
    let mut fields = TokenStream::new();
    let mut set = |field: &str, value: Option<TokenStream>| {
        if let Some(value) = value {
            let field = format_ident!("{field}");
            fields.extend(quote!(#field: #value,));
        }
    };
    let optional = |duration| {
        let duration = time(duration);
        quote!(::core::option::Option::Some(#duration))
    };
    // The variants' names in the code are what `Debug` prints.
    let variant = |ty: &str, variant: String| {
        let (ty, variant) = (format_ident!("{ty}"), format_ident!("{variant}"));
        quote!(::jobbers_worker::policy::#ty::#variant)
    };
    set("max_retries", said.max_retries.map(|n| quote!(#n)));
    set("retry_delay", said.retry_delay.map(optional));
    set("backoff", said.backoff.map(|it| variant("Backoff", format!("{it:?}"))));
    set("max_retry_delay", said.max_retry_delay.map(time));
    set("timeout", said.timeout.map(optional));
    set("max_heartbeat_interval", said.max_heartbeat_interval.map(optional));
    set("on_stall", said.on_stall.map(|it| variant("OnStall", format!("{it:?}"))));
    set("on_shutdown", said.on_shutdown.map(|it| variant("OnShutdown", format!("{it:?}"))));
    set("dead_letter", said.dead_letter.map(|it| variant("DeadLetter", format!("{it:?}"))));
    set("max_crashes", said.max_crashes.map(|n| quote!(#n)));
    quote!(::jobbers_worker::policy::TaskPolicy { #fields ..::jobbers_worker::policy::TaskPolicy::DEFAULT })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(attributes: TokenStream, function: &TokenStream) -> String {
        expand(attributes, function).to_string().replace(' ', "")
    }

    #[test]
    fn a_task_is_named_after_its_function_and_found_by_workers() {
        let text = expanded(
            quote!(),
            &quote!(
                async fn nightly() -> Result<(), TaskError> {
                    Ok(())
                }
            ),
        );
        assert!(text.contains("TaskFn::new(\"nightly\",1u32,"), "{text}");
        assert!(text.contains("Listed(&nightly)"), "{text}");
    }

    #[test]
    fn an_unlisted_task_is_not_found_by_workers() {
        let text = expanded(
            quote!(unlisted),
            &quote!(
                async fn nightly() -> Result<(), TaskError> {
                    Ok(())
                }
            ),
        );
        assert!(!text.contains("Listed"), "{text}");
    }

    #[test]
    fn a_mistake_leaves_the_function_in_place() {
        let text = expanded(
            quote!(retries = 1),
            &quote!(
                async fn nightly() -> Result<(), TaskError> {
                    Ok(())
                }
            ),
        );
        assert!(text.contains("compile_error!") && text.contains("asyncfnnightly"), "{text}");
    }
}
