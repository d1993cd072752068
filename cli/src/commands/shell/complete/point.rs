//! Where the cursor is: after which command, and in which argument.

use std::any::TypeId;

use clap::{Arg, Command};
use jobbers_common::name::{BoardName, QueueName, RoleName, ScheduleName, TaskId, TaskName, WorkerId, WorkflowId};

/// Names that only the manager knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Board,
    Queue,
    Task,
    Role,
    Schedule,
    Workflow,
    Worker,
    /// A task's id.
    Id,
}

/// Where the word is that is being typed.
#[derive(Debug)]
pub(super) struct CompletionPoint<'a> {
    /// The innermost command.
    command: &'a Command,
    /// The names of the commands up to it.
    pub(super) path: Vec<&'a str>,
    /// The argument whose value it is, if it is one.
    argument: Option<&'a Arg>,
    /// Whether a subcommand may stand here.
    may_be_command: bool,
    typed: &'a str,
}

impl<'a> CompletionPoint<'a> {
    /// Finds it.
    pub(super) fn of(root: &'a Command, words: &'a [String]) -> Self {
        let (typed, before) = words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
        let (mut command, mut path, mut positionals) = (root, Vec::new(), 0);
        let mut awaits_value = None;
        for word in before {
            // A shell may cut `--queue=mail` into three words.
            if word == "=" {
                continue;
            }
            if awaits_value.take().is_some() {
                continue;
            }
            if word.starts_with('-') && word.len() > 1 {
                awaits_value = flag(command, word).filter(|arg| takes_next_word(arg));
            } else if let Some(inner) = command.find_subcommand(word).filter(|_| positionals == 0) {
                path.push(inner.get_name());
                command = inner;
            } else {
                positionals += 1;
            }
        }
        let (argument, typed) = match (awaits_value, typed.split_once('=')) {
            (Some(arg), _) => (Some(arg), if typed == "=" { "" } else { typed }),
            (None, Some((name, value))) if name.starts_with("--") => (flag(command, name), value),
            (None, _) if typed.starts_with('-') => (None, typed),
            (None, _) => (positional(command, positionals), typed),
        };
        let may_be_command = awaits_value.is_none() && positionals == 0;
        Self { command, path, argument, may_be_command, typed }
    }

    /// What was typed of the word so far.
    pub(super) const fn typed(&self) -> &str {
        self.typed
    }

    /// Commands, flags and values that are the same for every manager.
    pub(super) fn fixed(&self) -> Vec<String> {
        if self.typed.starts_with('-') {
            let flags = self.command.get_arguments().filter(|arg| !arg.is_hide_set());
            return flags.filter_map(|arg| arg.get_long().map(|name| format!("--{name}"))).collect();
        }
        let values = self.argument.into_iter().flat_map(Arg::get_possible_values);
        let values = values.filter(|value| !value.is_hide_set()).map(|value| value.get_name().to_owned());
        let commands = self.command.get_subcommands().filter(|inner| self.may_be_command && !inner.is_hide_set());
        values.chain(commands.map(|inner| inner.get_name().to_owned())).collect()
    }

    /// Which names of the manager's fit.
    pub(super) fn kind(&self) -> Option<Kind> {
        let argument = self.argument?;
        let kinds = [
            (TypeId::of::<BoardName>(), Kind::Board),
            (TypeId::of::<QueueName>(), Kind::Queue),
            (TypeId::of::<TaskName>(), Kind::Task),
            (TypeId::of::<RoleName>(), Kind::Role),
            (TypeId::of::<ScheduleName>(), Kind::Schedule),
            (TypeId::of::<WorkflowId>(), Kind::Workflow),
            (TypeId::of::<WorkerId>(), Kind::Worker),
            (TypeId::of::<TaskId>(), Kind::Id),
        ];
        let parsed = argument.get_value_parser().type_id();
        let kind = kinds.into_iter().find(|(id, _)| parsed == *id).map(|(_, kind)| kind);
        // `gpu=9`: a queue and its weight.
        let is_share =
            || argument.get_value_names().is_some_and(|names| names.iter().any(|it| it.starts_with("QUEUE")));
        kind.or_else(|| is_share().then_some(Kind::Queue))
    }
}

fn flag<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let mut arguments = command.get_arguments();
    match word.strip_prefix("--") {
        Some(name) => arguments.find(|arg| {
            arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
        }),
        None => arguments.find(|arg| arg.get_short() == word.chars().nth(1)),
    }
}

fn takes_next_word(arg: &Arg) -> bool {
    arg.get_action().takes_values() && !arg.is_require_equals_set()
}

/// The positional argument at this place; the last one may be repeated.
fn positional(command: &Command, index: usize) -> Option<&Arg> {
    let all: Vec<&Arg> = command.get_positionals().collect();
    let last = all.last().copied().filter(|arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1));
    all.get(index).copied().or(last)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    /// What fits behind the words: what is fixed, and the kind of names.
    fn after(line: &str) -> (Vec<String>, Option<Kind>) {
        let mut root = Cli::command();
        root.build();
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let point = CompletionPoint::of(&root, &words);
        (point.fixed().into_iter().filter(|word| word.starts_with(point.typed())).collect(), point.kind())
    }

    #[test]
    fn commands_flags_and_fixed_values_are_offered_where_they_fit() {
        for (line, expected) in [
            ("resu", &["resubmit"][..]),
            ("dlq ope", &["operations"]),
            ("list --stat", &["--status"]),
            ("list --status comp", &["completed"]),
            ("list --status=comp", &["completed"]),
            ("list --status = comp", &["completed"]),
            ("list --queue mail --sub", &["--submitted-after", "--submitted-before"]),
            ("bench-s", &[]),
            ("status some-id li", &[]),
        ] {
            assert_eq!(after(line).0, expected, "{line}");
        }
    }

    #[test]
    fn names_are_offered_where_an_argument_takes_them() {
        for (line, expected) in [
            ("list --queue ", Some(Kind::Queue)),
            ("list --name ", Some(Kind::Task)),
            ("list --worker ", Some(Kind::Worker)),
            ("submit ", Some(Kind::Task)),
            ("submit echo --queue=", Some(Kind::Queue)),
            ("submit echo a=1 --queue ", Some(Kind::Queue)),
            ("submit echo a=", None),
            ("status ", Some(Kind::Id)),
            ("cancel one two ", Some(Kind::Id)),
            ("queues pause ", Some(Kind::Queue)),
            ("roles show ", Some(Kind::Role)),
            ("roles set web ", Some(Kind::Queue)),
            ("workers drain ", Some(Kind::Worker)),
            ("dlq show ", Some(Kind::Id)),
            ("status one ", None),
            ("list --wait ", None),
        ] {
            assert_eq!(after(line).1, expected, "{line}");
        }
    }
}
