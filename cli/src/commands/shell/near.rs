//! Names that the user may have meant, where the manager does not know the one that was written.

use crate::{
    commands::shell::complete::{Kind, names},
    failure::Failure,
    terminal::output,
};

/// Notes the known name that is nearest to a word of the command line, if the failure is that a name is unknown.
pub(crate) async fn hint(failure: &Failure) {
    let Failure::Refused { code, .. } = failure else { return };
    let kind = match code.as_str() {
        "unknown_queue" => Kind::Queue,
        "unknown_role" => Kind::Role,
        "unknown_worker" => Kind::Worker,
        "unknown_schedule" => Kind::Schedule,
        "unknown_workflow" => Kind::Workflow,
        "unknown_board" => Kind::Board,
        _ => return,
    };
    let words: Vec<String> = std::env::args().skip(1).collect();
    let parts = words.iter().flat_map(|word| word.split(['=', ',', '/']));
    note(&names::of(kind, &[], &words).await, parts);
}

/// The same for a task that no live worker can run.
pub(crate) async fn hint_task(name: &str) {
    let words: Vec<String> = std::env::args().skip(1).collect();
    note(&names::of(Kind::Task, &[], &words).await, [name]);
}

fn note<'a>(known: &[String], said: impl IntoIterator<Item = &'a str>) {
    if let Some(meant) = nearest(known, said) {
        output::note(format_args!("did you mean {meant}?"));
    }
}

/// The known name that is nearest to one of these words, near enough to be a slip. A word that is known is none.
pub(crate) fn nearest<'k, 'w>(known: &'k [String], said: impl IntoIterator<Item = &'w str>) -> Option<&'k str> {
    let pairs = said.into_iter().filter(|word| !known.iter().any(|name| name == word));
    let near = pairs.flat_map(|word| {
        let most = (word.chars().count() / 3).clamp(1, 3);
        let distance = move |name: &'k String| (strsim::osa_distance(word, name), name.as_str());
        known.iter().map(distance).filter(move |(distance, _)| *distance <= most)
    });
    near.min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_near_and_another_name_is_not() {
        let known = ["default", "mail", "reports"].map(str::to_owned);
        for (said, meant) in [
            ("defualt", Some("default")),
            ("mial", Some("mail")),
            ("report", Some("reports")),
            ("invoices", None),
            ("x", None),
            ("mail", None),
        ] {
            assert_eq!(nearest(&known, [said]), meant, "{said}");
        }
        assert_eq!(nearest(&known, ["queues", "show", "reprots"]), Some("reports"));
        assert_eq!(nearest(&[], ["a"]), None);
    }
}
