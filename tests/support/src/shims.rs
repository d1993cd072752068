//! Faults below a program: libraries that are loaded before the C library and answer some of its calls themselves.
//!
//! They are C, compiled by `cc` when a test asks for one, because a program under test must not know of them. Nothing but
//! `LD_PRELOAD` is needed, so that they work in any program that is linked dynamically, Redis included.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Compiles a shim into `folder`. Returns where it is, for `LD_PRELOAD`.
fn compile(folder: &Path, name: &str, source: &str) -> PathBuf {
    let (from, to) = (folder.join(format!("{name}.c")), folder.join(format!("{name}.so")));
    std::fs::write(&from, source).expect("the source can be written");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
        .args([&to, &from])
        .arg("-ldl")
        .output()
        .expect("a C compiler, as the build of SQLite needs it");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    to
}

/// What would be left of files after a power failure: of each its content when it was last synced.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    library: PathBuf,
}

impl Disk {
    /// Keeps what is synced in `folder`, which must exist.
    ///
    /// # Panics
    /// When the shim can't be compiled.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        let library = compile(folder, "disk", include_str!("shims/disk.c"));
        Self { folder: folder.to_owned(), library }
    }

    /// The environment of the programs that write to this disk.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_str().expect("a path of ours").to_owned();
        vec![("LD_PRELOAD".to_owned(), text(&self.library)), ("SHIM_DISK".to_owned(), text(&self.folder))]
    }

    /// From now on it answers that data are on the disk, and they are not.
    ///
    /// # Panics
    /// When that can't be written down.
    pub fn begin_to_lie(&self) {
        std::fs::write(self.folder.join("lies"), "").expect("the folder is ours");
    }

    /// The power is gone: of the files in `folder` whose names end like this, only what was synced is left, and of those that
    /// were never synced nothing. The programs that wrote them must be dead.
    ///
    /// # Panics
    /// When they can't be replaced.
    pub fn lose_power(&self, folder: &Path, endings: &[&str]) {
        for entry in std::fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            if !endings.iter().any(|ending| name.ends_with(ending)) {
                continue;
            }
            let kept = self.folder.join(&name);
            if kept.exists() {
                std::fs::copy(kept, path).expect("it can be put back");
            } else {
                std::fs::remove_file(path).expect("it can be removed");
            }
        }
    }
}

/// A clock that is wrong, and can be set while programs read it.
#[derive(Debug)]
pub struct Clock {
    offset: PathBuf,
    library: PathBuf,
}

impl Clock {
    /// A clock that is right so far. Its files are in `folder`, which must exist.
    ///
    /// # Panics
    /// When the shim can't be compiled.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        let library = compile(folder, "clock", include_str!("shims/clock.c"));
        let clock = Self { offset: folder.join("offset"), library };
        clock.set(0);
        clock
    }

    /// Sets it to so many seconds from the machine's. Its monotonic clock is left alone.
    ///
    /// # Panics
    /// When that can't be written down.
    pub fn set(&self, seconds: i64) {
        // The same file with the same length: programs have it mapped.
        use std::os::unix::fs::FileExt as _;
        let file = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(&self.offset);
        file.and_then(|file| file.write_all_at(&seconds.to_ne_bytes(), 0)).expect("the folder is ours");
    }

    /// The environment of the programs that read this clock.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_str().expect("a path of ours").to_owned();
        vec![("LD_PRELOAD".to_owned(), text(&self.library)), ("SHIM_CLOCK".to_owned(), text(&self.offset))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python(environment: &[(String, String)], folder: &Path, script: &str) -> String {
        let variables = environment.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let ran = Command::new("python3").arg("-c").arg(script).current_dir(folder).envs(variables).output();
        let ran = ran.expect("python3 is there: ./check installs it");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).expect("text").trim().to_owned()
    }

    #[test]
    fn of_a_file_what_was_synced_is_left_and_nothing_once_the_disk_lies() {
        let [kept, data] = [(), ()].map(|()| tempfile::tempdir().expect("a folder"));
        let disk = Disk::new(kept.path());
        let write = |text: &str, sync: &str| {
            let script = format!("import os\nf = open('a.db', 'a+b')\nf.write(b'{text}')\nf.flush()\n{sync}");
            python(&disk.environment(), data.path(), &script);
        };
        write("one ", "os.fsync(f.fileno())");
        write("two ", "os.fdatasync(f.fileno())");
        write("three ", "");
        std::fs::write(data.path().join("b.db"), "never synced").expect("the folder is ours");
        disk.lose_power(data.path(), &[".db"]);
        let left = || std::fs::read_to_string(data.path().join("a.db")).expect("the file is there");
        assert_eq!(left(), "one two ");
        assert!(!data.path().join("b.db").exists());
        disk.begin_to_lie();
        write("four ", "os.fsync(f.fileno())");
        assert_eq!(left(), "one two four ");
        disk.lose_power(data.path(), &[".db"]);
        assert_eq!(left(), "one two ");
    }

    #[test]
    fn a_clock_is_as_wrong_as_it_is_set_while_a_program_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = Clock::new(folder.path());
        let now = || python(&clock.environment(), folder.path(), "import time; print(int(time.time()))");
        let offset = || {
            let real =
                std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
            now().parse::<i64>().expect("a number") - i64::try_from(real).expect("small")
        };
        assert!((0..30).contains(&offset()));
        clock.set(-3_600);
        assert!((-3_600..-3_570).contains(&offset()));
    }
}
