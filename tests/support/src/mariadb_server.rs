//! A MariaDB of one test's own, which speaks MySQL: in a folder of its own, on a socket in it and no port, ended with the test.
//!
//! Its client is `mariadb`, so that no crate is compiled for it.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    thread,
};

use parking_lot::Mutex;
use tempfile::TempDir;

use crate::unprivileged;

/// Debian keeps the program of the server outside the path of users.
const SERVERS: [&str; 2] = ["/usr/sbin/mariadbd", "/usr/bin/mariadbd"];
/// What the server prints when it takes connections.
const IS_READY: &str = "ready for connections";

/// A running MariaDB with a database `shop`. It is ended when this is dropped.
#[derive(Debug)]
pub struct MariaDbServer {
    folder: TempDir,
    process: Mutex<Child>,
}

impl MariaDbServer {
    /// Starts a server and waits until it takes connections.
    ///
    /// # Panics
    /// If MariaDB is not installed, or does not start.
    #[must_use]
    pub fn start() -> Self {
        let folder = unprivileged::folder();
        let mut install = unprivileged::command("mariadb-install-db", folder.path());
        install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        install.arg(format!("--datadir={}", data(&folder)));
        let log = File::create(folder.path().join("install.log")).expect("a file in the folder of the server");
        let installed = install.stdout(Stdio::null()).stderr(log).status();
        assert!(
            installed.as_ref().is_ok_and(|status| status.success()),
            "no MariaDB, which the test of the outbox needs: install it (apt-get install mariadb-server). {installed:?} {}",
            fs::read_to_string(folder.path().join("install.log")).unwrap_or_default()
        );
        let process = Mutex::new(serve(&folder));
        let server = Self { folder, process };
        server.client(&[]).arg("--execute=CREATE DATABASE shop").status().expect("the client is there");
        server
    }

    /// Ends it at once, as a crash would.
    pub fn crash(&self) {
        end(&mut self.process.lock());
    }

    /// Starts it again, after [`MariaDbServer::crash`], with its data.
    ///
    /// # Panics
    /// If it does not start.
    pub fn resume(&self) {
        *self.process.lock() = serve(&self.folder);
    }

    /// Runs a script, in which `@name` is the value of a variable. Returns the rows of its queries: a line each, with tabs between
    /// the columns.
    ///
    /// # Errors
    /// What the client complains about: the first statement that fails ends the script.
    ///
    /// # Panics
    /// If the client can't be run.
    pub fn run(&self, script: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let mut all = String::new();
        for (name, value) in variables {
            let literal = value.replace('\\', "\\\\").replace('\'', "\\'");
            writeln!(all, "SET @{name} = '{literal}';").expect("a String takes it");
        }
        unprivileged::talk(self.client(&["shop"]), &(all + script))
    }

    fn client(&self, arguments: &[&str]) -> Command {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--user=root", "--default-character-set=utf8mb4"]);
        client.arg(format!("--socket={}", socket(&self.folder)));
        client.args(["--batch", "--skip-column-names", "--raw"]).args(arguments);
        client
    }
}

impl Drop for MariaDbServer {
    fn drop(&mut self) {
        end(self.process.get_mut());
    }
}

fn data(folder: &TempDir) -> String {
    folder.path().join("data").display().to_string()
}

fn socket(folder: &TempDir) -> String {
    folder.path().join("socket").display().to_string()
}

fn serve(folder: &TempDir) -> Child {
    let installed = SERVERS.into_iter().find(|path| fs::metadata(path).is_ok());
    let mut server = unprivileged::command(installed.unwrap_or("mariadbd"), folder.path());
    server.args(["--no-defaults", "--skip-networking", "--innodb-buffer-pool-size=16M"]);
    server.args([format!("--datadir={}", data(folder)), format!("--socket={}", socket(folder))]);
    let mut process = server.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("MariaDB is there");
    let mut lines = BufReader::new(process.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
    let mut printed = Vec::new();
    let is_ready = lines.by_ref().any(|line| {
        printed.push(line);
        printed.last().is_some_and(|line| line.contains(IS_READY))
    });
    assert!(is_ready, "MariaDB does not start: {printed:#?}");
    // A pipe that is not read would stop it some day.
    thread::spawn(move || lines.for_each(drop));
    process
}

fn end(process: &mut Child) {
    // It may have ended by itself.
    process.kill().ok();
    process.wait().ok();
}
