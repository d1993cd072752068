//! What openers of a store log about it.

use std::{
    fmt::Debug,
    sync::{Mutex, Once, PoisonError},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

static ANNOUNCEMENTS: Mutex<Vec<Announcement>> = Mutex::new(Vec::new());
static STARTED: Once = Once::new();

#[derive(Clone, Default)]
struct Announcement {
    store: String,
    message: String,
}

impl Visit for Announcement {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "store" {
            value.clone_into(&mut self.store);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        }
    }
}

/// Keeps the announcements of all threads; the other lines are dropped.
struct Recorder;

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target() == "jobbers_engines::options"
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut announcement = Announcement::default();
        event.record(&mut announcement);
        ANNOUNCEMENTS.lock().unwrap_or_else(PoisonError::into_inner).push(announcement);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Records from now on what openers log.
pub(crate) fn record() {
    STARTED.call_once(|| tracing::subscriber::set_global_default(Recorder).unwrap());
}

/// How many openers of a store, whose address contains `address`, logged that they created it, and how many that they
/// opened it.
pub(crate) fn created_and_opened(address: &str) -> (usize, usize) {
    let all = ANNOUNCEMENTS.lock().unwrap_or_else(PoisonError::into_inner);
    let count = |message: &str| all.iter().filter(|a| a.store.contains(address) && a.message == message).count();
    (count("created the store"), count("opened the store"))
}
