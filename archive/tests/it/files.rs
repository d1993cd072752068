//! The file of an archive: older, full, moved, locked, shared, foreign.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, time::Duration};

use jobbers_archive::{Archive, Error, Examined, Filter, LetterReader, Options, examine};
use jobbers_common::payload::Payload;

use crate::{at, bench, id, one};

#[test]
fn an_archive_of_the_first_version_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dead.db");
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(include_str!("../../src/sql/migrations/0001_letters.sql")).unwrap();
    old.execute_batch(
        "PRAGMA application_id = 0x6a6f6264; PRAGMA user_version = 1;
         INSERT INTO letter VALUES
            (1, 'a', 5, 'default', 'x', 1, 'failed', 20, 1, NULL, NULL, 'boom', 'boom', 'resubmitting', NULL, 'op', x'00'),
            (2, 'b', 6, 'default', 'x', 1, 'failed', 30, 1, NULL, NULL, 'boom', 'boom', 'dead', NULL, NULL, x'00'),
            (3, 'c', 7, 'default', 'x', 1, 'failed', 40, 1, NULL, NULL, 'boom', 'boom', 'dead', NULL, NULL, x'00');
         INSERT INTO operation VALUES ('op', NULL, 0, '{}', 1, NULL);
         INSERT INTO item VALUES ('op', 0, 'a', 1, 'resubmitted', NULL), ('op', 1, 'x', NULL, 'unknown', NULL);",
    )
    .unwrap();
    drop(old);
    let archive = Archive::open(&path, Options::default()).unwrap();
    let waiting = archive.waiting().unwrap();
    assert_eq!((waiting.len(), waiting[0].count, waiting[0].first_failed_at), (1, 2, at(30)));
    assert_eq!(archive.sent("op", 0, 9).unwrap().0, [one("a", 5).key()]);
    assert_eq!(archive.running_operations().unwrap().len(), 1);
    assert_eq!(archive.delete(&[id("b")]), Ok(1));
    assert_eq!(archive.waiting().unwrap()[0].count, 1);
}

#[test]
fn a_full_archive_refuses_letters_and_takes_deletions() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { max_bytes: Some(512 * 1024) };
    let archive = Archive::open(&folder.path().join("dead.db"), options).unwrap();
    let large = |n: u64| {
        let mut letter = one(&format!("t{n}"), n);
        letter.task.parameters = Some(Payload::json(vec![b'7'; 50_000]));
        letter
    };
    let mut taken = 0;
    let refused = loop {
        match archive.put(&[large(taken + 1)]) {
            Ok(added) => taken += added,
            Err(error) => break error,
        }
        assert!(taken < 100, "there is a bound");
    };
    assert!(matches!(refused, Error::Full(_)), "{refused}");
    assert!(refused.is_transient());
    assert_eq!(archive.put(&[one("small", 1_000), large(2_000)]).map_err(|error| error.is_transient()), Err(true));
    assert_eq!(archive.letter(&id("small")).unwrap(), None, "all go in or none");
    assert_eq!(archive.delete_matching(&Filter::default(), 3), Ok(3));
    assert_eq!(archive.put(&[large(3_000)]), Ok(1));
}

#[test]
fn an_archive_that_was_moved_replaced_or_lost_its_log_takes_and_tells_nothing_until_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let [file, log, away] = ["dead.db", "dead.db-wal", "away"].map(|name| folder.path().join(name));
    let archive = Archive::open(&file, Options::default()).unwrap();
    let refuses = |words: &str| {
        let answers = [
            archive.prune_operations(at(0)).map(drop),
            archive.count(&Filter::default()).map(drop),
            archive.warning().map(drop),
        ];
        for answer in answers {
            assert!(matches!(&answer, Err(Error::Unavailable(text)) if text.contains(words)), "{answer:?}");
        }
    };
    for path in [&file, &log] {
        assert_eq!(archive.count(&Filter::default()), Ok(0));
        fs::rename(path, &away).unwrap();
        refuses("not there any more");
        fs::write(path, b"").unwrap();
        refuses("another file is in its place");
        fs::rename(&away, path).unwrap();
    }
    assert_eq!(archive.prune_operations(at(0)), Ok(0));
    fs::rename(&file, &away).unwrap();
    fs::remove_file(&log).unwrap();
    fs::write(&log, b"").unwrap();
    drop(archive);
    assert!(log.exists(), "what lies at its place is left alone");
}

fn open(path: &Path) -> Error {
    Archive::open(path, Options::default()).unwrap_err()
}

#[test]
fn a_file_that_is_none_of_ours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("text"), "no database at all, but long enough to be looked at as one").unwrap();
    assert!(matches!(open(&path("text")), Error::Corrupt(_)), "{}", open(&path("text")));
    assert!(matches!(open(&path("no/such/folder.db")), Error::Open(_)));
    let foreign = rusqlite::Connection::open(path("foreign")).unwrap();
    foreign.execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(matches!(open(&path("foreign")), Error::NotOurs(_)));
    let bench = bench();
    rusqlite::Connection::open(&bench.path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert_eq!(open(&bench.path), Error::Newer { found: 99, supported: 4 });
}

#[test]
fn a_locked_file_is_said_to_be_locked() {
    let bench = bench();
    let other = rusqlite::Connection::open(&bench.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = bench.archive.put(&[one("a", 5)]).unwrap_err();
    assert!(matches!(refused, Error::Locked(_)) && refused.is_transient(), "{refused}");
    assert_eq!(bench.archive.count(&Filter::default()), Ok(0), "who reads does not wait");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(bench.archive.put(&[one("a", 5)]), Ok(1));
}

#[test]
fn two_processes_may_have_one_archive_open() {
    let bench = bench();
    let other = Archive::open(&bench.path, Options::default()).unwrap();
    assert_eq!(other.id(), bench.archive.id());
    assert_eq!(bench.archive.put(&[one("a", 5)]), Ok(1));
    assert_eq!(other.put(&[one("a", 5), one("b", 6)]), Ok(1));
    assert_eq!(bench.states().len(), 2);
}

#[test]
fn a_reader_creates_nothing_and_refuses_what_is_no_archive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dead.db");
    assert!(LetterReader::open(&path).unwrap().is_none() && !path.exists());
    fs::write(&path, "").unwrap();
    assert!(matches!(LetterReader::open(&path), Err(Error::NotOurs(_))));
    fs::write(&path, "no database, and long enough to be looked at").unwrap();
    assert!(matches!(LetterReader::open(&path), Err(Error::Corrupt(_))));
}

#[test]
fn an_archive_at_rest_is_wholly_in_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let (path, log) = (folder.path().join("dead.db"), folder.path().join("dead.db-wal"));
    let archive = Archive::open(&path, Options::default()).unwrap();
    archive.put(&[one("a", 1)]).unwrap();
    let bytes = || log.metadata().unwrap().len();
    archive.write_back_at_rest(Duration::from_secs(3_600)).unwrap();
    assert!(bytes() > 0);
    archive.write_back_at_rest(Duration::ZERO).unwrap();
    assert_eq!(bytes(), 0);
    archive.put(&[one("b", 2)]).unwrap();
}

#[test]
fn an_archive_is_examined_without_a_manager_and_every_damage_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert_eq!(examine(&at("none.db")), None);
    let sound = at("sound.db");
    let archive = Archive::open(&sound, Options::default()).unwrap();
    let letters: Vec<_> = (0..200).map(|n| one(&format!("t{n}"), n + 1)).collect();
    archive.put(&letters).unwrap();
    assert_eq!(examine(&sound), Some(Examined { letters: 200, problems: Vec::new() }));
    drop(archive);
    let whole = fs::read(&sound).unwrap();
    assert!(!at("sound.db-wal").exists(), "it is wholly in its file once it is closed");
    // The pages that hold rows, one after the other; and the ends of the file.
    let pages = whole.len() / 4_096;
    let scrambled = (0..pages).map(|page| {
        let mut bytes = whole.clone();
        bytes[page * 4_096..][..2_048].fill(0xa5);
        bytes
    });
    let cut = [0, 100, 4_096, whole.len() / 2, whole.len() - 4_096].map(|length| whole[..length].to_vec());
    for (number, damaged) in scrambled.chain(cut).enumerate() {
        let path = at(&format!("{number}.db"));
        fs::write(&path, damaged).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let examined = examine(&path).unwrap();
        assert!(!examined.problems.is_empty(), "{number} of {pages} pages");
    }
    fs::set_permissions(&sound, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(examine(&sound).unwrap().problems[0].contains("chmod 600"));
}

#[test]
fn an_emptied_archive_beside_its_log_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dead.db");
    fs::write(folder.path().join("dead.db-wal"), "frames").unwrap();
    let refused = Archive::open(&path, Options::default()).unwrap_err();
    assert!(matches!(&refused, Error::Corrupt(why) if why.contains("dead.db-wal")), "{refused}");
    assert_eq!(examine(&path).unwrap().problems[0], refused.to_string());
}
