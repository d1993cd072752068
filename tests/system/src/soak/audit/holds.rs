//! Whether what is leased was held by one client at a time, and ended by one.
//!
//! A hold is certain from the moment at which its answer was there until its length after the moment before it was asked
//! for, or until the holder asked to end it. Another client's claim is certainly within it if it was asked for and answered
//! in that time.

use std::collections::BTreeMap;

use super::{Books, Broken, Complaint};
use crate::soak::ledger::{Action, Deed};

/// What one client certainly held: a task or the data of a board's task, under a fence or an id.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hold {
    what: String,
    under: u64,
    asked_at: i64,
    from: i64,
    until: i64,
}

fn length(deed: &Deed) -> i64 {
    deed.with["lease_ms"].as_i64().unwrap_or_default() * 1_000
}

/// What this claim certainly held, unless it was extended or ended.
fn held(deed: &Deed) -> Vec<Hold> {
    let Some((from, answer)) = &deed.answer else { return Vec::new() };
    let hold = |what: &str, under: u64| Hold {
        what: what.to_owned(),
        under,
        asked_at: deed.asked_at,
        from: *from,
        until: deed.asked_at + length(deed),
    };
    if deed.action == Action::Claim {
        return answer["data"].as_str().map(|data| hold(data, answer["id"].as_u64().unwrap())).into_iter().collect();
    }
    let leases = answer.as_array().into_iter().flatten();
    leases.map(|lease| hold(lease["id"].as_str().unwrap(), lease["fence"].as_u64().unwrap())).collect()
}

/// All holds, by what is held, each until its certain end.
fn holds(books: &Books) -> BTreeMap<String, Vec<Hold>> {
    let mut all: BTreeMap<String, Vec<Hold>> = BTreeMap::new();
    for deed in &books.deeds {
        match deed.action {
            Action::Lease | Action::Claim => {
                for hold in held(deed) {
                    all.entry(hold.what.clone()).or_default().push(hold);
                }
            }
            Action::Extend | Action::Return | Action::Remove => {
                let under = deed.with["fence"].as_u64().or_else(|| deed.with["id"].as_u64());
                let holds = all.get_mut(&deed.key).into_iter().flatten();
                for hold in holds.filter(|hold| Some(hold.under) == under) {
                    if deed.action != Action::Extend {
                        hold.until = hold.until.min(deed.asked_at);
                    } else if deed.answer()["extended"] == true {
                        hold.until = hold.until.max(deed.asked_at + length(deed));
                    }
                }
            }
            _ => {}
        }
    }
    all
}

/// The ends that were accepted of each leased task: the fence and what was returned.
fn ends(books: &Books) -> BTreeMap<&str, Vec<&Deed>> {
    let mut all: BTreeMap<&str, Vec<&Deed>> = BTreeMap::new();
    for deed in books.asked(Action::Return).filter(|deed| deed.answer()["accepted"] == true) {
        if deed.with["outcome"] != "released" {
            all.entry(&deed.key).or_default().push(deed);
        }
    }
    all
}

/// What a client ended under one fence after a later one was given out: that is what a fence is there to prevent.
fn ended_without_holding(books: &Books, holds: &BTreeMap<String, Vec<Hold>>) -> Vec<Complaint> {
    let mut found = Vec::new();
    for (id, ends) in ends(books) {
        for end in ends {
            let fence = end.with["fence"].as_u64().unwrap();
            let is_later = |hold: &&Hold| hold.under > fence && hold.from < end.asked_at;
            if let Some(later) = holds.get(id).into_iter().flatten().find(is_later) {
                let text = format!("{id} was ended by {end:?}, and was held by then: {later:?}");
                found.push(Complaint { broken: Broken::SettledTwice, text });
            }
        }
    }
    found
}

pub(super) fn complaints(books: &Books) -> Vec<Complaint> {
    let mut found = Vec::new();
    let all = holds(books);
    for holds in all.values() {
        for first in holds {
            let is_within = |other: &&Hold| other.asked_at > first.from && other.from < first.until;
            if let Some(other) = holds.iter().find(is_within) {
                let text = format!("{first:?}, and in that time {other:?}");
                found.push(Complaint { broken: Broken::HeldByTwo, text });
            }
        }
    }
    found.extend(ended_without_holding(books, &all));
    for (id, ends) in ends(books) {
        if ends.len() > 1 {
            let text = format!("{id} was ended by {ends:?}");
            found.push(Complaint { broken: Broken::SettledTwice, text });
        }
        let Some(task) = books.tasks.get(id) else { continue };
        if !ends.iter().any(|end| end.with["result"] == task.result) {
            let text = format!("{id} was ended by {ends:?}, and is {task:?}");
            found.push(Complaint { broken: Broken::SettledTwice, text });
        }
    }
    found
}
