//! The conformance list for parade, lakeFS's task management: each behaviour over HTTP, on both engines. Its actions are
//! queues here, and its verbs are those of the guide "Coming from lakeFS".

use std::{any::Any, collections::BTreeMap, sync::Arc, time::Duration};

use jobbers_common::{
    engine::Engine,
    time::{Clock, ManualClock, Timestamp},
};
use jobbers_engines::{OpenOptions, open};
use jobbers_manager::Config;
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};
use serde_json::{Value, json};

use crate::server::Server;

mod graphs;
mod leases;
mod tries;

/// The actions of the tests.
const ACTIONS: [&str; 4] = ["frob", "broz", "never", "done"];
const LEASE: Duration = Duration::from_secs(30);

/// A manager with queues for the actions, on a store whose clock the test moves.
struct Lake {
    server: Server,
    engine: Arc<dyn Engine>,
    clock: Arc<ManualClock>,
    _store: Box<dyn Any>,
}

impl Lake {
    async fn on_sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("lake.db").display());
        Self::at(&url, Box::new(folder)).await
    }

    async fn on_redis() -> Self {
        let server = RedisServer::start(RedisOptions::default());
        Self::at(&server.url(), Box::new(server)).await
    }

    async fn at(url: &str, store: Box<dyn Any>) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_750_000_000_000_000)));
        let options = OpenOptions { clock: Some(Arc::clone(&clock) as Arc<dyn Clock>), ..OpenOptions::default() };
        let engine = open(url, options).await.unwrap();
        let server = Server::with(Arc::clone(&engine), Config::default()).await;
        for action in ACTIONS {
            server.post("/queues", json!({"name": action})).await.expect(201);
        }
        Self { server, engine, clock, _store: store }
    }

    /// `InsertTasks`.
    async fn insert(&self, tasks: Vec<Value>) {
        self.server.post("/tasks", json!({"tasks": tasks})).await.expect(201);
    }

    /// `OwnTasks`.
    async fn own(&self, actor: &str, most: usize, actions: &[&str]) -> Vec<Value> {
        let body = json!({"worker": actor, "queues": actions, "limit": most, "lease": LEASE.as_secs()});
        let mut answer = self.server.post("/leases", body).await.expect(200);
        let mut owned: Vec<Value> = serde_json::from_value(answer["leases"].take()).unwrap();
        owned.iter_mut().for_each(|owned| owned["actor"] = json!(actor));
        owned
    }

    /// `OwnTasks` of one task that must be there.
    async fn own_one(&self, actor: &str, action: &str) -> Value {
        let mut owned = self.own(actor, 1, &[action]).await;
        assert_eq!(owned.len(), 1, "a task of {action}");
        owned.remove(0)
    }

    /// `ReturnTask`: the answer for the lease.
    async fn give_back(&self, owned: &Value, outcome: &str) -> Value {
        self.lease_call("return", &[owned], &json!({"outcome": outcome})).await.remove(0)
    }

    /// `ReturnTask` of many.
    async fn give_back_all(&self, owned: &[Value], outcome: &str) {
        let answers = self.lease_call("return", &owned.iter().collect::<Vec<_>>(), &json!({"outcome": outcome})).await;
        assert!(answers.iter().all(|answer| answer["accepted"] == true), "{answers:?}");
    }

    /// Returns a task whose token must hold. Its status now.
    async fn finish(&self, owned: &Value, outcome: &str) -> String {
        let answer = self.give_back(owned, outcome).await;
        assert_eq!(answer["accepted"], true, "{answer}");
        answer["status"].as_str().unwrap().to_owned()
    }

    /// `ExtendTasksOwnership`: the answer for each.
    async fn extend(&self, owned: &[&Value]) -> Vec<Value> {
        self.lease_call("extend", owned, &json!({})).await
    }

    async fn lease_call(&self, verb: &str, owned: &[&Value], more: &Value) -> Vec<Value> {
        let of = |owned: &&Value| {
            let mut lease = json!({"id": owned["id"], "token": owned["token"]});
            lease.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            lease
        };
        let actor = owned.first().and_then(|owned| owned["actor"].as_str()).unwrap_or("any");
        let mut body = json!({"worker": actor, "leases": owned.iter().map(of).collect::<Vec<_>>()});
        if verb == "extend" {
            body["lease"] = json!(LEASE.as_secs());
        }
        let mut answer = self.server.post(&format!("/leases/{verb}"), body).await.expect(200);
        serde_json::from_value(answer["leases"].take()).unwrap()
    }

    async fn task(&self, id: &str) -> Value {
        self.server.get(&format!("/tasks/{id}")).await.expect(200)
    }

    async fn status(&self, id: &str) -> String {
        self.task(id).await["status"].as_str().unwrap().to_owned()
    }

    /// Those of these tasks that exist.
    async fn left<'a>(&self, ids: &[&'a str]) -> Vec<&'a str> {
        let told = self.server.post("/tasks/statuses", json!({"ids": ids})).await.expect(200);
        let known: BTreeMap<&str, &Value> =
            told["tasks"].as_array().unwrap().iter().map(|it| (it["id"].as_str().unwrap(), &it["status"])).collect();
        ids.iter().copied().filter(|id| known.get(id).is_some_and(|status| status.is_string())).collect()
    }

    /// Lets all leases end, and takes them back.
    async fn expire(&self) {
        self.clock.advance(LEASE);
        self.engine.reclaim_expired(1_000).await.unwrap();
    }
}

/// A task of an action.
fn task(id: &str, action: &str) -> Value {
    json!({"id": id, "name": action, "queue": action})
}

/// The same with more fields.
fn task_with(id: &str, action: &str, more: &Value) -> Value {
    let mut task = task(id, action);
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    task
}

/// One that waits for others; as in parade, it runs however they end.
fn after(id: &str, action: &str, on: &[&str]) -> Value {
    let edge = |on: &&str| json!({"id": on, "policy": "run_with_failures"});
    task_with(id, action, &json!({"depends_on": on.iter().map(edge).collect::<Vec<_>>()}))
}

fn ids(owned: &[Value]) -> Vec<&str> {
    let mut ids: Vec<&str> = owned.iter().map(|it| it["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids
}

macro_rules! on_both_engines {
    ($($group:ident $case:ident)*) => {
        mod on_sqlite {
            $(
                #[tokio::test]
                async fn $case() {
                    super::$group::$case(super::Lake::on_sqlite().await).await;
                }
            )*
        }
        mod on_redis {
            $(
                #[tokio::test]
                async fn $case() {
                    super::$group::$case(super::Lake::on_redis().await).await;
                }
            )*
        }
    };
}

on_both_engines! {
    leases tasks_are_owned_once_and_only_of_the_actions_asked_for
    leases a_body_comes_back_and_no_body_stays_none
    leases a_leased_task_is_hidden_until_its_deadline_and_owned_again_then
    leases a_task_is_completed_once_and_returned_as_pending_for_another
    leases the_text_of_a_task_that_is_returned_as_pending_is_kept_for_the_next_owner
    leases a_foreign_or_stolen_token_extends_nothing_and_an_owned_one_holds
    leases many_leases_are_extended_at_once_each_with_an_answer
    leases a_late_return_is_refused_once_the_lease_was_taken_back
    leases a_waiter_is_answered_before_and_after_the_end
    leases an_unknown_outcome_is_refused_and_changes_nothing
    leases workers_that_loop_handle_every_task_and_wait_while_there_is_none
    tries seven_returns_use_up_seven_tries_and_release_the_successor
    tries expiries_use_up_tries_and_nothing_is_left_to_own
    tries exhausted_leases_are_aborted_by_the_sweeper_and_signalled_as_failures
    tries an_abort_is_final_with_tries_left
    graphs a_successor_runs_after_a_completed_and_an_aborted_predecessor
    graphs an_abort_goes_on_to_all_successors_unless_they_say_otherwise
    graphs no_task_is_owned_before_its_divisors
    graphs deletions_go_on_to_what_waited_only_for_them
    graphs a_wide_fan_in_through_shards_is_done_once
    graphs a_branch_export_of_5000_files_is_done_once_all_are_copied
    graphs a_graph_that_names_successors_is_the_one_that_names_predecessors
    graphs the_path_of_a_file_is_an_id_everywhere
    graphs no_dependencies_and_an_empty_list_are_runnable
    graphs a_dependency_named_twice_is_refused_with_the_whole_batch
    graphs a_batch_with_a_taken_id_is_refused_as_a_whole
    graphs a_replacement_replaces_what_waits_and_never_what_runs
    graphs dependencies_are_added_together_and_only_to_what_has_not_started
    graphs a_signal_counts_once_however_often_it_is_sent
    graphs the_monitoring_call_counts_by_action_and_by_id
}
