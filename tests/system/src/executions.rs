//! What executions left behind, in three books that must agree: the store's record of each task, what each execution wrote
//! down, and which settlements the workers saw accepted.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jobbers_test_support::effects::Effect;
use serde_json::Value;

/// How a worker logs so that its settlements can be read back.
pub(crate) const LOG: [(&str, &str); 3] =
    [("JOBBERS_LOG", "info,jobbers_worker::fetcher=trace"), ("JOBBERS_LOG_FORMAT", "json"), ("RUST_BACKTRACE", "0")];

/// A worker that was killed or frozen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Killed {
    pub(crate) pid: u32,
    /// In microseconds of Unix time.
    pub(crate) at: i64,
}

/// A task in the store's record.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) status: String,
    pub(crate) attempt: u64,
    pub(crate) crashes: u64,
    /// In microseconds of Unix time; 0 if it is not over.
    pub(crate) finished_at: i64,
    /// The attempts its history names as failed.
    pub(crate) failed: Vec<u64>,
}

impl Record {
    pub(crate) fn of(task: &Value) -> Self {
        let at: jiff::Timestamp = task["finished_at"].as_str().unwrap().parse().unwrap();
        Self {
            status: task["status"].as_str().unwrap().to_owned(),
            attempt: task["attempt"].as_u64().unwrap(),
            crashes: task["crashes"].as_u64().unwrap(),
            finished_at: at.as_microsecond(),
            failed: Vec::new(),
        }
    }

    /// One that is not over.
    pub(crate) fn live(task: &Value) -> Self {
        let number = |name: &str| task[name].as_u64().unwrap_or_default();
        let status = task["status"].as_str().unwrap().to_owned();
        Self { status, attempt: number("attempt"), crashes: number("crashes"), finished_at: 0, failed: Vec::new() }
    }
}

/// One execution: all that one claim led to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) attempt: u64,
    pub(crate) pid: u32,
    /// When it wrote its first line, in microseconds of Unix time.
    pub(crate) at: i64,
}

/// A settlement that the store accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settled {
    how: String,
    status: String,
}

impl Settled {
    fn is_end(&self) -> bool {
        !["submitted", "scheduled"].contains(&self.status.as_str())
    }
}

/// Which lost executions of a task count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Losses {
    All,
    /// What is lost a second time may have to run alone first, beside a task that kills its workers.
    First,
}

/// How long it took from a kill to the next start of what it interrupted, in ascending order.
#[derive(Debug)]
pub(crate) struct Recoveries(pub(crate) Vec<Duration>);

impl Recoveries {
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// The value below which this share of all lies; the last of all for 1.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank")]
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let rank = (share * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// The executions and settlements of all tasks.
#[derive(Debug, Default)]
pub(crate) struct Executions {
    /// By task, then by fence.
    runs: BTreeMap<String, BTreeMap<u64, Run>>,
    /// By task, then by fence; one settlement each unless something is wrong.
    settled: BTreeMap<String, BTreeMap<u64, Vec<Settled>>>,
    /// By process, in the order of time: a frozen worker goes on, and may be hit again.
    killed: BTreeMap<u32, Vec<i64>>,
    /// The refusals that workers got for lost leases: of settlements and renewals.
    pub(crate) refused: usize,
}

impl Executions {
    /// From the effects of tasks, the logs of their workers (with [`LOG`]) and the blows to these.
    pub(crate) fn new(effects: &[Effect], logs: &[String], killed: &[Killed]) -> Self {
        let mut all = Self::default();
        for effect in effects {
            let run = Run { attempt: u64::from(effect.attempt), pid: effect.pid, at: effect.at };
            all.runs.entry(effect.task.clone()).or_default().entry(effect.fence).or_insert(run);
        }
        for line in logs.iter().flat_map(|log| log.lines()).filter(|line| line.contains("\"message\":\"settled\"")) {
            // The last line of a killed worker may be half of one.
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let word =
                |name: &str| line["fields"][name].as_str().unwrap_or_else(|| panic!("{name} of {line}")).to_owned();
            let fence = word("fence").parse().unwrap();
            let settlement = Settled { how: word("how"), status: word("status") };
            all.settled.entry(word("id")).or_default().entry(fence).or_default().push(settlement);
        }
        let is_refusal = |line: &&str| line.contains("its lease was lost") || line.contains("its lease is lost");
        all.refused = logs.iter().flat_map(|log| log.lines()).filter(is_refusal).count();
        for one in killed {
            all.killed.entry(one.pid).or_default().push(one.at);
        }
        all
    }

    /// Leaves out one execution with its settlement: what belongs to an earlier life of a task that was sent again.
    pub(crate) fn leave_out(&mut self, task: &str, fence: u64) {
        if let Some(runs) = self.runs.get_mut(task) {
            runs.remove(&fence);
        }
        if let Some(settled) = self.settled.get_mut(task) {
            settled.remove(&fence);
        }
    }

    pub(crate) fn settled_of(&self, id: &str) -> impl Iterator<Item = (u64, &Settled)> {
        self.settled.get(id).into_iter().flatten().flat_map(|(fence, all)| all.iter().map(|one| (*fence, one)))
    }

    pub(crate) fn runs_of(&self, id: &str) -> impl Iterator<Item = (u64, Run)> {
        self.runs.get(id).into_iter().flatten().map(|(fence, run)| (*fence, *run))
    }

    /// When the process of this run was first killed or frozen after its start.
    pub(crate) fn blow_after(&self, run: Run) -> Option<i64> {
        self.killed.get(&run.pid)?.iter().copied().find(|at| *at >= run.at)
    }

    /// How many blows there were.
    pub(crate) fn blows(&self) -> usize {
        self.killed.values().map(Vec::len).sum()
    }

    /// How many processes ran tasks.
    pub(crate) fn workers(&self) -> usize {
        let pids: BTreeSet<u32> = self.runs.values().flat_map(|runs| runs.values().map(|run| run.pid)).collect();
        pids.len()
    }

    /// What speaks for a settlement that was accepted though another one was, or though its lease was void.
    pub(crate) fn settled_twice(&self, records: &BTreeMap<String, Record>) -> Vec<String> {
        let mut found = Vec::new();
        for (id, record) in records {
            let ends: Vec<_> = self.settled_of(id).filter(|(_, settled)| settled.is_end()).collect();
            if ends.len() > 1 || ends.iter().any(|(_, end)| end.status != record.status) {
                found.push(format!("{id} is {} and ended by {ends:?}", record.status));
            }
            for (fence, all) in self.settled.get(id).into_iter().flatten() {
                if all.len() > 1 {
                    found.push(format!("{id} was settled twice by fence {fence}: {all:?}"));
                }
            }
            found.extend(self.ran_after_its_end(id));
        }
        found
    }

    /// An attempt that was settled, and ran again under a later fence.
    fn ran_after_its_end(&self, id: &str) -> Option<String> {
        let runs = self.runs.get(id)?;
        self.settled_of(id).filter(|(_, settled)| settled.how != "released").find_map(|(fence, settled)| {
            let attempt = runs.get(&fence)?.attempt;
            let again = runs.range(fence + 1..).find(|(_, run)| run.attempt == attempt)?;
            Some(format!("{id}: attempt {attempt} was settled by fence {fence} ({settled:?}) and ran again: {again:?}"))
        })
    }

    /// Tasks with more executions than attempts, lost leases and give-backs account for.
    pub(crate) fn unexplained(&self, records: &BTreeMap<String, Record>) -> Vec<String> {
        let is_unexplained = |(id, record): (&String, &Record)| {
            let runs = self.runs_of(id).count() as u64;
            let given_back = self.settled_of(id).filter(|(_, settled)| settled.how == "released").count() as u64;
            let explained = record.attempt.max(1) + record.crashes + given_back;
            (runs > explained)
                .then(|| format!("{id} ran {runs} times, and its record explains {explained}: {record:?}"))
        };
        records.iter().filter_map(is_unexplained).collect()
    }

    /// How long it took to recover each execution that a kill interrupted: until the same attempt started elsewhere, or
    /// until the task was over without its worker's help, as a cancelled one is. A task that lost another lease before it
    /// began is left out: its next worker was killed too, and only one of the two times is the store's. So is a
    /// recovery for whose beginning and end `disturbed` is true.
    pub(crate) fn recoveries(
        &self,
        records: &BTreeMap<String, Record>,
        losses: Losses,
        disturbed: impl Fn(i64, i64) -> bool,
    ) -> Recoveries {
        let mut all = Vec::new();
        for (id, record) in records {
            let runs: Vec<(u64, Run)> = self.runs_of(id).collect();
            let is_settled = |fence: u64| self.settled_of(id).any(|(settled, _)| settled == fence);
            let interrupted = runs.iter().filter(|(fence, _)| !is_settled(*fence)).count() as u64;
            if record.crashes > interrupted {
                continue;
            }
            let first = runs.iter().position(|(fence, _)| !is_settled(*fence));
            for (place, (fence, run)) in runs.iter().enumerate() {
                if losses == Losses::First && first != Some(place) {
                    continue;
                }
                let Some(killed_at) = self.blow_after(*run) else { continue };
                if is_settled(*fence) {
                    continue;
                }
                let recovered_at = match runs.get(place + 1) {
                    Some((_, next)) if next.attempt == run.attempt => next.at,
                    // The settlement was accepted, and its worker killed before it could say so.
                    Some(_) => continue,
                    None => record.finished_at,
                };
                if recovered_at > killed_at && !disturbed(killed_at, recovered_at) {
                    all.push(Duration::from_micros((recovered_at - killed_at).unsigned_abs()));
                }
            }
        }
        all.sort_unstable();
        Recoveries(all)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "quick.0.0";

    fn records(status: &str, crashes: u64) -> BTreeMap<String, Record> {
        let task = json!({
            "status": status, "attempt": 1, "crashes": crashes, "finished_at": "2025-01-01T00:00:09Z",
        });
        BTreeMap::from([(ID.to_owned(), Record::of(&task))])
    }

    fn ran(fence: u64, pid: u32) -> Effect {
        let at = i64::try_from(fence).unwrap();
        Effect { event: "done".to_owned(), task: ID.to_owned(), attempt: 1, fence, pid, at }
    }

    /// The log of a worker to which these fences' settlements were accepted.
    fn log(fences: &[u64]) -> String {
        let line = |fence: &u64| {
            let fields = json!({"message": "settled", "id": ID, "fence": fence.to_string(), "how": "completed", "status": "completed"});
            json!({"fields": fields}).to_string()
        };
        fences.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn complaints(records: &BTreeMap<String, Record>, effects: &[Effect], logs: &[String]) -> Vec<String> {
        let executions = Executions::new(effects, logs, &[]);
        [executions.settled_twice(records), executions.unexplained(records)].concat()
    }

    #[test]
    fn sound_books_give_no_cause_for_complaint() {
        assert_eq!(complaints(&records("completed", 0), &[ran(7, 1)], &[log(&[7])]), Vec::<String>::new());
        let lost_once = [ran(7, 1), ran(9, 2)];
        assert_eq!(complaints(&records("completed", 1), &lost_once, &[log(&[9])]), Vec::<String>::new());
    }

    #[test]
    fn a_store_without_fences_is_noticed() {
        // Both the worker that lost the lease and the one that has it get the answer that their settlement counts.
        let found = complaints(&records("completed", 1), &[ran(7, 1), ran(9, 2)], &[log(&[7]), log(&[9])]);
        assert!(found.iter().any(|it| it.contains("ended by")), "{found:?}");
        assert!(found.iter().any(|it| it.contains("ran again")), "{found:?}");
        let twice = complaints(&records("completed", 0), &[ran(7, 1)], &[log(&[7]), log(&[7])]);
        assert!(twice.iter().any(|it| it.contains("settled twice by fence 7")), "{twice:?}");
    }

    #[test]
    fn a_store_that_hands_a_task_to_two_workers_is_noticed() {
        let found = complaints(&records("completed", 0), &[ran(7, 1), ran(9, 2)], &[log(&[9])]);
        assert!(found.iter().any(|it| it.contains("ran 2 times")), "{found:?}");
    }

    #[test]
    fn an_earlier_life_counts_for_nothing() {
        let mut executions = Executions::new(&[ran(7, 1), ran(9, 2)], &[log(&[7]), log(&[9])], &[]);
        executions.leave_out(ID, 7);
        let records = records("completed", 0);
        assert_eq!([executions.settled_twice(&records), executions.unexplained(&records)].concat(), [""; 0]);
    }

    #[test]
    fn a_recovery_is_from_a_kill_to_the_next_start_unless_another_lease_was_lost_between() {
        let recoveries = |crashes, disturbed| -> Vec<Duration> {
            let effects = [ran(7_000_000, 1), ran(15_000_000, 2)];
            let killed = [Killed { pid: 1, at: 5_000_000 }, Killed { pid: 1, at: 7_000_000 }];
            let executions = Executions::new(&effects, &[log(&[15_000_000])], &killed);
            executions.recoveries(&records("completed", crashes), Losses::All, |_, _| disturbed).0
        };
        assert_eq!(recoveries(1, false), vec![Duration::from_secs(8)]);
        assert!(recoveries(2, false).is_empty(), "a second worker was killed before it began");
        assert!(recoveries(1, true).is_empty(), "the store was down meanwhile");
    }

    #[test]
    fn of_a_task_that_was_lost_twice_the_first_loss_can_be_counted_alone() {
        let effects = [ran(5_000_000, 1), ran(7_000_000, 2), ran(9_000_000, 3)];
        let killed = [Killed { pid: 1, at: 5_000_000 }, Killed { pid: 2, at: 7_000_000 }];
        let executions = Executions::new(&effects, &[log(&[9_000_000])], &killed);
        let counted = |losses| executions.recoveries(&records("completed", 2), losses, |_, _| false).len();
        assert_eq!((counted(Losses::All), counted(Losses::First)), (2, 1));
    }
}
