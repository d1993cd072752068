//! [`Settings`] of the SQLite store: roles and routing rules.

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

use crate::sqlite::{SqliteEngine, verbs::settings};

#[async_trait]
impl Settings for SqliteEngine {
    async fn config(&self) -> Result<Arc<Config>> {
        self.read(|view| Ok(Arc::clone(&view.catalog.config))).await
    }

    async fn put_role(&self, role: RoleConfig, mode: PutMode<RoleConfig>) -> Result<Arc<Config>> {
        self.writer.run(1, move |step| settings::put_role(step, &role, &mode)).await
    }

    async fn delete_role(&self, role: &RoleName, on: DeleteRole) -> Result<Arc<Config>> {
        let role = role.clone();
        self.writer.run(1, move |step| settings::delete_role(step, &role, &on)).await
    }

    async fn put_route(&self, key: RouteKey, rule: RouteRule) -> Result<Arc<Config>> {
        self.writer.run(1, move |step| settings::put_route(step, &key, &rule)).await
    }

    async fn delete_route(&self, key: &RouteKey) -> Result<Arc<Config>> {
        let key = key.clone();
        self.writer.run(1, move |step| settings::delete_route(step, &key)).await
    }
}
