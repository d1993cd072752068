//! What needs an operator, each in a sentence with its reason and the command that helps.

use jobbers_api::{dead_letter::StatsView, queue::QueueView, worker::WorkerView};
use jobbers_common::lifecycle::Status;
use maud::{Markup, html};

use crate::elements::words::{line, many, number, prose, seconds, shell, to};

/// How many needs a page shows; the number says how many there are.
const SHOWN: usize = 12;
/// From which age on, in seconds, tasks that wait are worth a word.
const LATE: f64 = 60.0;
/// The same for a queue whose limit is reached, which may be as it should be.
const LATE_AT_LIMIT: f64 = 30.0;

/// One thing that needs an operator.
pub(crate) struct Need {
    is_bad: bool,
    sentence: Markup,
    command: Option<String>,
    /// The address of the page that helps, and what its link is called.
    link: Option<(String, &'static str)>,
}

/// How many tasks of a queue have one of these statuses.
pub(crate) fn count(queue: &QueueView, statuses: &[Status]) -> u64 {
    statuses.iter().filter_map(|status| queue.tasks.get(status)).sum()
}

/// Whether as many tasks of a queue run as may.
pub(crate) fn is_at_limit(queue: &QueueView) -> bool {
    queue.max_concurrent.is_some_and(|most| count(queue, &[Status::Started]) >= u64::from(most))
}

/// What needs an operator, the worst first.
pub(crate) fn all(
    warnings: &[String],
    queues: &[QueueView],
    workers: Option<&[WorkerView]>,
    letters: Option<&StatsView>,
) -> Vec<Need> {
    let mut needs: Vec<Need> = warnings.iter().map(|warning| of_warning(warning)).collect();
    needs.extend(letters.and_then(of_letters));
    needs.extend(workers.into_iter().flat_map(|workers| of_workers(workers, queues)));
    needs.extend(queues.iter().filter_map(of_queue));
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

fn of_workers(workers: &[WorkerView], queues: &[QueueView]) -> Vec<Need> {
    let waiting: u64 = queues.iter().map(|queue| count(queue, &[Status::Submitted])).sum();
    let mut needs = Vec::new();
    if workers.is_empty() && waiting > 0 {
        let sentence = html! { "No worker is alive: " (many(waiting, "task")) " wait until one starts." };
        needs.push(Need { is_bad: true, sentence, command: Some("jobbers worker".to_owned()), link: None });
    }
    let hung: usize = workers.iter().map(|worker| worker.hung_threads.len()).sum();
    if hung > 0 {
        let sentence =
            html! { (many(hung as u64, "thread")) " of workers are held by blocking tasks whose attempts are over." };
        needs.push(Need { is_bad: false, sentence, command: Some("jobbers workers".to_owned()), link: None });
    }
    needs
}

fn of_queue(queue: &QueueView) -> Option<Need> {
    let (name, waiting) = (queue.name.as_str(), count(queue, &[Status::Submitted]));
    let age = queue.oldest_ready_age.filter(|_| waiting > 0)?;
    let wait = html! { (many(waiting, "task")) " wait, the oldest for " (seconds(age)) "." };
    let command = |verb: &str, rest: &str| Some(format!("jobbers queues {verb} {}{rest}", shell(name)));
    let page = to("queue", &[("name", name)]);
    let need = |sentence, command, label| Some(Need { is_bad: false, sentence, command, link: Some((page, label)) });
    if queue.paused {
        return need(html! { b { (name) } " is paused; " (wait) }, command("resume", ""), "Resume…");
    }
    if let Some(most) = queue.max_concurrent.filter(|_| is_at_limit(queue) && age > LATE_AT_LIMIT) {
        let running = number(count(queue, &[Status::Started]));
        let sentence =
            html! { b { (name) } " is at its limit, " (running) " of " (number(most.into())) " running; " (wait) };
        return need(sentence, command("set", " --max-concurrent N"), "Change the limit…");
    }
    if queue.suspects > 0 {
        let sentence = html! {
            b { (name) } " has " (many(queue.suspects, "suspect")) ": tasks that were lost with their workers. "
            (wait)
        };
        return need(sentence, command("show", ""), "Look");
    }
    if age > LATE {
        return need(html! { b { (name) } " falls behind: " (wait) }, command("show", ""), "Why?");
    }
    None
}

/// The headline, and the list.
pub(crate) fn list(needs: &[Need]) -> Markup {
    let title = match needs.len() {
        0 => "All is well.".to_owned(),
        1 => "One thing needs you.".to_owned(),
        n @ 2..=6 => format!("{} things need you.", ["Two", "Three", "Four", "Five", "Six"][n - 2]),
        n => format!("{n} things need you."),
    };
    html! {
        h1 { (title) }
        ul.needs {
            @for Need { is_bad, sentence, command, link } in needs.iter().take(SHOWN) {
                li.bad[*is_bad] {
                    p { (sentence) @if let Some(command) = command { br; code { (command) } } }
                    @if let Some((page, label)) = link { a.button href=(page) { (label) } }
                }
            }
        }
        @if needs.len() > SHOWN {
            p.soft { "And " (needs.len() - SHOWN) " more: " a href="queues" { "all queues" } "." }
        }
    }
}
