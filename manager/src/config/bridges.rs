//! `[bridges.NAME]`: which group of a board a bridge serves, and where the outcomes go.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use jobbers_boards::{masstasker, taskstore};
use jobbers_common::{
    limits::MAX_BOARD_GROUP_BYTES,
    name::{BoardName, QueueName, TaskName},
    values::duration,
};
use serde::{Deserialize, Serialize};

/// The bridges of a manager, by name.
pub type Bridges = BTreeMap<String, BridgeSettings>;

/// The shortest and the longest lease.
const LEASES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(3_600));
/// Most tasks of one bridge that may be under way: each is kept in memory.
const HIGHEST_MAX_IN_FLIGHT: usize = 10_000;

/// The board of one front.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FrontBoard {
    /// That of MassTasker's clients.
    MassTasker,
    /// That of TaskStore's clients.
    TaskStore,
}

impl FrontBoard {
    /// Its name in the store.
    #[must_use]
    pub fn board(self) -> BoardName {
        match self {
            Self::MassTasker => masstasker::board(),
            Self::TaskStore => taskstore::board(),
        }
    }
}

/// How a board's data become parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PayloadForm {
    /// The data are a JSON object, which is the parameters.
    #[default]
    Json,
    /// The data are any bytes; the parameters are `{"data": "…", "type": "…"}`.
    Base64,
}

/// One bridge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BridgeSettings {
    /// Whose tasks it serves.
    pub board: FrontBoard,
    /// The group that it serves.
    pub group: String,
    /// What to run; `None` lets the type of the data decide, or else the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskName>,
    /// Which version of it.
    #[serde(default = "first_version")]
    pub version: u32,
    /// Where it goes; `None` leaves it to the routing rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueName>,
    /// The group that gets the replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_group: Option<String>,
    /// The group that gets tasks that did not complete, as they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_group: Option<String>,
    /// How data become parameters.
    #[serde(default)]
    pub payload: PayloadForm,
    /// For how long a task is leased at a time. After the end of its manager, another one follows it within this time.
    #[serde(with = "duration::text", default = "default_lease")]
    pub lease: Duration,
    /// How many tasks may be under way at a time, for each manager.
    #[serde(default = "default_max_in_flight")]
    pub max_in_flight: usize,
}

const fn first_version() -> u32 {
    1
}

const fn default_lease() -> Duration {
    Duration::from_secs(10)
}

const fn default_max_in_flight() -> usize {
    1_000
}

impl BridgeSettings {
    /// The groups that its outcomes go to.
    fn outcomes(&self) -> impl Iterator<Item = &String> {
        self.reply_group.iter().chain(&self.failed_group)
    }

    fn check(&self) -> Result<(), String> {
        let groups = [("group", Some(&self.group))];
        let others = [("reply_group", self.reply_group.as_ref()), ("failed_group", self.failed_group.as_ref())];
        for (key, group) in groups.into_iter().chain(others) {
            let Some(group) = group else { continue };
            if group.is_empty() || group.len() > MAX_BOARD_GROUP_BYTES {
                return Err(format!("{key} has 1 to {MAX_BOARD_GROUP_BYTES} bytes, not {}", group.len()));
            }
        }
        if self.outcomes().next().is_none() {
            return Err("needs reply_group, failed_group or both: a task that fails must go somewhere".to_owned());
        }
        if self.version == 0 {
            return Err("version must be above 0".to_owned());
        }
        let (shortest, longest) = LEASES;
        if !(shortest..=longest).contains(&self.lease) {
            let found = duration::format(self.lease);
            return Err(format!("lease is 1s to 1h, not {found}"));
        }
        if !(1..=HIGHEST_MAX_IN_FLIGHT).contains(&self.max_in_flight) {
            return Err(format!("max_in_flight is 1 to {HIGHEST_MAX_IN_FLIGHT}, not {}", self.max_in_flight));
        }
        Ok(())
    }
}

/// Checks each bridge, and that no two serve one group or send tasks in a circle.
///
/// # Errors
/// What is wrong, with the key.
pub(crate) fn check(bridges: &Bridges) -> Result<(), String> {
    let mut served: BTreeMap<(BoardName, &str), &str> = BTreeMap::new();
    for (name, bridge) in bridges {
        bridge.check().map_err(|rule| format!("bridges.{name}: {rule}"))?;
        if let Some(other) = served.insert((bridge.board.board(), &bridge.group), name) {
            return Err(format!("bridges.{name} and bridges.{other} serve the same group {:?}", bridge.group));
        }
    }
    for name in bridges.keys() {
        if comes_back(bridges, name) {
            return Err(format!("bridges.{name}: its outcomes come back to its own group, and would never end"));
        }
    }
    Ok(())
}

/// Whether an outcome of a bridge can become a request to it, perhaps through other bridges.
fn comes_back(bridges: &Bridges, name: &str) -> bool {
    let (mut reached, mut ahead) = (HashSet::new(), vec![name]);
    while let Some(bridge) = ahead.pop().and_then(|name| bridges.get(name)) {
        for group in bridge.outcomes() {
            let next = bridges.iter().find(|(_, next)| next.board == bridge.board && next.group == *group);
            if let Some((next, _)) = next
                && reached.insert(next.as_str())
            {
                ahead.push(next);
            }
        }
    }
    reached.contains(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Bridges, String> {
        #[derive(Deserialize)]
        struct File {
            bridges: Bridges,
        }
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        check(&file.bridges).map(|()| file.bridges)
    }

    const RESIZE: &str = "[bridges.resize]\nboard = \"masstasker\"\ngroup = \"resize\"\nreply_group = \"resized\"\n";

    #[test]
    fn a_bridge_needs_a_board_a_group_and_a_place_for_outcomes() {
        let bridge = &read(RESIZE).unwrap()["resize"];
        let expected = BridgeSettings {
            board: FrontBoard::MassTasker,
            group: "resize".to_owned(),
            task: None,
            version: 1,
            queue: None,
            reply_group: Some("resized".to_owned()),
            failed_group: None,
            payload: PayloadForm::Json,
            lease: Duration::from_secs(10),
            max_in_flight: 1_000,
        };
        assert_eq!(*bridge, expected);
        assert_eq!(bridge.board.board().as_str(), "masstasker");
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let nowhere = "[bridges.a]\nboard = \"taskstore\"\ngroup = \"a\"\n";
        let group = |name: &str, group: &str, reply: &str| {
            format!("[bridges.{name}]\nboard = \"taskstore\"\ngroup = \"{group}\"\nreply_group = \"{reply}\"\n")
        };
        for (text, said) in [
            (nowhere.to_owned(), "bridges.a: needs reply_group, failed_group or both"),
            (format!("{RESIZE}grup = \"x\"\n"), "unknown field `grup`"),
            (RESIZE.replace("masstasker", "entroq"), "unknown variant `entroq`, expected `masstasker` or `taskstore`"),
            (format!("{RESIZE}lease = \"10ms\"\n"), "bridges.resize: lease is 1s to 1h, not 10ms"),
            (format!("{RESIZE}max_in_flight = 0\n"), "max_in_flight is 1 to 10000, not 0"),
            (format!("{RESIZE}version = 0\n"), "version must be above 0"),
            (format!("{RESIZE}queue = \"a b\"\n"), "queue name \"a b\" is not valid"),
            (format!("{RESIZE}failed_group = \"\"\n"), "bridges.resize: failed_group has 1 to 1024 bytes, not 0"),
            (group("a", "a", "a"), "bridges.a: its outcomes come back to its own group"),
            (group("a", "a", "b") + &group("b", "b", "a"), "bridges.a: its outcomes come back to its own group"),
            (group("a", "a", "x") + &group("b", "a", "y"), "bridges.b and bridges.a serve the same group \"a\""),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(said), "{said}: {error}");
        }
    }

    #[test]
    fn bridges_may_form_a_chain() {
        let chain = "[bridges.a]\nboard = \"taskstore\"\ngroup = \"a\"\nreply_group = \"b\"\n\
                     [bridges.b]\nboard = \"taskstore\"\ngroup = \"b\"\nreply_group = \"c\"\nfailed_group = \"d\"\n\
                     [bridges.other]\nboard = \"masstasker\"\ngroup = \"c\"\nreply_group = \"a\"\n";
        assert_eq!(read(chain).unwrap().len(), 3);
    }
}
