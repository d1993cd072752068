//! What happened in the last hour, on a line: a bar for every two minutes, and sums.

use jobbers_api::queue::history::{HistoryView, SlotView};

use crate::terminal::output::thousands;

/// How many minutes one bar counts.
const MINUTES_A_BAR: usize = 2;

/// The heights of bars, the lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The query for the last hour.
pub(crate) const LAST_HOUR: [(&str, &str); 1] = [("last", "60")];

/// A bar for each count: the tallest for the highest, and a dot for none.
fn bars(counts: &[u64]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let bar = |count: &u64| match count {
        0 => '·',
        // The highest count has the last place; the smallest still has the first.
        count => {
            let place = u128::from(*count) * 8 / u128::from(most);
            BARS[usize::try_from(place).unwrap_or(8).clamp(1, 8) - 1]
        }
    };
    counts.iter().map(bar).collect()
}

/// Bars of the tasks that ended, and how many did.
pub(crate) fn line(history: &HistoryView) -> String {
    let sum = |of: fn(&SlotView) -> u64| thousands(history.slots.iter().map(of).sum());
    let ended = |slot: &SlotView| slot.completed + slot.failed + slot.other;
    let ended: Vec<u64> = history.slots.chunks(MINUTES_A_BAR).map(|slots| slots.iter().map(ended).sum()).collect();
    let mut line = format!(
        "{}  {} accepted, {} completed, {} failed",
        bars(&ended),
        sum(|slot| slot.accepted),
        sum(|slot| slot.completed),
        sum(|slot| slot.failed)
    );
    for (count, what) in [(sum(|slot| slot.other), "ended otherwise"), (sum(|slot| slot.retried), "tried again")] {
        if count != "0" {
            line.push_str(&format!(", {count} {what}"));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use jobbers_api::queue::history::By;
    use jobbers_common::{
        history::{Counts, Grain, Slot},
        time::Timestamp,
    };

    use super::*;

    #[test]
    fn a_line_has_a_bar_for_every_two_minutes_and_the_sums() {
        let now = Timestamp::from_micros(Grain::Minute.micros() * 1_000);
        let slot = |minute, counts| Slot { counts, ..Slot::empty(Grain::Minute.begin_of(minute)) };
        let happened = [
            slot(996, Counts { accepted: 9_000, completed: 1, ..Counts::default() }),
            slot(998, Counts { completed: 900, failed: 60, ..Counts::default() }),
            slot(999, Counts { failed: 40, other: 1_000, retried: 7, ..Counts::default() }),
        ];
        let history = HistoryView::new(None, By::Minute, now, &happened, Some(6));
        assert_eq!(
            line(&history),
            "▁▇█  9,000 accepted, 901 completed, 100 failed, 1,000 ended otherwise, 7 tried again"
        );
        assert_eq!(bars(&[0, 1, 1_000_000]), "·▁█");
    }
}
