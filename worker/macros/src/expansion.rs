//! The code that replaces the function.

use jobbers_terms::{
    name::TaskName,
    policy::{PolicyOverrides, TaskPolicy, error_kind::ErrorKind},
};
use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::{
    Attribute, Error, Expr, ExprLit, Ident, ItemFn, Lit, Meta, MetaNameValue, Path, Result, parse_quote, parse2,
};

use crate::{
    attributes::{self, Attributes},
    remote,
    signature::{self, Argument, Shape},
};

/// The expansion, or the problems found together with the original function, so that the compiler does not also report
/// a missing name.
pub(crate) fn expand(attributes: TokenStream, function: &TokenStream) -> TokenStream {
    try_expand(attributes, function.clone()).unwrap_or_else(|problems| {
        let problems = problems.to_compile_error();
        // The compiler would complain about the missing body too.
        if remote::is_bodyless(function) { problems } else { quote!(#problems #function) }
    })
}

/// The tokens with another path in place of `::jobbers_worker`.
fn rename(tokens: TokenStream, library: &Path) -> TokenStream {
    let mut renamed = TokenStream::new();
    // The colons that may belong to the path.
    let mut held: Vec<TokenTree> = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Punct(colon) if colon.as_char() == ':' => {
                if held.len() == 2 {
                    renamed.extend(held.drain(..1));
                }
                held.push(TokenTree::Punct(colon));
            }
            TokenTree::Ident(name) if held.len() == 2 && name == "jobbers_worker" => {
                held.clear();
                renamed.extend(quote!(#library));
            }
            TokenTree::Group(group) => {
                renamed.extend(held.drain(..));
                let mut inside = Group::new(group.delimiter(), rename(group.stream(), library));
                inside.set_span(group.span());
                renamed.extend([TokenTree::Group(inside)]);
            }
            other => {
                renamed.extend(held.drain(..));
                renamed.extend([other]);
            }
        }
    }
    renamed.extend(held);
    renamed
}

fn try_expand(attributes: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let attributes = attributes::parse(attributes)?;
    let function = read(&attributes, function)?;
    let shape = match attributes.remote {
        true => remote::shape(&function)?,
        false => signature::read(&function, attributes.blocking)?,
    };
    if shape.job.is_none() && !attributes.unique.by.is_empty() {
        let problem = "the task takes no parameters of which one could be `unique_by`: write `unique`";
        return Err(Error::new_spanned(&function.sig, problem));
    }
    if let (Some(_), None) = (&attributes.defaults.concurrency_key, shape.job) {
        let problem = "the task takes no parameters of which one could be its `concurrency_key`";
        return Err(Error::new_spanned(&function.sig, problem));
    }
    if let (Some(cron), Some(job)) = (&attributes.cron.expression, shape.job) {
        let mut problem = Error::new(cron.span(), "a task with `cron` takes no parameters");
        problem.combine(Error::new_spanned(job, "put a schedule with parameters over the API: `PUT /schedules/NAME`"));
        return Err(problem);
    }
    let name = match &attributes.name {
        Some(name) => name.clone(),
        None => TaskName::new(function.sig.ident.to_string().trim_start_matches("r#"))
            .map_err(|problem| Error::new_spanned(&function.sig.ident, problem.to_string()))?,
    };
    let written = write(&attributes, &name, &shape, &function);
    Ok(match &attributes.library {
        Some(library) => rename(written, library),
        None => written,
    })
}

/// The function, or its signature alone if another program has the body.
fn read(attributes: &Attributes, function: TokenStream) -> Result<ItemFn> {
    if attributes.remote {
        return remote::read(function);
    }
    if remote::is_bodyless(&function) {
        let problem = "a task has a body; one that another program runs says `#[task(remote)]`";
        return Err(Error::new_spanned(function, problem));
    }
    parse2(function)
}

fn write(attributes: &Attributes, name: &TaskName, shape: &Shape<'_>, function: &ItemFn) -> TokenStream {
    let (visibility, handle, output) = (&function.vis, &function.sig.ident, shape.output);
    let docs = function.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
    let job = shape.job.map_or_else(|| quote!(::jobbers_worker::NoParameters), |job| quote!(#job));

    // Under another name, so that the function's name means the task inside its body: the task can submit itself.
    let plain = format_ident!("__{}", handle);
    let mut body = function.clone();
    body.sig.ident = plain.clone();
    body.vis = syn::Visibility::Inherited;
    // Its arguments are owned because every task's are. Lints skip code written by a macro, so none suggests a
    // reference.
    body.sig.fn_token.span = Span::call_site();
    // Whether a program sets these lints off is not known here.
    body.attrs.push(parse_quote!(#[allow(clippy::unused_async, clippy::unnecessary_wraps, reason = "a task's shape")]));

    let call = match attributes.remote {
        true => quote!(::jobbers_worker::TaskCall::Remote),
        false => write_call(attributes, shape, &plain),
    };
    let (errors, listing) = attributes.errors.write().unzip();
    let needs = needs(shape);

    let job_type = parse_quote!(#job);
    let (unique, cron) = (attributes.unique.write(&job_type), attributes.cron.write());
    let defaults = attributes.defaults.write(&job_type);
    let expiry = attributes.policy.expires_in.map(|late| {
        let late = time(late);
        quote!(.expires_in(#late))
    });
    let backoff = attributes.backoff.as_ref().map(|function| quote!(.backing_off(#function)));
    let (name, version, policy) = (name.as_str(), attributes.version.unwrap_or(1), policy(&attributes.policy));
    let description = description(function);
    if attributes.remote {
        return quote! {
            #(#docs)*
            #[expect(non_upper_case_globals, reason = "a task is called by its function's name")]
            #visibility static #handle: ::jobbers_worker::RemoteTask<#job, #output> = ::jobbers_worker::RemoteTask::new(
                ::jobbers_worker::TaskFn::new(#name, #version, #policy, #call) #unique #expiry #defaults
            );
        };
    }
    let listed = (!attributes.unlisted).then(|| {
        quote!(::jobbers_worker::macro_support::submit! {
            ::jobbers_worker::macro_support::Listed(
                ::jobbers_worker::macro_support::any_task::<#job, #output>(&#handle),
                ::core::option_env!("CARGO_PKG_VERSION"),
            )
        })
    });
    quote! {
        #(#docs)*
        #[expect(non_upper_case_globals, reason = "a task is called by its function's name")]
        #visibility static #handle: ::jobbers_worker::TaskFn<#job, #output> = {
            #body
            #errors
            ::jobbers_worker::TaskFn::new(#name, #version, #policy, #call) #unique #cron #expiry #backoff #defaults #listing #needs .placed(::core::concat!(::core::module_path!(), " at ", ::core::file!(), ":", ::core::line!())).described(#description, || {
                #[expect(unused_imports, reason = "one of the two, by whether the parameters derive a schema")]
                use ::jobbers_worker::macro_support::{AnySchema as _, DerivedSchema as _};
                (&::jobbers_worker::macro_support::SchemaOf::<#job>::NEW).schema()
            })
        };
        #listed
    }
}

/// How the function is called with its arguments. What it takes from the context is taken first.
fn write_call(attributes: &Attributes, shape: &Shape<'_>, plain: &Ident) -> TokenStream {
    let convert = attributes.errors.write_conversion(shape.error);
    let argument = |(nth, argument): (usize, &Argument<'_>)| match argument {
        Argument::Context => quote!(context),
        Argument::Job => quote!(job),
        Argument::State(_) | Argument::OfAttempt(..) => {
            let taken = format_ident!("taken_{nth}");
            quote!(#taken)
        }
    };
    let take = |(nth, argument): (usize, &Argument<'_>)| {
        let taken = format_ident!("taken_{nth}");
        match argument {
            Argument::State(ty) => Some(quote!(let #taken = <#ty>::of(&context)?;)),
            Argument::OfAttempt(_, ty) => {
                Some(quote!(let #taken = <#ty as ::jobbers_worker::macro_support::OfAttempt>::of(&context);))
            }
            Argument::Context | Argument::Job => None,
        }
    };
    let taken: Vec<_> = shape.arguments.iter().enumerate().filter_map(take).collect();
    let arguments = shape.arguments.iter().enumerate().map(argument);
    let call = quote!(#plain(#(#arguments),*));
    if attributes.blocking {
        quote!(::jobbers_worker::TaskCall::Blocking(|context, job| {
            let _ = (&context, &job);
            #(#taken)*
            ::core::result::Result::map_err(#call, #convert)
        }))
    } else {
        quote!(::jobbers_worker::TaskCall::Async(|context, job| {
            let _ = (&context, &job);
            ::std::boxed::Box::pin(async move {
                #(#taken)*
                let answer: ::core::result::Result<_, ::jobbers_worker::TaskError> =
                    ::core::result::Result::map_err(#call.await, #convert);
                answer
            })
        }))
    }
}

/// The code that declares which state the function can't do without.
fn needs(shape: &Shape<'_>) -> Option<TokenStream> {
    let state = |argument: &Argument<'_>| match argument {
        Argument::State(ty) => Some(quote!(<#ty>::needed())),
        Argument::Context | Argument::OfAttempt(..) | Argument::Job => None,
    };
    let needed: Vec<_> = shape.arguments.iter().filter_map(state).collect();
    (!needed.is_empty()).then(|| quote!(.needing(|| ::std::vec![#(#needed),*])))
}

/// The author's comment above the function, without the margin that rustdoc removes too.
fn description(function: &ItemFn) -> String {
    let lines = function.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
    let text = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(MetaNameValue { value: Expr::Lit(ExprLit { lit: Lit::Str(text), .. }), .. }) => {
            let text = text.value();
            text.strip_prefix(' ').unwrap_or(&text).trim_end().to_owned()
        }
        _ => String::new(),
    };
    lines.map(text).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// A span of time, as a constant.
fn time(duration: std::time::Duration) -> TokenStream {
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    quote!(::core::time::Duration::from_micros(#micros))
}

/// The default policy merged with the settings, as a constant. Every field is written out, because a constant could not
/// drop the overridden parts of a default.
fn policy(said: &PolicyOverrides) -> TokenStream {
    let policy = TaskPolicy::DEFAULT.with(said);
    let optional = |duration: Option<std::time::Duration>| match duration.map(time) {
        Some(duration) => quote!(::core::option::Option::Some(#duration)),
        None => quote!(::core::option::Option::None),
    };
    // The variants' names in the code are what `Debug` prints.
    let variant = |ty: &str, variant: String| {
        let (ty, variant) = (format_ident!("{ty}"), format_ident!("{variant}"));
        quote!(::jobbers_worker::policy::#ty::#variant)
    };
    let kinds = |kinds: &[ErrorKind]| {
        let kinds = kinds.iter().map(ErrorKind::as_str);
        quote!(::std::borrow::Cow::Borrowed(const { &[#(::jobbers_worker::policy::ErrorKind::checked(#kinds)),*] }))
    };
    let (max_retries, max_crashes) = (policy.max_retries, policy.max_crashes);
    let (retry_delay, max_retry_delay) = (time(policy.retry_delay), time(policy.max_retry_delay));
    let (retry_for, timeout) = (optional(policy.retry_for), optional(policy.timeout));
    let interval = optional(policy.max_heartbeat_interval);
    let (retry_on, fatal_on) = (kinds(&policy.retry_on), kinds(&policy.fatal_on));
    let backoff = variant("Backoff", format!("{:?}", policy.backoff));
    let on_stall = variant("OnStall", format!("{:?}", policy.on_stall));
    let on_shutdown = variant("OnShutdown", format!("{:?}", policy.on_shutdown));
    let dead_letter = variant("DeadLetter", format!("{:?}", policy.dead_letter));
    quote! {
        ::jobbers_worker::policy::TaskPolicy {
            max_retries: #max_retries,
            retry_delay: #retry_delay,
            backoff: #backoff,
            max_retry_delay: #max_retry_delay,
            retry_for: #retry_for,
            retry_on: #retry_on,
            fatal_on: #fatal_on,
            timeout: #timeout,
            max_heartbeat_interval: #interval,
            on_stall: #on_stall,
            on_shutdown: #on_shutdown,
            dead_letter: #dead_letter,
            max_crashes: #max_crashes,
        }
    }
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
        assert!(
            text.contains(
                "Listed(::jobbers_worker::macro_support::any_task::<::jobbers_worker::NoParameters,()>(&nightly),"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_renamed_library_is_found_by_its_path() {
        let function = quote!(
            async fn nightly(job: Job) -> Result<(), TaskError> {
                let time = std::time::Duration::ZERO;
                Ok(())
            }
        );
        let text = expanded(quote!(crate = "jobs", unique, fatal_on = [Gone]), &function);
        assert!(text.contains("jobs::TaskFn::new(") && !text.contains("jobbers_worker"), "{text}");
        assert!(text.contains("std::time::Duration::ZERO"), "{text}");
        assert!(expanded(quote!(crate = "facade::jobs"), &function).contains("facade::jobs::TaskFn"));
    }

    #[test]
    fn a_remote_task_is_a_signature_that_no_worker_finds() {
        let signature = quote!(
            async fn charge(order: Order) -> Result<u64, TaskError>;
        );
        let text = expanded(quote!(remote, queue = "cards", unique_by = "id"), &signature);
        assert!(text.contains("RemoteTask<Order,u64>") && text.contains("TaskCall::Remote"), "{text}");
        assert!(text.contains("Some(\"cards\")") && text.contains(".unique(") && !text.contains("Listed"), "{text}");
        for (attributes, function, part) in [
            (quote!(), signature, "a task has a body; one that another program runs says `#[task(remote)]`"),
            (
                quote!(remote),
                quote!(
                    async fn f(job: Job) -> Result<(), TaskError> {
                        Ok(())
                    }
                ),
                "end the signature with `;`",
            ),
            (
                quote!(remote),
                quote!(
                    async fn f(ctx: Context, job: Job) -> Result<(), TaskError>;
                ),
                "only its parameters",
            ),
            (
                quote!(remote),
                quote!(
                    fn f(pool: State<Pool>) -> Result<(), TaskError>;
                ),
                "only its parameters",
            ),
        ] {
            let text = expand(attributes, &function).to_string();
            assert!(text.contains("compile_error") && text.contains(part), "{part}: {text}");
        }
        let blocking_there = quote!(
            fn f(job: Job) -> Result<(), TaskError>;
        );
        assert!(!expanded(quote!(remote), &blocking_there).contains("compile_error"));
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
    fn fields_are_asked_for_only_of_a_task_that_has_parameters() {
        let nightly = quote!(
            async fn nightly() -> Result<(), TaskError> {
                Ok(())
            }
        );
        let text = expanded(quote!(unique_by = "customer"), &nightly);
        assert!(text.contains("compile_error!") && text.contains("takesnoparameters"), "{text}");
        let text = expanded(quote!(unique), &nightly);
        assert!(text.contains(".unique(") && text.contains("by:::core::option::Option::None"), "{text}");
    }

    #[test]
    fn a_schedule_is_declared_only_by_a_task_without_parameters() {
        let nightly = quote!(
            async fn nightly() -> Result<(), TaskError> {
                Ok(())
            }
        );
        let text = expanded(quote!(cron = "0 2 * * *", time_zone = "Europe/Berlin"), &nightly);
        assert!(text.contains(".cron(\"02***\",\"Europe/Berlin\")"), "{text}");
        assert!(expanded(quote!(cron = "0 2 * * *"), &nightly).contains("\"UTC\""));
        let of_parameters = quote!(
            async fn nightly(job: Job) -> Result<(), TaskError> {
                Ok(())
            }
        );
        let text = expanded(quote!(cron = "0 2 * * *"), &of_parameters);
        assert!(text.contains("compile_error!") && text.contains("takesnoparameters"), "{text}");
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
