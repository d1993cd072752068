//! The audit log in the archive.

use jobbers_archive::{Archive, ChangeFilter, ChangePlace, LetterReader, Options};
use jobbers_common::{
    audit_log::{AuditEntry, ChangeOutcome, ChangeRecord, ChangeResult, Way},
    name::{ChangeId, KeyId},
};

use crate::at;

fn entry(id: &str, micros: i64, operation: &str, result: Option<ChangeResult>) -> AuditEntry {
    let record = ChangeRecord {
        way: Way::Api,
        key: Some(KeyId::new("0123456789").unwrap()),
        by: Some("ops".to_owned()),
        address: None,
        operation: operation.to_owned(),
        object: Some(format!("object of {id}")),
        request: None,
    };
    AuditEntry { id: ChangeId::new(id).unwrap(), at: at(micros), record, outcome: result.map(ChangeOutcome::of) }
}

fn open() -> (tempfile::TempDir, Archive) {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::open(&folder.path().join("dead.db"), Options::default()).unwrap();
    (folder, archive)
}

fn ids(archive: &Archive, filter: &ChangeFilter) -> Vec<String> {
    let page = archive.changes(filter, 1_000, None).unwrap();
    page.entries.into_iter().map(|entry| entry.id.to_string()).collect()
}

const DONE: Option<ChangeResult> = Some(ChangeResult::Done);

#[test]
fn a_change_is_there_once_and_a_known_outcome_follows_an_unknown_one() {
    let (_folder, archive) = open();
    let unknown = entry("a", 1, "pause_queue", Some(ChangeResult::Unknown));
    let done = entry("a", 1, "pause_queue", DONE);
    assert_eq!(archive.put_changes(&[unknown.clone(), unknown.clone()]).unwrap(), 1);
    assert_eq!(archive.put_changes(std::slice::from_ref(&done)).unwrap(), 1);
    assert_eq!(archive.put_changes(&[unknown, done.clone()]).unwrap(), 0);
    assert_eq!(archive.put_changes(&[entry("a", 9, "other", Some(ChangeResult::Failed))]).unwrap(), 0);
    assert_eq!(archive.changes(&ChangeFilter::default(), 9, None).unwrap().entries, [done]);
    assert_eq!(archive.count_changes().unwrap(), 1);
}

#[test]
fn changes_are_found_by_every_field_latest_first() {
    let (_folder, archive) = open();
    let entries = [
        entry("c", 1, "pause_queue", DONE),
        entry("a", 3, "put_queue", DONE),
        entry("b", 3, "put_queue", Some(ChangeResult::Refused)),
        entry("d", 2, "put_queue", None),
    ];
    archive.put_changes(&entries).unwrap();
    let all = ChangeFilter::default();
    assert_eq!(ids(&archive, &all), ["b", "a", "d", "c"]);
    let key = KeyId::new("0123456789").ok();
    for (filter, expected) in [
        (ChangeFilter { key: key.clone(), ..all.clone() }, &["b", "a", "d", "c"][..]),
        (ChangeFilter { key: KeyId::new("9876543210").ok(), ..all.clone() }, &[]),
        (ChangeFilter { operation: Some("pause_queue".to_owned()), ..all.clone() }, &["c"]),
        (ChangeFilter { object: Some("object of d".to_owned()), ..all.clone() }, &["d"]),
        (ChangeFilter { result: Some(ChangeResult::Unknown), ..all.clone() }, &["d"]),
        (ChangeFilter { from: Some(at(2)), to: Some(at(3)), ..all.clone() }, &["d"]),
        (ChangeFilter { key, from: Some(at(3)), result: DONE, ..all }, &["a"]),
    ] {
        assert_eq!(ids(&archive, &filter), expected, "{filter:?}");
        let matching = entries.iter().filter(|entry| filter.matches(entry)).count();
        assert_eq!(matching, expected.len(), "what waits in the store is found by the same: {filter:?}");
    }
}

#[test]
fn a_walk_sees_each_change_once_while_others_come() {
    let (_folder, archive) = open();
    let put = |n: i64| archive.put_changes(&[entry(&format!("c{n:02}"), n / 3, "put_queue", DONE)]).unwrap();
    for n in 0..20 {
        put(n);
    }
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let page = archive.changes(&ChangeFilter::default(), 3, before.as_ref()).unwrap();
        put(20 + seen.len() as i64);
        seen.extend(page.entries.iter().map(|entry| entry.id.to_string()));
        if !page.has_more {
            break;
        }
        // As a client sends it back.
        before = page.entries.last().map(|last| ChangePlace::of(last).to_string().parse().unwrap());
    }
    let expected: Vec<String> = (0..20).rev().map(|n| format!("c{n:02}")).collect();
    assert_eq!(seen, expected);
    assert!("x".parse::<ChangePlace>().is_err() && "1.".parse::<ChangePlace>().is_err());
}

#[test]
fn old_changes_and_surplus_ones_are_pruned_the_oldest_first_and_so_many_at_a_time() {
    let (_folder, archive) = open();
    let entries: Vec<AuditEntry> = (0..10).map(|n| entry(&n.to_string(), n, "put_queue", DONE)).collect();
    archive.put_changes(&entries).unwrap();
    assert_eq!(archive.prune_changes(None, None, 100).unwrap(), 0);
    assert_eq!(archive.prune_changes(Some(at(4)), None, 3).unwrap(), 3);
    assert_eq!(archive.prune_changes(Some(at(4)), None, 3).unwrap(), 1);
    assert_eq!(ids(&archive, &ChangeFilter::default()), ["9", "8", "7", "6", "5", "4"]);
    assert_eq!(archive.prune_changes(Some(at(5)), Some(3), 2).unwrap(), 2);
    assert_eq!(archive.prune_changes(Some(at(5)), Some(3), 2).unwrap(), 1);
    assert_eq!(ids(&archive, &ChangeFilter::default()), ["9", "8", "7"]);
    assert_eq!(archive.count_changes().unwrap(), 3);
}

#[test]
fn a_reader_goes_over_all_changes_in_their_order() {
    let (folder, archive) = open();
    let entries: Vec<AuditEntry> = (0..5).map(|n| entry(&n.to_string(), 7, "put_queue", DONE)).collect();
    archive.put_changes(&entries).unwrap();
    let reader = LetterReader::open(&folder.path().join("dead.db")).unwrap().unwrap();
    let first = reader.changes(None, 3).unwrap();
    let rest = reader.changes(first.last().map(|last| (last.at, &last.id)), 3).unwrap();
    assert_eq!([first, rest].concat(), entries);
}
