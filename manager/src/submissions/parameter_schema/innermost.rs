//! The errors of a validator that say what is wrong, among those that only contain them.

use std::cmp::Reverse;

use boon::{ErrorKind, ValidationError};

/// Collects the innermost errors. Of several alternatives, none of which fits, only the one that fits furthest counts.
pub(super) fn collect<'e, 's, 'v>(error: &'e ValidationError<'s, 'v>, misfits: &mut Vec<&'e ValidationError<'s, 'v>>) {
    if error.causes.is_empty() {
        misfits.push(error);
        return;
    }
    let is_choice = matches!(error.kind, ErrorKind::AnyOf | ErrorKind::OneOf(None));
    let mut inner = Vec::new();
    for cause in &error.causes {
        collect(cause, &mut inner);
    }
    if is_choice {
        inner.sort_by_key(|error| Reverse(error.instance_location.tokens.len()));
        inner.truncate(1);
    }
    misfits.append(&mut inner);
}
