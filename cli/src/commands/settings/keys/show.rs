//! How a key is shown: everything but its secrets.

use std::fmt::Display;

use jobbers_api::access::key::{KeyState, KeyView};
use serde::Serialize;

use crate::{
    failure::Failure,
    terminal::{
        output::{self, Cell, Table},
        when,
    },
};

fn state(key: &KeyView) -> Cell {
    let cell = Cell::new(key.state.as_str());
    if key.state == KeyState::Valid { cell.green() } else { cell.red() }
}

/// Its role and scopes, and to what they are restricted.
fn grants(key: &KeyView) -> String {
    let mut grants = key.role.iter().chain(&key.scopes).map(String::as_str).collect::<Vec<_>>().join(", ");
    for (what, patterns) in [("queues", &key.queues), ("tasks", &key.tasks), ("boards", &key.boards)] {
        if !patterns.is_empty() {
            let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            grants.push_str(&format!("; {what} {}", patterns.join(", ")));
        }
    }
    grants
}

/// The keys, a row each.
pub(super) fn table(keys: &[KeyView]) -> Table {
    let mut table = output::table_of(&["ID", "NAME", "MAY", "STATE", "CREATED", "BY", "USED", "EXPIRES"]);
    for key in keys {
        table.add_row(vec![
            Cell::new(key.id.as_str()),
            Cell::new(&key.name),
            Cell::new(grants(key)),
            state(key),
            Cell::new(when::short_ago(key.created_at)),
            Cell::new(&key.created_by),
            output::or_dash(key.last_used_at.map(when::short_ago)),
            output::or_dash(key.expires_at.map(when::short_ahead)),
        ]);
    }
    table
}

/// One key, a fact a row.
pub(super) fn sheet(key: &KeyView) -> Table {
    let mut sheet = output::sheet();
    output::add_fact(&mut sheet, "key", key.id.as_str());
    output::add_fact(&mut sheet, "name", &key.name);
    output::add_fact(&mut sheet, "state", state(key));
    output::add_fact(&mut sheet, "may", grants(key));
    output::add_fact(&mut sheet, "valid secrets", key.valid_secrets);
    output::add_fact(&mut sheet, "created", when::full(key.created_at));
    output::add_fact(&mut sheet, "by", &key.created_by);
    output::add_fact(&mut sheet, "last used in the hour of", output::or_dash(key.last_used_at.map(when::full)));
    output::add_fact(&mut sheet, "expires", output::or_dash(key.expires_at.map(when::full)));
    output::add_fact(&mut sheet, "revoked", output::or_dash(key.revoked_at.map(when::full)));
    sheet
}

/// Reports a change of a key.
pub(super) fn changed(key: &KeyView, json: bool, sentence: impl Display) -> Result<(), Failure> {
    if json { document(key) } else { output::line(sentence) }
}

/// Prints JSON.
pub(super) fn document(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_vec(value).map_err(|error| Failure::Unavailable(error.to_string()))?;
    output::document(&text)
}
