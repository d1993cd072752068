//! Heartbeats of workers and of the holders of duties, without a write to the store.
//!
//! `scripts/lib/store/heartbeats.lua` decides when a record may be renewed by a *beat*, which is a subscription, and what
//! the channel is called; this file subscribes. An idle store is not written then.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tracing::debug;

use super::connection::Lane;

/// The beat of a record that is not renewed any more is given up after this.
const GIVEN_UP: Duration = Duration::from_secs(600);

/// The beats of a process.
#[derive(Default)]
pub(crate) struct Heartbeats {
    /// By record.
    beats: Mutex<HashMap<String, Beat>>,
}

struct Beat {
    /// The channel that the process subscribes to; `None` if that failed.
    channel: Option<String>,
    at: Instant,
}

impl Heartbeats {
    /// Whether a record may be renewed by a beat: its last one, if it had one, was not refused.
    pub(crate) fn may_beat(&self, record: &str) -> bool {
        self.beats.lock().get(record).is_none_or(|beat| beat.channel.is_some())
    }

    /// Renews a record by the subscription to a channel in place of the one before.
    pub(crate) async fn renew(&self, lane: &Lane, record: String, channel: String) {
        let before = self.beats.lock().get(&record).and_then(|beat| beat.channel.clone());
        if before.as_ref() == Some(&channel) {
            return;
        }
        let subscribed = lane.subscribe(std::slice::from_ref(&channel)).await;
        let left: Vec<String> = {
            let mut beats = self.beats.lock();
            let channel = subscribed.is_ok().then_some(channel);
            beats.insert(record, Beat { channel, at: Instant::now() });
            let silent = beats.extract_if(|_, beat| beat.at.elapsed() > GIVEN_UP);
            before.into_iter().chain(silent.filter_map(|(_, beat)| beat.channel)).collect()
        };
        if let Err(error) = subscribed {
            debug!(%error, "a record is renewed by a write, since a beat is refused");
        }
        lane.unsubscribe(&left).await;
    }

    /// A record was written: it is not renewed by its beat any more.
    pub(crate) async fn stop(&self, lane: &Lane, record: &str) {
        let beat = self.beats.lock().remove(record);
        if let Some(channel) = beat.and_then(|beat| beat.channel) {
            lane.unsubscribe(&[channel]).await;
        }
    }
}
