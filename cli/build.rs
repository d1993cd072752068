//! Notes the build profile, which `jobbers bench` prints: cargo tells it to build scripts only.

use std::{env, path::Path};

fn main() {
    // …/target/<profile>/build/<package>-<hash>/out. `PROFILE` calls everything that inherits from release by that name.
    let out = env::var("OUT_DIR").unwrap_or_default();
    let folder = Path::new(&out).ancestors().nth(3).and_then(Path::file_name).map(|name| name.to_string_lossy());
    let profile = match folder.as_deref() {
        Some("debug") => "dev".to_owned(),
        Some(name) => name.to_owned(),
        None => env::var("PROFILE").unwrap_or_default(),
    };
    println!("cargo::rustc-env=JOBBERS_BUILD_PROFILE={profile}");
    println!("cargo::rustc-env=JOBBERS_BUILD_OPT_LEVEL={}", env::var("OPT_LEVEL").unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
}
