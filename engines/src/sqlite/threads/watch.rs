//! The handle on the thread that notices what other processes commit to the same file: `lookout.rs`.

use std::sync::{
    atomic::{AtomicBool, Ordering},
    mpsc::{Receiver, SyncSender, sync_channel},
};

/// The engine's handle on the watching thread. A store in memory has none, because no other process sees it.
#[derive(Debug)]
pub(crate) struct Watch {
    signal: Option<SyncSender<()>>,
    /// Whether the thread watches now.
    pub(crate) is_awake: AtomicBool,
    /// A look is due, whichever process made the last commit.
    pub(crate) is_due: AtomicBool,
    is_stopped: AtomicBool,
}

impl Watch {
    pub(crate) fn nothing() -> (Self, Option<Receiver<()>>) {
        (Self::with(None), None)
    }

    pub(crate) fn other_processes() -> (Self, Option<Receiver<()>>) {
        let (signal, signals) = sync_channel(1);
        (Self::with(Some(signal)), Some(signals))
    }

    fn with(signal: Option<SyncSender<()>>) -> Self {
        let [is_awake, is_due, is_stopped] = [const { AtomicBool::new(false) }; 3];
        Self { signal, is_awake, is_due, is_stopped }
    }

    /// A caller has begun to wait.
    pub(crate) fn wake(&self) {
        if !self.is_awake.load(Ordering::SeqCst) {
            self.signal();
        }
    }

    /// Another process has written: notify the callers it concerns.
    pub(crate) fn look(&self) {
        self.is_due.store(true, Ordering::SeqCst);
        self.signal();
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        self.signal();
    }

    /// Whether the threads of the store are to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    /// Has the thread look.
    pub(crate) fn signal(&self) {
        if let Some(signal) = &self.signal {
            // A full channel holds a signal already.
            signal.try_send(()).ok();
        }
    }
}
