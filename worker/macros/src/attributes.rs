//! Parses and checks the attributes in `#[task(…)]`.
//!
//! All problems are reported at once, each at its place.

use std::time::Duration;

use jobbers_terms::{
    lifecycle::Status,
    limits::MAX_ERROR_KINDS,
    name::{QueueName, TaskName},
    policy::{PolicyOverrides, backoff::Backoff},
    task::unique::OnDuplicate,
    values::duration,
};
use quote::ToTokens as _;
use serde::de::{DeserializeOwned, IntoDeserializer, value::Error as WordError};
use syn::{
    Error, Expr, ExprLit, Ident, Lit, LitStr, Meta, Path, Result, Token, parse::Parser, punctuated::Punctuated,
    spanned::Spanned,
};

use crate::{
    cron::{self, CronAttributes},
    defaults::{self, Defaults},
    errors::{self, ErrorList, ListedErrors},
    remote,
    uniqueness::{self, Uniqueness},
};

const KNOWN: [&str; 33] = [
    "name",
    "version",
    "max_retries",
    "retry_delay",
    "backoff",
    "max_retry_delay",
    "retry_for",
    "retry_on",
    "fatal_on",
    "fatal_if",
    "timeout",
    "expires_in",
    "max_heartbeat_interval",
    "on_stall",
    "on_shutdown",
    "dead_letter",
    "max_crashes",
    "unique",
    "unique_by",
    "unique_for",
    "unique_while",
    "on_duplicate",
    "cron",
    "time_zone",
    "queue",
    "priority",
    "labels",
    "concurrency_key",
    "sensitive",
    "crate",
    "blocking",
    "unlisted",
    "remote",
];

/// The author's settings for a task.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    /// The name, if it is not the function's.
    pub(crate) name: Option<TaskName>,
    /// The version, if it is not 1.
    pub(crate) version: Option<u32>,
    /// The policy, where it is not the default, and how late a first attempt may begin.
    pub(crate) policy: PolicyOverrides,
    /// The function that says how long to wait before a retry.
    pub(crate) backoff: Option<Path>,
    /// The error types in `retry_on` and `fatal_on`, and `fatal_if`.
    pub(crate) errors: ListedErrors,
    /// What submissions say unless they say otherwise.
    pub(crate) defaults: Defaults,
    /// The path of the library, if it is not `::jobbers_worker`.
    pub(crate) library: Option<Path>,
    /// The uniqueness constraint.
    pub(crate) unique: Uniqueness,
    /// Its schedule, if it declares one.
    pub(crate) cron: CronAttributes,
    /// Whether it is synchronous.
    pub(crate) blocking: bool,
    /// Whether workers do not find it by themselves.
    pub(crate) unlisted: bool,
    /// Whether another program has its body.
    pub(crate) remote: bool,
}

/// Reads the attributes.
///
/// # Errors
/// All problems in one error.
pub(crate) fn parse(tokens: proc_macro2::TokenStream) -> Result<Attributes> {
    let metas = Punctuated::<Meta, Token![,]>::parse_terminated.parse2(tokens)?;
    let mut attributes = Attributes::default();
    let mut seen: Vec<String> = Vec::new();
    let mut problems: Option<Error> = None;
    for meta in &metas {
        if let Err(problem) = take(&mut attributes, &mut seen, meta) {
            match &mut problems {
                Some(all) => all.combine(problem),
                None => problems = Some(problem),
            }
        }
    }
    match problems {
        Some(problems) => Err(problems),
        None => {
            uniqueness::check(&attributes.unique, &metas)?;
            cron::check(&attributes.cron)?;
            if attributes.remote {
                remote::check(&metas)?;
            }
            if let (Some(_), Some(backoff)) = (attributes.policy.retry_delay, &attributes.backoff) {
                let problem =
                    "`retry_delay` says nothing beside a `backoff` function, which returns each delay: leave it out";
                return Err(Error::new(backoff.span(), problem));
            }
            Ok(attributes)
        }
    }
}

fn take(attributes: &mut Attributes, seen: &mut Vec<String>, meta: &Meta) -> Result<()> {
    let key = meta.path().require_ident()?;
    let word = key.to_string();
    if seen.contains(&word) {
        return Err(Error::new(key.span(), format!("`{word}` is said twice")));
    }
    seen.push(word.clone());
    match (word.as_str(), meta) {
        ("blocking", Meta::Path(_)) => attributes.blocking = true,
        ("unlisted", Meta::Path(_)) => attributes.unlisted = true,
        ("remote", Meta::Path(_)) => attributes.remote = true,
        ("sensitive", Meta::Path(_)) => attributes.defaults.sensitive = true,
        ("unique", Meta::Path(_)) => attributes.unique.by_parameters = true,
        ("blocking" | "unlisted" | "remote" | "unique" | "sensitive", other) => {
            return Err(Error::new(other.span(), format!("`{word}` takes no value")));
        }
        (known, Meta::NameValue(pair)) if KNOWN.contains(&known) => set(attributes, known, &pair.value)?,
        (known, other) if KNOWN.contains(&known) => {
            return Err(Error::new(other.span(), format!("`{known}` needs a value: write {}", example(known))));
        }
        _ => return Err(unknown(key)),
    }
    Ok(())
}

fn set(attributes: &mut Attributes, key: &str, value: &Expr) -> Result<()> {
    let policy = &mut attributes.policy;
    match key {
        "name" => attributes.name = Some(TaskName::new(text(key, value)?.value()).map_err(at(value))?),
        "version" => match number(key, value)? {
            0 => return Err(Error::new(value.span(), "`version` must be at least 1")),
            version => attributes.version = Some(version),
        },
        "max_retries" => policy.max_retries = Some(number(key, value)?),
        "max_crashes" => policy.max_crashes = Some(number(key, value)?),
        "retry_delay" => policy.retry_delay = Some(length(key, value)?),
        "max_retry_delay" => policy.max_retry_delay = Some(length(key, value)?),
        "retry_for" => policy.retry_for = Some(length(key, value)?),
        "retry_on" => ErrorList { words: policy.retry_on, types: attributes.errors.retry_on } = kinds(key, value)?,
        "fatal_on" => ErrorList { words: policy.fatal_on, types: attributes.errors.fatal_on } = kinds(key, value)?,
        "fatal_if" => attributes.errors.fatal_if = Some(errors::judge(value)?),
        "timeout" => policy.timeout = Some(length(key, value)?),
        "expires_in" => policy.expires_in = Some(length(key, value)?),
        "max_heartbeat_interval" => policy.max_heartbeat_interval = Some(length(key, value)?),
        "backoff" => match value {
            Expr::Path(path) => attributes.backoff = Some(path.path.clone()),
            _ => policy.backoff = Some(text(key, value)?.value().parse::<Backoff>().map_err(at(value))?),
        },
        "on_stall" => policy.on_stall = Some(choice(key, value)?),
        "on_shutdown" => policy.on_shutdown = Some(choice(key, value)?),
        "unique_by" => attributes.unique.by = uniqueness::fields(&fields(key, value)?)?,
        "unique_for" => {
            let span = length(key, value)?;
            uniqueness::check_span(span).map_err(at(value))?;
            attributes.unique.span = Some(span);
        }
        "unique_while" => attributes.unique.statuses = Some(choices::<Status>(key, value)?),
        "on_duplicate" => attributes.unique.on_duplicate = Some(choice::<OnDuplicate>(key, value)?),
        "queue" => attributes.defaults.queue = Some(QueueName::new(text(key, value)?.value()).map_err(at(value))?),
        "priority" => attributes.defaults.priority = Some(defaults::priority(number(key, value)?).map_err(at(value))?),
        "labels" => {
            attributes.defaults.labels =
                list(key, value)?.map(|label| defaults::label(&text(key, label)?)).collect::<Result<_>>()?;
        }
        "concurrency_key" => attributes.defaults.concurrency_key = uniqueness::fields(&[field(key, value)?])?.pop(),
        "crate" => attributes.library = Some(text(key, value)?.parse()?),
        "cron" => attributes.cron.expression = Some(text(key, value)?),
        "time_zone" => attributes.cron.time_zone = Some(text(key, value)?),
        _ => policy.dead_letter = Some(choice(key, value)?),
    }
    // Only the latest value can be out of bounds: earlier keys have been checked, and a failed one was reported.
    match policy.validate() {
        Err(problem) if problem.field == key => Err(Error::new(value.span(), format!("`{key}` {}", problem.rule))),
        _ => Ok(()),
    }
}

fn at<E: std::fmt::Display>(value: &Expr) -> impl FnOnce(E) -> Error {
    let span = value.span();
    move |problem| Error::new(span, problem.to_string())
}

fn text(key: &str, value: &Expr) -> Result<LitStr> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.clone()),
        other => Err(Error::new(other.span(), format!("`{key}` is a text: write {}", example(key)))),
    }
}

fn number(key: &str, value: &Expr) -> Result<u32> {
    let number = match value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| Error::new(value.span(), format!("`{key}` is a whole number: write {}", example(key))))
}

fn length(key: &str, value: &Expr) -> Result<Duration> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Int(seconds), .. }) => Ok(Duration::from_secs(seconds.base10_parse()?)),
        _ => duration::parse(&text(key, value)?.value()).map_err(at(value)),
    }
}

/// `["rate_limited", std::io::Error]`.
fn kinds(key: &str, value: &Expr) -> Result<ErrorList> {
    let mut listed = ErrorList::default();
    for kind in list(key, value)? {
        match kind {
            Expr::Path(path) => listed.types.push(errors::type_of(path)),
            _ => listed.words.get_or_insert_default().push(errors::word(key, &text(key, kind)?)?),
        }
    }
    let count = listed.types.len() + listed.words.as_ref().map_or(0, Vec::len);
    if count > MAX_ERROR_KINDS {
        return Err(Error::new(value.span(), format!("`{key}` names {count} kinds; at most {MAX_ERROR_KINDS}")));
    }
    Ok(listed)
}

/// `["submitted", "started"]`.
fn choices<T: DeserializeOwned>(key: &str, value: &Expr) -> Result<Vec<T>> {
    list(key, value)?.map(|word| choice(key, word)).collect()
}

/// `"customer"`, or `["customer", "region"]`.
fn fields(key: &str, value: &Expr) -> Result<Vec<LitStr>> {
    match value {
        Expr::Lit(_) | Expr::Path(_) | Expr::Field(_) => Ok(vec![field(key, value)?]),
        _ => list(key, value)?.map(|each| field(key, each)).collect(),
    }
}

/// `"customer"`, or without quotes, as the compiler writes the name of a field that it proposes in place of a wrong one.
fn field(key: &str, value: &Expr) -> Result<LitStr> {
    match value {
        Expr::Path(_) | Expr::Field(_) => {
            let name = value.to_token_stream().to_string().replace(' ', "");
            Ok(LitStr::new(&name, value.span()))
        }
        other => text(key, other),
    }
}

fn list<'a>(key: &str, value: &'a Expr) -> Result<impl Iterator<Item = &'a Expr>> {
    let Expr::Array(list) = value else {
        return Err(Error::new(value.span(), format!("`{key}` is a list: write {}", example(key))));
    };
    if list.elems.is_empty() {
        return Err(Error::new(value.span(), format!("`{key}` names nothing: leave it out")));
    }
    Ok(list.elems.iter())
}

/// One of the words that the configuration and the API use for the same setting.
fn choice<T: DeserializeOwned>(key: &str, value: &Expr) -> Result<T> {
    let word = text(key, value)?.value();
    T::deserialize(word.as_str().into_deserializer())
        .map_err(|problem: WordError| Error::new(value.span(), format!("`{key}`: {problem}")))
}

fn example(key: &str) -> &'static str {
    match key {
        "name" => "name = \"resize\"",
        "version" => "version = 1",
        "max_retries" => "max_retries = 3",
        "max_crashes" => "max_crashes = 3",
        "backoff" => "backoff = \"exponential_jitter\" or backoff = my_function",
        "on_stall" => "on_stall = \"retry\"",
        "on_shutdown" => "on_shutdown = \"requeue\"",
        "dead_letter" => "dead_letter = \"none\"",
        "retry_delay" => "retry_delay = \"10s\"",
        "max_retry_delay" => "max_retry_delay = \"5m\"",
        "retry_for" => "retry_for = \"2d\"",
        "retry_on" => "retry_on = [std::io::Error, \"rate_limited\"]",
        "fatal_on" => "fatal_on = [std::num::ParseIntError, \"invalid\"]",
        "fatal_if" => "fatal_if = is_declined",
        "timeout" => "timeout = \"2m\"",
        "expires_in" => "expires_in = \"10m\"",
        "unique_by" => "unique_by = \"customer\" or unique_by = [\"customer\", \"region\"]",
        "unique_for" => "unique_for = \"10m\"",
        "unique_while" => "unique_while = [\"submitted\", \"started\"]",
        "on_duplicate" => "on_duplicate = \"return\"",
        "queue" => "queue = \"mail\"",
        "priority" => "priority = 7",
        "labels" => "labels = [\"team=billing\"]",
        "concurrency_key" => "concurrency_key = \"customer\"",
        "crate" => "crate = \"jobs\"",
        "cron" => "cron = \"0 2 * * *\"",
        "time_zone" => "time_zone = \"Europe/Berlin\"",
        _ => "max_heartbeat_interval = \"30s\"",
    }
}

fn unknown(key: &Ident) -> Error {
    let word = key.to_string();
    let similar = KNOWN.into_iter().filter(|known| is_similar(&word, known)).map(|known| format!("`{known}`"));
    let similar: Vec<_> = similar.collect();
    let cure = match similar.is_empty() {
        true => format!("; known are {}", KNOWN.map(|word| format!("`{word}`")).join(", ")),
        false => format!(", did you mean {}?", similar.join(" or ")),
    };
    Error::new(key.span(), format!("`{key}` says nothing about a task{cure}"))
}

/// Whether one word is a part of the other, or they differ in a letter or two that are left out, added or replaced.
fn is_similar(word: &str, known: &str) -> bool {
    let is_part = word.len() > 3 && (known.contains(word) || word.contains(known));
    let same_first = word.chars().zip(known.chars()).take_while(|(a, b)| a == b).count();
    let same_last = word.chars().rev().zip(known.chars().rev()).take_while(|(a, b)| a == b).count();
    let longest = word.len().max(known.len());
    is_part || longest > 4 && same_first + same_last + 2 >= longest
}

#[cfg(test)]
mod tests {
    use jobbers_terms::policy::{DeadLetter, OnShutdown, OnStall, error_kind::ErrorKind};
    use quote::quote;

    use super::*;

    fn problems(tokens: proc_macro2::TokenStream) -> Vec<String> {
        parse(tokens).unwrap_err().into_iter().map(|problem| problem.to_string()).collect()
    }

    #[test]
    fn everything_that_can_be_said_is_understood() {
        let said = parse(quote!(
            name = "resize",
            version = 2,
            max_retries = 5,
            retry_delay = "10s",
            backoff = "exponential_jitter",
            max_retry_delay = "5m",
            retry_for = "2d",
            retry_on = ["busy", "timeout"],
            fatal_on = [std::num::ParseIntError, "SMTP_550"],
            fatal_if = is_declined,
            timeout = "2m",
            expires_in = "10m",
            max_heartbeat_interval = 30,
            on_stall = "retry",
            on_shutdown = "requeue",
            dead_letter = "save",
            max_crashes = 4,
            sensitive,
            blocking,
            unlisted
        ))
        .unwrap();
        assert_eq!(said.name.unwrap().as_str(), "resize");
        assert_eq!(said.version, Some(2));
        assert!(said.blocking && said.unlisted && said.defaults.sensitive);
        let policy = PolicyOverrides {
            max_retries: Some(5),
            retry_delay: Some(Duration::from_secs(10)),
            backoff: Some(Backoff::ExponentialJitter),
            max_retry_delay: Some(Duration::from_secs(300)),
            retry_for: Some(Duration::from_secs(172_800)),
            retry_on: Some(vec![ErrorKind::checked("busy"), ErrorKind::checked("timeout")]),
            fatal_on: Some(vec![ErrorKind::checked("SMTP_550")]),
            timeout: Some(Duration::from_secs(120)),
            max_heartbeat_interval: Some(Duration::from_secs(30)),
            on_stall: Some(OnStall::Retry),
            on_shutdown: Some(OnShutdown::Requeue),
            dead_letter: Some(DeadLetter::Save),
            max_crashes: Some(4),
            max_tries: None,
            exhausted: None,
            expires_in: Some(Duration::from_secs(600)),
        };
        assert_eq!(said.policy, policy);
        let ListedErrors { retry_on, fatal_on, fatal_if } = said.errors;
        assert_eq!((retry_on.len(), fatal_on.len(), fatal_if.is_some()), (0, 1, true));
    }

    #[test]
    fn of_what_there_is_to_be_one_is_understood() {
        let said = parse(quote!(
            unique_by = ["customer.id", "region"],
            unique_for = "10m",
            unique_while = ["started", "completed"],
            on_duplicate = "keep_last"
        ));
        let unique = said.unwrap().unique;
        assert_eq!(unique.by.iter().map(|field| &*field.name).collect::<Vec<_>>(), ["customer.id", "region"]);
        assert_eq!(unique.span, Some(Duration::from_secs(600)));
        assert_eq!(unique.statuses, Some(vec![Status::Started, Status::Completed]));
        assert_eq!(unique.on_duplicate, Some(OnDuplicate::KeepLast));
        let unique = parse(quote!(unique)).unwrap().unique;
        assert!(unique.by_parameters && unique.by.is_empty());
        let proposed = parse(quote!(unique_by = [customer.id, region], concurrency_key = customer)).unwrap();
        let names =
            |fields: &[uniqueness::ParameterField]| fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&proposed.unique.by), ["customer.id", "region"]);
        assert_eq!(names(proposed.defaults.concurrency_key.as_slice()), ["customer"]);
    }

    #[test]
    fn a_schedule_is_understood() {
        let said = parse(quote!(cron = "0 2 * * *", time_zone = "Europe/Berlin")).unwrap().cron;
        let text = |text: Option<LitStr>| text.map(|text| text.value());
        assert_eq!(
            (text(said.expression), text(said.time_zone)),
            (Some("0 2 * * *".into()), Some("Europe/Berlin".into()))
        );
        assert!(parse(quote!(cron = "*/10 * * * * *")).unwrap().cron.expression.is_some());
    }

    #[test]
    fn nothing_said_is_fine() {
        assert!(parse(quote!()).unwrap().policy.is_empty());
    }

    #[test]
    fn each_mistake_gets_its_sentence() {
        for (tokens, part) in [
            (quote!(retries = 3), "`retries` says nothing about a task, did you mean `max_retries`?"),
            (quote!(time_out = "2m"), "did you mean `timeout`?"),
            (quote!(colour = "red"), "`colour` says nothing about a task; known are `name`"),
            (quote!(priority = 10), "a priority is 0 to 9"),
            (quote!(labels = ["team"]), "a label is written name=value"),
            (quote!(labels = ["two words=x"]), "label"),
            (quote!(concurrency_key = "a b"), "`a b` is no field"),
            (quote!(crate = "not a path"), "expected"),
            (quote!(timeout = "2m", timeout = "3m"), "`timeout` is said twice"),
            (quote!(timeout = "2 fortnights"), "is not a duration"),
            (quote!(timeout = "0s"), "`timeout` must be above 0"),
            (quote!(expires_in = 0), "`expires_in` must be above 0"),
            (quote!(expires_in = "367d"), "`expires_in` must be above 0 and at most 366d"),
            (quote!(timeout), "needs a value: write timeout = \"2m\""),
            (quote!(max_retries = "three"), "is a whole number"),
            (quote!(max_retries = 1001), "`max_retries` must be 0 to 1000"),
            (quote!(max_crashes = 0), "`max_crashes` must be 1 to 100"),
            (quote!(max_retries = -1), "is a whole number"),
            (quote!(version = 0), "at least 1"),
            (quote!(name = "two words"), "is not valid"),
            (quote!(backoff = "sideways"), "is not a backoff"),
            (quote!(retry_for = 0), "`retry_for` must be above 0"),
            (quote!(retry_on = "busy"), "is a list: write retry_on"),
            (quote!(fatal_on = ["std::io::Error"]), "a type is written without quotes: fatal_on = [std::io::Error]"),
            (quote!(retry_on = ["TimeOut"]), "a type is written without quotes: retry_on = [TimeOut]"),
            (quote!(fatal_on = [Error, 5]), "`fatal_on` is a text"),
            (quote!(fatal_if = "declined"), "`fatal_if` is a function of a reference to an error"),
            (quote!(fatal_on = []), "names nothing"),
            (quote!(fatal_on = ["two\nlines"]), "is not a kind of error"),
            (quote!(on_shutdown = "explode"), "unknown variant `explode`, expected one of `finish`, `requeue`, `fail`"),
            (quote!(blocking = true), "takes no value"),
            (quote!(unlisted(yes)), "takes no value"),
            (quote!(unique = true), "takes no value"),
            (quote!(unique, unique_by = "a"), "`unique_by` already makes it unique: leave `unique` out"),
            (quote!(unique_for = "10m"), "`unique_for` needs `unique`, for all parameters, or `unique_by`"),
            (quote!(unique_while = ["started"]), "`unique_while` needs"),
            (quote!(on_duplicate = "return"), "`on_duplicate` needs"),
            (quote!(unique, unique_for = 0), "unique_for is longer than nothing and at most 366d"),
            (quote!(unique, unique_for = "367d"), "at most 366d"),
            (quote!(unique, unique_while = []), "names nothing"),
            (quote!(unique, unique_while = "started"), "is a list: write unique_while"),
            (quote!(unique, unique_while = ["running"]), "unknown variant `running`"),
            (quote!(unique, on_duplicate = "ignore"), "unknown variant `ignore`, expected one of `reject`, `return`"),
            (quote!(unique_by = []), "names nothing"),
            (quote!(unique_by = 7), "`unique_by` is a text"),
            (quote!(unique_by = "a b"), "`a b` is no field"),
            (quote!(unique_by = a::b), "`a::b` is no field"),
            (quote!(unique_by = ["a", "b", "a"]), "`a` is named twice"),
            (quote!(unique_by = ""), "`` is no field"),
            (quote!(unique_by = "a..b"), "`a..b` is no field"),
            (quote!(cron = 5), "`cron` is a text: write cron = \"0 2 * * *\""),
            (quote!(cron = "every day"), "`cron` has five fields"),
            (quote!(cron = "61 * * * *"), "`cron` has \"61\" in its minute, which is 0 to 59"),
            (quote!(cron = "0 0 30 2 *"), "`cron` \"0 0 30 2 *\" never fires"),
            (
                quote!(cron = "0 2 * * *", time_zone = "Europe/Atlantis"),
                "`time_zone` \"Europe/Atlantis\" does not exist",
            ),
            (quote!(time_zone = "UTC"), "`time_zone` needs `cron`"),
        ] {
            let found = problems(tokens.clone());
            assert_eq!(found.len(), 1, "{tokens}: {found:?}");
            assert!(found[0].contains(part), "{tokens}: {found:?}");
        }
    }

    #[test]
    fn queues_functions_and_signatures_get_theirs() {
        for (tokens, part) in [
            (quote!(queue = "two words"), "is not valid"),
            (quote!(queue = mail), "`queue` is a text: write queue = \"mail\""),
            (
                quote!(backoff = my_function, retry_delay = "1s"),
                "`retry_delay` says nothing beside a `backoff` function",
            ),
            (quote!(remote = true), "takes no value"),
            (quote!(remote, timeout = "1s"), "`timeout` is said where the task has its body"),
            (quote!(remote, cron = "0 2 * * *"), "`cron` is said where the task has its body"),
        ] {
            let found = problems(tokens.clone());
            assert!(found.len() == 1 && found[0].contains(part), "{tokens}: {found:?}");
        }
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        assert_eq!(problems(quote!(retries = 3, timeout = "soon", version = 0)).len(), 3);
    }
}
