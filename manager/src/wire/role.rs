//! Roles, in and out.

use jobbers_common::{
    name::{QueueName, RoleName},
    queue::RoleConfig,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::value::NameDoc;
use crate::problem::Result;

/// Which queues the workers of a role serve.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RoleSettings)]
pub struct RoleRequest {
    /// Its name. With PUT it may be left out; the path says it.
    #[serde(default)]
    #[schema(value_type = Option<NameDoc>)]
    pub name: Option<RoleName>,
    /// Its queues, first to last: an earlier queue is emptied before a later one is asked.
    #[schema(value_type = Vec<NameDoc>, min_items = 1)]
    pub queues: Vec<QueueName>,
}

impl RoleRequest {
    /// The role they describe. `path` is the name in the path, if there is one.
    ///
    /// # Errors
    /// [`crate::problem::Code::InvalidRequest`] when no name is given, or two.
    pub(crate) fn config(self, path: Option<RoleName>) -> Result<RoleConfig> {
        Ok(RoleConfig { name: super::one_name(path, self.name)?, queues: self.queues })
    }
}

/// A role.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Role)]
pub struct RoleView<'a> {
    /// Its name.
    #[schema(value_type = NameDoc)]
    name: &'a RoleName,
    /// Its queues, first to last.
    #[schema(value_type = Vec<NameDoc>)]
    queues: &'a [QueueName],
}

impl<'a> From<&'a RoleConfig> for RoleView<'a> {
    fn from(role: &'a RoleConfig) -> Self {
        Self { name: &role.name, queues: &role.queues }
    }
}

/// All roles.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Roles)]
pub struct RoleListView<'a> {
    /// In the order of their names.
    pub(crate) roles: Vec<RoleView<'a>>,
}
