//! [`Settings`] of the Redis store: roles and routing rules.

use std::sync::Arc;

use async_trait::async_trait;
use jobbers_common::{
    engine::{DeleteRole, PutMode, Result, Settings},
    name::RoleName,
    queue::{
        Config, RoleConfig,
        routing::{RouteKey, RouteRule},
    },
};

use crate::redis::{RedisEngine, verbs};

#[async_trait]
impl Settings for RedisEngine {
    async fn config(&self) -> Result<Arc<Config>> {
        verbs::settings::read(&self.store).await
    }

    async fn put_role(&self, role: RoleConfig, mode: PutMode<RoleConfig>) -> Result<Arc<Config>> {
        verbs::settings::put_role(&self.store, &role, &mode).await
    }

    async fn delete_role(&self, role: &RoleName, on: DeleteRole) -> Result<Arc<Config>> {
        verbs::settings::delete_role(&self.store, role, &on).await
    }

    async fn put_route(&self, key: RouteKey, rule: RouteRule) -> Result<Arc<Config>> {
        verbs::settings::put_route(&self.store, &key, &rule).await
    }

    async fn delete_route(&self, key: &RouteKey) -> Result<Arc<Config>> {
        verbs::settings::delete_route(&self.store, key).await
    }
}
