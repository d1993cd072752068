//! A Postgres of one test's own: in a folder of its own, on a socket in it and no port, ended with the test.
//!
//! Its client is `psql`, so that no crate is compiled for it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use crate::unprivileged;

/// Where Debian keeps the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";
const USER: &str = "shop";

/// A running Postgres. It is ended when this is dropped.
#[derive(Debug)]
pub struct PostgresServer {
    programs: PathBuf,
    folder: TempDir,
}

impl PostgresServer {
    /// Starts a server and waits until it takes connections.
    ///
    /// # Panics
    /// If Postgres is not installed, or does not start.
    #[must_use]
    pub fn start() -> Self {
        let server = Self { programs: programs(), folder: unprivileged::folder() };
        let data = server.data();
        let mut initdb = server.command("initdb");
        initdb.args(["--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8", "-U", USER, "-D"]).arg(data);
        succeed(initdb);
        server.resume();
        server
    }

    /// Ends it at once, with all connections, as a crash would.
    ///
    /// # Panics
    /// If it does not end.
    pub fn crash(&self) {
        let mut stop = self.command("pg_ctl");
        stop.args(["stop", "--silent", "--wait", "--mode=immediate", "-D"]).arg(self.data());
        succeed(stop);
    }

    /// Starts it again, after [`PostgresServer::crash`], with its data.
    ///
    /// # Panics
    /// If it does not start.
    pub fn resume(&self) {
        let folder = self.folder.path().display();
        let options = format!("-k {folder} -c listen_addresses= -c fsync=off -c unix_socket_permissions=0777");
        let mut start = self.command("pg_ctl");
        start.args(["start", "--silent", "--wait", "-o", &options, "-l"]).arg(self.folder.path().join("log"));
        start.arg("-D").arg(self.data());
        succeed(start);
    }

    /// Runs a script, in which `:'name'` is the value of a variable as a literal. Returns the rows of its queries: a line each,
    /// with tabs between the columns.
    ///
    /// # Errors
    /// What `psql` complains about: the first statement that fails ends the script.
    ///
    /// # Panics
    /// If `psql` can't be run.
    pub fn run(&self, script: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-U", USER, "-d", "postgres", "-h"]);
        psql.arg(self.folder.path());
        for (name, value) in variables {
            psql.arg("-v").arg(format!("{name}={value}"));
        }
        unprivileged::talk(psql, script)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A program of the server, as a user that is not root.
    fn command(&self, name: &str) -> Command {
        unprivileged::command(self.programs.join(name), self.folder.path())
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let mut stop = self.command("pg_ctl");
        // It may have been ended already.
        stop.args(["stop", "--silent", "--wait", "--mode=immediate", "-D"]).arg(self.data()).output().ok();
    }
}

/// The folder of the programs: of the latest version on Debian, or on the path.
fn programs() -> PathBuf {
    let installed = fs::read_dir(VERSIONS).into_iter().flatten().filter_map(Result::ok);
    let version = |folder: &Path| folder.file_name()?.to_str()?.parse::<u32>().ok();
    let latest = installed.map(|entry| entry.path()).filter_map(|folder| Some((version(&folder)?, folder))).max();
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = latest.map(|(_, folder)| folder.join("bin")).into_iter().chain(std::env::split_paths(&on_path));
    folders.find(|folder| folder.join("initdb").is_file()).unwrap_or_else(|| {
        panic!("Postgres is missing, and the test of the outbox needs one: install it (apt-get install postgresql)")
    })
}

/// Runs a program to its end. Its output goes to a file and no pipe, which the server would keep open.
fn succeed(mut command: Command) {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("Postgres is there");
    assert!(status.success(), "{command:?}: {status}");
}
