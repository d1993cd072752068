//! The arguments of scripts for unique keys. The layout is in `scripts/lib/follow/unique.lua`.

use jobbers_common::{
    lifecycle::Status,
    name::TaskName,
    task::unique::{OnDuplicate, Unique},
    time::micros,
};

/// The uniqueness constraint of a task, in the scripts' format.
pub(crate) fn said(name: &TaskName, unique: &Unique) -> String {
    let statuses: String =
        Status::ALL.into_iter().map(|status| if unique.statuses.contains(status) { '1' } else { '0' }).collect();
    let (span, key) = (unique.span.map_or(0, micros), &unique.key);
    let length = name.as_str().len() + 1 + key.as_str().len();
    format!("{statuses}{span:016}{length:03}{name} {key}")
}

/// The action of a submission when its key is held.
pub(crate) const fn letter(rule: OnDuplicate) -> char {
    match rule {
        OnDuplicate::Reject => 'j',
        OnDuplicate::Return => 't',
        OnDuplicate::Replace => 'p',
        OnDuplicate::KeepLast => 'k',
    }
}
