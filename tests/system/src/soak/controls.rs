//! Promises broken in earnest, each in a way of its own: the audit must notice, and say what is broken. Each control first
//! finds the same books without a complaint.

mod journal;
mod power;

use std::{collections::BTreeSet, time::Duration};

use jobbers_test_support::{redis_server::Persistence, wait::until};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{
    audit::{Broken, Complaint},
    books,
    clients::{boards, leases, letters, schedules, tasks, workflows},
    configure,
    fleet::{Fleet, Size},
    ledger::Ledger,
    world::World,
};
use crate::{engines::Kind, stack::Stack};

on_both_engines!(
    an_end_without_the_lease_is_noticed,
    a_repeated_request_without_its_key_is_noticed,
    a_slot_that_is_fired_by_hand_is_noticed,
    a_task_that_vanishes_from_a_board_is_noticed,
    a_claim_that_is_given_out_twice_is_noticed,
    a_dead_letter_that_is_sent_under_two_ids_is_noticed,
    a_limit_that_is_taken_off_is_noticed,
    a_node_that_runs_again_is_noticed,
);

const PATIENCE: Duration = Duration::from_secs(60);

/// A small fleet with the clients' side of it.
struct Trial {
    fleet: Fleet,
    world: World,
    _end: watch::Sender<bool>,
}

impl Trial {
    async fn on(kind: Kind) -> Self {
        Self::with(Stack::on(kind).await, Vec::new()).await
    }

    async fn with(stack: Stack, environment: Vec<(String, String)>) -> Self {
        let size = Size { managers: 1, workers: 1, has_cleaner: false, environment };
        let (end, over) = watch::channel(false);
        let fleet = Fleet::new(stack, size).await;
        let world = World::new(Ledger::new(fleet.stack.folder()), &fleet.doors(), over);
        configure(&world).await;
        Self { fleet, world, _end: end }
    }

    /// Waits until everything is over, and holds it against the ledger.
    async fn complaints(&self) -> Vec<Complaint> {
        books::settle(&self.world).await;
        self.complaints_now().await
    }

    async fn complaints_now(&self) -> Vec<Complaint> {
        books::read(&self.world, &self.fleet).await.complaints()
    }

    async fn has_no_complaint(&self) {
        assert_eq!(self.complaints().await, Vec::new());
    }

    /// The audit complains of this, and of nothing else.
    async fn notices(&self, broken: &[Broken]) {
        let complaints = self.complaints().await;
        let kinds: BTreeSet<Broken> = complaints.iter().map(|complaint| complaint.broken).collect();
        assert_eq!(kinds, broken.iter().copied().collect(), "{complaints:#?}");
    }

    /// A request that no ledger knows of.
    async fn behind_its_back(&self, method: Method, path: &str, body: &Value) -> Value {
        self.fleet.managers[0].api.send(method, path, &[], Some(body)).await.unwrap().ok()
    }
}

/// The fence is taken out: a client that lost its lease ends the task with the token of the one that has it.
async fn an_end_without_the_lease_is_noticed(kind: Kind) {
    let trial = Trial::on(kind).await;
    let world = &trial.world;
    tasks::batch(world, 0, &["remote", "remote"]).await;
    let mut first = leases::lease(world, 0, "first").await;
    let in_time = first.pop().unwrap();
    assert!(leases::end(world, 0, "first", &in_time, "completed").await);
    let mut lost = first.pop().unwrap();
    let second = until(PATIENCE, "the first lease ends", async || leases::lease(world, 0, "second").await.pop()).await;
    assert_eq!(second["id"], lost["id"]);
    let with_its_own = leases::end(world, 1, "first", &lost, "completed").await;
    assert!(!with_its_own, "the lease was lost");
    lost["token"] = second["token"].clone();
    assert!(leases::end(world, 2, "first", &lost, "completed").await);
    trial.notices(&[Broken::SettledTwice]).await;
}

/// A request is sent again because its answer was lost: with its key it is the same, without one it is another.
async fn a_repeated_request_without_its_key_is_noticed(kind: Kind) {
    let trial = Trial::on(kind).await;
    trial.fleet.lose_answers(1);
    tasks::unnamed(&trial.world, 0, Some("key")).await;
    trial.has_no_complaint().await;
    trial.fleet.lose_answers(1);
    tasks::unnamed(&trial.world, 0, None).await;
    trial.notices(&[Broken::Doubled]).await;
}

async fn a_slot_that_is_fired_by_hand_is_noticed(kind: Kind) {
    let trial = Trial::on(kind).await;
    schedules::create(&trial.world).await;
    for (schedule, slots) in [(schedules::TICKS, 3), (schedules::ROUNDS, 1)] {
        until(PATIENCE, &format!("{schedule} is fired"), async || {
            (books::fired(&trial.world, schedule).await.fired >= slots).then_some(())
        })
        .await;
    }
    schedules::pause(&trial.world).await;
    trial.has_no_complaint().await;
    for _ in 0..2 {
        trial.behind_its_back(Method::POST, "/schedules/ticks/run", &json!({})).await;
    }
    trial.notices(&[Broken::SlotDoubled]).await;
}

/// A commit is lost, as far as the client can see: another one removes what it added.
async fn a_task_that_vanishes_from_a_board_is_noticed(kind: Kind) {
    let trial = Trial::on(kind).await;
    for n in 0..2 {
        boards::post(&trial.world, 0, 1, boards::GROUP, &format!("data-{n}")).await.unwrap();
    }
    trial.has_no_complaint().await;
    let (revision, _) = boards::list(&trial.world, boards::GROUP).await.remove(0);
    trial.behind_its_back(Method::DELETE, &format!("/boards/taskstore/tasks/{revision}"), &json!({})).await;
    trial.notices(&[Broken::Lost]).await;
}

/// Two clients hold one task of a board, since the first one's claim was ended by another hand.
async fn a_claim_that_is_given_out_twice_is_noticed(kind: Kind) {
    let trial = Trial::on(kind).await;
    boards::post(&trial.world, 0, 1, boards::GROUP, "data").await.unwrap();
    let (claimed, _) = boards::claim(&trial.world, 0, 1).await.unwrap();
    trial.has_no_complaint().await;
    let release = format!("/boards/taskstore/tasks/{claimed}/release");
    trial.behind_its_back(Method::POST, &release, &json!({})).await;
    boards::claim(&trial.world, 0, 2).await.unwrap();
    trial.notices(&[Broken::HeldByTwo]).await;
}

async fn a_dead_letter_that_is_sent_under_two_ids_is_noticed(kind: Kind) {
    let trial = Trial::on(kind).await;
    tasks::batch(&trial.world, 0, &["letter"]).await;
    trial.has_no_complaint().await;
    letters::send_all_again(&trial.world, 0, &mut BTreeSet::new()).await;
    trial.has_no_complaint().await;
    let again = json!({"id": "letter.0.0:again", "name": "obey", "parameters": {"fails": false}});
    trial.behind_its_back(Method::POST, "/tasks", &again).await;
    trial.notices(&[Broken::Doubled, Broken::EndedOtherwise]).await;
}

async fn a_limit_that_is_taken_off_is_noticed(kind: Kind) {
    let trial = Trial::on(kind).await;
    tasks::batch(&trial.world, 0, &["narrow"; 12]).await;
    trial.has_no_complaint().await;
    trial.behind_its_back(Method::PUT, "/queues/narrow", &json!({})).await;
    tasks::batch(&trial.world, 1, &["narrow"; 12]).await;
    trial.notices(&[Broken::LimitExceeded]).await;
}

/// A node of a workflow is released a second time: its task is deleted and submitted again.
async fn a_node_that_runs_again_is_noticed(kind: Kind) {
    let trial = Trial::on(kind).await;
    workflows::one(&trial.world, 0, "run", 3).await;
    trial.has_no_complaint().await;
    trial.behind_its_back(Method::POST, "/tasks/delete", &json!({"ids": ["run/last"]})).await;
    trial.behind_its_back(Method::POST, "/tasks", &json!({"id": "run/last", "name": "note"})).await;
    trial.notices(&[Broken::ReleasedTwice, Broken::SettledTwice]).await;
}

/// A Redis that writes a snapshot and no log of commands is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_keeps_snapshots_alone_is_noticed() {
    let mut trial = Trial::with(Stack::on_redis(Persistence::None).await, Vec::new()).await;
    tasks::batch(&trial.world, 0, &["quick", "nap"]).await;
    boards::post(&trial.world, 0, 1, boards::GROUP, "data").await.unwrap();
    trial.has_no_complaint().await;
    let saved = trial.fleet.stack.redis.as_ref().unwrap().command("SAVE");
    assert_eq!(saved, "+OK\r\n");
    tasks::batch(&trial.world, 1, &["quick", "nap"]).await;
    boards::post(&trial.world, 1, 1, boards::GROUP, "more").await.unwrap();
    trial.has_no_complaint().await;
    trial.fleet.stack.crash_store().await;
    // The workers are not asked to do anything about it: what is there is read as it is.
    let complaints = trial.complaints_now().await;
    let lost = complaints.iter().filter(|complaint| complaint.broken == Broken::Lost).count();
    assert_eq!((lost, complaints.len()), (3, 3), "{complaints:#?}");
}
