//! A temporary store: a new file, or a key prefix that no other client uses. It touches no other data and leaves nothing
//! behind.

#[cfg(feature = "redis")]
mod prefix;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use jobbers_common::engine::{Engine, Error};
use jobbers_engines::OpenOptions;
use tempfile::TempDir;

use crate::failure::Failure;

/// The store, and where it is.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// The store.
    pub(crate) engine: Arc<dyn Engine>,
    /// Its address, for another process.
    #[cfg(feature = "bench")]
    pub(crate) url: String,
    /// Its storage.
    pub(crate) storage: ScratchStorage,
}

/// The storage of a scratch store.
#[derive(Debug)]
pub(crate) enum ScratchStorage {
    /// A folder of its own, removed when the last that writes in it is done.
    Sqlite {
        /// The folder; the store is [`FILE`] in it.
        folder: Arc<TempDir>,
    },
    /// A prefix of its own.
    Redis {
        /// The server's address, without a prefix.
        server: String,
        /// The prefix.
        prefix: String,
        /// A folder of its own for what is no task, removed when dropped.
        folder: TempDir,
    },
}

/// The name of a fresh store's file.
pub(crate) const FILE: &str = "jobbers.db";

impl Scratch {
    /// Opens a fresh store: on Redis when `given` names one, else in a file of its own, on the disk of the file that is
    /// named or in the system's temporary folder.
    ///
    /// # Errors
    /// When the place can't be had.
    pub(crate) async fn open(given: Option<&str>) -> Result<Self, Failure> {
        let (storage, url) = match given {
            None => fresh_file(&std::env::temp_dir(), "")?,
            Some(named) => match named.strip_prefix("sqlite:") {
                Some(path) => fresh_file(&folder_of(path), query_of(path))?,
                None => fresh_prefix(named, private_folder(&std::env::temp_dir())?),
            },
        };
        let opened = jobbers_engines::open(&url, OpenOptions::default()).await;
        let engine = opened.map_err(|error| cant_open(given.unwrap_or(&url), &error))?;
        Ok(Self {
            engine,
            #[cfg(feature = "bench")]
            url,
            storage,
        })
    }

    /// Where dead letters are kept for that while.
    #[must_use]
    pub(crate) fn dead_letters(&self) -> PathBuf {
        let folder = match &self.storage {
            ScratchStorage::Sqlite { folder } => folder.path(),
            ScratchStorage::Redis { folder, .. } => folder.path(),
        };
        folder.join("dead-letters.db")
    }

    /// Leaves nothing behind.
    ///
    /// # Errors
    /// When the folder can't be removed, or the server can't be reached any more.
    pub(crate) async fn remove(self) -> Result<(), Failure> {
        drop(self.engine);
        match self.storage {
            ScratchStorage::Sqlite { folder } => Arc::into_inner(folder).map_or(Ok(()), |folder| {
                let path = folder.path().to_owned();
                let lost = |error| Failure::Unavailable(format!("{} could not be removed: {error}", path.display()));
                folder.close().map_err(lost)
            }),
            #[cfg(feature = "redis")]
            ScratchStorage::Redis { server, prefix, folder: _ } => {
                prefix::clear(&server, &prefix).await.map_err(|error| {
                    Failure::Unavailable(format!("the keys {prefix}:* could not be cleared away: {error}"))
                })
            }
            // Such a store was never opened.
            #[cfg(not(feature = "redis"))]
            ScratchStorage::Redis { server, prefix, folder: _ } => Err(Failure::Unavailable(format!(
                "the keys {prefix}:* of {server} stay: this program is built without the feature `redis`"
            ))),
        }
    }
}

/// What it means that the store at `url` can't be opened.
#[must_use]
pub(crate) fn cant_open(url: &str, error: &Error) -> Failure {
    let said = format!("the store {} can't be opened: {error}", without_login(url));
    match error {
        Error::Config(_) => Failure::Config(error.to_string()),
        Error::Schema { .. } => Failure::Config(said),
        _ => Failure::Unavailable(said),
    }
}

/// `redis://user:secret@host/1` as `redis://host/1`.
fn without_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://").filter(|(scheme, _)| *scheme != "sqlite") else {
        return url.to_owned();
    };
    let authority = rest.split('/').next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    format!("{scheme}://{host}{}", &rest[authority.len()..])
}

fn private_folder(within: &Path) -> Result<TempDir, Failure> {
    let made = tempfile::Builder::new().prefix("jobbers-").tempdir_in(within);
    made.map_err(|error| Failure::Unavailable(format!("no folder can be made in {}: {error}", within.display())))
}

fn fresh_file(folder: &Path, query: &str) -> Result<(ScratchStorage, String), Failure> {
    let folder = private_folder(folder)?;
    let url = format!("sqlite://{}{query}", folder.path().join(FILE).display());
    Ok((ScratchStorage::Sqlite { folder: Arc::new(folder) }, url))
}

/// The folder of `//./jobbers.db?…`.
fn folder_of(path: &str) -> PathBuf {
    let path = path.split('?').next().unwrap_or_default();
    match Path::new(path.strip_prefix("//").unwrap_or(path)).parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The `?…` of `//./jobbers.db?…`, question mark included.
fn query_of(path: &str) -> &str {
    path.find('?').map_or("", |at| &path[at..])
}

fn fresh_prefix(given: &str, folder: TempDir) -> (ScratchStorage, String) {
    let server = given.split('?').next().unwrap_or(given).to_owned();
    let prefix = format!("jobbers-{}", ulid::Ulid::generate());
    // A prefix in the URL is replaced; other parameters stay.
    let kept = given.split_once('?').map_or("", |(_, query)| query).split('&');
    let kept: Vec<&str> = kept.filter(|parameter| !parameter.is_empty() && !parameter.starts_with("prefix=")).collect();
    let query: String = kept.iter().map(|parameter| format!("{parameter}&")).collect();
    let url = format!("{server}?{query}prefix={prefix}");
    let bare = if kept.is_empty() { server } else { format!("{server}?{}", kept.join("&")) };
    (ScratchStorage::Redis { server: bare, prefix, folder }, url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_of_somebody_else_is_not_used() {
        let fresh = |url| fresh_prefix(url, private_folder(&std::env::temp_dir()).unwrap());
        let (ScratchStorage::Redis { server, prefix, .. }, url) = fresh("redis+unix:///s?db=2&prefix=team-a") else {
            panic!("a Redis")
        };
        assert_eq!(server, "redis+unix:///s?db=2");
        assert_eq!(url, format!("redis+unix:///s?db=2&prefix={prefix}"));
        assert_eq!(fresh("redis://h/1").1.split("?prefix=jobbers-").next(), Some("redis://h/1"));
    }

    #[test]
    fn a_file_s_disk_is_chosen_by_naming_it() {
        for (path, folder) in [("//./jobbers.db", "."), ("//jobbers.db", "."), ("///var/x.db?synchronous=full", "/var")]
        {
            assert_eq!(folder_of(path), PathBuf::from(folder), "{path}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        for (url, shown) in [
            ("redis://me:s3@cret@host:6379/1", "redis://host:6379/1"),
            ("redis+unix:///run/s", "redis+unix:///run/s"),
            ("redis+sentinel://me:secret@a,b:7000/main", "redis+sentinel://a,b:7000/main"),
            ("sqlite://./a@b.db", "sqlite://./a@b.db"),
        ] {
            assert_eq!(without_login(url), shown);
        }
    }

    #[tokio::test]
    async fn what_is_no_store_is_refused() {
        let failure = Scratch::open(Some("mysql://localhost")).await.unwrap_err();
        assert!(matches!(failure, Failure::Config(_)), "{failure}");
    }
}
