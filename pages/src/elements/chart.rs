//! What happened over time: in words, then as bars.

use std::fmt::Write;

use jobbers_api::queue::history::{By, HistoryView, SlotView};
use jobbers_common::history::Times;
use maud::{Markup, html};

use super::{
    frame::missing,
    words::{many, number, span},
};
use crate::session::ask::ApiRefusal;

/// The width of a slot and of its bar, and the height of the picture, in units of the drawing.
const SLOT: usize = 10;
const BAR: usize = 8;
const HEIGHT: u64 = 100;

/// A card for a part of a history. `over` names the time that it covers, such as "hour".
pub(crate) fn card(id: &str, title: &str, over: &str, history: &Result<HistoryView, ApiRefusal>) -> Markup {
    html! {
        section.card id=(id) data-live {
            h2 { (title) }
            @match history {
                Ok(history) => (drawn(over, history)),
                Err(refusal) => (missing(refusal)),
            }
        }
    }
}

fn drawn(over: &str, history: &HistoryView) -> Markup {
    let said = words(over, &history.slots);
    let most = history.slots.iter().map(|slot| slot.accepted.max(ended(slot))).max().unwrap_or(0);
    html! {
        p { (said) @if let Some(times) = times(&history.slots) { " " (times) } }
        @if most > 0 {
            (bars(&said, &history.slots, most))
            p.soft {
                "Each bar is one " (unit(history.by)) ", the last one under way: tasks that completed, "
                span.state.bad { "failed for good" } " or ended otherwise. The line is tasks accepted. The top is " (number(most)) "."
            }
        }
    }
}

const fn unit(by: By) -> &'static str {
    match by {
        By::Minute => "minute",
        By::Hour => "hour",
    }
}

const fn ended(slot: &SlotView) -> u64 {
    slot.completed + slot.failed + slot.other
}

/// One sentence on all slots together.
fn words(over: &str, slots: &[SlotView]) -> String {
    let sum = |of: fn(&SlotView) -> u64| slots.iter().map(of).sum::<u64>();
    let (accepted, completed, failed) = (sum(|it| it.accepted), sum(|it| it.completed), sum(|it| it.failed));
    let (other, retried) = (sum(|it| it.other), sum(|it| it.retried));
    if accepted + completed + failed + other + retried == 0 {
        return format!("Nothing happened in the last {over}.");
    }
    let mut said = format!(
        "In the last {over}: {} accepted, {} completed, {} failed for good",
        many(accepted, "task"),
        number(completed),
        number(failed)
    );
    if other > 0 {
        let _ = write!(said, ", {} ended otherwise", number(other));
    }
    if retried > 0 {
        let _ = write!(said, "; {} tried again", many(retried, "failed attempt"));
    }
    said.push('.');
    said
}

/// How long tasks waited and ran, if the slots say so.
fn times(slots: &[SlotView]) -> Option<String> {
    let all = |of: fn(&SlotView) -> Option<[u64; Times::BUCKETS]>| {
        let mut all = Times::default();
        slots.iter().filter_map(of).for_each(|times| all.add(&Times(times)));
        (all.total() > 0).then_some(all)
    };
    let of_100 = |times: &Times, what: &str| {
        let below = |percent| times.quantile_ms(percent).map_or_else(String::new, under);
        format!("half {what} {}, 95 of 100 {}", below(50), below(95))
    };
    let (waited, ran) = (all(|slot| slot.waited), all(|slot| slot.ran));
    let said: Vec<String> = [(waited, "waited"), (ran, "ran")]
        .into_iter()
        .filter_map(|(times, what)| Some(of_100(&times?, what)))
        .collect();
    (!said.is_empty()).then(|| format!("Of those that started, {}.", said.join("; ")))
}

/// `less than 30 ms`.
fn under(ms: u64) -> String {
    match ms {
        u64::MAX => "longer than 8 h".to_owned(),
        ms if ms < 1_000 => format!("less than {ms} ms"),
        ms => format!("less than {}", span(std::time::Duration::from_millis(ms))),
    }
}

fn bars(said: &str, slots: &[SlotView], most: u64) -> Markup {
    let width = slots.len() * SLOT;
    let tall = |n: u64| n * HEIGHT / most.max(1) + u64::from(n > 0 && n * HEIGHT < most);
    let (mut good, mut bad, mut other, mut line) = (String::new(), String::new(), String::new(), String::new());
    for (place, slot) in slots.iter().enumerate() {
        let (left, mut top) = (place * SLOT, HEIGHT);
        for (n, path) in [(slot.completed, &mut good), (slot.failed, &mut bad), (slot.other, &mut other)] {
            let height = tall(n).min(top);
            if height > 0 {
                top -= height;
                let _ = write!(path, "M{left} {top}h{BAR}v{height}h-{BAR}z");
            }
        }
        let begins = if place == 0 { 'M' } else { 'L' };
        let _ = write!(line, "{begins}{} {}", left + BAR / 2, HEIGHT - tall(slot.accepted).min(HEIGHT));
    }
    html! {
        svg width="100%" height="90" viewBox=(format!("0 -2 {width} {}", HEIGHT + 4)) preserveAspectRatio="none"
            role="img" aria-label=(said) {
            @for (path, colour) in [(good, "var(--good)"), (bad, "var(--bad)"), (other, "var(--warn)")] {
                @if !path.is_empty() { path d=(path) fill=(colour) {} }
            }
            path d=(line) fill="none" stroke="var(--soft)" vector-effect="non-scaling-stroke" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use jobbers_api::value::Rfc3339;
    use jobbers_common::{
        history::{Counts, Slot},
        time::Timestamp,
    };

    use super::*;

    fn slot(counts: Counts) -> SlotView {
        SlotView::from(&Slot { counts, ..Slot::empty(Timestamp::from_micros(0)) })
    }

    #[test]
    fn what_happened_is_one_sentence() {
        assert_eq!(words("hour", &[]), "Nothing happened in the last hour.");
        let slots = [
            slot(Counts { accepted: 1_200, completed: 1_100, ..Counts::default() }),
            slot(Counts { failed: 2, other: 1, retried: 1, ..Counts::default() }),
        ];
        let said = "In the last hour: 1,200 tasks accepted, 1,100 completed, 2 failed for good, 1 ended otherwise; 1 failed \
                    attempt tried again.";
        assert_eq!(words("hour", &slots), said);
        assert_eq!(slots[0].at, Rfc3339(Timestamp::from_micros(0)));
    }

    #[test]
    fn the_smallest_count_is_seen_and_no_bar_is_taller_than_the_picture() {
        let slots = [slot(Counts { completed: 100_000, failed: 1, ..Counts::default() })];
        let drawn = bars("all", &slots, 100_001).into_string();
        assert!(drawn.contains("M0 1h8v99h-8z") && drawn.contains("M0 0h8v1h-8z"), "{drawn}");
    }
}
