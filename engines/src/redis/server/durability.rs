//! What an address promises of the durability of tasks, and whether the server keeps it.

use jobbers_common::engine::{Error, Result};

/// What survives a crash of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Syncing {
    /// What a snapshot holds.
    Memory,
    /// All but the last two seconds.
    EverySecond,
    /// All.
    Always,
}

impl Syncing {
    const ALL: [Self; 3] = [Self::Memory, Self::EverySecond, Self::Always];

    const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::EverySecond => "everysec",
            Self::Always => "always",
        }
    }
}

/// The promise of an address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Durability {
    syncing: Option<Syncing>,
    /// How many replicas have what was acknowledged.
    pub(crate) replicas: Option<u8>,
}

/// What a server keeps, by its own answers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Persistence<'a> {
    /// Whether it keeps an append-only file.
    pub(crate) has_file: bool,
    /// When it syncs that file; `None` if it does not say so.
    pub(crate) appendfsync: Option<&'a str>,
    /// How many replicas follow it.
    pub(crate) replicas: u64,
}

/// What a server does not keep of a promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unmet {
    /// A setting of the server.
    Setting(String),
    /// Replicas that are missing at present.
    Replicas(String),
}

impl Unmet {
    /// The sentence for an operator.
    pub(crate) fn sentence(&self) -> &str {
        let (Self::Setting(sentence) | Self::Replicas(sentence)) = self;
        sentence
    }
}

impl Durability {
    /// Reads `memory`, `everysec`, `always` or `replicated:N`, or one of the first three and the last with a comma between.
    ///
    /// # Errors
    /// [`Error::Config`] for anything else.
    pub(crate) fn parse(value: &str) -> Result<Self> {
        let mut durability = Self::default();
        for word in value.split(',') {
            let syncing = Syncing::ALL.into_iter().find(|syncing| syncing.name() == word);
            let replicas = word.strip_prefix("replicated:").and_then(|count| count.parse().ok()).filter(|it| *it > 0);
            let is_new = match (syncing, replicas) {
                (Some(syncing), _) => durability.syncing.replace(syncing).is_none(),
                (None, Some(replicas)) => durability.replicas.replace(replicas).is_none(),
                (None, None) => false,
            };
            if !is_new {
                let why = "durability= takes memory, everysec, always or replicated:N, or two of them as in \
                           always,replicated:1";
                return Err(Error::Config(why.to_owned()));
            }
        }
        Ok(durability)
    }

    /// Whether anything is promised.
    pub(crate) fn is_promised(&self) -> bool {
        *self != Self::default()
    }

    /// What a server does not keep of it.
    pub(crate) fn unmet(&self, kept: Persistence<'_>) -> Vec<Unmet> {
        let present = match kept.appendfsync {
            _ if !kept.has_file => Some(Syncing::Memory),
            Some("always") => Some(Syncing::Always),
            Some("everysec") => Some(Syncing::EverySecond),
            Some(_) => Some(Syncing::Memory),
            None => None,
        };
        let mut unmet = Vec::new();
        if let Some(promised) = self.syncing.filter(|it| *it > Syncing::Memory) {
            let name = promised.name();
            match present {
                Some(present) if present >= promised => {}
                Some(_) => unmet.push(Unmet::Setting(format!(
                    "the address promises durability={name}, and this Redis does not keep it: set appendonly yes and \
                     appendfsync {name}, or promise less"
                ))),
                // A managed server may not say so, and one that syncs once a second is common.
                None if promised == Syncing::EverySecond => {}
                None => unmet.push(Unmet::Setting(format!(
                    "the address promises durability={name}, and this Redis does not say whether it keeps it: let its user \
                     run CONFIG GET appendfsync, or promise everysec"
                ))),
            }
        }
        if let Some(replicas) = self.replicas.filter(|replicas| u64::from(*replicas) > kept.replicas) {
            unmet.push(Unmet::Replicas(format!(
                "the address promises durability=replicated:{replicas}, and {} replicas follow this Redis: nothing is \
                 acknowledged until {replicas} do",
                kept.replicas
            )));
        }
        unmet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_read() {
        for (value, syncing, replicas) in [
            ("memory", Some(Syncing::Memory), None),
            ("replicated:2", None, Some(2)),
            ("always,replicated:1", Some(Syncing::Always), Some(1)),
            ("replicated:1,everysec", Some(Syncing::EverySecond), Some(1)),
        ] {
            assert_eq!(Durability::parse(value), Ok(Durability { syncing, replicas }), "{value}");
        }
        for value in ["", "never", "always,everysec", "replicated", "replicated:0", "replicated:1,replicated:2"] {
            assert!(matches!(Durability::parse(value), Err(Error::Config(_))), "{value}");
        }
    }

    #[test]
    fn what_a_server_does_not_keep_is_named() {
        let settings = [(false, Some("always")), (true, Some("no")), (true, Some("everysec")), (true, Some("always"))];
        let unmet = |promise: &str, has_file, appendfsync, replicas| {
            Durability::parse(promise).unwrap().unmet(Persistence { has_file, appendfsync, replicas })
        };
        for (promise, keep) in
            [("memory", [true; 4]), ("everysec", [false, false, true, true]), ("always", [false, false, false, true])]
        {
            for ((has_file, appendfsync), keeps) in settings.into_iter().zip(keep) {
                let found = unmet(promise, has_file, appendfsync, 0);
                assert_eq!(found.is_empty(), keeps, "{promise}, {has_file}, {appendfsync:?}: {found:?}");
            }
        }
        assert!(unmet("everysec", true, None, 0).is_empty());
        assert!(matches!(unmet("always", true, None, 0)[..], [Unmet::Setting(_)]));
        assert!(matches!(unmet("replicated:2", true, Some("always"), 1)[..], [Unmet::Replicas(_)]));
        assert!(unmet("replicated:2", false, None, 2).is_empty());
    }
}
