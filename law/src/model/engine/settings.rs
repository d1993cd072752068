//! [`Settings`] of the model: roles and routing rules.

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

use crate::model::ModelEngine;

#[async_trait]
impl Settings for ModelEngine {
    async fn config(&self) -> Result<Arc<Config>> {
        Ok(self.step(|state, _| Arc::clone(&state.config)))
    }

    async fn put_role(&self, role: RoleConfig, mode: PutMode<RoleConfig>) -> Result<Arc<Config>> {
        self.step(|state, _| state.put_role(role, &mode))
    }

    async fn delete_role(&self, role: &RoleName, on: DeleteRole) -> Result<Arc<Config>> {
        self.step(|state, now| state.delete_role(role, &on, now))
    }

    async fn put_route(&self, key: RouteKey, rule: RouteRule) -> Result<Arc<Config>> {
        self.step(|state, _| state.put_route(key, rule))
    }

    async fn delete_route(&self, key: &RouteKey) -> Result<Arc<Config>> {
        Ok(self.step(|state, _| state.delete_route(key)))
    }
}
