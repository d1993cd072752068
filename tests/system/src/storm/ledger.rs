//! What a storm left behind, held against what each kind of task must come to; see [`crate::executions`].

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::mixed::{MIX, Share};
use crate::executions::{Executions, Losses, Record, Recoveries};

/// The books of a storm.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) records: BTreeMap<String, Record>,
    pub(super) executions: Executions,
}

impl Ledger {
    fn share_of(id: &str) -> &'static Share {
        MIX.iter().find(|share| id.starts_with(share.kind)).unwrap_or_else(|| panic!("{id} is of no kind"))
    }

    /// Everything in the books that breaks a promise, for tasks that were acknowledged.
    pub(super) fn complaints(&self, acknowledged: &BTreeSet<String>) -> Vec<String> {
        let lost = acknowledged.iter().filter(|id| !self.records.contains_key(*id)).map(|id| format!("{id} is lost"));
        let unasked = self.records.keys().filter(|id| !acknowledged.contains(*id));
        let unasked = unasked.map(|id| format!("{id} is there, and was never submitted"));
        let twice = [self.executions.settled_twice(&self.records), self.executions.unexplained(&self.records)].concat();
        lost.chain(unasked).chain(self.astray()).chain(twice).collect()
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

    /// How long it took to recover what kills interrupted.
    pub(super) fn recoveries(&self) -> Recoveries {
        self.executions.recoveries(&self.records, Losses::All, |_, _| false)
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
                of_kind().map(|(id, _)| self.executions.runs_of(id).count() as u64).sum(),
                of_kind().map(|(_, record)| record.crashes).sum(),
                of_kind().map(|(id, _)| self.executions.settled_of(id).count() as u64).sum(),
            ];
            row(&mut out, share.kind, &figures, &format!("{statuses:?}"));
            totals.iter_mut().zip(figures).for_each(|(total, figure)| *total += figure);
        }
        row(&mut out, "all", &totals, "");
        let recoveries = self.recoveries();
        let at = |share| recoveries.quantile(share).as_secs_f64();
        let (blows, workers) = (self.executions.blows(), self.executions.workers());
        writeln!(out, "kills and freezes {blows}, workers that ran tasks {workers}").unwrap();
        writeln!(out, "leases found lost by workers that lived on {}", self.executions.refused).unwrap();
        let twice = self.executions.settled_twice(&self.records);
        writeln!(out, "settlements accepted twice {}", twice.len()).unwrap();
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

    fn complaints(records: BTreeMap<String, Record>) -> Vec<String> {
        Ledger { records, executions: Executions::default() }.complaints(&BTreeSet::from([ID.to_owned()]))
    }

    #[test]
    fn a_store_that_loses_a_task_is_noticed() {
        assert_eq!(complaints(BTreeMap::new()), ["quick.0.0 is lost"]);
    }

    #[test]
    fn a_task_that_ends_as_another_kind_does_is_noticed() {
        let of = |status: &str, attempt: u64| {
            let task =
                json!({"status": status, "attempt": attempt, "crashes": 0, "finished_at": "2025-01-01T00:00:09Z"});
            BTreeMap::from([(ID.to_owned(), Record::of(&task))])
        };
        assert_eq!(complaints(of("completed", 1)), [""; 0]);
        assert_eq!(complaints(of("failed", 1)).len(), 1);
        assert_eq!(complaints(of("completed", 2)).len(), 1, "one attempt too many");
    }
}
