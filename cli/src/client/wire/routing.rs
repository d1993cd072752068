//! Roles, and the rules by which tasks find their queue.

use std::{collections::BTreeMap, fmt};

use jobbers_common::{name::QueueName, routing::Versions};
use serde::{Deserialize, Serialize};

/// All roles.
#[derive(Debug, Deserialize)]
pub struct Roles {
    /// In the order of their names.
    pub roles: Vec<Role>,
}

/// Which queues the workers of a role serve.
#[derive(Debug, Deserialize)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// Its queues, first to last.
    pub queues: Vec<String>,
    /// What their order means: `strict` or `weighted`.
    pub order: String,
    /// How often each queue is asked first; one that is absent has the weight 1.
    #[serde(default)]
    pub weights: BTreeMap<String, u32>,
}

/// All routing rules.
#[derive(Debug, Deserialize)]
pub struct Rules {
    /// In the order of their names and versions.
    pub rules: Vec<Rule>,
}

/// A routing rule and the tasks it is for.
#[derive(Debug, Deserialize)]
pub struct Rule {
    /// The tasks' name.
    pub name: String,
    /// Their versions.
    #[serde(default)]
    pub version: Versions,
    /// How they find their queue.
    pub route: Route,
    /// The rule for tasks that name a queue themselves: `allow` or `forbid`.
    pub explicit_queue: String,
}

/// How tasks find their queue.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Route {
    /// All to one queue.
    Single {
        /// The queue.
        queue: QueueName,
    },
    /// By chance, in proportion to the weights.
    Weighted {
        /// The queues and their shares.
        queues: Vec<Share>,
    },
    /// One after the other.
    RoundRobin {
        /// The queues.
        queues: Vec<QueueName>,
    },
    /// By a field of the parameters.
    Hash {
        /// The field's name.
        parameter: String,
        /// The queues.
        queues: Vec<QueueName>,
    },
    /// One that this program does not know.
    #[serde(other)]
    Unknown,
}

/// A queue and its share.
#[derive(Debug, Serialize, Deserialize)]
pub struct Share {
    queue: QueueName,
    weight: u32,
}

impl Route {
    /// By chance, in proportion to the weights.
    pub fn weighted<'a>(shares: impl Iterator<Item = (&'a QueueName, u32)>) -> Self {
        let queues = shares.map(|(queue, weight)| Share { queue: queue.clone(), weight }).collect();
        Self::Weighted { queues }
    }
}

/// As a table shows it.
impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |queues: &[QueueName]| queues.iter().map(QueueName::as_str).collect::<Vec<_>>().join(", ");
        match self {
            Self::Single { queue } => write!(f, "{queue}"),
            Self::Weighted { queues } => {
                let shares: Vec<String> =
                    queues.iter().map(|share| format!("{}={}", share.queue, share.weight)).collect();
                f.write_str(&shares.join(", "))
            }
            Self::RoundRobin { queues } => write!(f, "{} in turns", list(queues)),
            Self::Hash { parameter, queues } => write!(f, "{} by {parameter}", list(queues)),
            Self::Unknown => f.write_str("?"),
        }
    }
}

/// What the deletion of a rule did.
#[derive(Debug, Deserialize)]
pub struct DeletedRule {
    /// Whether the rule existed.
    pub deleted: bool,
}
