//! The shape that a function must have to be a task.

use syn::{
    Error, FnArg, GenericArgument, ItemFn, PatType, PathArguments, PathSegment, Result, ReturnType, Safety, Type,
};

/// The parts of a task function's signature that matter.
pub(crate) struct Shape<'a> {
    /// Its arguments, in order.
    pub(crate) arguments: Vec<Argument<'a>>,
    /// The type of its parameters, if it takes any.
    pub(crate) job: Option<&'a Type>,
    /// Its result type on success.
    pub(crate) output: &'a Type,
    /// The type of its error, or its whole answer where that does not name one.
    pub(crate) error: &'a Type,
}

/// An argument of a task function.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Argument<'a> {
    Context,
    /// `State<T>`, with its type as it is written.
    State(&'a Type),
    /// `Labels` or `Fence`: its name, and its type as it is written.
    OfAttempt(&'static str, &'a Type),
    /// The parameters.
    Job,
}

/// What an attempt gives besides its context, with how it is written.
const OF_ATTEMPT: [(&str, &str); 2] = [("Labels", "labels: Labels"), ("Fence", "fence: Fence")];

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
    let (arguments, job) = arguments(function)?;
    let (output, error) = answer(function)?;
    Ok(Shape { arguments, job, output, error })
}

impl Argument<'_> {
    /// Whether it is of an attempt, by this name.
    fn is(&self, name: &str) -> bool {
        matches!(self, Self::OfAttempt(own, _) if *own == name)
    }
}

fn arguments(function: &ItemFn) -> Result<(Vec<Argument<'_>>, Option<&Type>)> {
    let (mut arguments, mut job) = (Vec::new(), None);
    for argument in &function.sig.inputs {
        match argument {
            FnArg::Receiver(receiver) => {
                return Err(Error::new_spanned(receiver, "a task is a free function, without `self`"));
            }
            FnArg::Typed(PatType { ty, .. }) => arguments.push(match argument_of(ty)? {
                Argument::Job if job.replace(&**ty).is_some() => {
                    let problem = "a task takes one value of parameters, besides `Context`, `State<…>`, `Labels` and `Fence`: put them in a struct";
                    return Err(Error::new_spanned(argument, problem));
                }
                Argument::Context if arguments.iter().any(|known| matches!(known, Argument::Context)) => {
                    return Err(Error::new_spanned(argument, "a task takes one `Context`"));
                }
                Argument::OfAttempt(name, _) if arguments.iter().any(|known| known.is(name)) => {
                    return Err(Error::new_spanned(argument, format!("a task takes one `{name}`")));
                }
                argument => argument,
            }),
        }
    }
    Ok((arguments, job))
}

fn argument_of(ty: &Type) -> Result<Argument<'_>> {
    match ty {
        Type::Reference(reference) => Err(Error::new_spanned(ty, borrowed(&reference.elem))),
        Type::ImplTrait(_) => {
            Err(Error::new_spanned(ty, "the parameters of a task are of one type: a task is found by its name alone"))
        }
        ty if is_context(ty) => Ok(Argument::Context),
        ty if is_state(ty) => Ok(Argument::State(ty)),
        ty if has_lifetime(ty) => Err(Error::new_spanned(
            ty,
            "the parameters of a task are owned, because they are read from its payload: use a type without a lifetime",
        )),
        ty => Ok(of_attempt(ty).map_or(Argument::Job, |(name, _)| Argument::OfAttempt(name, ty))),
    }
}

/// What to write in place of a reference to this type.
fn borrowed(ty: &Type) -> String {
    if is_context(ty) {
        return "a task takes its `Context` by value: write `ctx: Context`".to_owned();
    }
    if let Some((name, written)) = of_attempt(ty) {
        return format!("a task takes its `{name}` by value: write `{written}`");
    }
    let owned = match ty {
        Type::Path(path) if path.path.is_ident("str") => "`String`",
        Type::Slice(_) => "a `Vec`",
        _ => "the type without `&`",
    };
    format!("the parameters of a task are owned, because they are read from its payload: write {owned}")
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match ty {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

/// `State<T>`.
fn is_state(ty: &Type) -> bool {
    let is_it = |segment: &PathSegment| {
        segment.ident == "State"
            && matches!(&segment.arguments, PathArguments::AngleBracketed(types) if types.args.len() == 1)
    };
    last_segment(ty).is_some_and(is_it)
}

/// `Labels` or `Fence`, without types of its own: its name, and how the argument is written.
fn of_attempt(ty: &Type) -> Option<(&'static str, &'static str)> {
    let segment = last_segment(ty).filter(|segment| segment.arguments.is_none())?;
    OF_ATTEMPT.into_iter().find(|(name, _)| segment.ident == name)
}

/// Whether a type has a lifetime other than `'static` among its arguments.
fn has_lifetime(ty: &Type) -> bool {
    let Some(PathArguments::AngleBracketed(generics)) = last_segment(ty).map(|segment| &segment.arguments) else {
        return false;
    };
    generics.args.iter().any(|argument| match argument {
        GenericArgument::Lifetime(lifetime) => lifetime.ident != "static",
        GenericArgument::Type(ty) => has_lifetime(ty),
        _ => false,
    })
}

fn is_context(ty: &Type) -> bool {
    last_segment(ty).is_some_and(|segment| segment.ident == "Context")
}

/// The `T` and the `E` of `Result<T, E>`; in place of an `E` that an alias leaves out, the alias.
fn answer(function: &ItemFn) -> Result<(&Type, &Type)> {
    let wrong = "a task answers a `Result<T, TaskError>`, or another type that is called `…Result` and names `T` first; an alias \
                 of another name is spelled out";
    let ReturnType::Type(_, answer) = &function.sig.output else {
        return Err(Error::new_spanned(&function.sig.ident, wrong));
    };
    let Type::Path(path) = answer.as_ref() else { return Err(Error::new_spanned(answer, wrong)) };
    let segment = path.path.segments.last().filter(|segment| segment.ident.to_string().ends_with("Result"));
    let Some(PathArguments::AngleBracketed(generics)) = segment.map(|segment| &segment.arguments) else {
        return Err(Error::new_spanned(answer, wrong));
    };
    let mut types = generics.args.iter().map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    match (types.next().flatten(), types.next().flatten()) {
        (Some(output), error) => Ok((output, error.unwrap_or(answer))),
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
            let has_context = shape.arguments.iter().any(|argument| matches!(argument, Argument::Context));
            assert_eq!((has_context, shape.job.is_some()), (context, job));
        }
    }

    #[test]
    fn state_may_be_anywhere_among_the_arguments() {
        let function = parse_quote!(
            async fn f(
                State(pool): State<Pool>,
                job: Job,
                ctx: Context,
                mail: jobbers_worker::State<Mail>,
            ) -> Result<(), TaskError> {
            }
        );
        let shape = read(&function, false).unwrap_or_else(|problem| panic!("{problem}"));
        assert!(
            matches!(shape.arguments[..], [Argument::State(_), Argument::Job, Argument::Context, Argument::State(_)]),
            "{:?}",
            shape.arguments
        );
    }

    #[test]
    fn labels_and_the_fence_may_be_anywhere_among_the_arguments() {
        let function = parse_quote!(
            async fn f(labels: Labels, job: Labels<u8>, fence: jobbers_worker::Fence) -> Result<(), TaskError> {}
        );
        let shape = read(&function, false).unwrap_or_else(|problem| panic!("{problem}"));
        assert!(
            matches!(
                shape.arguments[..],
                [Argument::OfAttempt("Labels", _), Argument::Job, Argument::OfAttempt("Fence", _)]
            ),
            "{:?}",
            shape.arguments
        );
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
                "in a struct",
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

    #[test]
    fn what_looks_like_a_task_is_told_what_to_write_instead() {
        for (function, blocking, part) in [
            (
                parse_quote!(
                    async fn f(ctx: &Context, a: A) -> Result<(), TaskError> {}
                ),
                false,
                "`Context` by value",
            ),
            (
                parse_quote!(
                    async fn f(a: Context, b: Context) -> Result<(), TaskError> {}
                ),
                false,
                "one `Context`",
            ),
            (
                parse_quote!(
                    async fn f(labels: &Labels, a: A) -> Result<(), TaskError> {}
                ),
                false,
                "write `labels: Labels`",
            ),
            (
                parse_quote!(
                    async fn f(a: Fence, labels: Labels, b: Fence) -> Result<(), TaskError> {}
                ),
                false,
                "one `Fence`",
            ),
            (
                parse_quote!(
                    async fn f(name: &str) -> Result<(), TaskError> {}
                ),
                false,
                "write `String`",
            ),
            (
                parse_quote!(
                    async fn f(name: Cow<'_, str>) -> Result<(), TaskError> {}
                ),
                false,
                "without a lifetime",
            ),
            (
                parse_quote!(
                    async fn f(job: impl Serialize) -> Result<(), TaskError> {}
                ),
                false,
                "of one type",
            ),
            (
                parse_quote!(
                    async fn f() -> Answer<u32> {}
                ),
                false,
                "is spelled out",
            ),
        ] {
            let found = problem(&function, blocking);
            assert!(found.contains(part), "{part}: {found}");
        }
    }
}
