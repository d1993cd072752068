//! Whether each node of a workflow ran after those that it waits for, and each run ended.

use std::collections::BTreeMap;

use super::{Books, Broken, Complaint, all, endings::nodes};
use crate::soak::{clients::schedules, ledger::Action};

/// When something first happened to each task of the run, in microseconds of Unix time.
fn first(books: &Books, is_event: impl Fn(&str) -> bool) -> BTreeMap<&str, i64> {
    let mut times = BTreeMap::new();
    for effect in books.effects.iter().filter(|effect| is_event(&effect.event)) {
        let time = times.entry(effect.task.as_str()).or_insert(effect.at);
        *time = effect.at.min(*time);
    }
    times
}

/// The edges of a chord.
fn edges(run: &str, width: u64) -> Vec<(String, String)> {
    let all = nodes(run, width);
    let (first, last) = (&all[0], &all[all.len() - 1]);
    let middle = &all[1..all.len() - 1];
    middle.iter().flat_map(|one| [(first.clone(), one.clone()), (one.clone(), last.clone())]).collect()
}

pub(super) fn complaints(books: &Books) -> Vec<Complaint> {
    let begins = first(books, |_| true);
    let ends = first(books, |event| event == "done");
    let accepted =
        books.accepted(Action::Workflow).map(|deed| (deed.key.clone(), deed.with["width"].as_u64().unwrap()));
    let fired = format!("schedule:{}:", schedules::ROUNDS);
    let fired = books.workflows.keys().filter(|id| id.starts_with(&fired));
    let runs: Vec<(String, u64)> = accepted.chain(fired.map(|id| (id.clone(), schedules::WIDTH as u64))).collect();
    let mut found = Vec::new();
    for (run, width) in runs {
        match books.workflows.get(&run).map(String::as_str) {
            Some("completed") => {}
            None => found.extend(all(Broken::Lost, [format!("the workflow {run} was acknowledged")])),
            Some(state) => found.extend(all(Broken::EndedOtherwise, [format!("the workflow {run} is {state}")])),
        }
        for (before, after) in edges(&run, width) {
            let (Some(began), ended) = (begins.get(after.as_str()), ends.get(before.as_str())) else { continue };
            if ended.is_none_or(|ended| began < ended) {
                let text = format!("{after} began at {began}, and {before} was done at {ended:?}");
                found.push(Complaint { broken: Broken::ReleasedEarly, text });
            }
        }
    }
    found
}
