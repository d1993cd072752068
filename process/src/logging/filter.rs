//! Reads a filter of log lines. A program without the feature `cli` has the filter without spans and fields, which needs no
//! regular expressions.

#[cfg(feature = "cli")]
use tracing_subscriber::EnvFilter as Filter;
use tracing_subscriber::filter::LevelFilter;
#[cfg(not(feature = "cli"))]
use tracing_subscriber::filter::Targets as Filter;

/// # Errors
/// What is wrong with the text of `--log` or `JOBBERS_LOG`.
pub(super) fn read(text: &str) -> Result<Filter, String> {
    if let Some(word) = bare_words(text).find(|word| !is_level(word) && !word.starts_with("jobbers")) {
        return Err(format!(
            "--log {text}: {word:?} is no level, which are error, warn, info, debug, trace and off; for a module of that \
             name write {word}=debug"
        ));
    }
    parse(text).map_err(|problem| format!("--log {text}: {problem}"))
}

#[cfg(feature = "cli")]
fn parse(text: &str) -> Result<Filter, String> {
    Filter::try_new(text).map_err(|error| error.to_string())
}

#[cfg(not(feature = "cli"))]
fn parse(text: &str) -> Result<Filter, String> {
    if text.contains('[') {
        return Err("spans and fields need the feature `cli` of jobbers-worker".to_owned());
    }
    let parts: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    parts.join(",").parse().map_err(|error: tracing_subscriber::filter::ParseError| error.to_string())
}

/// The single words of a filter. The filter accepts any word as a module and then logs only that module, so a mistyped
/// level would silence the program.
fn bare_words(filter: &str) -> impl Iterator<Item = &str> {
    filter.split(',').map(str::trim).filter(|part| !part.is_empty() && !part.contains(['=', '[', ']']))
}

fn is_level(word: &str) -> bool {
    word.parse::<LevelFilter>().is_ok()
}
