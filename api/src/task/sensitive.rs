//! What readers do not see of a sensitive task. A codec encodes the same: it is one table in `docs/guides/encryption.md`.

use jobbers_common::{
    submission::template::TaskTemplate,
    task::{AttemptError, Progress, Task},
};
use serde_json::value::RawValue;

/// The same task without what it holds: its status, its times and the kinds of its errors stay.
pub(super) fn hide(task: &Task) -> Task {
    Task {
        parameters: None,
        checkpoint: None,
        result: None,
        progress: task.progress.as_ref().map(progress),
        errors: task.errors.iter().map(AttemptError::hidden).collect(),
        ..task.clone()
    }
}

/// The progress of a task as any reader sees it.
pub(super) fn progress_of(task: &Task) -> Option<Progress> {
    let shown = task.progress.as_ref();
    if task.metadata.is_sensitive() { shown.map(progress) } else { shown.cloned() }
}

fn progress(progress: &Progress) -> Progress {
    Progress { message: String::new(), ..progress.clone() }
}

/// What the tasks of a template are given, as any reader sees it.
pub(crate) fn shown_of(template: &TaskTemplate) -> Option<Box<RawValue>> {
    if template.metadata.is_sensitive() { None } else { serde_json::from_str(template.parameters.as_str()).ok() }
}
