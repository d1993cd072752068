//! The checked-in code of the MassTasker API is what its `.proto` gives. So a build needs no generator.
//!
//! `REWRITE=1 cargo test -p jobbers-boards --test generated` writes it again.

#![expect(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

use std::path::{Path, PathBuf};

use prost::Message;

fn checked_in(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("proto").join(name)
}

fn same_or_rewritten(name: &str, now: &[u8]) {
    let path = checked_in(name);
    if std::env::var_os("REWRITE").is_some() {
        std::fs::write(&path, now).unwrap();
    }
    let then = std::fs::read(&path).unwrap_or_default();
    assert!(then == now, "proto/{name} is not what proto/masstasker.proto gives; write it again with REWRITE=1");
}

#[test]
fn the_generated_code_is_that_of_the_proto() {
    let mut descriptors = protox::compile(["masstasker.proto"], [checked_in("")]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    tonic_prost_build::configure().btree_map(".").out_dir(folder.path()).compile_fds(descriptors.clone()).unwrap();
    same_or_rewritten("masstasker.generated", &std::fs::read(folder.path().join("masstasker.rs")).unwrap());
    // Reflection answers with declarations; comments and positions would only make it larger.
    for file in &mut descriptors.file {
        file.source_code_info = None;
    }
    same_or_rewritten("masstasker.descriptors", &descriptors.encode_to_vec());
}
