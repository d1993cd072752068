//! Whether each task is there, once, and ended as its kind must.

use std::collections::BTreeMap;

use super::{Books, Broken, Complaint, Task, all};
use crate::soak::{
    kinds::{self, Ends},
    ledger::Action,
};

/// The ids of a chord's nodes.
pub(super) fn nodes(run: &str, width: u64) -> Vec<String> {
    let middle = (0..width).map(|n| format!("{run}/m{n}"));
    [format!("{run}/first")].into_iter().chain(middle).chain([format!("{run}/last")]).collect()
}

/// Every task that a client asked for by its id or learned it from an answer, and whether that was acknowledged. Tasks of
/// schedules and bridges are not among them.
pub(crate) fn asked(books: &Books) -> BTreeMap<String, bool> {
    let mut all = BTreeMap::new();
    for deed in books.asked(Action::Submit) {
        let is_accepted = deed.answer()["status"].as_u64().is_some_and(|status| status < 300);
        let id = if deed.key.is_empty() { deed.answer()["id"].as_str() } else { Some(deed.key.as_str()) };
        if let Some(id) = id {
            all.insert(id.to_owned(), is_accepted);
        }
    }
    for deed in books.asked(Action::Workflow) {
        let is_accepted = deed.answer()["status"].as_u64().is_some_and(|status| status < 300);
        let width = deed.with["width"].as_u64().unwrap_or_default();
        all.extend(nodes(&deed.key, width).into_iter().map(|id| (id, is_accepted)));
    }
    all
}

/// What no client asked for, and is not to be found in its answers.
const BY_THEMSELVES: [&str; 2] = ["schedule:", "bridge:"];

pub(super) fn lost_or_unasked(books: &Books) -> Vec<Complaint> {
    let asked = asked(books);
    let is_over = |id: &String| books.tasks.get(id).is_some_and(|task| task.record.finished_at > 0);
    let lost = asked.iter().filter(|(id, acknowledged)| **acknowledged && !is_over(id));
    let lost = lost.map(|(id, _)| format!("{id} was acknowledged: {:?}", books.tasks.get(id)));
    let unasked = books.tasks.keys().filter(|id| !asked.contains_key(*id));
    let unasked = unasked.filter(|id| !BY_THEMSELVES.iter().any(|begin| id.starts_with(begin)));
    let unasked = unasked.map(|id| format!("{id} is there, and no client asked for it"));
    [all(Broken::Lost, lost), all(Broken::Doubled, unasked)].concat()
}

pub(super) fn refused(books: &Books) -> Vec<Complaint> {
    let wanted = [Action::Submit, Action::Cancel, Action::Workflow, Action::Schedule];
    let refused = books.deeds.iter().filter(|deed| wanted.contains(&deed.action) && deed.answer.is_some());
    let refused = refused.filter(|deed| deed.answer()["status"].as_u64().is_none_or(|status| status >= 300));
    all(Broken::Refused, refused.map(|deed| format!("{deed:?}")))
}

/// Which dead letters were sent again, or may have been: of those the answer was lost.
fn sent_again(books: &Books) -> BTreeMap<&str, Option<bool>> {
    let mut all: BTreeMap<&str, Option<bool>> = BTreeMap::new();
    for deed in books.asked(Action::Resubmit) {
        let is_sent = deed.answer.as_ref().map(|(_, answer)| answer["outcome"] == "resubmitted");
        let known = all.entry(&deed.key).or_insert(is_sent);
        // One that was sent is; of others an answer that was lost leaves it open.
        if *known != Some(true) && is_sent != Some(false) {
            *known = is_sent;
        }
    }
    all
}

/// The status in which a task must be; none if either will do.
fn expected(sent: &BTreeMap<&str, Option<bool>>, id: &str) -> Option<&'static str> {
    match kinds::of(id).ends {
        Ends::Completed => Some("completed"),
        Ends::Failed | Ends::Poisoned => Some("failed"),
        Ends::Cancelled => Some("cancelled"),
        Ends::CompletedWhenSentAgain => {
            let is_sent = sent.get(id).copied().unwrap_or(Some(false));
            is_sent.map(|is_sent| if is_sent { "completed" } else { "failed" })
        }
    }
}

pub(super) fn otherwise(books: &Books) -> Vec<Complaint> {
    let mut found = Vec::new();
    let sent = sent_again(books);
    for (id, Task { record, .. }) in &books.tasks {
        let kind = kinds::of(id);
        let Some(status) = expected(&sent, id) else { continue };
        if record.status != status {
            let innocent =
                kind.ends == Ends::Completed && ["failed", "stalled", "dropped"].contains(&record.status.as_str());
            let broken = if innocent { Broken::InnocentFailed } else { Broken::EndedOtherwise };
            found.push(Complaint { broken, text: format!("{id} was to be {status}: {record:?}") });
        } else if kind.attempts.is_some_and(|attempts| attempts != record.attempt) {
            let text = format!("{id} was to need {:?} attempts: {record:?}", kind.attempts);
            found.push(Complaint { broken: Broken::EndedOtherwise, text });
        } else if kind.ends == Ends::Poisoned && record.crashes == 0 {
            let text = format!("{id} killed its workers, and is not blamed: {record:?}");
            found.push(Complaint { broken: Broken::EndedOtherwise, text });
        }
    }
    found
}

pub(super) fn twice(books: &Books) -> Vec<Complaint> {
    let records = books.records();
    let (released, others): (Vec<_>, Vec<_>) =
        books.executions.unexplained(&records).into_iter().partition(|text| text.contains('/'));
    [
        all(Broken::SettledTwice, books.executions.settled_twice(&records)),
        all(Broken::ReleasedTwice, released),
        all(Broken::Doubled, others),
    ]
    .concat()
}
