//! The figures of a soak.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use super::{
    audit::{Books, Broken, Complaint},
    fleet::Fleet,
    kinds,
    meter::Meter,
    plan::Plan,
};
use crate::{
    engines::Kind,
    executions::{Losses, Recoveries},
};

/// Above this, the promise of a quick recovery is broken.
const P99_RECOVERY: Duration = Duration::from_secs(10);
/// A soak that lasts shorter says nothing about growth.
const FLAT_FROM: Duration = Duration::from_secs(600);

/// A soak that is over.
pub(crate) struct Report<'a> {
    pub(crate) kind: Kind,
    pub(crate) took: Duration,
    pub(crate) plan: &'a Plan,
    pub(crate) fleet: &'a Fleet,
    pub(crate) books: &'a Books,
    pub(crate) meter: &'a Meter,
    pub(crate) writes: u64,
    pub(crate) counted: Duration,
}

impl Report<'_> {
    /// How long what was interrupted for the first time took to run again, where the store was there meanwhile.
    fn recoveries(&self) -> Recoveries {
        let outages = &self.fleet.outages;
        let disturbed = |from: i64, until: i64| outages.iter().any(|(away, back)| *away < until && *back > from);
        self.books.executions.recoveries(&self.books.records(), Losses::First, disturbed)
    }

    /// The table.
    pub(crate) fn text(&self, complaints: &[Complaint]) -> String {
        let mut out = format!("{:?}, seed {}, {:.0?}\n", self.kind, self.plan.seed, self.took);
        self.write_tasks(&mut out).unwrap();
        self.write_requests(&mut out).unwrap();
        for broken in Broken::ALL {
            let count = complaints.iter().filter(|complaint| complaint.broken == broken).count();
            writeln!(out, "{:<20}{count:>6}", format!("{broken:?}")).unwrap();
        }
        let recoveries = self.recoveries();
        let at = |share| recoveries.quantile(share).as_secs_f64();
        writeln!(
            out,
            "recovered           {:>6} executions, after p50 {:.2} s, p99 {:.2} s, at most {:.2} s",
            recoveries.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        )
        .unwrap();
        out += &self.meter.report();
        let per_minute = self.writes as f64 * 60.0 / self.counted.as_secs_f64();
        writeln!(out, "writes at rest      {} in {:?}, {per_minute:.1} a minute", self.writes, self.counted).unwrap();
        out
    }

    fn write_tasks(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{:<12}{:>8}{:>12}{:>10}  ended as", "kind", "tasks", "executions", "reclaims")?;
        for kind in &kinds::KINDS {
            let of_kind = || self.books.tasks.iter().filter(|(id, _)| std::ptr::eq(kinds::of(id), kind));
            let mut statuses: BTreeMap<&str, u64> = BTreeMap::new();
            for (_, task) in of_kind() {
                *statuses.entry(&task.record.status).or_default() += 1;
            }
            let runs: usize = of_kind().map(|(id, _)| self.books.executions.runs_of(id).count()).sum();
            let crashes: u64 = of_kind().map(|(_, task)| task.record.crashes).sum();
            let name = if kind.name.is_empty() { "others" } else { kind.name };
            writeln!(out, "{name:<12}{:>8}{runs:>12}{crashes:>10}  {statuses:?}", of_kind().count())?;
        }
        Ok(())
    }

    fn write_requests(&self, out: &mut String) -> std::fmt::Result {
        let mut requests: BTreeMap<_, [usize; 2]> = BTreeMap::new();
        for deed in &self.books.deeds {
            let [asked, lost] = requests.entry(deed.action).or_default();
            *asked += 1;
            *lost += usize::from(deed.answer.is_none());
        }
        for (action, [asked, lost]) in requests {
            writeln!(out, "{:<12}{asked:>8} asked, {lost} without an answer", format!("{action:?}"))?;
        }
        let executions = &self.books.executions;
        writeln!(
            out,
            "faults {} of {}, of workers {}, workers killed by poison {}, workers that ran tasks {}, leases found lost {}, \
             outages of the store {}",
            self.fleet.faults,
            self.plan.faults.len(),
            executions.blows(),
            self.fleet.suicides,
            executions.workers(),
            executions.refused,
            self.fleet.outages.len()
        )
    }

    pub(crate) fn assert_recovered_in_time(&self) {
        let recoveries = self.recoveries();
        // A short soak may interrupt no task for the first time while the store is there.
        if recoveries.len() > 0 {
            assert!(recoveries.quantile(0.99) <= P99_RECOVERY, "{:?}", recoveries.0);
        }
    }

    /// After so long a soak: what lived to its end holds about what it held when it was warm.
    pub(crate) fn assert_flat(&self, length: Duration) {
        if length < FLAT_FROM {
            return;
        }
        for (role, lived, [first, last, peak]) in self.meter.longest() {
            let bound = first + first / 4 + 32;
            assert!(last <= bound, "{role} held {first} MiB at first, {last} after {lived} s, and {peak} at most");
        }
    }
}
