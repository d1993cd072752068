//! What a shop left behind, compared with what its orders must come to; see [`crate::executions`].

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use crate::executions::{Executions, Record};

/// Pieces of the example's catalogue.
const PIECES: usize = 3;

/// The books of a shop.
#[derive(Debug, Default)]
pub(super) struct Books {
    pub(super) records: BTreeMap<String, Record>,
    pub(super) executions: Executions,
    /// The orders that the card network charged.
    pub(super) charged: BTreeSet<String>,
}

/// Whether the bank declines the nth order, as `day.rs` of the example has it.
const fn is_declined(order: usize) -> bool {
    order % 10 == 9
}

/// The tasks that so many orders lead to, each with the status in which it must end.
pub(super) fn expected(orders: usize) -> BTreeMap<String, &'static str> {
    let mut all = BTreeMap::new();
    for n in 0..orders {
        let (charge, after, sorry) = match is_declined(n) {
            true => ("failed", "aborted", "completed"),
            false => ("completed", "completed", "aborted"),
        };
        let tasks = [("charge", charge), ("ship", after), ("receipt", after), ("sorry", sorry), ("close", "completed")];
        let webhook = (!n.is_multiple_of(5)).then_some(("webhook", after));
        all.extend(tasks.into_iter().chain(webhook).map(|(task, status)| (format!("order-{n}/{task}"), status)));
        if n.is_multiple_of(10) {
            all.insert(format!("picture-{n}"), "completed");
        }
        if n.is_multiple_of(100) {
            let pieces = (1..=PIECES).map(|piece| format!("import-{n}/pieces/check-{piece}"));
            let whole = [format!("list-{n}"), format!("import-{n}"), format!("import-{n}/pieces/publish")];
            all.extend(whole.into_iter().chain(pieces).map(|id| (id, "completed")));
        }
    }
    all
}

impl Books {
    /// Everything that breaks a promise, for a shop with so many orders.
    pub(super) fn complaints(&self, orders: usize) -> Vec<String> {
        let expected = expected(orders);
        let mut found = Vec::new();
        for (id, status) in &expected {
            match self.records.get(id) {
                None => found.push(format!("{id} is lost")),
                Some(record) if record.status != *status => {
                    found.push(format!("{id} is {}, not {status}", record.status));
                }
                Some(record) if record.status == "completed" && self.executions.runs_of(id).next().is_none() => {
                    found.push(format!("{id} is completed, and had no effect"));
                }
                Some(_) => {}
            }
        }
        let unasked = self.records.keys().filter(|id| !expected.contains_key(*id));
        found.extend(unasked.map(|id| format!("{id} is there, and was never submitted")));
        for order in 0..orders {
            match (is_declined(order), self.charged.contains(&order.to_string())) {
                (false, false) => found.push(format!("order {order} is paid, and its card was not charged")),
                (true, true) => found.push(format!("order {order} is cancelled, and its card was charged")),
                _ => {}
            }
        }
        found.extend(self.executions.settled_twice(&self.records));
        found.extend(self.executions.unexplained(&self.records));
        found
    }

    /// How many leases of killed workers were taken back.
    pub(super) fn reclaims(&self) -> u64 {
        self.records.values().map(|record| record.crashes).sum()
    }

    /// The figures.
    pub(super) fn report(&self, heading: &str) -> String {
        let mut out = format!("{heading}\n");
        let count = |of: &dyn Fn(&str) -> usize| self.records.keys().map(|id| of(id)).sum::<usize>();
        let mut statuses: BTreeMap<&str, u64> = BTreeMap::new();
        for record in self.records.values() {
            *statuses.entry(&record.status).or_default() += 1;
        }
        let runs = count(&|id| self.executions.runs_of(id).count());
        let with_effect = count(&|id| usize::from(self.executions.runs_of(id).next().is_some()));
        let again = count(&|id| usize::from(self.executions.runs_of(id).count() > 1));
        let ends = count(&|id| self.executions.settled_of(id).count());
        writeln!(out, "tasks {} {statuses:?}", self.records.len()).unwrap();
        writeln!(out, "tasks with an effect {with_effect}, executions with one {runs}, tasks with two {again}")
            .unwrap();
        writeln!(out, "leases taken back {}, workers {}", self.reclaims(), self.executions.workers()).unwrap();
        let twice = self.executions.settled_twice(&self.records).len();
        writeln!(out, "settlements that workers saw accepted {ends}, twice {twice}").unwrap();
        writeln!(out, "cards charged {}", self.charged.len()).unwrap();
        out
    }
}
