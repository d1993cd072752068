//! A folder of sources has one subject, and no more files than a reader takes in at a glance.
//!
//! Start reading at [`crowded`].

use std::collections::BTreeMap;

use crate::workspace::{Complaints, files};

/// Most sources of Rust and Lua in one folder, without those in its subfolders.
const MOST: usize = 22;

/// The folders with more than [`MOST`] sources, each with their number.
fn crowded<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        *counts.entry(folder).or_default() += 1;
    }
    counts.retain(|_, count| *count > MOST);
    counts
}

#[test]
fn no_folder_holds_more_than_its_subject() {
    let sources = files(&[".rs", ".lua"]);
    let mut complaints = Complaints::default();
    for (folder, count) in crowded(sources.iter().map(|source| source.path.as_str())) {
        complaints.add(
            folder,
            format!(
                "holds {count} sources, {MOST} are the most: find the nouns they are about, and give each a folder"
            ),
        );
    }
    complaints.settle();
}

#[test]
fn a_crowded_folder_is_found_and_its_subfolders_do_not_count() {
    let within = |count: usize| (0..count).map(|number| format!("a/src/f{number}.rs"));
    let below: Vec<String> = within(MOST).chain((0..MOST).map(|number| format!("a/src/b/f{number}.lua"))).collect();
    assert_eq!(crowded(below.iter().map(String::as_str)), BTreeMap::new());
    let more: Vec<String> = within(MOST + 1).collect();
    assert_eq!(crowded(more.iter().map(String::as_str)), BTreeMap::from([("a/src", MOST + 1)]));
}
