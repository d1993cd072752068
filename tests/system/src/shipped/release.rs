//! What `deploy/release` packs: an archive and a Debian package that hold all that a machine needs, and the Helm chart.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use jobbers_test_support::binaries::binary;
use tempfile::TempDir;

/// What was packed.
struct Release {
    folder: TempDir,
    version: String,
}

impl Release {
    /// Packs a script in place of the program, whose test build is large. It names the symbol by which the release finds the
    /// glibc that it needs.
    fn pack() -> Self {
        let folder = TempDir::new().unwrap();
        let program = folder.path().join("jobbers");
        let script = format!("#!/bin/sh\n# GLIBC_2.34\nexec {} \"$@\"\n", binary("jobbers").display());
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let out = folder.path().join("out");
        run(Command::new(root.join("deploy/release")).arg("--program").arg(&program).arg(&out));
        let said = run(Command::new(binary("jobbers")).arg("--version"));
        Self { folder, version: said.trim().strip_prefix("jobbers ").unwrap().to_owned() }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// The only file with this ending.
    fn file(&self, ending: &str) -> PathBuf {
        let files: Vec<PathBuf> = fs::read_dir(self.out()).unwrap().map(|entry| entry.unwrap().path()).collect();
        let mut fit = files.iter().filter(|path| path.to_string_lossy().ends_with(ending));
        let (one, more) = (fit.next(), fit.next());
        assert!(one.is_some() && more.is_none(), "{ending}: {files:?}");
        one.unwrap().clone()
    }
}

/// What a command that succeeds prints.
fn run(command: &mut Command) -> String {
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn a_release_holds_all_that_a_machine_needs() {
    let release = Release::pack();
    run(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(release.out()));

    let archive = run(Command::new("tar").arg("-tzf").arg(release.file(".tar.gz")));
    let top = archive.lines().next().unwrap().to_owned();
    assert!(top.starts_with(&format!("jobbers-{}-", release.version)), "{top}");
    for file in [
        "jobbers",
        "README.md",
        "LICENSE-MIT",
        "systemd/jobbers-manager.service",
        "kubernetes/manager.yaml",
        "man/man1/jobbers-dlq-list.1",
        "completions/_jobbers",
    ] {
        assert!(archive.lines().any(|line| line == format!("{top}{file}")), "{file}: {archive}");
    }
    let chart = run(Command::new("tar").arg("-tzf").arg(release.file(".tgz")));
    for file in ["Chart.yaml", "values.yaml", "values.schema.json", "templates/workers.yaml"] {
        assert!(chart.lines().any(|line| line == format!("jobbers/{file}")), "{file}: {chart}");
    }
    assert!(!chart.contains("everything-values"), "{chart}");

    let package = release.file(".deb");
    let field = |name: &str| run(Command::new("dpkg-deb").arg("--field").arg(&package).arg(name)).trim().to_owned();
    assert_eq!((field("Package"), field("Version")), ("jobbers".to_owned(), release.version.clone()));
    assert!(field("Depends").contains("libc6 (>= 2.34)"), "{}", field("Depends"));
    let contents = run(Command::new("dpkg-deb").arg("--contents").arg(&package));
    for (mode, file) in [
        ("-rwxr-xr-x", "./usr/bin/jobbers"),
        // The address of a store may hold a password.
        ("-rw-r-----", "./etc/jobbers/jobbers.env"),
        ("-rw-r--r--", "./usr/share/man/man1/jobbers.1.gz"),
        ("-rw-r--r--", "./usr/share/bash-completion/completions/jobbers"),
    ] {
        let line = contents.lines().find(|line| line.ends_with(&format!(" {file}")));
        assert!(line.is_some_and(|line| line.starts_with(&format!("{mode} root/root "))), "{file}: {line:?}");
    }
    let root = release.folder.path().join("root");
    run(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&root));
    for entry in fs::read_dir(root.join("lib/systemd/system")).unwrap() {
        let unit = fs::read_to_string(entry.unwrap().path()).unwrap();
        let started = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/")).unwrap();
        assert!(root.join(started.split(' ').next().unwrap()).exists(), "{started}");
    }
    let manual = fs::read(root.join("usr/share/man/man1/jobbers.1.gz")).unwrap();
    assert_eq!(manual[..2], [0x1f, 0x8b], "compressed, as Debian has it");
    for script in ["postinst", "prerm", "postrm"] {
        let folder = release.folder.path().join("control");
        run(Command::new("dpkg-deb").arg("--control").arg(&package).arg(&folder));
        run(Command::new("sh").arg("-n").arg(folder.join(script)));
        fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn a_release_is_packed_twice_alike_and_never_into_a_folder_that_is_in_use() {
    let (one, two) = (Release::pack(), Release::pack());
    let archive = |release: &Release| {
        let list = run(Command::new("tar").args(["--full-time", "-tvzf"]).arg(release.file(".tar.gz")));
        // The script names a folder of its own, and nothing else may differ.
        list.lines().filter(|line| !line.ends_with("/jobbers")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(archive(&one), archive(&two));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut again = Command::new(root.join("deploy/release"));
    let refused = again.arg("--program").arg(one.folder.path().join("jobbers")).arg(one.out()).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("is not empty"), "{said}");
}
