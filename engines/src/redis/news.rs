//! What the server says unasked, and who in this process waits for it.
//!
//! Messages can be missed (a connection breaks), so nobody relies on them: whoever waits looks again after at most
//! [`LOOK_AGAIN`]. They carry no facts, only the advice to look.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jobbers_common::name::{QueueName, TaskId, WorkerId};
use parking_lot::Mutex;
use redis::{
    PushInfo, PushKind, Value,
    aio::{AsyncPushSender, SendError},
};
use tokio::sync::Notify;

/// How long anybody waits before looking again, in case a message was missed.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// From so many workers on, those that nobody waits for are forgotten: ids are new at each start of a worker.
const MANY_WORKERS: usize = 4_096;

impl AsyncPushSender for News {
    fn send(&self, push: PushInfo) -> Result<(), SendError> {
        self.hear(&push);
        Ok(())
    }
}

/// A worker of this process, or one it speaks for.
#[derive(Default)]
struct Sleeper {
    /// Holds a permit for one that is told before it waits.
    told: Arc<Notify>,
    /// The queues in which the server knows it as waiting.
    registered: Vec<QueueName>,
}

/// Who waits for what.
#[derive(Default)]
pub(super) struct News {
    sleepers: Mutex<HashMap<String, Sleeper>>,
    awaited: Mutex<HashMap<String, Awaited>>,
}

/// A task whose end is waited for.
#[derive(Default)]
struct Awaited {
    told: Arc<Notify>,
    waiting: usize,
}

impl News {
    /// Takes what the server says.
    fn hear(&self, push: &PushInfo) {
        match (&push.kind, push.data.get(1)) {
            (PushKind::Message, Some(Value::BulkString(message))) => self.tell(&String::from_utf8_lossy(message)),
            (PushKind::Disconnection, _) => self.tell_all(),
            _ => {}
        }
    }

    fn tell(&self, message: &str) {
        match message.split_once(' ') {
            Some(("wake" | "cancel", worker)) => {
                if let Some(sleeper) = self.sleepers.lock().get(worker) {
                    sleeper.told.notify_one();
                }
            }
            Some(("done", id)) => {
                if let Some(awaited) = self.awaited.lock().get(id) {
                    awaited.told.notify_waiters();
                }
            }
            _ => self.tell_all(),
        }
    }

    /// Has everybody look: something may have been missed.
    pub(super) fn tell_all(&self) {
        self.sleepers.lock().values().for_each(|sleeper| sleeper.told.notify_one());
        self.awaited.lock().values().for_each(|awaited| awaited.told.notify_waiters());
    }

    /// What a worker is told by.
    pub(super) fn of_worker(&self, worker: &WorkerId) -> Arc<Notify> {
        Arc::clone(&sleeper(&mut self.sleepers.lock(), worker).told)
    }

    /// Takes out where a worker is registered as waiting. From here on it is told: the server may wake it before it hears
    /// the answer to the call that registers it.
    pub(super) fn take_registered(&self, worker: &WorkerId) -> Vec<QueueName> {
        std::mem::take(&mut sleeper(&mut self.sleepers.lock(), worker).registered)
    }

    /// Notes where a worker is registered as waiting.
    pub(super) fn registered(&self, worker: &WorkerId, queues: Vec<QueueName>) {
        sleeper(&mut self.sleepers.lock(), worker).registered = queues;
    }

    /// Forgets a worker.
    pub(super) fn forget(&self, worker: &WorkerId) {
        self.sleepers.lock().remove(worker.as_str());
    }

    /// What waits for a task's end.
    pub(super) fn of_task(self: &Arc<Self>, id: &TaskId) -> Awaiting {
        let mut awaited = self.awaited.lock();
        let entry = awaited.entry(id.as_str().to_owned()).or_default();
        entry.waiting += 1;
        Awaiting { news: Arc::clone(self), id: id.clone(), told: Arc::clone(&entry.told) }
    }
}

/// A worker's entry, which is made where there is none.
fn sleeper<'a>(sleepers: &'a mut HashMap<String, Sleeper>, worker: &WorkerId) -> &'a mut Sleeper {
    if !sleepers.contains_key(worker.as_str()) {
        if sleepers.len() >= MANY_WORKERS {
            sleepers.retain(|_, sleeper| Arc::strong_count(&sleeper.told) > 1);
        }
        sleepers.insert(worker.as_str().to_owned(), Sleeper::default());
    }
    sleepers.entry(worker.as_str().to_owned()).or_default()
}

/// Waiting for a task's end.
pub(super) struct Awaiting {
    news: Arc<News>,
    id: TaskId,
    /// Told to all who wait at that moment.
    pub(super) told: Arc<Notify>,
}

impl Drop for Awaiting {
    fn drop(&mut self) {
        let mut awaited = self.news.awaited.lock();
        if let Some(entry) = awaited.get_mut(self.id.as_str()) {
            entry.waiting -= 1;
            if entry.waiting == 0 {
                awaited.remove(self.id.as_str());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> PushInfo {
        let data = vec![Value::BulkString(b"channel".to_vec()), Value::BulkString(text.as_bytes().to_vec())];
        PushInfo { kind: PushKind::Message, data }
    }

    #[tokio::test]
    async fn what_is_told_before_the_wait_is_not_missed() {
        let news = News::default();
        let worker = WorkerId::new("w1").unwrap();
        let told = news.of_worker(&worker);
        news.hear(&message("wake w2"));
        assert!(tokio::time::timeout(Duration::from_millis(1), told.notified()).await.is_err());
        news.hear(&message("wake w1"));
        told.notified().await;
    }

    #[tokio::test]
    async fn a_worker_is_told_before_it_hears_that_its_first_claim_was_empty() {
        let news = News::default();
        let worker = WorkerId::new("w1").unwrap();
        assert!(news.take_registered(&worker).is_empty());
        news.hear(&message("wake w1"));
        news.registered(&worker, Vec::new());
        tokio::time::timeout(Duration::from_secs(1), news.of_worker(&worker).notified()).await.unwrap();
    }

    #[tokio::test]
    async fn a_broken_connection_wakes_everybody() {
        let news = Arc::new(News::default());
        let (worker, id) = (WorkerId::new("w1").unwrap(), TaskId::new("a").unwrap());
        let (told, awaiting) = (news.of_worker(&worker), news.of_task(&id));
        let finished = awaiting.told.notified();
        news.hear(&PushInfo { kind: PushKind::Disconnection, data: Vec::new() });
        told.notified().await;
        finished.await;
    }

    #[test]
    fn nothing_is_kept_of_those_who_went() {
        let news = Arc::new(News::default());
        let id = TaskId::new("a").unwrap();
        let (first, second) = (news.of_task(&id), news.of_task(&id));
        // As while both leave together.
        let _still = (Arc::clone(&first.told), Arc::clone(&second.told));
        drop(first);
        assert_eq!(news.awaited.lock().len(), 1);
        drop(second);
        assert!(news.awaited.lock().is_empty());
        for n in 0..3 * MANY_WORKERS {
            drop(news.of_worker(&WorkerId::new(format!("w{n}")).unwrap()));
        }
        assert!(news.sleepers.lock().len() <= MANY_WORKERS);
    }
}
