//! The address of an embedded store: `sqlite://PATH?synchronous=full|normal&max_bytes=N&reserve_bytes=N`, or
//! `sqlite::memory:`.

use std::path::{Path, PathBuf};

use jobbers_common::engine::{Error, Result};
use percent_encoding::percent_decode_str;

/// The smallest quota with room for the schema and a little work.
const MIN_MAX_BYTES: u64 = 1024 * 1024;
/// The smallest reserve with room for the log of a few transactions.
const MIN_RESERVE_BYTES: u64 = 1024 * 1024;

/// Where the store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreLocation {
    /// In a file.
    File(PathBuf),
    /// In this process's memory.
    Memory,
}

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Synchronous {
    /// The disk: acknowledged writes survive a power failure.
    #[default]
    Full,
    /// The operating system: acknowledged writes survive a crash of the process. A power failure may lose the last
    /// commits and never damages the file.
    Normal,
}

impl Synchronous {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Normal => "NORMAL",
        }
    }
}

/// A parsed address of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) location: StoreLocation,
    pub(crate) synchronous: Synchronous,
    /// How large the file may grow, in bytes.
    pub(crate) max_bytes: Option<u64>,
    /// How much room is kept for a full disk, in bytes: 0 is none, `None` as much as is usual ([`super::reserve`]).
    pub(crate) reserve_bytes: Option<u64>,
}

impl Address {
    /// Its file; `None` for a store in memory.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.location {
            StoreLocation::File(path) => Some(path),
            StoreLocation::Memory => None,
        }
    }

    /// Reads a URL.
    ///
    /// # Errors
    /// [`Error::Config`], with what to write instead.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let config =
            |problem: String| Error::Config(format!("{url:?} is not the address of a SQLite store: {problem}"));
        let (location, query) = url.split_once('?').unwrap_or((url, ""));
        let location = parse_location(location).map_err(config)?;
        let mut address = Self { location, synchronous: Synchronous::default(), max_bytes: None, reserve_bytes: None };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            address.set(pair).map_err(config)?;
        }
        Ok(address)
    }

    /// The absolute address. The file exists.
    pub(crate) fn shown(&self) -> String {
        match self.path() {
            Some(path) => format!("sqlite://{}", path.canonicalize().unwrap_or_else(|_| path.to_owned()).display()),
            None => "sqlite::memory:".to_owned(),
        }
    }

    fn set(&mut self, pair: &str) -> Result<(), String> {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        match (key, value.to_ascii_lowercase().as_str()) {
            ("synchronous", "full") => self.synchronous = Synchronous::Full,
            ("synchronous", "normal") => self.synchronous = Synchronous::Normal,
            ("synchronous", _) => return Err(format!("synchronous is full or normal, not {value:?}")),
            ("max_bytes", text) => {
                let max_bytes = text.parse().ok().filter(|bytes| *bytes >= MIN_MAX_BYTES);
                self.max_bytes = Some(
                    max_bytes.ok_or_else(|| format!("max_bytes is a number from {MIN_MAX_BYTES}, not {value:?}"))?,
                );
            }
            ("reserve_bytes", text) => {
                let reserve_bytes = text.parse().ok().filter(|bytes| *bytes == 0 || *bytes >= MIN_RESERVE_BYTES);
                self.reserve_bytes = Some(reserve_bytes.ok_or_else(|| {
                    format!("reserve_bytes is 0 or a number from {MIN_RESERVE_BYTES}, not {value:?}")
                })?);
            }
            _ => return Err(format!("it takes synchronous, max_bytes and reserve_bytes, not {key:?}")),
        }
        Ok(())
    }
}

fn parse_location(text: &str) -> Result<StoreLocation, String> {
    if text == "sqlite::memory:" {
        return Ok(StoreLocation::Memory);
    }
    let path = text.strip_prefix("sqlite://").ok_or("write sqlite://PATH or sqlite::memory:")?;
    if path == ":memory:" {
        return Err("write sqlite::memory:".to_owned());
    }
    let path = percent_decode_str(path).decode_utf8().map_err(|_| "its path is not UTF-8")?;
    if path.is_empty() || path.ends_with('/') {
        return Err("its path names no file".to_owned());
    }
    if path.contains('\0') {
        return Err("its path holds a NUL".to_owned());
    }
    check_folder(Path::new(&*path))?;
    Ok(StoreLocation::File(PathBuf::from(&*path)))
}

/// SQLite creates files, not folders; report that before it answers `unable to open database file`.
fn check_folder(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Err(format!("{} is a folder", path.display()));
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(format!("the folder {} does not exist; create it first", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        match Address::parse(url) {
            Err(Error::Config(text)) => text,
            other => panic!("{url}: {other:?}"),
        }
    }

    #[test]
    fn a_path_is_relative_or_absolute_and_percent_decoded() {
        let location = |url| Address::parse(url).unwrap().location;
        assert_eq!(location("sqlite://./jobbers.db"), StoreLocation::File("./jobbers.db".into()));
        assert_eq!(location("sqlite://jobbers.db"), StoreLocation::File("jobbers.db".into()));
        assert_eq!(location("sqlite:///tmp/a%20b%3F.db?max_bytes=1048576"), StoreLocation::File("/tmp/a b?.db".into()));
        assert_eq!(location("sqlite::memory:"), StoreLocation::Memory);
    }

    #[test]
    fn the_default_is_durable_and_without_a_quota() {
        let address = Address::parse("sqlite://a.db").unwrap();
        assert_eq!((address.synchronous, address.max_bytes, address.reserve_bytes), (Synchronous::Full, None, None));
        assert_eq!(Address::parse("sqlite://a.db?reserve_bytes=0").unwrap().reserve_bytes, Some(0));
        let address = Address::parse("sqlite://a.db?synchronous=NORMAL&max_bytes=2000000").unwrap();
        assert_eq!((address.synchronous, address.max_bytes), (Synchronous::Normal, Some(2_000_000)));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_to_write() {
        assert!(refused("sqlite://a.db?synchronous=off").contains("full or normal"));
        assert!(refused("sqlite://a.db?max_bytes=12").contains("1048576"));
        assert!(refused("sqlite://a.db?reserve_bytes=12").contains("0 or a number from 1048576"));
        assert!(refused("sqlite://a.db?cache=shared").contains("\"cache\""));
        assert!(refused("sqlite:a.db").contains("sqlite://PATH"));
        assert!(refused("sqlite://").contains("no file"));
        assert!(refused("sqlite://:memory:").contains("sqlite::memory:"));
        assert!(refused("sqlite://a%00b").contains("NUL"));
        assert!(refused("sqlite://a%FFb").contains("UTF-8"));
        assert!(refused("sqlite:///no-such-folder/a.db").contains("create it first"));
        assert!(refused("sqlite:///").contains("no file"));
    }
}
