//! What the benchmark's processes have in common: they end with the one that started them, and are not configured by the
//! shell it was started from.

use std::{
    io::{Result, Write},
    ops::{Deref, DerefMut},
};

use nix::{sys::wait::waitpid, unistd::Pid};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

/// A process that has ended when this is dropped: until then it may write beside a store that is being removed.
pub(super) struct Owned(Child);

impl Owned {
    pub(super) fn spawn(command: &mut Command) -> Result<Self> {
        command.spawn().map(Self)
    }
}

impl Deref for Owned {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Owned {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let Some(pid) = self.0.id().and_then(|pid| i32::try_from(pid).ok()) else { return };
        if self.0.start_kill().is_ok() {
            waitpid(Pid::from_raw(pid), None).ok();
        }
    }
}

/// Cancels `end` when standard input ends: it is a pipe from the benchmark, which ends even when that is killed. Each line
/// that comes is answered by a line of `answer`, if it has one.
pub(super) fn end_with_parent(end: CancellationToken, answer: impl Fn() -> Option<String> + Send + 'static) {
    std::thread::spawn(move || {
        for _line in std::io::stdin().lines().map_while(Result::ok) {
            let mut out = std::io::stdout();
            if answer().is_some_and(|answer| writeln!(out, "{answer}").and_then(|()| out.flush()).is_err()) {
                break;
            }
        }
        end.cancel();
    });
}

/// Removes the shell's telemetry settings, which must not affect the measurement.
pub(super) fn without_telemetry_settings(command: &mut Command) {
    for (variable, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OTEL_")) {
        command.env_remove(variable);
    }
}
