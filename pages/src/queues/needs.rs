//! What needs an operator, each in a sentence with its reason and the command that helps.

use jobbers_api::{
    dead_letter::StatsView,
    overview::{BusyQueueView, NeedCode, NeedView, OverviewView},
};
use jobbers_common::lifecycle::Status;
use maud::{Markup, html};

use crate::{
    elements::{
        frame::missing,
        words::{line, many, number, prose, sentence, to},
    },
    session::ask::ApiRefusal,
};

/// How many needs a page shows; the number says how many there are.
const SHOWN: usize = 12;

/// One thing that needs an operator.
struct Need {
    is_bad: bool,
    sentence: Markup,
    command: Option<String>,
    /// The address of the page that helps, and what its link is called.
    link: Option<(String, &'static str)>,
}

/// Whether as many tasks of a queue run as may.
pub(crate) fn is_at_limit(queue: &BusyQueueView) -> bool {
    queue.max_concurrent.is_some_and(|most| queue.count(&[Status::Started]) >= u64::from(most))
}

/// What needs an operator, the worst first.
fn all(warnings: &[String], of_manager: &[NeedView], letters: Option<&StatsView>) -> Vec<Need> {
    let mut needs: Vec<Need> = warnings.iter().map(|warning| of_warning(warning)).collect();
    needs.extend(letters.and_then(of_letters));
    needs.extend(of_manager.iter().map(of_api));
    needs.sort_by_key(|need| !need.is_bad);
    needs
}

fn of_warning(warning: &str) -> Need {
    Need { is_bad: false, sentence: prose(&line(warning)), command: None, link: None }
}

fn of_letters(letters: &StatsView) -> Option<Need> {
    let most = letters.groups.first()?;
    let sentence = html! {
        (many(letters.total, "task")) " failed for good; most often "
        code { (line(&most.example)) } " (" (number(most.count)) " of " (most.name) " in " b { (most.queue) } ")."
    };
    let command = Some("jobbers dlq stats".to_owned());
    Some(Need { is_bad: true, sentence, command, link: Some(("letters".to_owned(), "Look at them")) })
}

fn of_api(need: &NeedView) -> Need {
    let label = match need.code {
        NeedCode::QueuePaused => "Resume…",
        NeedCode::QueueAtLimit => "Change the limit…",
        NeedCode::QueueLate => "Why?",
        NeedCode::NoWorker | NeedCode::HungThreads | NeedCode::Suspects => "Look",
    };
    let link = match &need.queue {
        Some(queue) => to("queue", &[("name", queue.as_str())]),
        None => "workers".to_owned(),
    };
    Need {
        is_bad: need.code == NeedCode::NoWorker,
        sentence: prose(&line(&sentence(&need.detail))),
        command: Some(need.command.clone()),
        link: Some((link, label)),
    }
}

/// The headline, and the list.
pub(crate) fn list(
    warnings: &[String],
    overview: &Result<OverviewView, ApiRefusal>,
    letters: Option<&StatsView>,
) -> Markup {
    let (of_manager, more) = overview.as_ref().map_or((&[][..], 0), |it| (it.needs.as_slice(), it.more_needs));
    let needs = all(warnings, of_manager, letters);
    let count = needs.len() as u64 + more;
    let title = match count {
        _ if overview.is_err() => "What needs you".to_owned(),
        0 => "All is well.".to_owned(),
        1 => "One thing needs you.".to_owned(),
        n @ 2..=6 => format!("{} things need you.", ["Two", "Three", "Four", "Five", "Six"][n as usize - 2]),
        n => format!("{} things need you.", number(n)),
    };
    html! {
        h1 { (title) }
        @if let Err(refusal) = overview { (missing(refusal)) }
        ul.needs {
            @for Need { is_bad, sentence, command, link } in needs.iter().take(SHOWN) {
                li.bad[*is_bad] {
                    p { (sentence) @if let Some(command) = command { br; code { (command) } } }
                    @if let Some((page, label)) = link { a.button href=(page) { (label) } }
                }
            }
        }
        @if count > SHOWN as u64 {
            p.soft { "And " (number(count - SHOWN as u64)) " more: " a href="queues" { "all queues" } "." }
        }
    }
}
