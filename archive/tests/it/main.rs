//! The archive as its callers see it.

#![expect(clippy::unwrap_used, reason = "tests")]

mod changes;
mod files;

use std::path::{Path, PathBuf};

use jobbers_archive::{
    Archive, Error, Filter, ItemOutcome, LetterReader, LetterState, NewOperation, OperationState, Options, Selection,
    WholeLetter,
};
use jobbers_common::{
    engine::DeadTask,
    lifecycle::Status,
    name::{QueueName, TaskId, TaskName, WorkerId},
    payload::Payload,
    policy::PolicyOverrides,
    task::{AttemptError, FailureKind, Priority, Task, metadata::Metadata},
    time::Timestamp,
};
use tempfile::TempDir;

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

fn failure(micros: i64, attempt: u32, message: &str) -> AttemptError {
    let worker = WorkerId::new("w1").unwrap();
    AttemptError {
        at: at(micros),
        attempt,
        worker,
        kind: FailureKind::Error,
        error_kind: None,
        message: message.to_owned(),
    }
}

fn dead(name: &str, revision: u64, errors: Vec<AttemptError>) -> DeadTask {
    let completed_at = errors.last().map(|error| error.at);
    let task = Task {
        id_is_chosen: false,
        id: id(name),
        name: TaskName::new("resize").unwrap(),
        version: 2,
        queue: QueueName::new("default").unwrap(),
        priority: Priority::DEFAULT,
        status: Status::Failed,
        revision,
        parameters: Some(Payload { content_type: Some("text/x".into()), bytes: vec![0, 159, 255].into() }),
        overrides: PolicyOverrides { max_retries: Some(7), ..PolicyOverrides::default() },
        attempt: 4,
        crashes: 1,
        blames: 1,
        suspicion: jobbers_common::task::suspicion::Suspicion::NONE,
        submitted_at: at(1),
        ready_at: at(2),
        started_at: Some(at(3)),
        heartbeat_at: None,
        completed_at,
        lease: None,
        worker: Some(WorkerId::new("w1").unwrap()),
        cancel_requested: false,
        progress: None,
        checkpoint: Some(Payload::json("{\"page\":12}")),
        result: None,
        errors,
        dead_letter: true,
        unique: None,
        concurrency_key: None,
        metadata: Metadata::default(),
        dependencies: None,
        trace: Some("00-ab-cd-01".into()),
        last_span: Some("00-ab-ef-01".into()),
    };
    DeadTask { task, fingerprint: u128::MAX - 7 }
}

fn one(name: &str, revision: u64) -> DeadTask {
    dead(name, revision, vec![failure(10, 1, "no user 17"), failure(20, 2, "no user 18")])
}

struct Bench {
    _folder: TempDir,
    path: PathBuf,
    archive: Archive,
}

fn bench() -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dead.db");
    let archive = Archive::open(&path, Options::default()).unwrap();
    Bench { _folder: folder, path, archive }
}

impl Bench {
    fn states(&self) -> Vec<(String, LetterState)> {
        let page = self.archive.page(&Filter::default(), 1_000, None).unwrap();
        page.letters.into_iter().map(|letter| (letter.id.to_string(), letter.state)).collect()
    }

    fn begin(&self, selection: Selection) -> jobbers_archive::Operation {
        let new = NewOperation { key: None, digest: 0, request: "{}".to_owned(), selection };
        self.archive.begin(&new, at(100)).unwrap()
    }
}

fn all_dead() -> Selection {
    Selection::Matching(Box::new(Filter { state: Some(LetterState::Dead), ..Filter::default() }), usize::MAX)
}

#[test]
fn a_letter_comes_back_whole_and_goes_in_once() {
    let bench = bench();
    assert_eq!(bench.archive.put(&[one("a", 5), one("b", 6)]), Ok(2));
    assert_eq!(bench.archive.put(&[one("b", 6), one("c", 7)]), Ok(1), "sent again after a crash");
    let letter = bench.archive.letter(&id("a")).unwrap().unwrap();
    assert_eq!(letter.dead, one("a", 5));
    let told = letter.summary;
    assert_eq!((told.error.as_str(), told.fingerprint.as_str()), ("no user 18", "no user #"));
    assert_eq!((told.status, told.attempt, told.failed_at, told.state), (Status::Failed, 4, at(20), LetterState::Dead));
    assert_eq!(bench.archive.letter(&id("x")).unwrap(), None);
    assert_eq!(bench.archive.history(&id("b")).unwrap().unwrap().len(), 2, "and no failure is noted twice");
    drop(bench.archive);
    let again = Archive::open(&bench.path, Options::default()).unwrap();
    assert_eq!(again.count(&Filter::default()), Ok(3));
}

#[test]
fn a_history_grows_over_resubmissions() {
    let bench = bench();
    bench.archive.put(&[one("a", 5)]).unwrap();
    let errors = vec![failure(10, 1, "no user 17"), failure(20, 2, "no user 18"), failure(30, 1, "boom")];
    bench.archive.put(&[dead("a", 9, errors.clone())]).unwrap();
    assert_eq!(bench.archive.history(&id("a")).unwrap(), Some(errors));
    assert_eq!(bench.archive.history(&id("x")).unwrap(), None);
    assert_eq!(bench.states(), [("a".to_owned(), LetterState::Dead), ("a".to_owned(), LetterState::Superseded)]);
    assert_eq!(bench.archive.letter(&id("a")).unwrap().unwrap().summary.revision, 9);
}

#[test]
fn letters_are_found_by_every_field_page_by_page() {
    let bench = bench();
    let mut other = dead("other", 50, vec![failure(900, 1, "Timed OUT after 3s")]);
    other.task.queue = QueueName::new("mail").unwrap();
    other.task.name = TaskName::new("send").unwrap();
    other.task.version = 1;
    other.task.status = Status::Stalled;
    let many: Vec<DeadTask> = (1..=25).map(|n| one(&format!("t{n:02}"), n)).collect();
    bench.archive.put(&many).unwrap();
    bench.archive.put(&[other]).unwrap();
    let found = |filter: Filter| {
        let page = bench.archive.page(&filter, 1_000, None).unwrap();
        assert_eq!(page.letters.len() as u64, bench.archive.count(&filter).unwrap());
        page.letters.iter().map(|letter| letter.id.to_string()).collect::<Vec<_>>()
    };
    let none = Filter::default;
    for filter in [
        Filter { queue: Some(QueueName::new("mail").unwrap()), ..none() },
        Filter { name: Some(TaskName::new("send").unwrap()), ..none() },
        Filter { version: Some(1), ..none() },
        Filter { status: Some(Status::Stalled), ..none() },
        Filter { error: Some("timed out".to_owned()), ..none() },
        Filter { fingerprint: Some("Timed OUT after #".to_owned()), ..none() },
        Filter { failed_after: Some(at(900)), ..none() },
        Filter { failed_after: Some(at(21)), failed_before: Some(at(901)), ..none() },
    ] {
        assert_eq!(found(filter.clone()), ["other"], "{filter:?}");
    }
    assert_eq!(found(Filter { failed_before: Some(at(900)), ..none() }).len(), 25);
    assert_eq!(found(Filter { state: Some(LetterState::Resubmitted), ..none() }).len(), 0);
    let (mut walked, mut cursor) = (Vec::new(), None);
    loop {
        let page = bench.archive.page(&none(), 10, cursor.as_deref()).unwrap();
        walked.extend(page.letters.into_iter().map(|letter| letter.id.to_string()));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(walked, found(none()), "the latest first, each once");
    assert_eq!(bench.archive.page(&none(), 10, Some("x")), Err(Error::ForeignCursor));
}

#[test]
fn causes_are_counted() {
    let bench = bench();
    let letters: Vec<DeadTask> = (1..=3)
        .map(|n| dead(&format!("t{n}"), n, vec![failure(10 * i64::try_from(n).unwrap(), 1, &format!("no user {n}"))]))
        .collect();
    bench.archive.put(&letters).unwrap();
    bench.archive.put(&[dead("x", 9, vec![failure(99, 1, "boom")])]).unwrap();
    let groups = bench.archive.groups(&Filter::default()).unwrap();
    let told: Vec<_> =
        groups.iter().map(|it| (it.fingerprint.as_str(), it.count, it.first_seen, it.last_seen)).collect();
    assert_eq!(told, [("no user #", 3, at(10), at(30)), ("boom", 1, at(99), at(99))]);
}

#[test]
fn an_operation_takes_its_letters_and_is_carried_on() {
    let bench = bench();
    let letters: Vec<DeadTask> = (1..=5).map(|n| one(&format!("t{n}"), n)).collect();
    bench.archive.put(&letters).unwrap();
    let operation = bench.begin(all_dead());
    assert_eq!((operation.total(), operation.pending, operation.finished_at), (5, 5, None));
    assert_eq!(bench.begin(all_dead()).total(), 0, "what is taken is not taken twice");
    let pending = bench.archive.pending(&operation.id, 2).unwrap();
    assert_eq!(pending.iter().map(|(_, copy)| copy.task.id.to_string()).collect::<Vec<_>>(), ["t1", "t2"]);
    let settled: Vec<_> = pending.iter().map(|(place, _)| (*place, ItemOutcome::Resubmitted, None)).collect();
    bench.archive.settle(&operation.id, &settled, at(200)).unwrap();
    bench.archive.settle(&operation.id, &settled, at(200)).unwrap();
    let left = bench.archive.pending(&operation.id, 9).unwrap();
    assert_eq!(left.iter().map(|(_, copy)| copy.clone()).collect::<Vec<_>>(), letters[2..]);
    let detail = Some("the task is started".to_owned());
    let rest = [
        (left[0].0, ItemOutcome::Live, detail.clone()),
        (left[1].0, ItemOutcome::UnknownQueue, None),
        (left[2].0, ItemOutcome::Resubmitted, None),
    ];
    bench.archive.settle(&operation.id, &rest, at(300)).unwrap();
    assert_eq!(bench.archive.running_operations().unwrap().len(), 2);
    let (keys, next) = bench.archive.sent(&operation.id, 0, 3).unwrap();
    assert_eq!((keys.len(), next, bench.archive.sent(&operation.id, next, 3).unwrap().0.len()), (3, 5, 0));
    bench.archive.finish(&operation.id, at(400)).unwrap();
    let done = bench.archive.operation(&operation.id).unwrap().unwrap();
    assert_eq!((done.finished_at, done.pending, done.outcomes[&ItemOutcome::Resubmitted]), (Some(at(400)), 0, 3));
    let states: Vec<LetterState> = bench.states().into_iter().rev().map(|(_, state)| state).collect();
    use LetterState::{Dead, Resubmitted, Superseded};
    assert_eq!(states, [Resubmitted, Resubmitted, Superseded, Dead, Resubmitted]);
    let items = bench.archive.items(&operation.id, 3).unwrap();
    assert_eq!((items[2].outcome, &items[2].detail), (Some(ItemOutcome::Live), &detail));
    assert_eq!(bench.archive.prune_operations(at(400)), Ok(0));
    assert_eq!(bench.archive.prune_operations(at(401)), Ok(1));
}

#[test]
fn operations_are_listed_by_state_the_latest_first() {
    let bench = bench();
    assert_eq!(bench.archive.operations(None, 10, None).unwrap(), Default::default());
    // All begin at the same time, and their order is still that of their beginning.
    let begun: Vec<String> = (0..25).map(|_| bench.begin(Selection::Tasks(vec![id("none")])).id).collect();
    for (n, operation) in begun.iter().enumerate() {
        if n % 2 == 0 {
            bench.archive.cancel(operation, at(200)).unwrap();
        }
        if n < 10 {
            bench.archive.finish(operation, at(300)).unwrap();
        }
    }
    let walk = |state, limit| {
        let (mut seen, mut cursor): (Vec<String>, Option<String>) = (Vec::new(), None);
        loop {
            let page = bench.archive.operations(state, limit, cursor.as_deref()).unwrap();
            assert!(page.operations.len() <= limit);
            assert!(page.operations.iter().all(|it| state.is_none_or(|state| it.state() == state)));
            seen.extend(page.operations.into_iter().map(|it| it.id));
            cursor = page.next;
            if cursor.is_none() {
                return seen;
            }
        }
    };
    let expected = |keep: fn(usize) -> bool| -> Vec<String> {
        let kept = begun.iter().enumerate().filter(|(n, _)| keep(*n)).map(|(_, id)| id.clone());
        kept.rev().collect()
    };
    for limit in [1, 4, 25, 1_000] {
        assert_eq!(walk(None, limit), expected(|_| true));
        assert_eq!(walk(Some(OperationState::Running), limit), expected(|n| n % 2 == 1 && n >= 10));
        assert_eq!(walk(Some(OperationState::Cancelling), limit), expected(|n| n % 2 == 0 && n >= 10));
        assert_eq!(walk(Some(OperationState::Cancelled), limit), expected(|n| n % 2 == 0 && n < 10));
        assert_eq!(walk(Some(OperationState::Done), limit), expected(|n| n % 2 == 1 && n < 10));
    }
    assert_eq!(bench.archive.operations(None, 10, Some("garbage")), Err(Error::ForeignCursor));
    let one = &bench.archive.operations(None, 1, None).unwrap().operations[0];
    assert_eq!(bench.archive.operation(&one.id).unwrap().as_ref(), Some(one), "as it is told alone");
}

#[test]
fn tasks_named_by_id_are_answered_one_by_one() {
    let bench = bench();
    bench.archive.put(&[one("a", 5), one("b", 6)]).unwrap();
    let first = bench.begin(Selection::Tasks(vec![id("a")]));
    let second = bench.begin(Selection::Tasks(vec![id("a"), id("b"), id("nobody")]));
    let items = bench.archive.items(&second.id, 9).unwrap();
    let outcomes: Vec<_> = items.iter().map(|item| item.outcome).collect();
    assert_eq!(outcomes, [Some(ItemOutcome::AlreadyResubmitted), None, Some(ItemOutcome::Unknown)]);
    assert!(items[0].detail.as_ref().unwrap().contains(&first.id));
    let settled = [(0, ItemOutcome::Resubmitted, None)];
    bench.archive.settle(&first.id, &settled, at(200)).unwrap();
    let third = bench.begin(Selection::Tasks(vec![id("a")]));
    assert_eq!(third.outcomes[&ItemOutcome::AlreadyResubmitted], 1);
}

#[test]
fn a_key_begins_one_operation() {
    let bench = bench();
    bench.archive.put(&[one("a", 5)]).unwrap();
    let new = NewOperation {
        key: Some("k".to_owned()),
        digest: u64::MAX,
        request: "{}".to_owned(),
        selection: Selection::Tasks(vec![id("a")]),
    };
    let begun = bench.archive.begin(&new, at(1)).unwrap();
    assert_eq!(bench.archive.begin(&new, at(2)), Ok(begun));
    assert_eq!(bench.archive.begin(&NewOperation { digest: 1, ..new }, at(3)), Err(Error::KeyReused));
}

#[test]
fn what_is_being_sent_is_not_deleted_and_what_is_deleted_leaves_nothing() {
    let bench = bench();
    bench.archive.put(&[one("a", 5), one("b", 6), one("c", 7)]).unwrap();
    bench.begin(Selection::Tasks(vec![id("a")]));
    assert_eq!(bench.archive.delete(&[id("a"), id("b"), id("x")]), Ok(1));
    assert_eq!(bench.archive.history(&id("b")).unwrap(), None);
    assert_eq!(bench.archive.delete_matching(&Filter::default(), 10), Ok(1));
    assert_eq!(bench.states(), [("a".to_owned(), LetterState::Resubmitting)]);
    assert_eq!(bench.archive.prune(Some(at(1_000)), Some(0), 10), Ok(0));
    assert!(bench.archive.history(&id("a")).unwrap().is_some());
}

#[test]
fn letters_are_pruned_by_age_and_by_number() {
    let bench = bench();
    let letters: Vec<DeadTask> =
        (1..=5).map(|n| dead(&format!("t{n}"), n, vec![failure(i64::try_from(n).unwrap(), 1, "x")])).collect();
    bench.archive.put(&letters).unwrap();
    assert_eq!(bench.archive.prune(None, None, 10), Ok(0));
    assert_eq!(bench.archive.prune(Some(at(2)), None, 10), Ok(1));
    assert_eq!(bench.archive.prune(None, Some(9), 10), Ok(0));
    assert_eq!(bench.archive.prune(None, Some(2), 1), Ok(1), "a bounded number");
    assert_eq!(bench.archive.prune(None, Some(2), 10), Ok(1));
    assert_eq!(bench.states().len(), 2);
}

#[test]
fn what_was_looked_after_goes_before_what_was_not() {
    let bench = bench();
    let letters: Vec<DeadTask> = (1..=5).map(|n| one(&format!("t{n}"), n)).collect();
    bench.archive.put(&letters).unwrap();
    let operation = bench.begin(Selection::Tasks(vec![id("t3"), id("t4")]));
    let settled = [(0, ItemOutcome::Resubmitted, None), (1, ItemOutcome::Live, None)];
    bench.archive.settle(&operation.id, &settled, at(200)).unwrap();
    assert_eq!(bench.archive.prune(None, Some(3), 10), Ok(2));
    let left: Vec<String> = bench.states().into_iter().map(|(id, _)| id).collect();
    assert_eq!(left, ["t5", "t2", "t1"]);
    assert_eq!(bench.archive.prune(None, Some(2), 10), Ok(1), "then the oldest");
    assert_eq!(bench.states()[1].0, "t2");
}

#[test]
fn letters_are_counted_whatever_becomes_of_them() {
    let bench = bench();
    let told = || {
        let waiting = bench.archive.waiting().unwrap();
        waiting.into_iter().map(|it| (it.queue.to_string(), it.count, it.first_failed_at)).collect::<Vec<_>>()
    };
    let of_mail = |n: u64| {
        let mut letter = dead(&format!("m{n}"), 100 + n, vec![failure(i64::try_from(n).unwrap(), 1, "x")]);
        letter.task.queue = QueueName::new("mail").unwrap();
        letter
    };
    bench.archive.put(&[of_mail(3), of_mail(4), of_mail(5), one("a", 1)]).unwrap();
    let default = || ("default".to_owned(), 1, at(20));
    let mail = |count, first| ("mail".to_owned(), count, at(first));
    assert_eq!(told(), [default(), mail(3, 3)]);
    bench.archive.put(&[of_mail(3)]).unwrap();
    assert_eq!(told(), [default(), mail(3, 3)], "once each");
    let operation = bench.begin(Selection::Tasks(vec![id("m3")]));
    assert_eq!(told(), [default(), mail(2, 4)]);
    bench.archive.settle(&operation.id, &[(0, ItemOutcome::UnknownQueue, None)], at(200)).unwrap();
    assert_eq!(told(), [default(), mail(3, 3)], "it is dead again");
    bench.archive.delete(&[id("m3"), id("a")]).unwrap();
    assert_eq!(told(), [mail(2, 4)]);
    bench.archive.prune(Some(at(5)), None, 10).unwrap();
    assert_eq!(told(), [mail(1, 5)]);
}

#[test]
fn a_cancelled_operation_gives_back_what_it_has_not_sent() {
    let bench = bench();
    let letters: Vec<DeadTask> = (1..=3).map(|n| one(&format!("t{n}"), n)).collect();
    bench.archive.put(&letters).unwrap();
    let operation = bench.begin(all_dead());
    bench.archive.settle(&operation.id, &[(0, ItemOutcome::Resubmitted, None)], at(200)).unwrap();
    assert_eq!(bench.archive.is_cancelled(&operation.id), Ok(false));
    assert_eq!(bench.archive.cancel("nothing", at(300)), Ok(None));
    let told = bench.archive.cancel(&operation.id, at(300)).unwrap().unwrap();
    assert_eq!((told.cancelled_at, told.finished_at, told.pending), (Some(at(300)), None, 2));
    assert_eq!(bench.archive.cancel(&operation.id, at(400)).unwrap(), Some(told), "once");
    assert!(bench.archive.running_operations().unwrap()[0].is_cancelled);
    bench.archive.free(&operation.id).unwrap();
    bench.archive.free(&operation.id).unwrap();
    use LetterState::{Dead, Resubmitted};
    let states: Vec<LetterState> = bench.states().into_iter().map(|(_, state)| state).collect();
    assert_eq!(states, [Dead, Dead, Resubmitted]);
    assert_eq!(bench.archive.pending(&operation.id, 9), Ok(Vec::new()));
    assert_eq!(bench.begin(all_dead()).total(), 2, "another operation may have them");
    let keys = bench.archive.sent(&operation.id, 0, 9).unwrap().0;
    assert_eq!(keys.len(), 1, "what it has not sent has no receipt of its own");
    bench.archive.finish(&operation.id, at(500)).unwrap();
    let done = bench.archive.cancel(&operation.id, at(600)).unwrap().unwrap();
    assert_eq!((done.finished_at, done.outcomes[&ItemOutcome::Cancelled]), (Some(at(500)), 2));
}

#[test]
fn what_was_sent_is_known_when_its_letter_is_gone() {
    let bench = bench();
    bench.archive.put(&[one("a", 5), one("b", 6)]).unwrap();
    let operation = bench.begin(all_dead());
    let settled = [(0, ItemOutcome::Resubmitted, None)];
    bench.archive.settle(&operation.id, &settled, at(200)).unwrap();
    assert_eq!(bench.archive.count_of(&[id("a"), id("b"), id("x")]), Ok((2, 1)));
    assert_eq!(bench.archive.delete(&[id("a"), id("b")]), Ok(1), "b is about to be sent");
    let (keys, _) = bench.archive.sent(&operation.id, 0, 9).unwrap();
    assert_eq!(keys, [one("a", 5).key()], "so its receipt can be taken away");
}

fn whole(path: &Path, at_once: usize) -> Vec<WholeLetter> {
    let reader = LetterReader::open(path).unwrap().unwrap();
    let (mut letters, mut after) = (Vec::new(), None);
    loop {
        let page = reader.letters(after, at_once).unwrap();
        let Some((last, _)) = page.last() else { return letters };
        after = Some(*last);
        letters.extend(page.into_iter().map(|(_, letter)| letter));
    }
}

#[test]
fn whole_letters_go_to_another_archive_with_their_states_and_histories() {
    let from = bench();
    from.archive.put(&[one("a", 5), one("b", 6), one("c", 7)]).unwrap();
    let sent = from.begin(Selection::Tasks(vec![id("a")])).id;
    from.archive.settle(&sent, &[(0, ItemOutcome::Resubmitted, None)], at(200)).unwrap();
    from.archive.put(&[dead("a", 9, vec![failure(30, 1, "boom")])]).unwrap();
    let letters = whole(&from.path, 3);
    assert_eq!(letters, whole(&from.path, 1), "in pages of any size");
    assert_eq!((letters[0].state, letters[0].resubmitted_at), (LetterState::Resubmitted, Some(at(200))));
    assert_eq!((letters[0].operation.as_deref(), letters[0].history.len()), (Some(&*sent), 0));
    assert_eq!((letters[3].state, &letters[3].history), (LetterState::Dead, &one("a", 5).task.errors));
    let into = bench();
    assert_eq!(into.archive.restore(&letters), Ok(vec![true; 4]));
    assert_eq!(into.archive.restore(&letters), Ok(vec![false; 4]));
    assert_eq!(whole(&into.path, 9), letters);
    assert_eq!(into.archive.history(&id("a")), from.archive.history(&id("a")));
    assert_eq!(into.begin(all_dead()).total(), 3, "what was sent again is not sent again");
    let backwards = bench();
    let turned: Vec<WholeLetter> = letters.iter().rev().cloned().collect();
    assert_eq!(backwards.archive.restore(&turned), Ok(vec![true; 4]));
    assert_eq!(whole(&backwards.path, 9), turned, "whatever the order");
}

#[test]
fn a_restored_letter_is_not_sent_twice_by_one_that_is_there() {
    let bench = bench();
    bench.archive.put(&[one("a", 5), one("b", 6)]).unwrap();
    let with = |dead, state| WholeLetter { state, resubmitted_at: Some(at(9)), ..WholeLetter::new(dead) };
    let letters = [with(one("a", 5), LetterState::Resubmitted), WholeLetter::new(one("b", 4))];
    assert_eq!(bench.archive.restore(&letters), Ok(vec![true, true]));
    assert_eq!(bench.archive.restore(&[WholeLetter::new(one("a", 5))]), Ok(vec![false]), "what was sent stays sent");
    let states: Vec<_> =
        whole(&bench.path, 9).into_iter().map(|letter| (letter.dead.task.revision, letter.state)).collect();
    assert_eq!(states, [(5, LetterState::Resubmitted), (6, LetterState::Dead), (4, LetterState::Superseded)]);
    let under_way = [with(one("c", 7), LetterState::Resubmitting)];
    assert_eq!(bench.archive.restore(&under_way), Ok(vec![true]));
    assert_eq!(bench.archive.letter(&id("c")).unwrap().unwrap().summary.state, LetterState::Superseded);
    assert_eq!(bench.archive.restore(&under_way), Ok(vec![false]));
}
