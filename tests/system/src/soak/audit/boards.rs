//! Whether each task of a board is there until a client removed it, and each task of the bridge was answered once.

use std::collections::{BTreeMap, BTreeSet};

use super::{Books, Broken, Complaint, all};
use crate::soak::{clients::boards, ledger::Action};

pub(super) fn complaints(books: &Books) -> Vec<Complaint> {
    [of_clients(books), of_bridge(books)].concat()
}

fn of_clients(books: &Books) -> Vec<Complaint> {
    let posted = |deed: &&crate::soak::ledger::Deed| deed.with["group"] == boards::GROUP;
    let asked: BTreeSet<&str> = books.asked(Action::Post).filter(posted).map(|deed| deed.key.as_str()).collect();
    let added = books.asked(Action::Post).filter(posted).filter(|deed| deed.answer.is_some());
    let removals: Vec<_> = books.asked(Action::Remove).collect();
    let perhaps_removed: BTreeSet<&str> = removals
        .iter()
        .filter(|deed| deed.answer.is_none() || deed.answer()["removed"] == true)
        .map(|deed| deed.key.as_str())
        .collect();
    let mut removed: BTreeMap<&str, usize> = BTreeMap::new();
    for deed in removals.iter().filter(|deed| deed.answer()["removed"] == true) {
        *removed.entry(&deed.key).or_default() += 1;
    }
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for data in books.board.iter().filter_map(|data| data.as_str()) {
        *left.entry(data).or_default() += 1;
    }
    let lost =
        added.filter(|deed| !left.contains_key(deed.key.as_str()) && !perhaps_removed.contains(deed.key.as_str()));
    let lost = lost.map(|deed| format!("{} was posted to the board", deed.key));
    let unasked = left.iter().filter(|(data, times)| **times > 1 || !asked.contains(*data));
    let unasked = unasked.map(|(data, times)| format!("{data} is on the board {times} times"));
    let back = removed.iter().filter(|(data, times)| **times > 1 || left.contains_key(*data));
    let back = back.map(|(data, times)| format!("{data} was removed {times} times, and is left {:?}", left.get(data)));
    [all(Broken::Lost, lost), all(Broken::Doubled, unasked), all(Broken::SettledTwice, back)].concat()
}

/// One reply and one native task for each task that was posted.
fn of_bridge(books: &Books) -> Vec<Complaint> {
    let mut replies: BTreeMap<u64, usize> = BTreeMap::new();
    for reply in &books.replies {
        *replies.entry(reply["task"].as_u64().unwrap_or_default()).or_default() += 1;
    }
    let posted = books.asked(Action::Post).filter(|deed| deed.with["group"] == boards::BRIDGED);
    let ids: BTreeSet<u64> = posted.filter_map(|deed| deed.answer()["id"].as_u64()).collect();
    let unanswered = ids.iter().filter(|id| !replies.contains_key(id));
    let unanswered = unanswered.map(|id| format!("task {id} of the bridge was never answered"));
    let twice = replies.iter().filter(|(_, times)| **times > 1);
    let twice = twice.map(|(id, times)| format!("task {id} of the bridge was answered {times} times"));
    let native = books.tasks.keys().filter_map(|id| id.strip_prefix("bridge:taskstore:")?.parse().ok());
    let strange = native.filter(|id: &u64| !replies.contains_key(id));
    let strange = strange.map(|id| format!("bridge:taskstore:{id} belongs to no task that was answered"));
    [all(Broken::Lost, unanswered), all(Broken::Doubled, twice.chain(strange))].concat()
}
