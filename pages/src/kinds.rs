//! The kinds of tasks that live workers can run; and of one, by version, how its latest runs went.

use std::{collections::BTreeMap, time::Duration};

use jobbers_api::{
    task::{list::TaskPageView, view::TaskView},
    worker::registry::{RegisteredTaskView, RegistryView},
};
use jobbers_common::lifecycle::Status;
use maud::{Markup, html};
use serde::Deserialize;

use super::{
    elements::{
        frame::{Answered, Screen, missing},
        words::{cell, many, number, prose, queue, short, summary, text, to, when},
    },
    overview::failure_table,
    session::ask::{ApiRefusal, Query},
};

/// How many kinds are listed.
const ROWS: usize = 200;
/// From how many runs the figures are made, and how many failures are listed.
const RUNS: &str = "200";
const FAILURES: &str = "8";

/// `GET /ui/kinds`.
pub(super) async fn list(screen: Screen) -> Answered {
    let RegistryView { tasks } = screen.api.get("/tasks/registry").await?;
    let body = html! {
        h1 { "Kinds " small { (number(tasks.len() as u64)) } }
        p.soft { "What live workers say that they can run, by name and version." }
        section.card #kinds data-live {
            @if tasks.is_empty() { p.soft { "No live worker has said what it can run." } }
            @else { (table(&tasks)) }
        }
    };
    Ok(screen.page("Kinds", "Kinds", &body))
}

fn table(kinds: &[RegisteredTaskView]) -> Markup {
    html! {
        table {
            tr { th { "Kind" } th { "What it does" } th.n { "Workers" } th.wide { "Queues" } }
            @for kind in kinds.iter().take(ROWS) {
                tr {
                    td { a href=(to("kind", &[("name", kind.name.as_str())])) { (kind.name) "@" (kind.version) } }
                    td.wrap { (summary(&kind.description)) }
                    td.n { (number(kind.workers.into())) }
                    td.wide { @for name in kind.queues.iter().take(ROWS) { (queue(name)) " " } }
                }
            }
        }
        @if kinds.len() > ROWS { p.soft { "And " (kinds.len() - ROWS) " more." } }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Params {
    name: String,
}

/// `GET /ui/kind?name=`.
pub(super) async fn show(screen: Screen, Query(Params { name }): Query<Params>) -> Answered {
    let of_name =
        |status: &str, limit: &str| to("/tasks", &[("name", name.as_str()), ("status", status), ("limit", limit)]);
    let over: Vec<&str> =
        Status::ALL.iter().filter(|status| status.is_finished()).map(|status| status.as_str()).collect();
    let ended: TaskPageView = screen.api.get(&of_name(&over.join(","), RUNS)).await?;
    let failures = screen.api.get(&(of_name("failed,stalled,dropped", FAILURES) + "&include=errors")).await;
    let registry: Result<RegistryView, ApiRefusal> = screen.api.get("/tasks/registry").await;
    let body = html! {
        h1 { (text(&name)) }
        @match &registry {
            Ok(registry) => (described(&name, registry)),
            Err(refusal) => (missing(refusal)),
        }
        div.actions {
            a.button href=(to("submit", &[("name", &name)])) { "Submit one…" }
            a.button href=(to("tasks", &[("name", &name)])) { "Its tasks" }
            a.button href=(to("letters", &[("name", &name)])) { "Its dead letters" }
        }
        section.card #versions data-live {
            h2 { "By version" }
            (versions(&screen, &name, registry.as_ref().ok(), &ended))
        }
        section.card #failures data-live { h2 { "Latest failures" } (failure_table(&screen, &failures)) }
    };
    Ok(screen.page("Kinds", &name, &body))
}

fn named<'a>(name: &'a str, registry: &'a RegistryView) -> impl Iterator<Item = &'a RegisteredTaskView> {
    registry.tasks.iter().filter(move |kind| kind.name.as_str() == name)
}

/// What the author of its latest version says about it.
fn described(name: &str, registry: &RegistryView) -> Markup {
    let latest = named(name, registry).max_by_key(|kind| kind.version);
    html! {
        @match latest {
            Some(kind) => {
                @for part in kind.description.split("\n\n").filter(|part| !part.is_empty()) { p { (prose(&text(part))) } }
                @if kind.sensitive { p.soft { "What its tasks hold is hidden." } }
            }
            None => p.soft { "No live worker says that it can run it." },
        }
    }
}

/// How the runs of one version went.
#[derive(Debug, Default)]
struct Runs {
    completed: u64,
    failed: u64,
    other: u64,
    /// How long those that completed ran, the shortest first.
    took: Vec<Duration>,
}

impl Runs {
    fn by_version(ended: &[TaskView]) -> BTreeMap<u32, Self> {
        let mut all = BTreeMap::<u32, Self>::new();
        for task in ended {
            let runs = all.entry(task.version).or_default();
            match task.status {
                Status::Completed => {
                    runs.completed += 1;
                    let times = task.started_at.zip(task.finished_at);
                    runs.took.extend(times.map(|(began, over)| over.0.since(began.0)));
                }
                Status::Failed | Status::Stalled | Status::Dropped => runs.failed += 1,
                _ => runs.other += 1,
            }
        }
        all.values_mut().for_each(|runs| runs.took.sort_unstable());
        all
    }

    /// The time within which so many of a hundred completed.
    fn took(&self, of_100: usize) -> Option<Duration> {
        let place = (self.took.len() * of_100).div_ceil(100);
        self.took.get(place.checked_sub(1)?).copied()
    }
}

/// Those that workers can run, and those of which runs are left.
fn versions(screen: &Screen, name: &str, registry: Option<&RegistryView>, ended: &TaskPageView) -> Markup {
    let mut runs = Runs::by_version(&ended.tasks);
    let known: BTreeMap<u32, _> =
        registry.into_iter().flat_map(|all| named(name, all)).map(|it| (it.version, it)).collect();
    for version in known.keys() {
        runs.entry(*version).or_default();
    }
    let first = ended.tasks.iter().filter_map(|task| task.finished_at).min();
    html! {
        @if !runs.is_empty() {
            table {
                tr {
                    th { "Version" } th.n { "Workers" } th.n { "Completed" } th.n { "Failed" } th.n.wide { "Other ends" }
                    th.n { "Half took" } th.n.wide { "95 of 100" } th.n.wide { "99 of 100" }
                }
                @for (version, runs) in &runs {
                    @let took = |of_100| runs.took(of_100).map_or_else(|| "–".to_owned(), short);
                    tr {
                        td { (version) }
                        (cell(known.get(version).map_or(0, |kind| kind.workers.into())))
                        (cell(runs.completed)) (cell(runs.failed))
                        td.n.wide { (number(runs.other)) }
                        td.n { (took(50)) } td.n.wide { (took(95)) } td.n.wide { (took(99)) }
                    }
                }
            }
        }
        p.soft {
            @match first {
                Some(first) => {
                    "Of the latest " (many(ended.tasks.len() as u64, "task")) " that ended and are kept, the first "
                    (when(first, screen.now())) ". Times are of those that completed, the last attempt of each."
                }
                None if ended.next_cursor.is_some() => "None of the tasks that ended last is of this name.",
                None => "No task of it has ended that is still kept.",
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_runs_took_no_longer() {
        let ms = Duration::from_millis;
        let runs = Runs { took: (1..=200).map(ms).collect(), ..Runs::default() };
        assert_eq!([50, 95, 99].map(|of_100| runs.took(of_100)), [100, 190, 198].map(|it| Some(ms(it))));
        let one = Runs { took: vec![ms(7)], ..Runs::default() };
        assert_eq!([50, 99].map(|of_100| one.took(of_100)), [Some(ms(7)); 2]);
        assert_eq!(Runs::default().took(50), None);
    }
}
