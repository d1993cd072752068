//! What a file says: the settings of each entry, as the API takes them.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    path::Path,
};

use jobbers_common::name::{QueueName, RoleName, ScheduleName};
use jobbers_engines::ordinary_file::OrdinaryFile;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// The settings of one entry.
pub(super) type Settings = Map<String, Value>;

/// What a file wants; a kind that it does not have is left as it is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    pub(super) queues: Option<BTreeMap<QueueName, Settings>>,
    pub(super) roles: Option<BTreeMap<RoleName, Settings>>,
    pub(super) routes: Option<Vec<Settings>>,
    pub(super) schedules: Option<BTreeMap<ScheduleName, Settings>>,
}

impl Wanted {
    /// Reads a file, or standard input for `-`.
    ///
    /// # Errors
    /// [`Failure::NoInput`], [`Failure::Config`] with the line.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let mut text = String::new();
        let read = match path == Path::new("-") {
            true => io::stdin().lock().read_to_string(&mut text),
            false => OrdinaryFile::open(path).and_then(|mut file| file.read_to_string(&mut text)),
        };
        read.map_err(|error| Failure::no_input(path, &error))?;
        toml::from_str(&text).map_err(|error| Failure::Config(format!("{}: {}", path.display(), in_one_line(&error))))
    }
}

/// Its place and its sentence.
fn in_one_line(error: &toml::de::Error) -> String {
    error.to_string().lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}
