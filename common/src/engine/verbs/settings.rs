//! The configuration beside queues: roles, and the rules by which tasks find their queue.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    engine::{DeleteRole, PutMode, Result},
    name::RoleName,
    queue::{
        Config, RoleConfig,
        routing::{RouteKey, RouteRule},
    },
};

/// The configuration of a store: roles and routing rules.
#[async_trait]
pub trait Settings: Send + Sync {
    /// The whole present configuration.
    ///
    /// # Errors
    /// Only those of the store.
    async fn config(&self) -> Result<Arc<Config>>;

    /// Creates or replaces a role.
    ///
    /// # Errors
    /// [`Error::Exists`](crate::engine::Error::Exists), [`Error::UnknownRole`](crate::engine::Error::UnknownRole) or [`Error::Changed`](crate::engine::Error::Changed) by [`PutMode`]; [`Error::UnknownQueue`](crate::engine::Error::UnknownQueue) when it
    /// names one that does not exist (a pattern may match none); [`Error::Invalid`](crate::engine::Error::Invalid) by [`RoleConfig::validate`].
    async fn put_role(&self, role: RoleConfig, mode: PutMode<RoleConfig>) -> Result<Arc<Config>>;

    /// Deletes a role. Its workers stay alive, claim nothing, and serve it again when it is created again. A worker
    /// that registers after this has a role that does not exist.
    ///
    /// # Errors
    /// [`Error::UnknownRole`](crate::engine::Error::UnknownRole); [`Error::Changed`](crate::engine::Error::Changed) if it is not as expected; [`Error::RoleInUse`](crate::engine::Error::RoleInUse) if live workers serve
    /// it, including draining ones, unless [`DeleteRole::force`].
    async fn delete_role(&self, role: &RoleName, on: DeleteRole) -> Result<Arc<Config>>;

    /// Creates a routing rule, or replaces the one for the same versions.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`](crate::engine::Error::UnknownQueue); [`Error::Invalid`](crate::engine::Error::Invalid) by [`RouteRule::validate`]; [`Error::RulesOverlap`](crate::engine::Error::RulesOverlap) by
    /// [`check_place`](crate::queue::routing::check_place).
    async fn put_route(&self, key: RouteKey, rule: RouteRule) -> Result<Arc<Config>>;

    /// Deletes a routing rule. Not an error if it does not exist.
    ///
    /// # Errors
    /// Only those of the store.
    async fn delete_route(&self, key: &RouteKey) -> Result<Arc<Config>>;
}
