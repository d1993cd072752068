//! What a panic leaves behind: a log line in the program's own format in place of the runtime's words, and the place in
//! the source for the failure of a task.
//!
//! The payload of a panic does not say where it began; only a hook learns that. The hook runs on the panicking thread
//! before the panic is caught, so a variable of the thread carries the place to the code that catches it.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    cell::RefCell,
    panic::{self, PanicHookInfo},
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use super::{label, notice};

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Whether a panic is logged; else the hook before ours reports it.
static IS_LOGGED: AtomicBool = AtomicBool::new(false);

/// Follows panics from now on, so that [`take_place`] knows where they began. The hook of the program still runs. A
/// second call does nothing.
pub fn follow() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let place = panic.location().map(ToString::to_string);
            LAST.try_with(|last| last.try_borrow_mut().map(|mut last| *last = place).ok()).ok();
            // Another hook would print the words of a sensitive task.
            if IS_LOGGED.load(Ordering::Acquire) || label::is_sensitive() { log(panic) } else { previous(panic) }
        }));
    });
}

/// Logs panics from now on.
pub(super) fn log_all() {
    IS_LOGGED.store(true, Ordering::Release);
    follow();
}

/// Where the last panic of this thread began, as `FILE:LINE:COLUMN`. Each is returned once.
#[must_use]
pub fn take_place() -> Option<String> {
    LAST.try_with(|last| last.try_borrow_mut().ok()?.take()).ok().flatten()
}

fn log(panic: &PanicHookInfo<'_>) {
    let words = match label::is_sensitive() {
        true => "the words are hidden: the task is sensitive",
        false => panic.payload_as_str().unwrap_or("without a message"),
    };
    let place = panic.location().map(ToString::to_string);
    let thread = thread::current();
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then(|| backtrace.to_string());
    // It is long, and its lines are for people.
    let [lines, field] = if notice::is_json() { [None, backtrace] } else { [backtrace, None] };
    tracing::error!(place, thread = thread.name(), backtrace = field, "panic: {words}");
    if let Some(lines) = lines {
        notice::say(tracing::Level::ERROR, lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_panic_is_known_once_and_to_its_thread() {
        follow();
        let line = line!() + 1;
        panic::catch_unwind(|| panic!("boom")).unwrap_err();
        let elsewhere = thread::spawn(take_place).join().unwrap();
        assert_eq!(elsewhere, None);
        let place = take_place().unwrap();
        assert!(place.contains("panics.rs") && place.contains(&format!(":{line}:")), "{place}");
        assert_eq!(take_place(), None);
    }
}
