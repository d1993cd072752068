//! The shape that a function must have to be a task.

use syn::{Error, FnArg, GenericArgument, ItemFn, PatType, PathArguments, Result, ReturnType, Safety, Type};

/// The parts of a task function's signature that matter.
pub(crate) struct Shape<'a> {
    /// Whether it takes the context.
    pub(crate) context: bool,
    /// The type of its parameters, if it takes any.
    pub(crate) job: Option<&'a Type>,
    /// Its result type on success.
    pub(crate) output: &'a Type,
}

/// Reads a function's shape.
///
/// # Errors
/// A sentence at the part that does not fit a task.
pub(crate) fn read(function: &ItemFn, blocking: bool) -> Result<Shape<'_>> {
    let signature = &function.sig;
    match (&signature.asyncness, blocking) {
        (None, false) => {
            return Err(Error::new_spanned(
                signature.fn_token,
                "a task is an `async fn`; a synchronous one says `#[task(blocking)]` and runs on threads of its own",
            ));
        }
        (Some(asyncness), true) => {
            return Err(Error::new_spanned(asyncness, "a `blocking` task is a plain `fn`, without `async`"));
        }
        _ => {}
    }
    if let Safety::Unsafe(token) = &signature.safety {
        return Err(Error::new_spanned(token, "a task can't be `unsafe`"));
    }
    if !signature.generics.params.is_empty() {
        return Err(Error::new_spanned(&signature.generics, "a task can't be generic: it is found by its name alone"));
    }
    let (context, job) = arguments(function)?;
    Ok(Shape { context, job, output: output(function)? })
}

fn arguments(function: &ItemFn) -> Result<(bool, Option<&Type>)> {
    let mut typed = Vec::new();
    for argument in &function.sig.inputs {
        match argument {
            FnArg::Receiver(receiver) => {
                return Err(Error::new_spanned(receiver, "a task is a free function, without `self`"));
            }
            FnArg::Typed(argument) => typed.push(argument),
        }
    }
    match typed.as_slice() {
        [] => Ok((false, None)),
        [PatType { ty, .. }] if is_context(ty) => Ok((true, None)),
        [PatType { ty, .. }] => Ok((false, Some(ty))),
        [first, second] if is_context(&first.ty) => Ok((true, Some(&second.ty))),
        [first, _] => Err(Error::new_spanned(&first.ty, "the first of two arguments must be the `Context`")),
        [_, _, third, ..] => {
            Err(Error::new_spanned(third, "a task takes a `Context` and one value of parameters; put them in a struct"))
        }
    }
}

fn is_context(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == "Context"))
}

/// The `T` of `Result<T, …>`.
fn output(function: &ItemFn) -> Result<&Type> {
    let wrong = "a task answers a `Result<T, TaskError>`";
    let ReturnType::Type(_, answer) = &function.sig.output else {
        return Err(Error::new_spanned(&function.sig.ident, wrong));
    };
    let Type::Path(path) = answer.as_ref() else { return Err(Error::new_spanned(answer, wrong)) };
    let segment = path.path.segments.last().filter(|segment| segment.ident.to_string().ends_with("Result"));
    let Some(PathArguments::AngleBracketed(generics)) = segment.map(|segment| &segment.arguments) else {
        return Err(Error::new_spanned(answer, wrong));
    };
    match generics.args.first() {
        Some(GenericArgument::Type(output)) => Ok(output),
        _ => Err(Error::new_spanned(answer, wrong)),
    }
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn problem(function: &ItemFn, blocking: bool) -> String {
        read(function, blocking).err().map(|problem| problem.to_string()).unwrap_or_default()
    }

    #[test]
    fn both_arguments_may_be_left_out() {
        for (function, context, job) in [
            (
                parse_quote!(
                    async fn f() -> Result<(), TaskError> {}
                ),
                false,
                false,
            ),
            (
                parse_quote!(
                    async fn f(ctx: Context) -> Result<(), TaskError> {}
                ),
                true,
                false,
            ),
            (
                parse_quote!(
                    async fn f(job: Job) -> Result<(), TaskError> {}
                ),
                false,
                true,
            ),
            (
                parse_quote!(
                    async fn f(_: jobbers_worker::Context, job: Job) -> Result<(), TaskError> {}
                ),
                true,
                true,
            ),
        ] {
            let shape = read(&function, false).unwrap_or_else(|problem| panic!("{problem}"));
            assert_eq!((shape.context, shape.job.is_some()), (context, job));
        }
    }

    #[test]
    fn what_is_no_task_is_told_why() {
        for (function, blocking, part) in [
            (
                parse_quote!(
                    fn f() -> Result<(), TaskError> {}
                ),
                false,
                "is an `async fn`",
            ),
            (
                parse_quote!(
                    async fn f() -> Result<(), TaskError> {}
                ),
                true,
                "without `async`",
            ),
            (
                parse_quote!(
                    async unsafe fn f() -> Result<(), TaskError> {}
                ),
                false,
                "unsafe",
            ),
            (
                parse_quote!(
                    async fn f<T>(t: T) -> Result<(), TaskError> {}
                ),
                false,
                "generic",
            ),
            (
                parse_quote!(
                    async fn f(&self) -> Result<(), TaskError> {}
                ),
                false,
                "free function",
            ),
            (
                parse_quote!(
                    async fn f(a: A, b: B) -> Result<(), TaskError> {}
                ),
                false,
                "must be the `Context`",
            ),
            (
                parse_quote!(
                    async fn f(c: Context, a: A, b: B) -> Result<(), TaskError> {}
                ),
                false,
                "in a struct",
            ),
            (
                parse_quote!(
                    async fn f() {}
                ),
                false,
                "answers a `Result",
            ),
            (
                parse_quote!(
                    async fn f() -> Option<u8> {}
                ),
                false,
                "answers a `Result",
            ),
        ] {
            let found = problem(&function, blocking);
            assert!(found.contains(part), "{part}: {found}");
        }
    }
}
