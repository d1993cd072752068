//! The folders below which stock tasks read files. Any client that may submit a task chooses the path, so it is
//! untrusted.

use std::{
    env,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use jobbers_engines::ordinary_file::{FoundFile, OrdinaryFile};
use serde::{Deserialize, Serialize};

use crate::{Context, TaskError};

/// Folders of the kernel's own files. They are refused below every root, because they show secrets of the process.
const NEVER: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Folders below which stock tasks may read; as text, separated by `:` as in `PATH`.
///
/// A program that runs `stock::ALL` sets them with [`crate::Config::stock_root`]. The default is the working directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct StockRoot(Vec<PathBuf>);

impl Default for StockRoot {
    fn default() -> Self {
        Self(vec![PathBuf::from(".")])
    }
}

impl From<String> for StockRoot {
    fn from(text: String) -> Self {
        Self(env::split_paths(&text).filter(|path| !path.as_os_str().is_empty()).collect())
    }
}

impl From<StockRoot> for String {
    fn from(root: StockRoot) -> Self {
        root.to_string()
    }
}

impl<P: Into<PathBuf>> FromIterator<P> for StockRoot {
    fn from_iter<I: IntoIterator<Item = P>>(folders: I) -> Self {
        Self(folders.into_iter().map(Into::into).collect())
    }
}

impl std::fmt::Display for StockRoot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let folders: Vec<String> = self.0.iter().map(|folder| folder.display().to_string()).collect();
        f.write_str(&folders.join(":"))
    }
}

/// Opens a file that a task names, if it is a regular file below one of the worker's roots.
pub(super) fn open(ctx: &Context, path: &Path) -> Result<OrdinaryFile, TaskError> {
    let default;
    let root = match ctx.state::<StockRoot>() {
        Ok(root) => root,
        Err(_) => {
            default = StockRoot::default();
            &default
        }
    };
    root.open(path)
}

impl StockRoot {
    /// What is checked is the file that the path leads to at one moment, and this file is opened: links and `..` are
    /// resolved before the check, and nothing that takes the file's place later is read. A pipe or device is not opened
    /// at all.
    fn open(&self, path: &Path) -> Result<OrdinaryFile, TaskError> {
        let found = match FoundFile::at(path) {
            Ok(found) if self.allows(found.path()) => found,
            // The submitter must not learn whether a file outside exists.
            Err(error) if self.allows_missing(path) => return Err(unreadable(path, &error)),
            Ok(_) | Err(_) => return Err(self.refusal(path)),
        };
        match found.refusal() {
            Some(why) => Err(refused(format!("{} {why}", path.display()))),
            None => found.open().map_err(|error| unreadable(path, &error)),
        }
    }

    fn allows(&self, real: &Path) -> bool {
        let is_below = |root: &PathBuf| root.canonicalize().is_ok_and(|root| real.starts_with(root));
        self.0.iter().any(is_below) && !NEVER.iter().any(|folder| real.starts_with(folder))
    }

    /// Whether a path that can't be resolved is at least in an allowed folder.
    fn allows_missing(&self, path: &Path) -> bool {
        let existing = path.ancestors().skip(1).find_map(|folder| {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            folder.canonicalize().ok()
        });
        existing.is_some_and(|folder| self.allows(&folder))
    }

    fn refusal(&self, path: &Path) -> TaskError {
        let path = path.display();
        refused(format!("{path} is not below the folders that stock tasks may read (--stock-root {self})"))
    }
}

fn refused(message: String) -> TaskError {
    TaskError::fatal(message).kind("file_refused")
}

/// A missing or unreadable file does not change by a retry.
fn unreadable(path: &Path, error: &io::Error) -> TaskError {
    let message = format!("{}: {error}", path.display());
    let failed = match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::InvalidInput => TaskError::fatal(message),
        _ => TaskError::retry(message),
    };
    failed.kind(error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use nix::{sys::stat::Mode, unistd::mkfifo};

    use super::*;

    /// A root with a file, and a folder next to it with another.
    fn folders() -> (tempfile::TempDir, StockRoot) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["inside", "other"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("file"), name).unwrap();
        }
        let root = [folder.path().join("inside")].into_iter().collect();
        (folder, root)
    }

    #[track_caller]
    fn refuses(root: &StockRoot, path: &Path, rule: &str) {
        let Err(TaskError::Fatal(reason)) = root.open(path) else { panic!("{} is refused for good", path.display()) };
        assert!(reason.message.contains(rule), "{}: {}", path.display(), reason.message);
    }

    #[test]
    fn files_below_a_root_are_read_also_by_a_link_within_it() {
        let (folder, root) = folders();
        let (file, link) = (folder.path().join("inside/file"), folder.path().join("inside/link"));
        symlink(&file, &link).unwrap();
        for path in [file, link, folder.path().join("other/../inside/file")] {
            assert_eq!(io::read_to_string(root.open(&path).unwrap()).unwrap(), "inside");
        }
        let both = [folder.path().join("inside"), folder.path().join("other")].into_iter().collect::<StockRoot>();
        assert!(both.open(&folder.path().join("other/file")).is_ok());
    }

    #[test]
    fn nothing_outside_of_the_roots_is_read_and_no_link_leads_out() {
        let (folder, root) = folders();
        let (other, link) = (folder.path().join("other/file"), folder.path().join("inside/link"));
        symlink(&other, &link).unwrap();
        symlink(folder.path().join("other"), folder.path().join("inside/folder")).unwrap();
        let through = folder.path().join("inside/folder/file");
        for path in [other, link, through, folder.path().join("inside/../other/file"), folder.path().join("other/gone")]
        {
            refuses(&root, &path, "--stock-root");
        }
        refuses(&root, &folder.path().join("inside/gone"), "No such file");
    }

    #[test]
    fn the_kernel_s_files_are_refused_below_every_root() {
        let root = StockRoot::from("/".to_owned());
        for path in ["/proc/self/environ", "/proc/1/../self/environ", "/dev/zero", "/sys/kernel/notes"] {
            refuses(&root, Path::new(path), "--stock-root");
        }
    }

    #[test]
    fn a_pipe_or_a_folder_is_refused_and_nothing_waits_for_it() {
        let (folder, root) = folders();
        let pipe = folder.path().join("inside/pipe");
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        refuses(&root, &pipe, "not a regular file");
        refuses(&root, &folder.path().join("inside"), "not a regular file");
    }

    #[cfg(feature = "sqlite")]
    #[tokio::test]
    async fn the_files_of_an_open_store_are_refused_by_every_name() {
        let (folder, root) = folders();
        let at = |name: &str| folder.path().join("inside").join(name);
        let url = format!("sqlite://{}", at("store.db").display());
        let engine = jobbers_engines::open(&url, jobbers_engines::OpenOptions::default()).await.unwrap();
        engine.health().await.unwrap();
        for name in ["store.db", "store.db-wal", "store.db-shm"] {
            let [soft, hard] = ["soft", "hard"].map(|kind| at(&format!("{kind}-{name}")));
            symlink(at(name), &soft).unwrap();
            fs::hard_link(at(name), &hard).unwrap();
            for path in [at(name), soft, hard] {
                refuses(&root, &path, "belongs to a store");
            }
        }
        assert!(root.open(&at("file")).is_ok());
    }

    #[test]
    fn several_roots_are_written_as_in_path() {
        let root = StockRoot::from("/data:/srv/in".to_owned());
        assert_eq!(root, ["/data", "/srv/in"].into_iter().collect());
        assert_eq!(root.to_string(), "/data:/srv/in");
        refuses(&StockRoot::from(String::new()), Path::new("Cargo.toml"), "--stock-root");
    }
}
