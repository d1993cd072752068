//! Logs on standard error, as text or as JSON lines, and to a collector on request. Logs never contain payloads.
//!
//! A line written while a task function runs carries the attempt it comes from; see [`label`]. What clients wrote reaches
//! no terminal as it is; see [`lines`].

mod filter;
pub mod label;
mod lines;
mod notice;
pub mod panics;

use std::io::{self, IsTerminal};

use tracing::Subscriber;
use tracing_subscriber::{
    Layer,
    fmt::{self, MakeWriter},
    layer::SubscriberExt,
    registry::LookupSpan,
    util::SubscriberInitExt,
};

pub use self::notice::{LogFormat, is_json, say};

/// What is logged, and in which format. Flatten it into a binary's arguments.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct LogArgs {
    /// What to log: error, warn, info, debug, trace, or per module (info,jobbers_worker=debug)
    #[cfg_attr(
        feature = "cli",
        arg(long, env = "JOBBERS_LOG", default_value = "info", value_name = "FILTER", global = true)
    )]
    pub log: String,
    /// How log lines look
    #[cfg_attr(
        feature = "cli",
        arg(long, env = "JOBBERS_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text, global = true)
    )]
    pub log_format: LogFormat,
}

impl LogArgs {
    /// What the variables of the flags say, for a program without flags. `variable` looks one up.
    ///
    /// # Errors
    /// If `JOBBERS_LOG_FORMAT` names a format that this program does not have.
    pub fn of_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        match variable("JOBBERS_LOG_FORMAT").as_deref() {
            None | Some("text") => {}
            Some("json") => {
                return Err("JOBBERS_LOG_FORMAT=json: this program is built without the feature `cli` of \
                            jobbers-worker, which brings logs as JSON"
                    .to_owned());
            }
            Some(other) => return Err(format!("JOBBERS_LOG_FORMAT={other}: write text or json")),
        }
        let log = variable("JOBBERS_LOG").unwrap_or_else(|| "info".to_owned());
        Ok(Self { log, log_format: LogFormat::Text })
    }
}

/// Checks the arguments of [`init`], and takes the format for [`say`].
///
/// # Errors
/// If the filter can't be parsed.
pub fn check(args: &LogArgs) -> Result<(), String> {
    notice::set_format(args.log_format);
    filter::read(&args.log).map(|_| ())
}

/// Starts logging. A second call does nothing. Call it after [`crate::telemetry::Telemetry::start`], so that spans of
/// user code reach the collector.
///
/// # Errors
/// If the filter can't be parsed.
pub fn init(args: &LogArgs) -> Result<(), String> {
    let registry = tracing_subscriber::registry().with(filter::read(&args.log)?);
    #[cfg(feature = "metrics")]
    let registry = registry.with(crate::telemetry::traces::sdk::layer()).with(crate::telemetry::logs::layer());
    let colours = io::stderr().is_terminal();
    let to_stderr = match args.log_format {
        #[cfg(feature = "cli")]
        LogFormat::Json => json_layer(io::stderr),
        _ => lines_of_text(io::stderr, colours),
    };
    match registry.with(to_stderr).try_init() {
        Ok(()) => panics::log_all(),
        Err(_) => tracing::debug!("logging was started before"),
    }
    Ok(())
}

/// Lines for people, as [`init`] writes them, for a program that builds its own subscriber. Without colours.
#[must_use]
pub fn text_layer<S, W>(writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    lines_of_text(writer, false)
}

fn lines_of_text<S, W>(writer: W, has_colours: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    fmt::layer().with_writer(writer).with_ansi(false).event_format(lines::Text::new(has_colours)).boxed()
}

/// JSON objects, one a line, as [`init`] writes them, for a program that builds its own subscriber.
#[cfg(feature = "cli")]
#[must_use]
pub fn json_layer<S, W>(writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    fmt::layer().with_writer(writer).with_ansi(false).json().event_format(lines::json::JsonLines::default()).boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_flags_reads_their_variables() {
        let read = |pairs: &'static [(&str, &str)]| {
            let find = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            LogArgs::of_variables(find).map(|args| args.log)
        };
        assert_eq!(read(&[]), Ok("info".to_owned()));
        assert_eq!(read(&[("JOBBERS_LOG", "warn"), ("JOBBERS_LOG_FORMAT", "text")]), Ok("warn".to_owned()));
        assert!(read(&[("JOBBERS_LOG_FORMAT", "json")]).unwrap_err().contains("the feature `cli`"));
        assert!(read(&[("JOBBERS_LOG_FORMAT", "xml")]).unwrap_err().contains("text or json"));
    }

    fn checked(log: &str) -> Result<(), String> {
        check(&LogArgs { log: log.to_owned(), log_format: LogFormat::Text })
    }

    #[test]
    fn a_mistyped_level_is_refused_and_named() {
        for (log, word) in
            [("inof", "inof"), ("info,debgu", "debgu"), (" Info , wran", "wran"), ("my_tasks", "my_tasks")]
        {
            let refused = checked(log).unwrap_err();
            assert!(
                refused.contains(&format!("{word:?} is no level")) && refused.contains("=debug"),
                "{log}: {refused}"
            );
        }
        for bad in ["a=b=c", "my_tasks=inof", "info,jobbers_worker=loud"] {
            assert!(checked(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn levels_and_modules_are_taken() {
        for log in [
            "",
            "info",
            "WARN",
            "off",
            "error,",
            "info,jobbers_worker=debug",
            "jobbers_worker",
            "my_tasks=trace,warn",
            "info,my_tasks[run{a}]=debug",
            "[span]=trace",
        ] {
            assert_eq!(checked(log), Ok(()), "{log}");
        }
    }
}
