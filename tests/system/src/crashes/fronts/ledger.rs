//! What clients were answered, compared with what is left.

use std::collections::BTreeSet;

use super::Shown;

/// What the clients were answered, by the data of the tasks.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    ids: BTreeSet<i64>,
    claimed: BTreeSet<String>,
    pub(super) added: BTreeSet<String>,
    pub(super) deleted: BTreeSet<String>,
    /// Changes that were asked for, whether or not their answers were lost.
    pub(super) perhaps_added: BTreeSet<String>,
    pub(super) perhaps_deleted: BTreeSet<String>,
}

impl Ledger {
    /// Notes an id of an answer: each is given out once.
    pub(super) fn acknowledge(&mut self, id: i64) -> &mut Self {
        assert!(self.ids.insert(id), "{id} was used before");
        self
    }

    /// Notes who holds a task: one at a time, and none lets go.
    pub(super) fn claim(&mut self, task: &Shown) {
        assert!(self.acknowledge(task.id).claimed.insert(task.data.clone()), "two hold {task:?}");
    }

    /// Compares what the clients were answered with what is left, after so many kills.
    pub(super) fn check(&self, tasks: &[Shown], kills: usize) {
        let mut left = BTreeSet::new();
        for task in tasks {
            assert!(left.insert(task.data.clone()), "{task:?} is there twice");
            assert!(self.perhaps_added.contains(&task.data), "nobody added {task:?}");
            assert!(!self.deleted.contains(&task.data), "{task:?} was deleted");
        }
        for data in &self.added {
            assert!(left.contains(data) || self.perhaps_deleted.contains(data), "{data} is lost");
        }
        assert!(self.deleted.len() > kills && left.len() > kills, "{} and {}", self.deleted.len(), left.len());
    }
}

/// Ten tasks of which five were deleted.
fn ledger() -> (Ledger, Vec<Shown>) {
    let mut ledger = Ledger::default();
    for id in 0..10 {
        ledger.acknowledge(id).added.insert(id.to_string());
        ledger.perhaps_added.insert(id.to_string());
    }
    for id in 0..5 {
        ledger.claim(&Shown { id: 10 + id, data: id.to_string() });
        ledger.perhaps_deleted.insert(id.to_string());
        ledger.deleted.insert(id.to_string());
    }
    (ledger, (5..10).map(|id| Shown { id, data: id.to_string() }).collect())
}

#[test]
fn a_ledger_that_agrees_is_silent() {
    let (ledger, left) = ledger();
    ledger.check(&left, 1);
}

#[test]
#[should_panic(expected = "9 is lost")]
fn a_ledger_complains_of_a_lost_task() {
    let (ledger, mut left) = ledger();
    left.pop();
    ledger.check(&left, 1);
}

#[test]
#[should_panic(expected = "was deleted")]
fn a_ledger_complains_of_a_deleted_task_that_is_there() {
    let (ledger, mut left) = ledger();
    left.push(Shown { id: 30, data: "0".to_owned() });
    ledger.check(&left, 1);
}

#[test]
#[should_panic(expected = "two hold")]
fn a_ledger_complains_of_a_second_holder() {
    let (mut ledger, _) = ledger();
    ledger.claim(&Shown { id: 31, data: "0".to_owned() });
}

#[test]
#[should_panic(expected = "was used before")]
fn a_ledger_complains_of_an_id_that_was_used_before() {
    let (mut ledger, _) = ledger();
    ledger.acknowledge(3);
}
