//! Messages that the server pushes, and the callers in this process that wait for them.
//!
//! A message can be missed when a connection breaks. Workers do not rely on messages: they look again after at most
//! [`super::awaited_tasks::LOOK_AGAIN_SOON`]. Callers that wait for the end of a task look again once messages arrive again (`awaiting.rs`).
//! A message carries no facts; it only wakes the caller to look.

use std::{collections::HashMap, sync::Arc};

use jobbers_common::name::{QueueName, WorkerId};
use parking_lot::Mutex;
use redis::{
    PushInfo, PushKind, Value,
    aio::{AsyncPushSender, SendError},
};
use tokio::sync::Notify;

use super::awaited_tasks::AwaitedTasks;
use crate::redis::kernel::keys::INSTANCE;

/// From this number of workers on, those without a waiting call are forgotten: each start of a worker brings a new id.
const MANY_WORKERS: usize = 4_096;

impl AsyncPushSender for Notifications {
    fn send(&self, push: PushInfo) -> Result<(), SendError> {
        self.hear(&push);
        Ok(())
    }
}

/// A worker of this process, or one that this process calls for.
#[derive(Default)]
struct Sleeper {
    /// Holds a permit if the message arrives before the worker waits.
    told: Arc<Notify>,
    /// The queues in which the server knows it as waiting.
    registered: Vec<QueueName>,
}

/// The waiting workers and callers.
#[derive(Default)]
pub(crate) struct Notifications {
    sleepers: Mutex<HashMap<String, Sleeper>>,
    pub(crate) awaited: AwaitedTasks,
    /// Notified when the connection on which messages arrive breaks.
    pub(crate) disconnected: Notify,
}

impl Notifications {
    /// Handles a message of the server.
    fn hear(&self, push: &PushInfo) {
        match (&push.kind, push.data.get(1)) {
            (PushKind::Message, Some(Value::BulkString(message))) => self.notify(&String::from_utf8_lossy(message)),
            (PushKind::Disconnection, _) => {
                self.awaited.set_deaf(true);
                self.notify_all();
                self.disconnected.notify_one();
            }
            // Messages may have been missed until now. Both channels of a process are subscribed to in one step.
            (PushKind::Subscribe, _) if is_own_channel(push.data.first()) => {
                self.awaited.set_deaf(false);
                self.notify_all();
            }
            _ => {}
        }
    }

    fn notify(&self, message: &str) {
        match message.split_once(' ') {
            Some(("wake" | "cancel", worker)) => {
                if let Some(sleeper) = self.sleepers.lock().get(worker) {
                    sleeper.told.notify_one();
                }
            }
            Some(("done", ids)) => self.awaited.notify(ids.split(' ')),
            _ => self.notify_all(),
        }
    }

    /// Wakes every caller, because messages may have been missed.
    pub(crate) fn notify_all(&self) {
        self.sleepers.lock().values().for_each(|sleeper| sleeper.told.notify_one());
        self.awaited.notify_all();
    }

    /// The signal that wakes a worker.
    pub(crate) fn of_worker(&self, worker: &WorkerId) -> Arc<Notify> {
        Arc::clone(&sleeper(&mut self.sleepers.lock(), worker).told)
    }

    /// Removes and returns the queues where a worker is registered as waiting. From here on messages reach it: the server
    /// may wake it before the answer to the registering call arrives.
    pub(crate) fn take_registered(&self, worker: &WorkerId) -> Vec<QueueName> {
        std::mem::take(&mut sleeper(&mut self.sleepers.lock(), worker).registered)
    }

    /// Notes where a worker is registered as waiting.
    pub(crate) fn registered(&self, worker: &WorkerId, queues: Vec<QueueName>) {
        sleeper(&mut self.sleepers.lock(), worker).registered = queues;
    }

    /// Forgets a worker.
    pub(crate) fn forget(&self, worker: &WorkerId) {
        self.sleepers.lock().remove(worker.as_str());
    }
}

/// Whether a subscription is to a channel for messages, and not a heartbeat.
fn is_own_channel(channel: Option<&Value>) -> bool {
    matches!(channel, Some(Value::BulkString(name)) if String::from_utf8_lossy(name).contains(INSTANCE))
}

/// The entry of a worker; inserted if missing.
fn sleeper<'a>(sleepers: &'a mut HashMap<String, Sleeper>, worker: &WorkerId) -> &'a mut Sleeper {
    if !sleepers.contains_key(worker.as_str()) {
        if sleepers.len() >= MANY_WORKERS {
            sleepers.retain(|_, sleeper| Arc::strong_count(&sleeper.told) > 1);
        }
        sleepers.insert(worker.as_str().to_owned(), Sleeper::default());
    }
    sleepers.entry(worker.as_str().to_owned()).or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn message(text: &str) -> PushInfo {
        let data = vec![Value::BulkString(b"channel".to_vec()), Value::BulkString(text.as_bytes().to_vec())];
        PushInfo { kind: PushKind::Message, data }
    }

    #[tokio::test]
    async fn what_is_told_before_the_wait_is_not_missed() {
        let notifications = Notifications::default();
        let worker = WorkerId::new("w1").unwrap();
        let told = notifications.of_worker(&worker);
        notifications.hear(&message("wake w2"));
        assert!(tokio::time::timeout(Duration::from_millis(1), told.notified()).await.is_err());
        notifications.hear(&message("wake w1"));
        told.notified().await;
    }

    #[tokio::test]
    async fn a_worker_is_told_before_it_hears_that_its_first_claim_was_empty() {
        let notifications = Notifications::default();
        let worker = WorkerId::new("w1").unwrap();
        assert!(notifications.take_registered(&worker).is_empty());
        notifications.hear(&message("wake w1"));
        notifications.registered(&worker, Vec::new());
        tokio::time::timeout(Duration::from_secs(1), notifications.of_worker(&worker).notified()).await.unwrap();
    }

    #[tokio::test]
    async fn a_broken_connection_wakes_every_worker() {
        let notifications = Notifications::default();
        let told = notifications.of_worker(&WorkerId::new("w1").unwrap());
        notifications.hear(&PushInfo { kind: PushKind::Disconnection, data: Vec::new() });
        told.notified().await;
    }

    #[tokio::test]
    async fn a_new_subscription_wakes_every_worker_and_a_heartbeat_none() {
        let notifications = Notifications::default();
        let told = notifications.of_worker(&WorkerId::new("w1").unwrap());
        let subscribed = |channel: &str| {
            let data = vec![Value::BulkString(channel.as_bytes().to_vec()), Value::Int(3)];
            PushInfo { kind: PushKind::Subscribe, data }
        };
        for quiet in ["jobbers:{0}:beat:worker:w1:7", "jobbers:{0}:all"] {
            notifications.hear(&subscribed(quiet));
            assert!(tokio::time::timeout(Duration::from_millis(1), told.notified()).await.is_err());
        }
        notifications.hear(&subscribed("jobbers:{0}:instance:01K"));
        told.notified().await;
    }

    #[test]
    fn nothing_is_kept_of_workers_that_went() {
        let notifications = Notifications::default();
        for n in 0..3 * MANY_WORKERS {
            drop(notifications.of_worker(&WorkerId::new(format!("w{n}")).unwrap()));
        }
        assert!(notifications.sleepers.lock().len() <= MANY_WORKERS);
    }
}
