//! Configuration and workers.

use std::{borrow::Borrow, sync::Arc, time::Duration};

use jobbers_common::{
    access::{AccessKey, Digest, Session},
    engine::{DeleteRole, Deleted, Error, PutMode, Result, settings::check_deletion},
    limits::{MAX_BATCH, MAX_SESSIONS},
    name::{KeyId, QueueName, RoleName, TaskId, WorkerId},
    queue::{
        Config, QueueConfig, RoleConfig,
        routing::{RouteKey, RouteRule, check_place},
    },
    time::Timestamp,
    worker::{RegisteredWorker, WorkerReport},
};

use super::state::State;

impl State {
    /// Changes the configuration, and finds the queues again that patterns match; a change that changes nothing raises no
    /// version and wakes no worker.
    fn change(&mut self, change: impl FnOnce(&mut Config)) -> Arc<Config> {
        let mut config = (*self.config).clone();
        change(&mut config);
        config.matched = Arc::new(self.queues.iter().filter(|queue| config.matches(queue)).cloned().collect());
        if config != *self.config {
            config.version += 1;
            self.config = Arc::new(config);
            self.wakes.extend(self.waiting.keys().cloned());
        }
        Arc::clone(&self.config)
    }

    fn check_queues<Q: Borrow<QueueName>>(&self, queues: impl IntoIterator<Item = Q>) -> Result<()> {
        match queues.into_iter().find(|queue| !self.queues.contains(queue.borrow())) {
            Some(unknown) => Err(Error::UnknownQueue(unknown.borrow().clone())),
            None => Ok(()),
        }
    }

    /// The settings of a queue; `None` if it does not exist.
    fn settings_of(&self, queue: &QueueName) -> Option<QueueConfig> {
        self.queues.contains(queue).then(|| self.config.settings_of(queue).into_owned())
    }

    pub(super) fn create_queues(&mut self, queues: &[QueueName]) {
        self.queues.extend(queues.iter().cloned());
        self.change(|_| ());
    }

    pub(super) fn put_queue(&mut self, queue: QueueConfig, mode: &PutMode<QueueConfig>) -> Result<Arc<Config>> {
        queue.validate().map_err(Error::Invalid)?;
        let (stored, unknown) = (self.settings_of(&queue.name), Error::UnknownQueue(queue.name.clone()));
        mode.check(stored.as_ref(), unknown, || format!("queue {}", queue.name))?;
        if stored.as_ref() == Some(&queue) {
            return Ok(Arc::clone(&self.config));
        }
        self.queues.insert(queue.name.clone());
        Ok(self.change(|config| {
            config.queues.insert(queue.name.clone(), Arc::new(queue));
        }))
    }

    pub(super) fn delete_queue(
        &mut self,
        queue: &QueueName,
        expected: Option<&QueueConfig>,
        now: Timestamp,
    ) -> Result<Deleted> {
        let (stored, unknown) = (self.settings_of(queue), Error::UnknownQueue(queue.clone()));
        check_deletion(expected, stored.as_ref(), unknown, || format!("queue {queue}"))?;
        let in_use = |by: String| Err(Error::InUse { queue: queue.clone(), by });
        if let Some(role) = self.config.roles.values().find(|role| role.names(queue)) {
            return in_use(format!("role {}", role.name));
        }
        if let Some((key, _)) = self.config.routes.iter().find(|(_, rule)| rule.queues().any(|it| it == queue)) {
            return in_use(format!("the routing rule of {key}"));
        }
        let here = || self.tasks.values().map(|stored| &stored.task).filter(|task| task.queue == *queue);
        let live = here().filter(|task| !task.status.is_finished()).count() as u64;
        if live > 0 {
            return Err(Error::NotEmpty { queue: queue.clone(), live });
        }
        let finished: Vec<TaskId> = here().map(|task| task.id.clone()).take(MAX_BATCH + 1).collect();
        for id in finished.iter().take(MAX_BATCH) {
            self.bury(id, now);
            self.remove(id);
        }
        if finished.len() > MAX_BATCH {
            return Ok(Deleted::More);
        }
        self.counters.remove(queue);
        self.forget_history(queue);
        self.rate_marks.remove(queue);
        self.intake_marks.remove(queue);
        self.gate_marks.retain(|(of, _), _| of != queue);
        self.queues.remove(queue);
        self.change(|config| {
            config.queues.remove(queue);
            // Even if it held no settings of the queue.
            config.version += 1;
        });
        Ok(Deleted::Done)
    }

    pub(super) fn put_role(&mut self, role: RoleConfig, mode: &PutMode<RoleConfig>) -> Result<Arc<Config>> {
        role.validate().map_err(Error::Invalid)?;
        let (stored, unknown) = (self.config.roles.get(&role.name), Error::UnknownRole(role.name.clone()));
        mode.check(stored, unknown, || format!("role {}", role.name))?;
        self.check_queues(role.named())?;
        Ok(self.change(|config| {
            config.roles.insert(role.name.clone(), role);
        }))
    }

    pub(super) fn delete_role(&mut self, role: &RoleName, on: &DeleteRole, now: Timestamp) -> Result<Arc<Config>> {
        let (stored, unknown) = (self.config.roles.get(role), Error::UnknownRole(role.clone()));
        check_deletion(on.expected.as_ref(), stored, unknown, || format!("role {role}"))?;
        let serves = |worker: &&RegisteredWorker| worker.report.role == *role && worker.expires_at > now;
        let workers = self.workers.values().filter(serves).count() as u64;
        if workers > 0 && !on.force {
            return Err(Error::RoleInUse { role: role.clone(), workers });
        }
        Ok(self.change(|config| {
            config.roles.remove(role);
        }))
    }

    pub(super) fn put_route(&mut self, key: RouteKey, rule: RouteRule) -> Result<Arc<Config>> {
        rule.validate().map_err(Error::Invalid)?;
        self.check_queues(rule.queues())?;
        check_place(&self.config.routes, &key)?;
        Ok(self.change(|config| {
            config.routes.insert(key, rule);
        }))
    }

    pub(super) fn delete_route(&mut self, key: &RouteKey) -> Arc<Config> {
        self.change(|config| {
            config.routes.remove(key);
        })
    }

    pub(super) fn put_key(&mut self, key: AccessKey, mode: &PutMode<AccessKey>) -> Result<Arc<Config>> {
        key.validate().map_err(Error::Invalid)?;
        let (stored, unknown) = (self.config.keys.get(&key.id), Error::UnknownKey(key.id.clone()));
        mode.check(stored.map(|stored| &**stored), unknown, || format!("key {}", key.id))?;
        Ok(self.change(|config| {
            config.keys.insert(key.id.clone(), Arc::new(key));
        }))
    }

    pub(super) fn delete_key(&mut self, key: &KeyId) -> Result<Arc<Config>> {
        if !self.config.keys.contains_key(key) {
            return Err(Error::UnknownKey(key.clone()));
        }
        Ok(self.change(|config| {
            config.keys.remove(key);
        }))
    }

    pub(super) fn put_session(&mut self, id: &Digest, session: &Session, until: Timestamp, now: Timestamp) {
        self.sessions.insert(id.to_string(), (session.clone(), until));
        self.sessions.retain(|_, (_, until)| *until > now);
        if self.sessions.len() > MAX_SESSIONS
            && let Some(first) = self.sessions.iter().min_by_key(|(_, (_, until))| *until).map(|(id, _)| id.clone())
        {
            self.sessions.remove(&first);
        }
    }

    pub(super) fn session(&self, id: &Digest, now: Timestamp) -> Option<Session> {
        self.sessions.get(&id.to_string()).filter(|(_, until)| *until > now).map(|(session, _)| session.clone())
    }

    pub(super) fn register_worker(&mut self, report: WorkerReport, ttl: Duration, now: Timestamp) -> u64 {
        let known = self.workers.get(&report.id).filter(|known| known.expires_at > now);
        let started_at = known.map_or(now, |known| known.started_at);
        let id = report.id.clone();
        self.workers.insert(id, RegisteredWorker { report, started_at, seen_at: now, expires_at: now.after(ttl) });
        self.config.version
    }

    pub(super) fn deregister_worker(&mut self, worker: &WorkerId) {
        self.workers.remove(worker);
        self.change(|config| {
            config.draining.remove(worker);
        });
    }

    pub(super) fn set_draining(&mut self, worker: &WorkerId, draining: bool, now: Timestamp) -> Result<Arc<Config>> {
        let is_alive = self.workers.get(worker).is_some_and(|known| known.expires_at > now);
        if !is_alive && !self.config.draining.contains_key(worker) {
            return Err(Error::UnknownWorker(worker.clone()));
        }
        Ok(self.change(|config| {
            if draining {
                config.draining.entry(worker.clone()).or_insert(now);
            } else {
                config.draining.remove(worker);
            }
        }))
    }
}
