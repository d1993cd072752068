//! axe-core, which finds what keeps people from using a page. npm fetches it once into the build's folder.

use std::{path::Path, process::Stdio};

use sha2::{Digest, Sha256};
use tokio::process::Command;

/// The version, and the digest of its script.
const VERSION: &str = "4.14.1";
const SHA256: &str = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c";

/// All rules for the level AA, and those of good practice.
pub(super) const ALL: &str = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']";
/// The one rule that colours concern.
pub(super) const CONTRAST: &str = "['color-contrast']";

/// A script that checks a page by these rules, and gives what it found: the rule, and the beginning of each place.
pub(super) fn run(rules: &str) -> String {
    // Only what it found is described, and no style sheet is fetched a second time: neither is of use to the rules.
    format!(
        "axe.run(document, {{ runOnly: {rules}, resultTypes: ['violations'], preload: false }}).then(({{ violations }}) => violations.map(({{ id, nodes }}) =>
            `${{id}}: ${{nodes.map((it) => it.html.slice(0, 120)).join(' | ')}}`))"
    )
}

/// The script of axe-core.
pub(super) async fn source() -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("axe-core-{VERSION}"));
    let file = folder.join("package/axe.min.js");
    if !file.exists() {
        fetch(&folder).await;
    }
    let source = std::fs::read_to_string(&file).unwrap();
    let digest: String = Sha256::digest(&source).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, SHA256, "{} is not the axe-core that was chosen", file.display());
    source
}

/// Two tests may do so at once: each unpacks the same files.
async fn fetch(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let work = tempfile::tempdir_in(folder).unwrap();
    let fetch = format!("npm pack --silent axe-core@{VERSION} >/dev/null && tar -xzf axe-core-{VERSION}.tgz -C ..");
    let run =
        Command::new("sh").arg("-c").arg(fetch).current_dir(work.path()).stdin(Stdio::null()).output().await.unwrap();
    assert!(
        run.status.success(),
        "axe-core {VERSION} can't be fetched, and the pages are checked with it: install npm (apt-get install npm), and let it \
         reach its registry: {}",
        String::from_utf8_lossy(&run.stderr)
    );
}
