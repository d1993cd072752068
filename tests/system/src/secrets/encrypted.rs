//! Payloads that a codec encrypts: what stores, managers and archives hold of them, and what a wrong key does.

use std::{fs, path::Path, time::Duration};

use jobbers_common::engine::SubmittedHow;
use jobbers_test_support::{
    redis_server::{Persistence, RedisOptions},
    wait::until,
};
use jobbers_worker::{
    Client, CodecError, Codecs, Config, Payload, Report, ResultError, Shutdown, Worker, WorkerError,
    client::{Claim, Extension, LeaseClient, Outcome, Return},
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use self::example::{AesGcm, Payment, Receipt, charge};
use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

#[path = "../../../../worker/examples/encrypted.rs"]
mod example;

on_both_engines!(
    no_clear_text_is_in_any_file_of_a_system_with_a_codec,
    a_wrong_key_fails_a_task_and_the_right_one_runs_it_later,
    a_worker_without_the_codec_gives_a_task_back,
    a_client_that_leases_reads_and_writes_by_its_codec,
);

const SOON: Duration = Duration::from_secs(30);
const GOOD: &str = "4242424242424242";
const DECLINED: &str = "4000000000000002";
const LATER: &str = "5555555555554444";

fn key(id: &str, byte: u8) -> Codecs {
    Codecs::new(AesGcm::new(id, &[byte; 32]).unwrap())
}

fn payment(card: &str) -> Payment {
    Payment { card: card.to_owned(), cents: 1_999 }
}

/// A store whose files have each change as it was made.
async fn stack(kind: Kind) -> Stack {
    match kind {
        Kind::Sqlite => Stack::on(kind).await,
        Kind::Redis => {
            let options = RedisOptions { persistence: Persistence::Always, ..RedisOptions::default() };
            Stack::on_redis_with(options).await
        }
    }
}

fn client(manager: &Manager, codecs: &Codecs) -> Client {
    Client::http(&format!("http://{}", manager.address)).unwrap().codec(codecs.clone())
}

struct Running {
    shutdown: Shutdown,
    worker: JoinHandle<Result<Report, WorkerError>>,
}

impl Running {
    fn start(stack: &Stack, codecs: &Codecs) -> Self {
        let shutdown = Shutdown::new();
        let config = Config { engine_url: stack.url().to_owned(), ..Config::default() };
        let worker = Worker::open(config).codec(codecs.clone()).run_until(shutdown.clone());
        Self { shutdown, worker: tokio::spawn(worker) }
    }

    async fn stop(self) {
        self.shutdown.drain.cancel();
        self.worker.await.unwrap().unwrap();
    }
}

async fn answered(manager: &Manager, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
    until(SOON, path, async || Some(manager.api.get(path).await.ok()).filter(&holds)).await
}

/// Which of these texts are in the files below these folders.
fn found<'a>(folders: &[&Path], texts: &[&'a str]) -> Vec<&'a str> {
    let (mut folders, mut bytes, mut found) =
        (Vec::from_iter(folders.iter().map(|it| it.to_path_buf())), 0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => {
                    let content = fs::read(entry.path()).unwrap();
                    bytes += content.len();
                    let content = String::from_utf8_lossy(&content);
                    found.extend(texts.iter().copied().filter(|text| content.contains(text)));
                }
                _ => {}
            }
        }
    }
    assert!(bytes > 10_000, "{bytes} bytes");
    found.sort_unstable();
    found.dedup();
    found
}

/// What a charged, a declined and a waiting payment leave in the files of a system.
async fn left_by_payments(kind: Kind, codecs: &Codecs) -> Vec<&'static str> {
    let stack = stack(kind).await;
    let manager = stack.manager().await;
    let running = Running::start(&stack, codecs);
    let client = client(&manager, codecs);

    let good = charge.with(payment(GOOD)).id("good").label("shop", "berlin").submit(&client).await.unwrap();
    let later = charge.with(payment(LATER)).id("later").after(Duration::from_secs(3_600));
    later.submit(&client).await.unwrap();
    assert_eq!(good.result(SOON).await.unwrap(), Receipt { card: GOOD.to_owned(), cents: 1_999 });
    // Straight to the store this time.
    let direct = Client::open(stack.url()).await.unwrap().codec(codecs.clone());
    let declined = charge.with(payment(DECLINED)).id("declined").submit(&direct).await.unwrap();
    let error = declined.result(SOON).await.unwrap_err();
    assert_eq!(error.to_string(), format!("the task is failed: the card {DECLINED} is declined"));
    let again = charge.with(payment(LATER)).id("later").after(Duration::from_secs(3_600)).submit(&client).await;
    assert_eq!(again.unwrap().how, SubmittedHow::Existing, "the same submission is encoded alike");

    let is_there = |page: &Value| page["dead_letters"][0]["id"] == "declined";
    answered(&manager, "/dead-letter-queue", is_there).await;
    let shown = manager.api.get("/tasks/declined").await.ok();
    assert_eq!((&shown["name"], &shown["status"]), (&json!("charge"), &json!("failed")), "{shown}");
    let is_encoded = shown["parameters"]["jobbers:codec"] == "k1" && shown["checkpoint"]["jobbers:codec"] == "k1";
    let texts = [&shown["errors"][0]["message"], &shown["errors"][1]["message"], &shown["progress"]["message"]];
    let are_encoded = texts.iter().all(|text| text.as_str().unwrap().starts_with("jobbers:codec:k1:"));
    let has_codec = format!("{codecs:?}").contains("k1");
    assert_eq!((is_encoded, are_encoded), (has_codec, has_codec), "{shown}");

    let folders = [Some(stack.folder()), stack.redis.as_ref().map(|redis| redis.folder())];
    let folders: Vec<&Path> = folders.into_iter().flatten().collect();
    let left = found(&folders, &[GOOD, DECLINED, LATER, "berlin"]);
    running.stop().await;
    left
}

async fn no_clear_text_is_in_any_file_of_a_system_with_a_codec(kind: Kind) {
    assert_eq!(left_by_payments(kind, &key("k1", 7)).await, ["berlin"], "labels stay clear");
    let without = left_by_payments(kind, &Codecs::default()).await;
    assert_eq!(without, [DECLINED, GOOD, LATER, "berlin"], "where there is clear text, it is found");
}

async fn a_wrong_key_fails_a_task_and_the_right_one_runs_it_later(kind: Kind) {
    let stack = stack(kind).await;
    let manager = stack.manager().await;
    let (right, wrong) = (key("k1", 7), key("k1", 8));
    let client = client(&manager, &right);
    let charged = charge.with(payment(GOOD)).id("a").submit(&client).await.unwrap();
    let before = manager.api.get("/tasks/a").await.ok()["parameters"].clone();

    let running = Running::start(&stack, &wrong);
    let failed = charged.result(SOON).await.unwrap_err();
    let said = failed.to_string();
    assert_eq!(failed.kind(), Some("undecodable_payload"), "{said}");
    assert!(said.contains("the codec \"k1\" can't decode it: another key encrypted it, or it is damaged"), "{said}");
    running.stop().await;
    let shown = manager.api.get("/tasks/a").await.ok();
    assert_eq!((&shown["parameters"], &shown["errors"].as_array().unwrap().len()), (&before, &1), "{shown}");
    answered(&manager, "/dead-letter-queue", |page| page["dead_letters"][0]["id"] == "a").await;

    let running = Running::start(&stack, &right);
    manager.api.post("/dead-letter-queue/resubmit", &json!({"ids": ["a"]})).await.ok();
    until(SOON, "it is charged", async || charged.result(Duration::ZERO).await.ok()).await;
    let elsewhere = client.codec(wrong).task::<Receipt>("a".parse().unwrap()).wait(SOON).await.unwrap_err();
    assert!(matches!(&elsewhere, ResultError::Undecodable(CodecError::Undecodable { .. })), "{elsewhere}");
    running.stop().await;
}

async fn a_worker_without_the_codec_gives_a_task_back(kind: Kind) {
    let stack = stack(kind).await;
    let manager = stack.manager().await;
    let (old, new) = (key("k1", 7), key("k2", 8));
    let both = new.clone().reading(AesGcm::new("k1", &[7; 32]).unwrap());
    let client = client(&manager, &new);
    let running = Running::start(&stack, &old);
    // Its one retry is that after the busy bank, so an attempt that counted would fail it.
    let charged = charge.with(payment(GOOD)).id("a").max_retries(1).submit(&client).await.unwrap();
    let given_back = answered(&manager, "/tasks/a", |task| task["status"] == "scheduled").await;
    assert_eq!((&given_back["attempt"], &given_back["errors"]), (&json!(0), &json!([])), "{given_back}");
    running.stop().await;

    let running = Running::start(&stack, &both);
    assert_eq!(charged.result(SOON).await.unwrap().card, GOOD);
    let elsewhere = client.codec(old).task::<Receipt>("a".parse().unwrap()).wait(SOON).await.unwrap_err();
    let said = elsewhere.to_string();
    assert!(said.contains("encoded by the codec \"k2\", which this program does not have"), "{said}");
    running.stop().await;
}

async fn a_client_that_leases_reads_and_writes_by_its_codec(kind: Kind) {
    let stack = stack(kind).await;
    let manager = stack.manager().await;
    let codecs = key("k1", 7);
    let url = format!("http://{}", manager.address);
    let client = client(&manager, &codecs);
    let charged = charge.with(payment(GOOD)).id("a").submit(&client).await.unwrap();
    let claim = Claim { wait: SOON, ..Claim::of(["default".parse().unwrap()]) };

    let lessor = LeaseClient::new(&url, "w1".parse().unwrap()).unwrap().codec(codecs);
    let leased = lessor.claim(&claim).await.unwrap().tasks.remove(0);
    assert_eq!(leased.parameters.decode::<Payment>().unwrap().card, GOOD);
    let checkpoint = Some(Payload::encode(GOOD).unwrap());
    let progress = jobbers_worker::Progress::new(0.5, GOOD);
    let mut news = Extension::of(&leased);
    (news.checkpoint, news.progress) = (checkpoint, Some(progress));
    assert!(lessor.extend(SOON, &[news]).await.unwrap()[0].extended);
    let failed = Outcome::Failed { message: format!("{GOOD} is busy"), fatal: true };
    lessor.finish(&[Return::new(&leased, failed)]).await.unwrap();
    assert!(charged.result(SOON).await.unwrap_err().to_string().ends_with(&format!("{GOOD} is busy")));
    let shown = manager.api.get("/tasks/a").await.ok();
    assert!(!shown.to_string().contains(GOOD) && shown["progress"]["fraction"] == 0.5, "{shown}");

    manager.api.post("/tasks/a/resubmit", &json!({})).await.ok();
    let leased = lessor.claim(&claim).await.unwrap().tasks.remove(0);
    assert_eq!(leased.checkpoint.as_ref().unwrap().decode::<String>().unwrap(), GOOD);
    let receipt = Payload::encode(&Receipt { card: GOOD.to_owned(), cents: 1 }).unwrap();
    lessor.finish(&[Return::new(&leased, Outcome::Completed(Some(receipt)))]).await.unwrap();
    assert_eq!(charged.result(SOON).await.unwrap().cents, 1);

    let id = charge.with(payment(GOOD)).submit(&client).await.unwrap().id;
    let without = LeaseClient::new(&url, "w2".parse().unwrap()).unwrap();
    assert_eq!(without.claim(&claim).await.unwrap().tasks.len(), 0);
    assert_eq!(manager.api.get(&format!("/tasks/{id}")).await.ok()["status"], "scheduled", "it was given back");
    let wrong = LeaseClient::new(&url, "w3".parse().unwrap()).unwrap().codec(key("k1", 8));
    let id = charge.with(payment(GOOD)).submit(&client).await.unwrap().id;
    assert_eq!(wrong.claim(&claim).await.unwrap().tasks.len(), 0);
    let shown = manager.api.get(&format!("/tasks/{id}")).await.ok();
    assert_eq!(
        (&shown["status"], &shown["errors"][0]["error_kind"]),
        (&json!("failed"), &json!("undecodable_payload"))
    );
}
