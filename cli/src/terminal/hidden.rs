//! What a sensitive task holds, in the words of commands.

/// In the place of what is hidden.
pub(crate) const HIDDEN: &str = "hidden (sensitive)";

/// The message of a progress or an error, or that it is hidden.
pub(crate) const fn said(message: &str, is_sensitive: bool) -> &str {
    if is_sensitive && message.is_empty() { HIDDEN } else { message }
}
