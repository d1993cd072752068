//! Roles: requests and answers as JSON.

use std::collections::BTreeMap;

use jobbers_common::{
    name::{QueueName, RoleName},
    queue::{Config, QueueOrder, RoleConfig, pattern::QueuePattern},
};
use serde::{Deserialize, Serialize};

use crate::{
    openapi::{IntoParams, ToSchema},
    problem::Result,
    value::{NameDoc, QueueOrderDoc, QueuePatternDoc},
};

/// Which queues the workers of a role serve.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RoleSettings)]
pub struct RoleRequest {
    /// Its name. Optional with PUT; the path contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub name: Option<RoleName>,
    /// Its queues, first to last, by name or by a pattern such as `tenant-*`, which also matches queues that are created
    /// later. At most 100 patterns.
    #[schema(value_type = Vec<QueuePatternDoc>, min_items = 1, max_items = 1024)]
    pub queues: Vec<QueuePattern>,
    /// What their order means: `strict`, an earlier queue is emptied before a later one is asked; or `weighted`, each is
    /// asked first as often as its weight says, so that none waits for ever.
    #[serde(default)]
    #[schema(value_type = QueueOrderDoc, default = "strict")]
    pub order: QueueOrder,
    /// For the order `weighted`: how often each queue is asked first, 1 to 1,000,000. Default for each: 1. The weight of a
    /// pattern is that of each queue at its place, unless the queue has its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<QueuePatternDoc, u32>)]
    pub weights: BTreeMap<QueuePattern, u32>,
}

impl RoleRequest {
    /// The role they describe. `path` is the name in the path, if there is one.
    ///
    /// # Errors
    /// [`crate::problem::Code::InvalidRequest`] when no name is given, or two.
    pub fn config(self, path: Option<RoleName>) -> Result<RoleConfig> {
        let Self { name, queues, order, weights } = self;
        Ok(RoleConfig { order, weights, ..RoleConfig::new(crate::one_name(path, name)?, queues) })
    }
}

/// How a role is deleted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteRoleParams {
    /// Delete it even while live workers serve it.
    #[serde(default)]
    pub force: bool,
}

/// A role.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Role)]
pub struct RoleView {
    /// Its name.
    #[schema(value_type = NameDoc)]
    pub name: RoleName,
    /// Its queues, first to last, as they were written: names and patterns.
    #[schema(value_type = Vec<QueuePatternDoc>)]
    pub queues: Vec<QueuePattern>,
    /// The queues that its workers serve now, first to last. A queue that `queues` names is at that place; others are at the
    /// place of the first pattern that matches them, in the order of their names. At most 1,024: of more, patterns
    /// leave out the last.
    #[serde(default)]
    #[schema(value_type = Vec<NameDoc>)]
    pub serves: Vec<QueueName>,
    /// What their order means.
    #[schema(value_type = QueueOrderDoc)]
    pub order: QueueOrder,
    /// How often each queue is asked first; one that is absent has the weight 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<QueuePatternDoc, u32>)]
    pub weights: BTreeMap<QueuePattern, u32>,
    /// New each time the role's workers were asked to read the configuration again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_tag: Option<String>,
}

impl RoleView {
    /// A role, with the queues that it serves by this configuration.
    #[must_use]
    pub fn new(role: &RoleConfig, config: &Config) -> Self {
        let RoleConfig { name, queues, order, weights, refresh_tag } = role;
        Self {
            name: name.clone(),
            queues: queues.clone(),
            serves: config.served_by(role).queues,
            order: *order,
            weights: weights.clone(),
            refresh_tag: refresh_tag.as_deref().map(str::to_owned),
        }
    }
}

/// The result of a refresh.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = RoleRefreshed)]
pub struct RefreshedView {
    /// The role.
    #[schema(value_type = NameDoc)]
    pub role: RoleName,
    /// The role's new tag.
    pub refresh_tag: String,
}

/// All roles.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Roles)]
pub struct RoleListView {
    /// In the order of their names.
    pub roles: Vec<RoleView>,
}
