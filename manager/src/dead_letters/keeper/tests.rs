//! The other archive that is reported, operations that rest, and an archive that could not be written.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use jobbers_archive::{Filter, NewOperation, Options, Selection};
use jobbers_common::{
    engine::{ClaimRequest, Claims, Cycle, OnConflict, QueueClaim, Settlement, Submit, Tasks},
    name::HolderId,
};
use jobbers_law::{
    conformance::{LEASE, failed, queue, task, worker},
    model::ModelEngine,
};
use jobbers_process::shutdown::Shutdown;
use nix::unistd::{Uid, setfsuid};

use super::*;
use crate::app::App;

#[test]
fn another_archive_is_told_of_by_all_that_follow_for_a_week() {
    let at = |seconds: u64| Timestamp::from_micros(0).after(Duration::from_secs(seconds));
    let had = |now: Timestamp, taken_from: Option<&Note>| Duty {
        holder: HolderId::new("h").unwrap(),
        note: String::new(),
        term: 2,
        expires_at: now.after(TTL),
        taken_from: taken_from.map(|note| serde_json::to_string(note).unwrap()),
    };
    let note = |archive: &str, before: Option<Before>| Note {
        url: format!("http://{archive}"),
        archive: archive.to_owned(),
        before,
    };
    assert_eq!(kept_before(&had(at(5), None), None, "b"), None, "the first keeper of all");
    assert_eq!(kept_before(&had(at(5), Some(&note("b", None))), None, "b"), None, "the same file goes on");
    let known = Some(Before { archive: "a".to_owned(), url: "http://a".to_owned(), until: at(5).as_micros() });
    assert_eq!(kept_before(&had(at(5), Some(&note("a", None))), None, "b"), known);
    assert_eq!(kept_before(&had(at(9), None), known.clone(), "b"), known, "it keeps it");
    assert_eq!(
        kept_before(&had(at(9), Some(&note("b", known.clone()))), None, "b"),
        known,
        "and so does its successor"
    );
    let week = 7 * 24 * 3_600;
    assert_eq!(kept_before(&had(at(week + 4), None), known.clone(), "b"), known);
    assert_eq!(kept_before(&had(at(week + 5), None), known.clone(), "b"), None);
    let back = kept_before(&had(at(9), Some(&note("b", known))), None, "a").unwrap();
    assert_eq!((back.archive.as_str(), back.until), ("b", at(9).as_micros()), "now that one is not seen");
    let older = Duty { taken_from: Some(r#"{"url": "http://old", "archive": "o"}"#.to_owned()), ..had(at(5), None) };
    assert_eq!(kept_before(&older, None, "b").unwrap().archive, "o", "notes of before there were such things");
    let odd = Duty { taken_from: Some("no note".to_owned()), ..had(at(5), None) };
    assert_eq!(kept_before(&odd, None, "b"), None);
}

#[tokio::test]
async fn an_operation_that_met_a_defect_rests_and_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Arc::new(Archive::open(&folder.path().join("dead.db"), Options::default()).unwrap());
    let new = NewOperation { key: None, digest: 0, request: "?".to_owned(), selection: Selection::Tasks(Vec::new()) };
    let id = archive.begin(&new, Timestamp::from_micros(1)).unwrap().id;
    let engine = Arc::new(ModelEngine::with_system_clock());
    let app = App::new(&crate::Config::default(), engine, String::new(), &Shutdown::new());
    let mut rounds = KeeperRounds::new(Arc::new(app));

    let task = rounds.sending.spawn(async { panic!("a defect") });
    rounds.under_way.insert(task.id(), id.clone());
    let ended = rounds.sending.join_next_with_id().await.unwrap();
    rounds.note_end(ended);
    assert!(rounds.under_way.is_empty());
    rounds.resume(&archive).await.map_err(|error| error.to_string()).unwrap();
    assert!(rounds.under_way.is_empty(), "it rests");
    archive.cancel(&id, Timestamp::from_micros(2)).unwrap();
    rounds.resume(&archive).await.map_err(|error| error.to_string()).unwrap();
    assert_eq!(rounds.under_way.len(), 1, "to be cancelled, it need not be well");
}

/// Opens an archive as if its file might not be written. Root may write any file, so it is opened as another user.
fn open_read_only(path: &Path) -> Archive {
    let allow = |mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    allow(0o444);
    let user = setfsuid(Uid::from_raw(65_534));
    let archive = Archive::open(path, Options::default());
    setfsuid(user);
    allow(0o644);
    archive.unwrap()
}

/// A store with one dead letter on its outbox.
async fn store_with_a_dead_letter() -> Arc<ModelEngine> {
    let engine = Arc::new(ModelEngine::with_system_clock());
    engine.submit(Submit { tasks: vec![task("dead")], on_conflict: OnConflict::Fail }).await.unwrap();
    let queues = vec![QueueClaim { queue: queue("default"), limit: 1 }];
    let claim = Some(ClaimRequest { queues, refused: Vec::new(), limit: 1, lease: LEASE });
    let claimed = engine.cycle(Cycle { worker: worker("w"), settlements: Vec::new(), claim }).await.unwrap().claimed;
    let settlement = Settlement::new(claimed[0].id.clone(), claimed[0].fence, failed(true));
    engine.cycle(Cycle { worker: worker("w"), settlements: vec![settlement], claim: None }).await.unwrap();
    engine
}

#[tokio::test]
async fn an_archive_that_was_read_only_is_written_once_it_may_be() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let path = folder.path().join("dead.db");
    drop(Archive::open(&path, Options::default()).unwrap());
    let engine = store_with_a_dead_letter().await;
    let config = crate::Config { dlq_path: path.display().to_string(), ..crate::Config::default() };
    let app = Arc::new(App::new(&config, engine, String::new(), &Shutdown::new()));
    *app.dead_letters.archive.lock() = Some(Arc::new(open_read_only(&path)));

    let mut rounds = KeeperRounds::new(app.clone());
    rounds.round().await;
    let trouble = app.dead_letters.trouble.lock().clone();
    assert!(trouble.as_ref().is_some_and(MoveTrouble::is_read_only_archive), "{trouble:?}");
    rounds.round().await;
    let trouble = app.dead_letters.trouble.lock().clone();
    assert!(trouble.is_none(), "{trouble:?}");
    let archive = app.dead_letters.held().unwrap();
    assert_eq!(archive.count(&Filter::default()).unwrap(), 1);
}
