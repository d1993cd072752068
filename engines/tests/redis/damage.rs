//! Stores of another version, and stores changed by another program.

use jobbers_common::{
    engine::{DeadTask, Error, Outcome, PutMode, Settings, SettleAnswer, Trouble},
    lifecycle::Status,
    queue::QueueConfig,
};
use jobbers_engines::{OpenOptions, redis::RedisEngine};
use jobbers_law::conformance::{DONE, Fixture, failure, ids, queue, task};
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};

use super::{connect, submit};

#[tokio::test]
async fn a_store_of_a_newer_version_is_refused() {
    let server = RedisServer::start(RedisOptions::default());
    drop(connect(&server.url()).await);
    assert_eq!(server.command("SET jobbers:{0}:schema 5"), "+OK\r\n");
    let refused = RedisEngine::open(&server.url(), OpenOptions::default()).await.map(drop);
    assert_eq!(refused, Err(Error::Schema { found: "5".to_owned(), supported: "4".to_owned() }));
}

#[tokio::test]
async fn a_store_of_the_first_version_is_refused_with_what_to_do() {
    let server = RedisServer::start(RedisOptions::default());
    assert_eq!(server.command("SET jobbers:{0}:schema 1"), "+OK\r\n");
    match RedisEngine::open(&server.url(), OpenOptions::default()).await.map(drop) {
        Err(Error::Config(text)) => {
            assert!(text.contains("jobbers:{0}:") && text.contains("schema 1"), "{text}");
            assert!(text.contains("let the version that wrote it run until no task is left"), "{text}");
            assert!(text.contains("?prefix="), "{text}");
        }
        other => panic!("{other:?}"),
    }
    let other = RedisEngine::open(&format!("{}?prefix=jobbers2", server.url()), OpenOptions::default()).await;
    assert!(other.is_ok(), "another prefix is another store");
}

#[tokio::test]
async fn who_only_looks_makes_no_store() {
    let server = RedisServer::start(RedisOptions::default());
    let look = async || RedisEngine::open(&server.url(), OpenOptions::existing()).await;
    let says_so = |answer: Result<(), Error>| {
        assert!(matches!(&answer, Err(Error::Config(text)) if text.contains("no Jobbers data")), "{answer:?}");
    };
    says_so(look().await.map(drop));
    assert_eq!(server.command("DBSIZE"), ":0\r\n");
    drop(connect(&server.url()).await);
    let looking = look().await.unwrap();
    assert!(looking.config().await.is_ok());
    // Emptied meanwhile: a process that only reads does not set it up again.
    assert_eq!(server.command("FLUSHDB"), "+OK\r\n");
    says_so(looking.config().await.map(drop));
    assert_eq!(server.command("DBSIZE"), ":0\r\n");
}

#[tokio::test]
async fn a_store_that_was_emptied_under_a_process_says_so_until_it_is_accepted() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["a"]).await;
    let troubles = async |f: &Fixture| f.engine.health().await.unwrap().troubles;
    assert!(troubles(&f).await.is_empty());
    assert_eq!(server.command("FLUSHDB"), "+OK\r\n");
    // A worker that asks for tasks finds that its store is gone, and sets it up again.
    assert!(f.claim(1).await.is_empty());
    f.submit_ids(&["b"]).await;
    // A process that starts now never saw the first store.
    let later = connect(&server.url()).await;
    for f in [&f, &later] {
        assert_eq!(troubles(f).await, [Trouble::CommitsMissing]);
        let warnings = f.engine.health().await.unwrap().warnings;
        let said = warnings.iter().find(|warning| warning.contains("lost the whole store")).unwrap();
        assert!(said.contains("redis-cli DEL 'jobbers:{0}:emptied'"), "{said}");
    }
    later.assert_conserved().await;
    assert_eq!(server.command("DEL jobbers:{0}:emptied"), ":1\r\n");
    assert!(troubles(&f).await.is_empty());
}

#[tokio::test]
async fn a_ready_task_without_its_record_is_dropped_and_harms_no_neighbour() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["a", "lost", "b"]).await;
    assert_eq!(server.command("HDEL jobbers:{0}:t lost"), ":1\r\n");
    assert_eq!(ids(&f.claim(10).await), ["a", "b"]);
    assert!(f.claim(10).await.is_empty());
}

#[tokio::test]
async fn a_ready_task_whose_record_can_t_be_read_harms_no_neighbour() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["a", "bad", "b"]).await;
    let record = "N000000000000001SEVENTHFINGERPRINTOF16BS0\\x0350000\\x00\\x0f\\x07defaultnonsense";
    assert_eq!(server.command(&format!("HSET jobbers:{{0}}:t bad \"{record}\"")), ":0\r\n");
    let claimed = f.claim(10).await;
    assert_eq!(ids(&claimed), ["a", "b"]);
    for task in &claimed {
        assert_eq!(f.settle(task, DONE).await, SettleAnswer::Accepted(Status::Completed));
    }
    assert!(f.claim(10).await.is_empty(), "its lease keeps it until it ends as a crash");
}

#[tokio::test]
async fn a_scheduled_task_without_its_record_is_dropped() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    assert_eq!(server.command("ZADD jobbers:{0}:q:default:s 1 lost"), ":1\r\n");
    assert_eq!(server.command("ZADD jobbers:{0}:due 1 default"), ":1\r\n");
    assert_eq!(f.engine.promote_due(10).await.unwrap(), 0);
    assert_eq!(server.command("ZCARD jobbers:{0}:q:default:s"), ":0\r\n");
}

#[tokio::test]
async fn a_lease_of_a_task_that_is_over_is_dropped() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    assert_eq!(server.command("ZADD jobbers:{0}:q:default:l 1 a 1 unknown"), ":2\r\n");
    assert_eq!(server.command("ZADD jobbers:{0}:expiring 1 default"), ":0\r\n");
    assert_eq!(f.engine.reclaim_expired(10).await.unwrap().total(), 0);
    assert_eq!(f.engine.reclaim_expired(10).await.unwrap().total(), 0);
    f.assert_conserved().await;
}

#[tokio::test]
async fn a_dead_letter_that_can_t_be_read_is_in_nobody_s_way() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["a", "b", "c", "d"]).await;
    for claimed in f.claim(4).await {
        f.settle(&claimed, Outcome::Failed { failure: failure("boom"), dead_letter: true }).await;
    }
    let keys: Vec<_> = f.engine.dead_letters(0, 9).await.unwrap().copies.iter().map(DeadTask::key).collect();
    let field = |n: usize| format!("{:015}{}", keys[n].revision, keys[n].id);
    assert_eq!(server.command(&format!("HSET jobbers:{{0}}:o {} nonsense", field(0))), ":0\r\n");
    assert_eq!(server.command(&format!("HDEL jobbers:{{0}}:o {}", field(2))), ":1\r\n");
    let outbox = f.engine.dead_letters(0, 9).await.unwrap();
    assert_eq!(outbox.copies.iter().map(DeadTask::key).collect::<Vec<_>>(), [keys[1].clone(), keys[3].clone()]);
    let told: Vec<_> = outbox.unreadable.iter().map(|copy| (copy.id.as_str(), copy.revision)).collect();
    assert_eq!(told, [("a", keys[0].revision), ("c", keys[2].revision)]);
    let first = f.engine.dead_letters(0, 1).await.unwrap();
    assert_eq!((first.copies.len(), first.last), (0, Some(keys[0].revision)), "one can go on behind it");
}

#[tokio::test]
async fn a_key_of_another_type_is_said_to_be_damage() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    assert_eq!(server.command("SET jobbers:{0}:t nonsense"), "+OK\r\n");
    let refused = submit(&*f.engine, vec![task("a")]).await;
    assert!(matches!(refused, Err(Error::Corrupt(_))), "{refused:?}");
    assert_eq!(server.command("LLEN jobbers:{0}:q:default:q"), ":0\r\n", "nothing was written");
}

#[tokio::test]
async fn a_login_that_is_refused_is_a_matter_of_configuration() {
    let server = RedisServer::start(RedisOptions::default());
    assert_eq!(server.command("CONFIG SET requirepass secret"), "+OK\r\n");
    let refused = RedisEngine::open(&server.url(), OpenOptions::default()).await.map(drop);
    assert!(matches!(refused, Err(Error::Config(_))), "{refused:?}");
    let url = server.url().replace("//", "//:secret@");
    assert!(RedisEngine::open(&url, OpenOptions::default()).await.is_ok());
}

#[tokio::test]
async fn stores_of_two_prefixes_do_not_meet() {
    let server = RedisServer::start(RedisOptions::default());
    let (one, other) = (connect(&server.url()).await, connect(&format!("{}?prefix=other", server.url())).await);
    one.submit_ids(&["a"]).await;
    one.engine.put_queue(QueueConfig::new(queue("mail")), PutMode::Create).await.unwrap();
    assert!(other.claim(10).await.is_empty());
    assert_eq!(other.engine.config().await.unwrap().queues.len(), 1);
}
