//! Whether each slot of a schedule was fired once.

use std::collections::BTreeSet;

use super::{Books, Broken, Complaint, all};
use crate::soak::{clients::schedules, ledger::Action};

/// The seconds of the slots that these ids name, and the ids that name none.
fn slots<'a>(schedule: &str, ids: impl Iterator<Item = &'a String>) -> (BTreeSet<i64>, Vec<&'a str>) {
    let begins = format!("schedule:{schedule}:");
    let mut slots = BTreeSet::new();
    let mut strangers = Vec::new();
    for id in ids {
        let Some(slot) = id.strip_prefix(&begins).filter(|rest| !rest.contains('/')) else { continue };
        match slot.parse::<jiff::Timestamp>() {
            Ok(slot) => drop(slots.insert(slot.as_second())),
            Err(_) => strangers.push(id.as_str()),
        }
    }
    (slots, strangers)
}

/// What is wrong with a schedule that fires once in so many seconds.
fn of_schedule<'a>(books: &Books, name: &str, period: i64, ids: impl Iterator<Item = &'a String>) -> Vec<Complaint> {
    let (slots, strangers) = slots(name, ids);
    let fired = books.schedules.get(name).copied().unwrap_or_default();
    let by_hand = books.asked(Action::Fire).filter(|deed| deed.key == name).count();
    let (Some(first), Some(last)) = (slots.first(), slots.last()) else {
        return all(Broken::SlotMissed, [format!("{name} was never fired")]);
    };
    let expected = (first / period..=last / period).map(|n| n * period);
    let missed = expected.filter(|slot| !slots.contains(slot)).map(|slot| format!("{name}: {slot} was left out"));
    let mut found = all(Broken::SlotMissed, missed);
    if fired.missed > 0 || fired.fired > slots.len() as u64 {
        found.extend(all(Broken::SlotMissed, [format!("{name}: {fired:?}, and {} slots are there", slots.len())]));
    }
    let odd = slots.iter().filter(|slot| *slot % period != 0).map(|slot| format!("{name}: {slot} is no slot"));
    found.extend(all(Broken::SlotDoubled, odd));
    if strangers.len() > by_hand {
        found.extend(all(Broken::SlotDoubled, [format!("{name} was fired by hand {by_hand} times: {strangers:?}")]));
    }
    let accepted = slots.len() as u64 + strangers.len() as u64;
    if fired.fired < slots.len() as u64 || fired.accepted > accepted {
        let text = format!("{name}: {fired:?}, and {accepted} are there");
        found.extend(all(Broken::SlotDoubled, [text]));
    }
    found
}

pub(super) fn complaints(books: &Books) -> Vec<Complaint> {
    let mut found = Vec::new();
    for deed in books.accepted(Action::Schedule) {
        found.extend(match deed.key.as_str() {
            schedules::TICKS => of_schedule(books, schedules::TICKS, 1, books.tasks.keys()),
            name => of_schedule(books, name, schedules::ROUND_S, books.workflows.keys()),
        });
    }
    found
}
