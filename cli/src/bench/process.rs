//! What the benchmark's processes have in common: they end with the one that started them, and are not configured by the
//! shell it was started from.

use std::io::Write;

use tokio::process::Command;
use tokio_util::sync::CancellationToken;

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
