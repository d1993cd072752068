//! What a manager's pages need to know of its configuration.

/// What in the address of a trace viewer is replaced by the id of a trace.
const TRACE_ID: &str = "{trace_id}";

/// What the manager configures of its pages.
#[derive(Debug, Clone, Default)]
pub struct PageSettings {
    /// Whether the manager speaks TLS.
    pub speaks_tls: bool,
    /// The address of a trace in a viewer, with `{trace_id}` in the place of its id; empty: traces have no address.
    pub trace_url: String,
}

impl PageSettings {
    /// The address of a trace, if a viewer is configured.
    pub(crate) fn trace_address(&self, trace_id: &str) -> Option<String> {
        (!self.trace_url.is_empty()).then(|| self.trace_url.replace(TRACE_ID, trace_id))
    }
}

/// The id of the trace in a `traceparent`.
pub(crate) fn trace_id(traceparent: &str) -> Option<&str> {
    let id = traceparent.split('-').nth(1)?;
    (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_has_an_address_only_where_a_viewer_is_configured() {
        let id = trace_id("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
        let settings =
            PageSettings { trace_url: "https://t/{trace_id}?q={trace_id}".to_owned(), ..PageSettings::default() };
        assert_eq!(settings.trace_address(id).unwrap(), format!("https://t/{id}?q={id}"));
        assert_eq!(PageSettings::default().trace_address(id), None);
        for odd in ["", "00", "00-<b>-1-01", "00-4bf92f3577b34da6a3ce929d0e0e473-1-01"] {
            assert_eq!(trace_id(odd), None, "{odd}");
        }
    }
}
