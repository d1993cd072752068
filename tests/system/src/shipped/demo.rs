//! The demo on files of this test's own, compared with a count that shares no code with it.

use std::collections::BTreeMap;

use jobbers_test_support::program::Program;
use serde_json::{Value, json};

use crate::{engines::Kind, stack::Stack};

const FILES: [(&str, &[u8]); 5] = [
    ("plain.txt", b"the cat and the dog; The END, don't stop 42 times\n"),
    ("unicode.txt", "Straße STRASSE straße Ünïcödé — naïve naïve 東京 ４２\n".as_bytes()),
    ("empty.txt", b""),
    ("deeper/more.md", b"the_the the-the\nTHE\n"),
    ("not-text.bin", b"\xff\xfe\x00the the the"),
];

on_both_engines!(its_count_agrees_with_an_independent_one);

/// A word is a maximal run of alphanumeric characters, lower-cased.
fn counted() -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for text in FILES.iter().filter_map(|(_, bytes)| std::str::from_utf8(bytes).ok()) {
        let mut word = String::new();
        for c in text.chars().chain([' ']) {
            if c.is_alphanumeric() {
                word.push(c);
            } else if !word.is_empty() {
                *counts.entry(std::mem::take(&mut word).to_lowercase()).or_default() += 1;
            }
        }
    }
    counts
}

async fn its_count_agrees_with_an_independent_one(kind: Kind) {
    let stack = Stack::on(kind).await;
    let folder = stack.folder().join("texts");
    for (name, bytes) in FILES {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let arguments = ["demo", "--json", "--engine-url", stack.url(), folder.to_str().unwrap()];
    let mut demo = Program::start("jobbers", stack.folder(), &arguments, &[]);
    assert_eq!(demo.exit().await.code(), Some(0));
    let output = demo.line("\"verified\"").await;
    let report: Value = serde_json::from_str(&output).unwrap();

    let counts = counted();
    assert_eq!(report["verified"], true, "{report}");
    assert_eq!(report["words_total"], json!(counts.values().sum::<u64>()), "{report}");
    assert_eq!(report["words_distinct"], json!(counts.len()), "{report}");
    let is_word = |(word, _): &(&String, &u64)| word.chars().any(char::is_alphabetic);
    let mut top: Vec<(&String, &u64)> = counts.iter().filter(is_word).collect();
    top.sort_by_key(|(word, count)| (std::cmp::Reverse(**count), (*word).clone()));
    top.truncate(10);
    assert_eq!(report["top"], json!(top), "{report}");
    assert!(
        report["retried"].as_u64() > Some(0) && report["failed"].as_u64() > Some(0),
        "some fail on purpose: {report}"
    );
    let engine = match kind {
        Kind::Sqlite => "sqlite",
        Kind::Redis => "redis",
    };
    assert_eq!(report["engine"], engine);
}
