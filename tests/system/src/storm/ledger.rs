//! What a storm left behind, in three books that must agree: the store's record of each task, what each execution wrote
//! down, and which settlements the workers saw accepted.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    time::Duration,
};

use jobbers_test_support::effects::Effect;
use serde_json::Value;

use super::mixed::{MIX, Share};

/// A worker that was killed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Killed {
    pub(super) pid: u32,
    /// In microseconds of Unix time.
    pub(super) at: i64,
}

/// A task in the store's record.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) status: String,
    attempt: u64,
    crashes: u64,
    finished_at: i64,
    /// The attempts its history names as failed.
    pub(super) failed: Vec<u64>,
}

impl Record {
    pub(super) fn of(task: &Value) -> Self {
        let at: jiff::Timestamp = task["finished_at"].as_str().unwrap().parse().unwrap();
        Self {
            status: task["status"].as_str().unwrap().to_owned(),
            attempt: task["attempt"].as_u64().unwrap(),
            crashes: task["crashes"].as_u64().unwrap(),
            finished_at: at.as_microsecond(),
            failed: Vec::new(),
        }
    }
}

/// One execution: all that one claim led to.
#[derive(Debug, Clone, Copy)]
struct Run {
    attempt: u64,
    pid: u32,
    at: i64,
}

/// A settlement that the store accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Settled {
    how: String,
    status: String,
}

impl Settled {
    fn is_end(&self) -> bool {
        !["submitted", "scheduled"].contains(&self.status.as_str())
    }
}

/// How long it took from a kill to the next start of what it interrupted, in ascending order.
#[derive(Debug)]
pub(super) struct Recoveries(Vec<Duration>);

impl Recoveries {
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// The value below which this share of all lies; the last of all for 1.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank")]
    pub(super) fn quantile(&self, share: f64) -> Duration {
        let rank = (share * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// The three books.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) records: BTreeMap<String, Record>,
    /// By task, then by fence.
    runs: BTreeMap<String, BTreeMap<u64, Run>>,
    /// By task, then by fence; one settlement each unless something is wrong.
    settled: BTreeMap<String, BTreeMap<u64, Vec<Settled>>>,
    killed: BTreeMap<u32, i64>,
    /// The refusals that workers got for lost leases: of settlements and renewals.
    pub(super) refused: usize,
}

impl Ledger {
    pub(super) fn new(
        records: BTreeMap<String, Record>,
        effects: &[Effect],
        logs: &[String],
        killed: &[Killed],
    ) -> Self {
        let mut runs: BTreeMap<String, BTreeMap<u64, Run>> = BTreeMap::new();
        for effect in effects {
            let run = Run { attempt: u64::from(effect.attempt), pid: effect.pid, at: effect.at };
            runs.entry(effect.task.clone()).or_default().entry(effect.fence).or_insert(run);
        }
        let mut settled: BTreeMap<String, BTreeMap<u64, Vec<Settled>>> = BTreeMap::new();
        for line in logs.iter().flat_map(|log| log.lines()).filter(|line| line.contains("\"message\":\"settled\"")) {
            // The last line of a killed worker may be half of one.
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let word =
                |name: &str| line["fields"][name].as_str().unwrap_or_else(|| panic!("{name} of {line}")).to_owned();
            let fence = word("fence").parse().unwrap();
            let settlement = Settled { how: word("how"), status: word("status") };
            settled.entry(word("id")).or_default().entry(fence).or_default().push(settlement);
        }
        let is_refusal = |line: &&str| line.contains("its lease was lost") || line.contains("its lease is lost");
        let refused = logs.iter().flat_map(|log| log.lines()).filter(is_refusal).count();
        let killed = killed.iter().map(|killed| (killed.pid, killed.at)).collect();
        Self { records, runs, settled, killed, refused }
    }

    fn share_of(id: &str) -> &'static Share {
        MIX.iter().find(|share| id.starts_with(share.kind)).unwrap_or_else(|| panic!("{id} is of no kind"))
    }

    fn settled_of(&self, id: &str) -> impl Iterator<Item = (u64, &Settled)> {
        self.settled.get(id).into_iter().flatten().flat_map(|(fence, all)| all.iter().map(|one| (*fence, one)))
    }

    fn runs_of(&self, id: &str) -> impl Iterator<Item = (u64, Run)> {
        self.runs.get(id).into_iter().flatten().map(|(fence, run)| (*fence, *run))
    }

    /// Everything in the books that breaks a promise, for tasks that were acknowledged.
    pub(super) fn complaints(&self, acknowledged: &BTreeSet<String>) -> Vec<String> {
        let lost = acknowledged.iter().filter(|id| !self.records.contains_key(*id)).map(|id| format!("{id} is lost"));
        let unasked = self.records.keys().filter(|id| !acknowledged.contains(*id));
        let unasked = unasked.map(|id| format!("{id} is there, and was never submitted"));
        lost.chain(unasked).chain(self.astray()).chain(self.settled_twice()).collect()
    }

    /// Tasks that did not end as their kind must: another status, more or fewer attempts, another history.
    fn astray(&self) -> Vec<String> {
        let is_astray = |(id, record): &(&String, &Record)| {
            let share = Self::share_of(id);
            // A task that is cancelled before it ran has no attempt.
            let attempts = record.attempt == share.attempts || record.status == "cancelled" && record.attempt == 0;
            record.status != share.status || !attempts || record.failed != share.failed
        };
        self.records.iter().filter(is_astray).map(|(id, record)| format!("{id}: {record:?}")).collect()
    }

    /// What speaks for a settlement that was accepted though another one was, or though its lease was void.
    fn settled_twice(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (id, record) in &self.records {
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
            found.extend(self.unexplained_runs(id, record));
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

    /// More executions than attempts, lost leases and give-backs account for.
    fn unexplained_runs(&self, id: &str, record: &Record) -> Option<String> {
        let runs = self.runs_of(id).count() as u64;
        let given_back = self.settled_of(id).filter(|(_, settled)| settled.how == "released").count() as u64;
        let explained = record.attempt.max(1) + record.crashes + given_back;
        (runs > explained).then(|| format!("{id} ran {runs} times, and its record explains {explained}: {record:?}"))
    }

    /// How long it took to recover each execution that a kill interrupted: until the same attempt started elsewhere, or
    /// until the task was over without its worker's help, as a cancelled one is. A task that lost another lease before it
    /// began is left out: its next worker was killed too, and only one of the two times is the store's.
    pub(super) fn recoveries(&self) -> Recoveries {
        let mut all = Vec::new();
        for (id, record) in &self.records {
            let runs: Vec<(u64, Run)> = self.runs_of(id).collect();
            let is_settled = |fence: u64| self.settled_of(id).any(|(settled, _)| settled == fence);
            let interrupted = runs.iter().filter(|(fence, _)| !is_settled(*fence)).count() as u64;
            if record.crashes > interrupted {
                continue;
            }
            for (place, (fence, run)) in runs.iter().enumerate() {
                let Some(killed_at) = self.killed.get(&run.pid) else { continue };
                if is_settled(*fence) {
                    continue;
                }
                let recovered_at = match runs.get(place + 1) {
                    Some((_, next)) if next.attempt == run.attempt => next.at,
                    // The settlement was accepted, and its worker killed before it could say so.
                    Some(_) => continue,
                    None => record.finished_at,
                };
                if recovered_at > *killed_at {
                    all.push(Duration::from_micros((recovered_at - killed_at).unsigned_abs()));
                }
            }
        }
        all.sort_unstable();
        Recoveries(all)
    }

    /// The figures.
    pub(super) fn report(&self, heading: &str) -> String {
        let mut out = format!("{heading}\n");
        writeln!(out, "{:<12}{:>8}{:>12}{:>12}{:>12}  ended as", "kind", "tasks", "executions", "reclaims", "settled")
            .unwrap();
        let mut totals = [0; 4];
        for share in &MIX {
            let of_kind = || self.records.iter().filter(|(id, _)| id.starts_with(share.kind));
            let mut statuses: BTreeMap<&str, u64> = BTreeMap::new();
            for (_, record) in of_kind() {
                *statuses.entry(&record.status).or_default() += 1;
            }
            let figures = [
                of_kind().count() as u64,
                of_kind().map(|(id, _)| self.runs_of(id).count() as u64).sum(),
                of_kind().map(|(_, record)| record.crashes).sum(),
                of_kind().map(|(id, _)| self.settled_of(id).count() as u64).sum(),
            ];
            row(&mut out, share.kind, &figures, &format!("{statuses:?}"));
            totals.iter_mut().zip(figures).for_each(|(total, figure)| *total += figure);
        }
        row(&mut out, "all", &totals, "");
        let recoveries = self.recoveries();
        let at = |share| recoveries.quantile(share).as_secs_f64();
        let pids: BTreeSet<u32> = self.runs.values().flat_map(|runs| runs.values().map(|run| run.pid)).collect();
        writeln!(out, "kills and freezes {}, workers that ran tasks {}", self.killed.len(), pids.len()).unwrap();
        writeln!(out, "leases found lost by workers that lived on {}", self.refused).unwrap();
        writeln!(out, "settlements accepted twice {}", self.settled_twice().len()).unwrap();
        writeln!(
            out,
            "executions interrupted once {}, recovered after p50 {:.2} s, p99 {:.2} s, at most {:.2} s",
            recoveries.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        )
        .unwrap();
        out
    }
}

fn row(out: &mut String, kind: &str, figures: &[u64; 4], ended: &str) {
    let [tasks, executions, reclaims, settled] = figures;
    writeln!(out, "{kind:<12}{tasks:>8}{executions:>12}{reclaims:>12}{settled:>12}  {ended}").unwrap();
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

    fn complaints(records: BTreeMap<String, Record>, effects: &[Effect], logs: &[String]) -> Vec<String> {
        Ledger::new(records, effects, logs, &[]).complaints(&BTreeSet::from([ID.to_owned()]))
    }

    #[test]
    fn sound_books_give_no_cause_for_complaint() {
        assert_eq!(complaints(records("completed", 0), &[ran(7, 1)], &[log(&[7])]), Vec::<String>::new());
        let lost_once = [ran(7, 1), ran(9, 2)];
        assert_eq!(complaints(records("completed", 1), &lost_once, &[log(&[9])]), Vec::<String>::new());
    }

    #[test]
    fn a_store_that_loses_a_task_is_noticed() {
        assert_eq!(complaints(BTreeMap::new(), &[ran(7, 1)], &[log(&[7])]), ["quick.0.0 is lost"]);
    }

    #[test]
    fn a_store_without_fences_is_noticed() {
        // Both the worker that lost the lease and the one that has it get the answer that their settlement counts.
        let found = complaints(records("completed", 1), &[ran(7, 1), ran(9, 2)], &[log(&[7]), log(&[9])]);
        assert!(found.iter().any(|it| it.contains("ended by")), "{found:?}");
        assert!(found.iter().any(|it| it.contains("ran again")), "{found:?}");
        let twice = complaints(records("completed", 0), &[ran(7, 1)], &[log(&[7]), log(&[7])]);
        assert!(twice.iter().any(|it| it.contains("settled twice by fence 7")), "{twice:?}");
    }

    #[test]
    fn a_store_that_hands_a_task_to_two_workers_is_noticed() {
        let found = complaints(records("completed", 0), &[ran(7, 1), ran(9, 2)], &[log(&[9])]);
        assert!(found.iter().any(|it| it.contains("ran 2 times")), "{found:?}");
    }

    #[test]
    fn a_recovery_is_from_a_kill_to_the_next_start_unless_another_lease_was_lost_between() {
        let recoveries = |crashes| -> Vec<Duration> {
            let effects = [ran(7_000_000, 1), ran(15_000_000, 2)];
            let killed = [Killed { pid: 1, at: 7_000_000 }];
            Ledger::new(records("completed", crashes), &effects, &[log(&[15_000_000])], &killed).recoveries().0
        };
        assert_eq!(recoveries(1), vec![Duration::from_secs(8)]);
        assert!(recoveries(2).is_empty(), "a second worker was killed before it began");
    }

    #[test]
    fn a_task_that_ends_as_another_kind_does_is_noticed() {
        assert!(!complaints(records("failed", 3), &[], &[]).is_empty());
    }
}
