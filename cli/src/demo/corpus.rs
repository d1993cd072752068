//! Which files of a folder are text.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use ignore::WalkBuilder;

use crate::{demo::count, failure::Failure, terminal::output};

/// The text files of a folder, in the order of their paths, and what was left out.
#[derive(Debug, Default)]
pub struct Corpus {
    /// The files, absolute.
    pub files: Vec<PathBuf>,
    /// What was left out.
    pub skipped: Skipped,
}

/// Files that were left out, by reason. Those that git ignores, and hidden ones, are not looked at and not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Not UTF-8, or with a NUL byte.
    pub binary: u64,
    /// Not to be read by this user.
    pub unreadable: u64,
    /// Symbolic links that lead to no file. One that leads to a file is read as that file.
    pub links: u64,
    /// Pipes, sockets and devices.
    pub special: u64,
    /// With a name that JSON can't carry.
    pub unnameable: u64,
    /// Drawings: text, but no words.
    pub drawings: u64,
}

impl Skipped {
    const fn reasons(self) -> [(u64, &'static str); 6] {
        [
            (self.binary, "not text"),
            (self.unreadable, "unreadable"),
            (self.links, "links to no file"),
            (self.special, "not regular files"),
            (self.unnameable, "with a name that is not UTF-8"),
            (self.drawings, "drawings"),
        ]
    }

    /// How many were left out.
    #[must_use]
    pub fn total(self) -> u64 {
        self.reasons().iter().map(|(count, _)| count).sum()
    }
}

impl fmt::Display for Skipped {
    /// `3 files skipped: 2 not text, 1 unreadable`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<String> = self
            .reasons()
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, reason)| format!("{} {reason}", output::thousands(*count)))
            .collect();
        write!(f, "{} skipped: {}", output::count(self.total(), "file"), reasons.join(", "))
    }
}

/// Looks through a folder and its subfolders.
///
/// # Errors
/// If the folder does not exist or can't be read.
pub fn look_through(folder: &Path) -> Result<Corpus, Failure> {
    let cant_read = |error: &dyn fmt::Display| Failure::Usage(format!("can't read {}: {error}", folder.display()));
    let root = folder.canonicalize().map_err(|error| cant_read(&error))?;
    if !root.is_dir() {
        return Err(Failure::Usage(format!("{} is not a folder; name the folder it lies in", folder.display())));
    }
    std::fs::read_dir(&root).map_err(|error| cant_read(&error))?;
    let mut corpus = Corpus::default();
    for entry in WalkBuilder::new(&root).sort_by_file_path(Path::cmp).build() {
        match entry {
            Ok(entry) => corpus.consider(&entry),
            Err(_) => corpus.skipped.unreadable += 1,
        }
    }
    Ok(corpus)
}

impl Corpus {
    fn consider(&mut self, entry: &ignore::DirEntry) {
        let Some(kind) = entry.file_type().filter(|kind| !kind.is_dir()) else { return };
        let path = entry.path();
        if kind.is_symlink() && !path.is_file() {
            self.skipped.links += 1;
        } else if !kind.is_symlink() && !kind.is_file() {
            self.skipped.special += 1;
        } else if path.to_str().is_none() {
            self.skipped.unnameable += 1;
        } else if path.extension().is_some_and(|extension| extension == "svg") {
            self.skipped.drawings += 1;
        } else {
            match count::is_text(path) {
                Ok(true) => self.files.push(path.to_owned()),
                Ok(false) => self.skipped.binary += 1,
                Err(_) => self.skipped.unreadable += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn text_files_come_in_the_order_of_their_paths_and_the_others_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("b")).unwrap();
        for (name, content) in [
            ("c.txt", &b"c"[..]),
            ("b/z", b""),
            ("a", "ä".as_bytes()),
            ("nul", b"a\0"),
            ("bad", b"\xff"),
            ("d.svg", b"<svg/>"),
        ] {
            fs::write(at(name), content).unwrap();
        }
        std::os::unix::fs::symlink(at("a"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("b"), at("to-a-folder")).unwrap();
        std::os::unix::fs::symlink(at("none"), at("to-nothing")).unwrap();
        let corpus = look_through(folder.path()).unwrap();
        let root = folder.path().canonicalize().unwrap();
        let names: Vec<&str> =
            corpus.files.iter().map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a", "b/z", "c.txt", "link"]);
        assert_eq!(corpus.skipped, Skipped { binary: 2, links: 2, drawings: 1, ..Skipped::default() });
        assert_eq!(corpus.skipped.to_string(), "5 files skipped: 2 not text, 2 links to no file, 1 drawings");
    }

    #[test]
    fn an_empty_folder_is_fine_and_a_missing_one_or_a_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        assert!(look_through(folder.path()).unwrap().files.is_empty());
        assert!(look_through(&folder.path().join("none")).unwrap_err().to_string().contains("can't read"));
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        assert!(look_through(&file).unwrap_err().to_string().contains("is not a folder"));
    }
}
