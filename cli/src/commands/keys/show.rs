//! How a key is shown: everything but its secrets.

use std::fmt::Display;

use jobbers_api::value::Rfc3339;
use jobbers_common::{
    access::{AccessKey, Pattern},
    time::Timestamp,
};
use serde::Serialize;

use crate::{
    failure::Failure,
    output::{self, Cell, Table},
    when,
};

/// A key for people and programs.
#[derive(Debug, Serialize)]
pub(super) struct KeyView {
    id: String,
    name: String,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    scopes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queues: Vec<Pattern>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<Pattern>,
    /// How many of its secrets sign a client in.
    valid_secrets: usize,
    created_at: Rfc3339,
    created_by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Rfc3339>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<Rfc3339>,
}

impl KeyView {
    pub(super) fn of(key: &AccessKey, now: Timestamp) -> Self {
        let state = match key {
            AccessKey { revoked_at: Some(_), .. } => "revoked",
            AccessKey { expires_at: Some(end), .. } if *end <= now => "expired",
            _ => "valid",
        };
        Self {
            id: key.id.to_string(),
            name: key.name.clone(),
            state,
            role: key.role.clone(),
            scopes: key.scopes.clone(),
            queues: key.queues.clone(),
            tasks: key.tasks.clone(),
            valid_secrets: key.valid_secrets(now).count(),
            created_at: Rfc3339(key.created_at),
            created_by: key.created_by.clone(),
            expires_at: key.expires_at.map(Rfc3339),
            revoked_at: key.revoked_at.map(Rfc3339),
        }
    }

    fn state(&self) -> Cell {
        let cell = Cell::new(self.state);
        if self.state == "valid" { cell.green() } else { cell.red() }
    }

    /// Its role and scopes, and to what they are restricted.
    fn grants(&self) -> String {
        let mut grants = self.role.iter().chain(&self.scopes).map(String::as_str).collect::<Vec<_>>().join(", ");
        for (what, patterns) in [("queues", &self.queues), ("tasks", &self.tasks)] {
            if !patterns.is_empty() {
                let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
                grants.push_str(&format!("; {what} {}", patterns.join(", ")));
            }
        }
        grants
    }
}

/// The keys, a row each.
pub(super) fn table(keys: &[KeyView]) -> Table {
    let mut table = output::table_of(&["ID", "NAME", "MAY", "STATE", "CREATED", "BY", "EXPIRES"]);
    for key in keys {
        table.add_row(vec![
            Cell::new(&key.id),
            Cell::new(&key.name),
            Cell::new(key.grants()),
            key.state(),
            Cell::new(when::short_ago(key.created_at)),
            Cell::new(&key.created_by),
            output::or_dash(key.expires_at.map(when::short_ahead)),
        ]);
    }
    table
}

/// One key, a fact a row.
pub(super) fn sheet(key: &KeyView) -> Table {
    let mut sheet = output::sheet();
    output::add_fact(&mut sheet, "key", &key.id);
    output::add_fact(&mut sheet, "name", &key.name);
    output::add_fact(&mut sheet, "state", key.state());
    output::add_fact(&mut sheet, "may", key.grants());
    output::add_fact(&mut sheet, "valid secrets", key.valid_secrets);
    output::add_fact(&mut sheet, "created", when::full(key.created_at));
    output::add_fact(&mut sheet, "by", &key.created_by);
    output::add_fact(&mut sheet, "expires", output::or_dash(key.expires_at.map(when::full)));
    output::add_fact(&mut sheet, "revoked", output::or_dash(key.revoked_at.map(when::full)));
    sheet
}

/// Reports a change of a key.
pub(super) fn changed(key: &AccessKey, now: Timestamp, json: bool, sentence: impl Display) -> Result<(), Failure> {
    if json { document(&KeyView::of(key, now)) } else { output::line(sentence) }
}

/// Prints JSON.
pub(super) fn document(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_vec(value).map_err(|error| Failure::Unavailable(error.to_string()))?;
    output::document(&text)
}
