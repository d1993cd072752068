//! What is asked of a file at each commit: its length, and which file it is. Never its times.
//!
//! Linux 6.13 and later give a file whose times were asked for a time of its own at its next write. Then a sync of the log writes
//! its inode too, and each commit takes a third longer.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

#[cfg(target_os = "linux")]
use rustix::fs::StatxFlags;

/// Identifies a file: device and inode.
pub type Identity = (u64, u64);

/// Which file is at a path; links are followed.
///
/// # Errors
/// When there is none, or it can't be examined.
pub fn identity(path: &Path) -> io::Result<Identity> {
    #[cfg(target_os = "linux")]
    if let Ok(found) = statx(path, StatxFlags::INO) {
        return Ok((rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino));
    }
    fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// The length of the file at a path, in bytes.
///
/// # Errors
/// When there is none, or it can't be examined.
pub fn length(path: &Path) -> io::Result<u64> {
    #[cfg(target_os = "linux")]
    if let Ok(found) = statx(path, StatxFlags::SIZE) {
        return Ok(found.stx_size);
    }
    fs::metadata(path).map(|metadata| metadata.len())
}

#[cfg(target_os = "linux")]
fn statx(path: &Path, wanted: StatxFlags) -> rustix::io::Result<rustix::fs::Statx> {
    let found = rustix::fs::statx(rustix::fs::CWD, path, rustix::fs::AtFlags::empty(), wanted)?;
    if found.stx_mask & wanted.bits() == 0 { Err(rustix::io::Errno::NOSYS) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_examined_as_its_metadata_say_and_a_missing_one_is_not_found() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "seven b").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let metadata = fs::metadata(&file).unwrap();
        for path in [&file, &link] {
            assert_eq!(identity(path).unwrap(), (metadata.dev(), metadata.ino()));
            assert_eq!(length(path).unwrap(), 7);
        }
        fs::remove_file(&file).unwrap();
        for path in [&file, &link] {
            assert_eq!(identity(path).unwrap_err().kind(), io::ErrorKind::NotFound);
            assert_eq!(length(path).unwrap_err().kind(), io::ErrorKind::NotFound);
        }
    }
}
