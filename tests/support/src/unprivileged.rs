//! Database servers that refuse to run as root: then they run as an unprivileged user, in a folder of theirs.

use std::{
    ffi::OsStr,
    fs,
    io::Write as _,
    os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    },
    path::Path,
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// That user, and its group.
const NOBODY: u32 = 65_534;

/// An empty folder for a server.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the server");
    if is_root() {
        chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("the folder can be given away");
    }
    folder
}

/// A program of a server, in its folder.
pub(crate) fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    // A MariaDB that starts deletes the temporary tables of all others in a folder that they share.
    command.current_dir(folder).env("TMPDIR", folder).stdin(Stdio::null());
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Gives a script to the client of a server. Returns what it printed, or what it complained about.
pub(crate) fn talk(mut client: Command, script: &str) -> Result<String, String> {
    client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut session = client.spawn().expect("the client is there");
    // It may leave before it has read all.
    session.stdin.take().expect("it is piped").write_all(script.as_bytes()).ok();
    let said = session.wait_with_output().expect("the client ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if said.status.success() { Ok(text(&said.stdout)) } else { Err(text(&said.stderr)) }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").expect("this process has an entry").uid() == 0
}
