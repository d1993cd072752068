//! What a change is about, as far as it is configuration: how it is before and after.
//!
//! Both are read around the change. Of two changes of one object at the same moment, either may show the other's.

use std::time::SystemTime;

use jobbers_api::{access::key::KeyView, problem::Result};
use jobbers_common::name::{KeyId, QueueName, RoleName, ScheduleName};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::app::App;

/// A part of the configuration.
#[derive(Debug)]
pub(super) enum Subject {
    Queue(QueueName),
    Role(RoleName),
    Routing,
    Schedule(ScheduleName),
    Key(KeyId),
}

impl Subject {
    /// What a route changes; `object` is what its path names, or what was created.
    pub(super) fn of(route: &str, object: Option<&str>) -> Option<Self> {
        let room = route.split('/').nth(1)?;
        match (room, object) {
            ("routing", _) => Some(Self::Routing),
            ("queues", Some(name)) => QueueName::new(name).ok().map(Self::Queue),
            ("roles", Some(name)) => RoleName::new(name).ok().map(Self::Role),
            ("keys", Some(id)) => KeyId::new(id).ok().map(Self::Key),
            ("schedules", Some(name)) => ScheduleName::new(name).ok().map(Self::Schedule),
            _ => None,
        }
    }

    /// How it is now; `None` if it does not exist.
    pub(super) async fn read(&self, app: &App) -> Result<Option<Value>> {
        Ok(match self {
            Self::Queue(name) => app.live.find_queue(name).await?.and_then(|queue| value(&queue)),
            Self::Role(name) => app.live.fresh().await?.roles.get(name).and_then(value),
            Self::Schedule(name) => {
                app.engine.schedule(name).await?.and_then(|stored| schedule(&stored.entry.schedule))
            }
            Self::Key(id) => {
                let view = |key| KeyView::of(key, SystemTime::now().into());
                app.live.fresh().await?.keys.get(id).and_then(|key| value(&view(key)))
            }
            Self::Routing => {
                let routes = &app.live.fresh().await?.routes;
                Some(Value::Object(
                    routes.iter().filter_map(|(key, rule)| Some((key.to_string(), value(rule)?))).collect(),
                ))
            }
        })
    }
}

fn value(config: &impl Serialize) -> Option<Value> {
    serde_json::to_value(config).ok()
}

/// A schedule without the parameters of its tasks, which may be secret.
fn schedule(schedule: &impl Serialize) -> Option<Value> {
    let mut schedule = value(schedule)?;
    leave_out_parameters(&mut schedule);
    Some(schedule)
}

fn leave_out_parameters(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match name.as_str() {
                    "parameters" | "definition" => *field = Value::String("…".to_owned()),
                    _ => leave_out_parameters(field),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(leave_out_parameters),
        _ => {}
    }
}

/// What differs between two states of an object: of what is there before and after, the fields that changed.
pub(super) fn differences(before: Option<Value>, after: Option<Value>) -> (Option<Value>, Option<Value>) {
    match (before, after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let of = |one: &Map<String, Value>, other: &Map<String, Value>| {
                let changed = one.iter().filter(|(name, value)| other.get(*name) != Some(value));
                let changed: Map<String, Value> = changed.map(|(name, value)| (name.clone(), value.clone())).collect();
                (!changed.is_empty()).then_some(Value::Object(changed))
            };
            (of(&before, &after), of(&after, &before))
        }
        (before, after) if before == after => (None, None),
        other => other,
    }
}

/// What the parameters of a path name, decoded; several are joined by `/`.
pub(super) fn object_of(path: &str, route: &str) -> Option<String> {
    let parts = route.split('/').zip(path.split('/')).filter(|(part, _)| part.starts_with('{'));
    let values: Vec<_> = parts.map(|(_, value)| percent_decode_str(value).decode_utf8_lossy()).collect();
    (!values.is_empty()).then(|| values.join("/"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_what_the_path_names() {
        assert_eq!(object_of("/queues/a%2Fb/pause", "/queues/{queue}/pause").as_deref(), Some("a/b"));
        assert_eq!(object_of("/boards/b/tasks/7", "/boards/{board}/tasks/{revision}").as_deref(), Some("b/7"));
        assert_eq!(object_of("/queues", "/queues"), None);
    }

    #[test]
    fn only_what_changed_is_logged() {
        let (old, new) = (json!({"a": 1, "b": 2}), json!({"a": 1, "b": 3, "c": null}));
        let changed = differences(Some(old.clone()), Some(new));
        assert_eq!(changed, (Some(json!({"b": 2})), Some(json!({"b": 3, "c": null}))));
        assert_eq!(differences(None, Some(old.clone())), (None, Some(old.clone())));
        assert_eq!(differences(Some(old.clone()), Some(old.clone())), (None, None));
        assert_eq!(differences(Some(old.clone()), None), (Some(old), None));
    }

    #[test]
    fn no_parameters_of_tasks_are_logged() {
        let mut entry = json!({"task": {"name": "a", "parameters": {"password": "x"}}, "list": [{"parameters": "y"}]});
        leave_out_parameters(&mut entry);
        assert_eq!(entry, json!({"task": {"name": "a", "parameters": "…"}, "list": [{"parameters": "…"}]}));
    }
}
