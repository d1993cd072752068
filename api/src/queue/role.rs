//! Roles: requests and answers as JSON.

use std::collections::BTreeMap;

use jobbers_common::{
    name::{QueueName, RoleName},
    queue::{QueueOrder, RoleConfig},
};
use serde::{Deserialize, Serialize};

use crate::{
    openapi::{IntoParams, ToSchema},
    problem::Result,
    value::{NameDoc, QueueOrderDoc},
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
    /// Its queues, first to last.
    #[schema(value_type = Vec<NameDoc>, min_items = 1)]
    pub queues: Vec<QueueName>,
    /// What their order means: `strict`, an earlier queue is emptied before a later one is asked; or `weighted`, each is
    /// asked first as often as its weight says, so that none waits for ever.
    #[serde(default)]
    #[schema(value_type = QueueOrderDoc, default = "strict")]
    pub order: QueueOrder,
    /// For the order `weighted`: how often each queue is asked first, 1 to 1,000,000. Default for each: 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<NameDoc, u32>)]
    pub weights: BTreeMap<QueueName, u32>,
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
    /// Its queues, first to last.
    #[schema(value_type = Vec<NameDoc>)]
    pub queues: Vec<QueueName>,
    /// What their order means.
    #[schema(value_type = QueueOrderDoc)]
    pub order: QueueOrder,
    /// How often each queue is asked first; one that is absent has the weight 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<NameDoc, u32>)]
    pub weights: BTreeMap<QueueName, u32>,
    /// New each time the role's workers were asked to read the configuration again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_tag: Option<String>,
}

impl From<&RoleConfig> for RoleView {
    fn from(role: &RoleConfig) -> Self {
        let RoleConfig { name, queues, order, weights, refresh_tag } = role;
        Self {
            name: name.clone(),
            queues: queues.clone(),
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
