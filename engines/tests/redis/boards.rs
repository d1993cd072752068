//! Boards keep their law on Redis, each case on a server of its own; and what is true of Redis alone.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{
        Error, Flaw,
        boards::{
            Boards, Commit, CommitAnswer, Create, Update,
            task::{BoardTask, Content, When},
        },
    },
    time::{Clock, ManualClock},
};
use jobbers_engines::{OpenOptions, redis::RedisEngine};
use jobbers_law::conformance::boards::{
    BoardFixture, MINUTE, board, commit, create, group, labelled, revision, take, text, touch,
};
use jobbers_test_support::{
    fault_proxy::FaultProxy,
    redis_server::{Persistence, RedisOptions, RedisServer},
    wait::until,
};

use super::{START, mending::audit, shared_million};

/// Boards on a server of their own, by a clock of the test.
async fn open_boards() -> BoardFixture {
    let server = RedisServer::start(RedisOptions::default());
    let clock = Arc::new(ManualClock::new(START));
    let options = OpenOptions { clock: Some(Arc::clone(&clock) as Arc<dyn Clock>), ..OpenOptions::default() };
    let engine = RedisEngine::open(&server.url(), options).await.unwrap();
    BoardFixture { boards: Arc::new(engine), clock, guard: Box::new(server) }
}

jobbers_law::board_conformance_suite!(open_boards);

/// Boards at an address, by the server's clock.
async fn connect(url: &str) -> BoardFixture {
    let engine = RedisEngine::open(url, OpenOptions::default()).await.unwrap();
    let clock = Arc::new(ManualClock::new(START));
    BoardFixture { boards: Arc::new(engine), clock, guard: Box::new(()) }
}

/// How often the server ran scripts.
fn calls(server: &RedisServer) -> u64 {
    let stats = server.command("INFO commandstats");
    let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
}

#[tokio::test]
async fn commits_and_takes_that_come_together_share_calls_and_are_answered_each_for_itself() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.create(vec![create("g"); 20]).await;
    let before = calls(&server);
    server.pause();
    let callers: Vec<_> = (0..60)
        .map(|n| {
            let boards = Arc::clone(&f.boards);
            tokio::spawn(async move {
                match n % 3 {
                    0 => boards.take(take("g", MINUTE)).await.unwrap().task.map(|task| task.revision),
                    1 => match boards.commit(Commit { require: vec![n + 1_000], ..commit() }).await.unwrap() {
                        CommitAnswer::Conflict(conflicts) => conflicts.required.first().copied(),
                        other => panic!("{other:?}"),
                    },
                    _ => match boards.commit(Commit { create: vec![create("h")], ..commit() }).await.unwrap() {
                        CommitAnswer::Done(done) => Some(done.created[0].revision),
                        other => panic!("{other:?}"),
                    },
                }
            })
        })
        .collect();
    tokio::task::yield_now().await;
    server.resume();
    let mut given = Vec::new();
    for (n, caller) in callers.into_iter().enumerate() {
        let answer = caller.await.unwrap().unwrap();
        if n % 3 == 1 {
            assert_eq!(answer, n as u64 + 1_000);
        } else {
            given.push(answer);
        }
    }
    given.sort_unstable();
    assert_eq!(given, (21..=60).collect::<Vec<u64>>(), "dense, and none twice");
    let made = calls(&server) - before;
    assert!(made < 20, "{made} calls");
}

#[tokio::test]
async fn a_commit_and_a_take_whose_answers_got_lost_are_carried_out_once() {
    let server = RedisServer::start(RedisOptions::default());
    let proxy = FaultProxy::start(server.address()).await;
    let f = connect(&format!("redis://{}", proxy.address())).await;
    f.create(vec![create("g"); 2]).await;
    proxy.lose_answers(1);
    assert_eq!(f.create(vec![create("h")]).await, [3]);
    proxy.lose_answers(1);
    let taken = f.take(take("g", MINUTE)).await;
    assert_eq!(proxy.still_to_lose(), 0, "two answers were lost");
    assert_eq!((taken.task.unwrap().revision, taken.revision), (4, 4));
    assert_eq!((f.revisions("h").await, f.revisions("g").await), (vec![3], vec![2, 4]));
}

#[tokio::test]
async fn a_take_that_a_frozen_server_comes_to_when_its_caller_has_gone_takes_nothing() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.create(vec![create("g")]).await;
    let before = calls(&server);
    server.pause();
    let answer = f.boards.take(take("g", MINUTE)).await;
    assert!(matches!(answer, Err(Error::Unavailable { .. })), "{answer:?}");
    // Longer than an answer may take.
    let late = async || (calls(&server) > before).then_some(());
    server.resume();
    until(Duration::from_secs(30), "the call is carried out", late).await;
    assert_eq!(f.revisions("g").await, [1]);
}

#[tokio::test]
async fn a_commit_that_no_caller_waits_for_publishes_nothing() {
    let server = RedisServer::start(RedisOptions::default());
    let (here, there) = (connect(&server.url()).await, connect(&server.url()).await);
    let published = || server.command("INFO commandstats").contains("cmdstat_publish:");
    here.create(vec![create("g")]).await;
    assert!(!published());
    let seen = there.take(take("empty \u{e9}", MINUTE)).await.revision;
    let boards = Arc::clone(&there.boards);
    let waits = tokio::spawn(async move { boards.wait(&board(), "empty \u{e9}", seen, Duration::from_secs(60)).await });
    let noted = async || server.command("EXISTS jobbers:{0}:awaited:groups").contains(":1").then_some(());
    until(Duration::from_secs(30), "it waits", noted).await;
    here.create(vec![create("g")]).await;
    assert!(!published(), "another group");
    here.create(vec![create("empty \u{e9}")]).await;
    waits.await.unwrap();
    assert!(published());
    assert_eq!(server.command("EXISTS jobbers:{0}:awaited:groups"), ":0\r\n", "the group is awaited no more");
}

#[tokio::test]
async fn a_full_server_refuses_new_tasks_as_a_whole_and_is_emptied_by_takes_and_deletions() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    let large = |data: usize| Create { content: Content { data: vec![b'x'; data].into(), ..text("") }, ..create("g") };
    f.create(vec![large(10_000); 100]).await;
    assert_eq!(server.command("CONFIG SET maxmemory 1mb"), "+OK\r\n");
    let refused = f.try_commit(Commit { delete: vec![revision(1)], create: vec![large(10)], ..commit() }).await;
    assert!(matches!(&refused, Err(Error::Full(why)) if why.contains("maxmemory")), "{refused:?}");
    let update = vec![Update { content: Some(text("new")), ..touch(1) }];
    assert!(matches!(f.try_commit(Commit { update, ..commit() }).await, Err(Error::Full(_))));
    assert_eq!(f.revisions("g").await, (1..=100).collect::<Vec<u64>>(), "nothing was half applied");
    let taken = f.take(take("g", MINUTE)).await.task.unwrap();
    let released = Update { at: Some(When::NOW), ..touch(taken.revision) };
    let moved = f.commit(Commit { update: vec![released], ..commit() }).await;
    assert_eq!(moved.updated[0].revision, 102, "no revision was consumed by a refusal");
    assert_eq!(f.commit(Commit { delete: vec![group("g")], ..commit() }).await.deleted, 100);
}

#[tokio::test]
async fn a_page_and_a_look_at_many_bytes_come_in_pieces() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    let large = Content { data: vec![7; 3_000_000].into(), ..text("") };
    for n in 0..5 {
        let create = Create { content: large.clone(), ..create("g") };
        assert_eq!(f.create(vec![create]).await, [n + 1]);
    }
    let first = f.page("g", None, 5).await;
    assert!((1..5).contains(&first.tasks.len()) && first.next.is_some(), "{}", first.tasks.len());
    assert_eq!(f.list("g", 5).await.len(), 5);
    let found: Vec<Option<BoardTask>> = f.boards.get(&board(), &[5, 4, 9, 3, 2, 1]).await.unwrap();
    let revisions: Vec<_> = found.iter().map(|task| task.as_ref().map(|task| task.revision)).collect();
    assert_eq!(revisions, [Some(5), Some(4), None, Some(3), Some(2), Some(1)]);
    assert!(found.iter().flatten().all(|task| task.content == large));
}

#[tokio::test]
async fn an_update_that_would_copy_its_content_too_often_is_refused() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.create(vec![create("g"); 20]).await;
    let content = Some(Content { data: vec![7; 1_000_000].into(), ..text("") });
    f.assert_refused(Commit { update: vec![Update { which: group("g"), content, ..touch(1) }], ..commit() }).await;
}

#[tokio::test]
async fn a_board_is_sound_after_any_sequence_of_calls() {
    let server = RedisServer::start(RedisOptions::default());
    let clock = Arc::new(ManualClock::new(START));
    let options = OpenOptions { clock: Some(Arc::clone(&clock) as Arc<dyn Clock>), ..OpenOptions::default() };
    let engine = Arc::new(RedisEngine::open(&server.url(), options).await.unwrap());
    let f = BoardFixture { boards: Arc::clone(&engine) as Arc<dyn Boards>, clock, guard: Box::new(()) };
    jobbers_law::conformance::boards_sequence::run(&f, 0x0005_0f7d, 600).await;
    assert_eq!(audit(&*engine, false).await, []);
}

#[tokio::test]
async fn what_damage_left_of_a_board_is_found_and_mended() {
    let server = RedisServer::start(RedisOptions::default());
    let engine = Arc::new(RedisEngine::open(&server.url(), OpenOptions::default()).await.unwrap());
    let boards = Arc::clone(&engine) as Arc<dyn Boards>;
    let f = BoardFixture { boards, clock: Arc::new(ManualClock::new(START)), guard: Box::new(()) };
    let marked = Create { content: labelled(&[("a", "1")]), ..create("g") };
    f.create(vec![marked, create("g"), create("h"), create("gone")]).await;
    for damage in [
        "DEL jobbers:{0}:board:g:b|h",
        "ZREM jobbers:{0}:board:n:b h",
        "ZADD jobbers:{0}:board:l:b 0 00010001b20000000000000002",
        "HDEL jobbers:{0}:board:t:b 0000000000000004",
    ] {
        assert_eq!(server.command(damage), ":1\r\n", "{damage}");
    }
    assert_eq!(server.command("SET jobbers:{0}:board:c:b 1"), "+OK\r\n");
    let found = audit(&*engine, false).await;
    assert!(found.iter().all(|finding| !finding.repaired));
    for (flaw, subject) in [
        (Flaw::Unplaced, "b/3"),
        (Flaw::Miscounted, "b/3"),
        (Flaw::PlaceWithoutTask, "b/2"),
        (Flaw::PlaceWithoutTask, "b/4"),
    ] {
        assert!(
            found.iter().any(|finding| (finding.flaw, finding.subject.as_str()) == (flaw, subject)),
            "{flaw:?} {subject}: {found:?}"
        );
    }
    assert!(audit(&*engine, true).await.iter().all(|finding| finding.repaired));
    assert_eq!(audit(&*engine, false).await, []);
    assert_eq!(f.groups().await, [("g".to_owned(), 2), ("h".to_owned(), 1)]);
    assert_eq!(f.create(vec![create("g")]).await, [4], "no stored revision is given out again");
}

/// The highest revision that a board gave out before its server crashed, and the first one after it came back.
async fn around_a_crash(server: &mut RedisServer, f: &BoardFixture) -> (u64, u64) {
    let last = *f.create(vec![create("g"); 5]).await.last().unwrap();
    server.restart();
    let next = until(Duration::from_secs(60), "a commit after the crash", async || {
        match f.boards.commit(Commit { create: vec![create("g")], ..commit() }).await {
            Ok(CommitAnswer::Done(done)) => Some(done.created[0].revision),
            Ok(other) => panic!("{other:?}"),
            Err(_) => None,
        }
    });
    (last, next.await)
}

#[tokio::test]
async fn a_crash_that_loses_the_last_writes_gives_no_revision_out_twice() {
    // The server writes to its file only when a test asks for it: a crash loses what came after that.
    let mut server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.create(vec![create("g")]).await;
    assert_eq!(server.command("SAVE"), "+OK\r\n");
    let (last, next) = around_a_crash(&mut server, &f).await;
    assert_eq!(f.get(last).await, None, "it is lost");
    assert!(next > last + 1, "{next} after {last}");
    // And again, before anything of that was written: the gap is larger then.
    let (last, second) = around_a_crash(&mut server, &f).await;
    assert!(second > last, "{second} after {last}");
    let after = *f.create(vec![create("g"); 2]).await.last().unwrap();
    assert_eq!(after, second + 2, "dense from there on");
}

#[tokio::test]
async fn a_board_that_was_lost_with_the_last_writes_begins_behind_them() {
    let mut server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    assert_eq!(server.command("SAVE"), "+OK\r\n");
    let (last, next) = around_a_crash(&mut server, &f).await;
    assert!(last == 5 && next > last, "{next} after {last}");
}

#[tokio::test]
async fn a_server_that_lost_everything_gives_no_revision_out_twice_to_those_who_knew_it() {
    let mut server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    let (last, next) = around_a_crash(&mut server, &f).await;
    assert!(last == 5 && next > last, "{next} after {last}");
}

#[tokio::test]
async fn what_an_append_only_file_kept_is_there_after_a_crash() {
    for persistence in [Persistence::Always, Persistence::EverySecond] {
        let mut server = RedisServer::start(RedisOptions { persistence, ..RedisOptions::default() });
        let f = connect(&server.url()).await;
        let (last, next) = around_a_crash(&mut server, &f).await;
        assert!(next > last);
        if persistence == Persistence::Always {
            assert_eq!(f.revisions("g").await, [1, 2, 3, 4, 5, next]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: a million commits"]
async fn a_million_commits_and_a_restart_lose_nothing() {
    let mut server = RedisServer::start(RedisOptions { persistence: Persistence::Always, ..RedisOptions::default() });
    let f = connect(&server.url()).await;
    let left = shared_million::commit_a_million(Arc::clone(&f.boards)).await;
    drop(f);
    server.kill_9();
    server.restart();
    let f = connect(&server.url()).await;
    shared_million::assert_left(&*f.boards, &left).await;
}
