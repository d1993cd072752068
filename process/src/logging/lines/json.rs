//! Log lines as JSON.

use std::fmt::{self, Write as _};

use tracing::{Event, Subscriber};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields, format,
        format::{Format, Writer},
        time::SystemTime,
    },
    registry::LookupSpan,
};

use super::labelled;
use jobbers_common::access::redact;

use crate::printable;

/// JSON objects, with the label as the member `task`.
#[derive(Debug)]
pub(in crate::logging) struct JsonLines(Format<format::Json, SystemTime>);

impl Default for JsonLines {
    fn default() -> Self {
        Self(format().json())
    }
}

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let line = labelled(&self.0, context, event, |line, label| {
            let label = serde_json::to_string(&label).map_err(|_| fmt::Error)?;
            if line.pop() != Some('}') {
                return Err(fmt::Error);
            }
            write!(line, ",\"task\":{label}}}")
        })?;
        writeln!(writer, "{}", printable::json(&redact(&line)))
    }
}
