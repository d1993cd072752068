//! All programs on Redis as the user that the guide describes: it is refused nothing that they need, and may do nothing else.

use jobbers_test_support::{
    program::Program,
    redis_server::{RedisOptions, RedisServer},
    redis_user,
};
use serde_json::json;

use crate::stack::Stack;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_programs_run_as_the_user_of_the_guide_who_may_do_nothing_else() {
    let options = redis_user::options(RedisOptions::default());
    let server = tokio::task::spawn_blocking(|| RedisServer::start(options)).await.unwrap();
    let stack = Stack::at(&redis_user::login(&server.url()));
    let manager = stack.manager().await;
    let worker = stack.worker().await;
    manager.api.post("/queues", &json!({"name": "mail", "max_concurrent": 1})).await.ok();
    manager.api.post("/tasks", &json!({"id": "done", "name": "note"})).await.ok();
    manager.api.post("/tasks", &json!({"id": "dead", "name": "doomed"})).await.ok();
    manager.api.post("/schedules", &json!({"name": "nightly", "every": "366d", "task": {"name": "note"}})).await.ok();
    assert_eq!(manager.api.get("/tasks/done?wait=20s").await.ok()["status"], "completed");
    assert_eq!(manager.api.get("/tasks/dead?wait=20s").await.ok()["status"], "failed");
    let prune = ["cleaner", "--engine-url", stack.url(), "--retention"];
    let examine = ["doctor", "--engine-url", stack.url()];
    for line in [&prune[..], &examine, &["queues", "--manager", &format!("http://{}", manager.address)]] {
        let mut command = Program::start("jobbers", stack.folder(), line, &[]);
        command.exit().await;
        assert!(!command.said().contains("NOPERM"), "{line:?}: {}", command.said());
    }
    println!("{}", stack.examined().await);
    for program in [&manager.program, &worker] {
        assert!(!program.said().contains("NOPERM"), "{}", program.said());
    }
    redis_user::assert_nothing_was_refused(&server);

    let refused = async |words: &str| {
        let login = format!("AUTH jobbers word\r\n{words}");
        let answer = server.command(&login);
        assert!(answer.contains("NOPERM"), "{words}: {answer}");
    };
    for words in [
        "GET other",
        "SET other 1",
        "PUBLISH other x",
        "FLUSHALL",
        "FLUSHDB",
        "KEYS jobbers:*",
        "SCAN 0",
        "RANDOMKEY",
        "CONFIG GET maxmemory",
        "EVAL return(1) 0",
        "SCRIPT FLUSH",
        "FUNCTION LIST",
        "ACL LIST",
        "CLIENT KILL TYPE normal",
        "SHUTDOWN",
        "REPLICAOF NO ONE",
    ] {
        refused(words).await;
    }
}
