//! Signals from outside: a task may wait for a person or another program, such as for an approval.
//!
//! A submission names the signals that its task waits for, beside the tasks that it depends on. The task is `waiting` until
//! all of both have come. A signal is an edge without a predecessor ([`crate::dependency`]): the task's `total` counts it, it
//! counts once however often it is sent, and [`crate::dependency::consequence`] decides what its coming or its timeout does.
//! It is stored with its task, under a name that is unique there.
//!
//! A signal may have a timeout, which begins when its task waits for no other task. After that, the ticks that promote due
//! tasks ([`crate::engine::Upkeep::promote_due`]) time it out, and [`OnTimeout`] says what follows. Signals that a task still
//! waited for when it ended are not needed any more, also if the task is sent again.
//!
//! A signal may come before its task, where two programs do not wait for each other. Its sender then asks to keep it for a
//! time. A task that is submitted within that time, and waits for it, has received it.

use std::{collections::HashSet, fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    dependency::policy::DependencyPolicy,
    lifecycle::Status,
    limits::{MAX_DELAY, MAX_SIGNAL_KEPT, MAX_SIGNALS},
    name::SignalName,
    time::Timestamp,
    values::duration,
};

/// What follows if a signal does not come in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// The task is aborted, and the tasks that wait for it go by their policies.
    #[default]
    Abort,
    /// The task runs without it, once it waits for nothing else.
    Run,
}

jobbers_terms::stored_as_number!(OnTimeout);

impl OnTimeout {
    /// All of them. A rule's place here is its stored number and never changes.
    pub const ALL: [Self; 2] = [Self::Abort, Self::Run];

    /// The name on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Abort => "abort",
            Self::Run => "run",
        }
    }

    /// The policy of an edge that does the same if its predecessor is dropped.
    #[must_use]
    pub const fn policy(self) -> DependencyPolicy {
        match self {
            Self::Abort => DependencyPolicy::AbortSuccessors,
            Self::Run => DependencyPolicy::RunWithFailures,
        }
    }
}

impl FromStr for OnTimeout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|rule| rule.as_str() == text);
        found.ok_or_else(|| format!("after a timeout a task can abort or run, not {text:?}"))
    }
}

/// A signal that a submission asks its task to wait for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedSignal {
    /// Its name, among those of the task.
    pub name: SignalName,
    /// How long it may take from when the task waits for no other task; `None` without end.
    #[serde(default, with = "duration::text::option", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// What follows if it does not.
    #[serde(default)]
    pub on_timeout: OnTimeout,
}

/// `NAME`, `NAME=TIMEOUT` or `NAME=TIMEOUT,run`.
impl fmt::Display for AwaitedSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.as_str())?;
        match (self.timeout, self.on_timeout) {
            (None, _) => Ok(()),
            (Some(timeout), OnTimeout::Abort) => write!(f, "={}", duration::format(timeout)),
            (Some(timeout), rule) => write!(f, "={},{}", duration::format(timeout), rule.as_str()),
        }
    }
}

impl FromStr for AwaitedSignal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // No name contains a `=`.
        let (name, rest) = text.split_once('=').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let (timeout, rule) = match rest.map(|rest| rest.split_once(',').unwrap_or((rest, "abort"))) {
            Some((timeout, rule)) => (Some(duration::parse(timeout).map_err(|error| error.to_string())?), rule),
            None => (None, "abort"),
        };
        let name = SignalName::new(name).map_err(|error| error.to_string())?;
        Ok(Self { name, timeout, on_timeout: rule.parse()? })
    }
}

/// How far a signal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalState {
    /// The task waits for it.
    Waiting,
    /// It has come.
    Received,
    /// It did not come in time.
    TimedOut,
    /// The task ended before it came.
    Unneeded,
}

jobbers_terms::stored_as_number!(SignalState);

impl SignalState {
    /// All of them. A state's place here is its stored number and never changes.
    pub const ALL: [Self; 4] = [Self::Waiting, Self::Received, Self::TimedOut, Self::Unneeded];

    /// The name on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Received => "received",
            Self::TimedOut => "timed_out",
            Self::Unneeded => "unneeded",
        }
    }

    /// The end of a predecessor that has the same consequence.
    #[must_use]
    pub const fn end(self) -> Status {
        if matches!(self, Self::Received) { Status::Completed } else { Status::Dropped }
    }
}

impl fmt::Display for SignalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A signal of a stored task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalSignal {
    /// Its name.
    pub name: SignalName,
    /// How far it is.
    pub state: SignalState,
    /// How long it may take; `None` without end.
    #[serde(default, with = "duration::text::option", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Until when it must come, once that is known: the task then waits for no other task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// What follows if it does not.
    pub on_timeout: OnTimeout,
    /// When it came or timed out, or when the task ended without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

impl ExternalSignal {
    /// A signal as a task is submitted with it.
    #[must_use]
    pub fn of(awaited: &AwaitedSignal) -> Self {
        let AwaitedSignal { name, timeout, on_timeout } = awaited;
        let (timeout, on_timeout) = (*timeout, *on_timeout);
        Self { name: name.clone(), state: SignalState::Waiting, timeout, due: None, on_timeout, at: None }
    }

    /// Its task waits for no other task from now on: the timeout begins, unless it has begun.
    pub fn begin_timeout(&mut self, now: Timestamp) {
        if self.state == SignalState::Waiting && self.due.is_none() {
            self.due = self.timeout.map(|timeout| now.after(timeout));
        }
    }
}

/// What sending a signal did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signalled {
    /// It has come now. The status of its task after that.
    Done(Status),
    /// It had come before. Nothing changed.
    Already,
    /// The task no longer waits for it: it timed out, or the task ended. Nothing changed.
    Late(SignalState),
    /// The task does not wait for a signal of this name.
    UnknownSignal,
    /// The task does not exist.
    UnknownTask,
    /// The task does not exist yet. The signal is kept for it until then.
    Kept(Timestamp),
    /// The task does not exist, and as many signals are kept as may be ([`crate::limits::MAX_SIGNALS_KEPT`]).
    TooManyKept,
}

/// Checks how long a signal is to be kept for a task that does not exist yet.
///
/// # Errors
/// What is wrong.
pub fn validate_keep(keep: Option<Duration>) -> Result<(), String> {
    match keep {
        Some(keep) if keep.is_zero() || keep > MAX_SIGNAL_KEPT => {
            Err(format!("a signal is kept for over 0s and at most {}", duration::format(MAX_SIGNAL_KEPT)))
        }
        _ => Ok(()),
    }
}

/// Checks the signals that one task is to wait for.
///
/// # Errors
/// What is wrong.
pub fn validate(signals: &[AwaitedSignal]) -> Result<(), String> {
    if signals.len() > MAX_SIGNALS {
        return Err(format!("a task waits for at most {MAX_SIGNALS} signals, not {}", signals.len()));
    }
    let mut seen = HashSet::with_capacity(signals.len());
    for AwaitedSignal { name, timeout, .. } in signals {
        if !seen.insert(name) {
            return Err(format!("signal {name} is named twice"));
        }
        if timeout.is_some_and(|timeout| timeout.is_zero() || timeout > MAX_DELAY) {
            return Err(format!("the timeout of signal {name} is over 0s and at most 366d"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dependency::consequence, lifecycle::Move};

    #[test]
    fn a_signal_that_comes_or_times_out_is_like_the_end_of_a_predecessor() {
        for rule in OnTimeout::ALL {
            assert_eq!((OnTimeout::from_code(rule.code()), rule.as_str().parse()), (Some(rule), Ok(rule)));
            assert_eq!(serde_json::to_value(rule).unwrap(), rule.as_str());
            assert_eq!(consequence(rule.policy(), SignalState::Received.end(), 0), Some(Move::Signal));
        }
        let late = |rule: OnTimeout| consequence(rule.policy(), SignalState::TimedOut.end(), 0);
        assert_eq!((late(OnTimeout::Abort), late(OnTimeout::Run)), (Some(Move::Abort), Some(Move::Signal)));
        for state in SignalState::ALL {
            assert_eq!(SignalState::from_code(state.code()), Some(state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
    }

    #[test]
    fn bounds_are_held() {
        let signal = |name: &str, timeout| AwaitedSignal {
            name: SignalName::new(name).unwrap(),
            timeout,
            on_timeout: OnTimeout::default(),
        };
        let many: Vec<_> = (0..=MAX_SIGNALS).map(|n| signal(&format!("s{n}"), None)).collect();
        assert!(validate(&many).unwrap_err().contains("at most 16"));
        assert_eq!(validate(&many[1..]), Ok(()));
        assert!(validate(&[signal("s", None), signal("s", None)]).unwrap_err().contains("twice"));
        for timeout in [Duration::ZERO, MAX_DELAY + Duration::from_secs(1)] {
            assert!(validate(&[signal("s", Some(timeout))]).unwrap_err().contains("timeout"));
        }
    }

    #[test]
    fn a_signal_is_kept_for_a_day_at_most() {
        for keep in [None, Some(Duration::from_micros(1)), Some(MAX_SIGNAL_KEPT)] {
            assert_eq!(validate_keep(keep), Ok(()));
        }
        for keep in [Duration::ZERO, MAX_SIGNAL_KEPT + Duration::from_micros(1)] {
            assert!(validate_keep(Some(keep)).unwrap_err().contains("at most 1d"));
        }
    }

    #[test]
    fn a_signal_is_written_as_it_is_read() {
        for text in ["approved", "approved=1d", "approved=90s,run"] {
            assert_eq!(text.parse::<AwaitedSignal>().unwrap().to_string(), text);
        }
        for text in ["", "=1d", "a b", "approved=", "approved=soon", "approved=1d,fly"] {
            text.parse::<AwaitedSignal>().unwrap_err();
        }
        assert_eq!("s=5s,abort".parse::<AwaitedSignal>().unwrap().to_string(), "s=5s");
    }
}
