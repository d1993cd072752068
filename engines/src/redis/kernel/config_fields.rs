//! The configuration as fields of a hash: one per queue, role, routing rule, access key and
//! draining worker, with JSON as its value.

use std::sync::Arc;

use jobbers_common::{
    access::AccessKey,
    engine::{Error, Result},
    name::WorkerId,
    queue::{
        Config, QueueConfig, RoleConfig,
        routing::{RouteKey, RouteRule},
    },
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    keys::{ACCESS_FIELD, DRAIN_FIELD, QUEUE_FIELD, RANGE_FIELD, ROLE_FIELD, ROUTE_FIELD, VERSION_FIELD},
    reply::digits,
    values::time,
};

/// A routing rule as it is stored.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredRoute {
    pub(crate) key: RouteKey,
    pub(crate) rule: RouteRule,
}

/// Rules for a range have fields of their own kind, which programs from before ranges ignore.
pub(crate) fn route_field(key: &RouteKey) -> String {
    let is_range = key.versions.single().is_none() && !key.versions.is_all();
    format!("{}{}@{}", if is_range { RANGE_FIELD } else { ROUTE_FIELD }, key.name, key.versions)
}

pub(crate) fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Invalid(format!("this can't be stored: {error}")))
}

pub(crate) fn read_json<T: DeserializeOwned>(stored: &[u8]) -> Result<T> {
    serde_json::from_slice(stored).map_err(|error| Error::Corrupt(format!("the configuration: {error}")))
}

/// A configuration as fields and values.
pub(crate) fn fields(config: &Config) -> Result<Vec<(String, String)>> {
    let queues = config.queues.values().map(|queue| Ok((format!("{QUEUE_FIELD}{}", queue.name), json(queue)?)));
    let roles = config.roles.values().map(|role| Ok((format!("{ROLE_FIELD}{}", role.name), json(role)?)));
    queues.chain(roles).collect()
}

/// The configuration that fields and values are.
pub(crate) fn read_fields(fields: Vec<(String, Vec<u8>)>) -> Result<Config> {
    let mut config = Config::default();
    for (field, value) in fields {
        if field == VERSION_FIELD {
            config.version = digits(&value)?;
        } else if field.starts_with(QUEUE_FIELD) {
            let queue: QueueConfig = read_json(&value)?;
            config.queues.insert(queue.name.clone(), Arc::new(queue));
        } else if field.starts_with(ROLE_FIELD) {
            let role: RoleConfig = read_json(&value)?;
            config.roles.insert(role.name.clone(), role);
        } else if field.starts_with(ROUTE_FIELD) || field.starts_with(RANGE_FIELD) {
            let StoredRoute { key, rule } = read_json(&value)?;
            config.routes.insert(key, rule);
        } else if field.starts_with(ACCESS_FIELD) {
            let key: AccessKey = read_json(&value)?;
            config.keys.insert(key.id.clone(), Arc::new(key));
        } else if let Some(worker) = field.strip_prefix(DRAIN_FIELD) {
            let worker = WorkerId::new(worker).map_err(|error| Error::Corrupt(error.to_string()))?;
            config.draining.insert(worker, time(&value)?);
        }
    }
    Ok(config)
}
