//! The one table of the fields in the strings that a store keeps in Redis, and of the letters in them.
//!
//! Scripts write `@lease.attempt` for the first and the last position of a field, `@lease.attempt.at` and
//! `@lease.attempt.last` for one of them, `@state.fresh` for a letter and `@state.fresh.byte` for its code. [`expand`]
//! replaces the names when a script is assembled, so names cost nothing. The Rust decoders take their ranges from the
//! same table, by [`Layout::range`] in constants; `layout/field.rs` says what a field is. `layout.md` is generated from it.
#![doc = include_str!("layout.md")]

use std::{fmt::Write, ops::Range};

use jobbers_common::{
    limits::{MAX_BOARD_CHANGES, MAX_BOARD_COMMIT_BYTES},
    queue::DEFAULT_KEEP_PARAMETERS,
    task::suspicion::Suspicion,
};

mod boards;
mod codes;
mod field;
pub(crate) mod history;
mod task;

use self::{
    boards::{ANSWERED, BOARD_TIME, GIVEN, PICK, WHEN},
    codes::CODES,
    field::{Kind, bytes, digits, letter, number, revision, stamp, time},
    task::{AWAITED, BATCH, BURIED, EDGE, ENDING_DUE, PARENTS, PIECE, PIECES, SPAN, UNKNOWN},
};
pub(crate) use self::{
    boards::{BOARD_PLACE, BOARD_TASK, CONTENT, LABEL},
    field::{Layout, REVISION_DIGITS, STAMP_BYTES},
    task::{
        COPY, CORE, DEPENDENT, ENDING, ENTRY, ERROR, FINISHED, FRESH, HISTORY, LEASE, NEWS, RECORD, REMAINS, SIGNAL,
        TOMBSTONE,
    },
};

const SAID: Layout = Layout {
    name: "said",
    what: "the uniqueness constraint of a submission",
    fields: &[
        bytes("statuses", 10, "1 for those in which the task holds the key, else 0, by their codes"),
        digits("span", 16, "for how many microseconds; zeros: without end"),
        digits("key_length", 3, ""),
    ],
    has_core: false,
    rest: "key: the task's name, a blank, what the submitter chose",
};

pub(crate) const KEPT: Layout = Layout {
    name: "kept",
    what: "`k:of`: the uniqueness constraint of a task",
    fields: &[
        time("ends", "until when it holds its key"),
        bytes("statuses", 10, ""),
        digits("span", 16, ""),
        digits("key_length", 3, ""),
    ],
    has_core: false,
    rest: "key; then, if it has become what another submission said, that one's fingerprint, 16 bytes, and id",
};

const REQUEST: Layout = Layout {
    name: "request",
    what: "`request:<worker>:<slot>`: what a recent cycle did",
    fields: &[
        bytes("id", 26, "of the request"),
        revision("first_fence", "of what it leased"),
        revision("last_fence", ""),
        time("expires_at", "when these leases end"),
    ],
    has_core: false,
    rest: "its answers to settlements",
};

/// A report of a worker.
pub(crate) const REPORT: Layout = Layout {
    name: "report",
    what: "`workers`: a worker's report",
    fields: &[time("started_at", ""), time("expires_at", ""), time("seen_at", "")],
    has_core: false,
    rest: "the report as JSON",
};

const QUIET: Layout = Layout {
    name: "quiet",
    what: "`quiet`: how a record is renewed without a write",
    fields: &[
        digits("grain", 2, "its ends are whole multiples of this, in seconds"),
        bytes("instance", 26, "of the process that renews it"),
    ],
    has_core: false,
    rest: "nothing",
};

const LOSS: Layout = Layout {
    name: "loss",
    what: "`loss:<worker>`: what a worker held that vanished",
    fields: &[
        stamp("at", "when the first of its leases was taken back"),
        digits("suspects", 2, "suspects among its tasks"),
        digits("leases", 2, "its tasks, counted up to two, if none was a suspect"),
    ],
    has_core: false,
    rest: "nothing",
};

/// A duty.
pub(crate) const DUTY: Layout = Layout {
    name: "duty",
    what: "`duties`: who has a duty",
    fields: &[digits("term", 15, ""), time("expires_at", "")],
    has_core: false,
    rest: "holder, `;`, note",
};

/// A schedule.
pub(crate) const SCHEDULE: Layout = Layout {
    name: "schedule",
    what: "`schedules`: a schedule",
    fields: &[revision("revision", "")],
    has_core: false,
    rest: "settings and state (JSON, which only Rust reads)",
};

/// A change that waits for an archive.
pub(crate) const LOGGED: Layout = Layout {
    name: "logged",
    what: "`changes`: a logged change",
    fields: &[revision("number", "in the order in which changes were logged"), time("begun_at", "")],
    has_core: false,
    rest: "the record (JSON, which only Rust reads)",
};

/// A run of a workflow.
pub(crate) const RUN: Layout = Layout {
    name: "run",
    what: "`workflows`: a run of a workflow",
    fields: &[
        revision("revision", ""),
        digits("state", 1, "0 submitting, 1 running, 2 completed, 3 failed, 4 cancelled"),
        time("created_at", ""),
    ],
    has_core: false,
    rest: "the run (JSON, which only Rust reads)",
};

const RUN_PLACE: Layout = Layout {
    name: "run_place",
    what: "`workflows:order`, `workflows:state:<state>`: a run by when it was created",
    fields: &[time("created_at", "")],
    has_core: false,
    rest: "id",
};

const ASIDE: Layout = Layout {
    name: "aside",
    what: "`q:<queue>:y`, behind a gate and a zero byte",
    fields: &[digits("score", 17, "in `p`, and 5e15 added to it")],
    has_core: false,
    rest: "id",
};

const SIZING: Layout = Layout {
    name: "sizing",
    what: "`sizing`: how far a queue's bytes are counted",
    fields: &[letter("part", "of the queue")],
    has_core: false,
    rest: "where its walk goes on",
};

const START: Layout = Layout {
    name: "start",
    what: "an argument of `submit`: when tasks may start; empty: now",
    fields: &[letter("kind", "")],
    has_core: false,
    rest: "microseconds",
};

const WISH: Layout = Layout {
    name: "wish",
    what: "an argument of `submit`: what is done about the holder of a unique key",
    fields: &[letter("rule", "of `duplicate`")],
    has_core: false,
    rest: "the submission's uniqueness constraint, as `said`",
};

const LAST_HEARTBEAT: Layout = Layout {
    name: "last_heartbeat",
    what: "at the end of an `outcome`: what the attempt reported last",
    fields: &[digits("progress_length", 6, "zeros leave the progress before")],
    has_core: false,
    rest: "the progress as JSON, then `told`",
};

const TOLD: Layout = Layout {
    name: "told",
    what: "an argument of `extend`, or the end of a `last_heartbeat`: a checkpoint; `-` leaves the one before",
    fields: &[letter("mark", "`+`")],
    has_core: false,
    rest: "the checkpoint",
};

/// The parts of a copy that are used when it is sent again.
pub(crate) const FACTS: Layout = Layout {
    name: "facts",
    what: "an argument of `resubmit`: fields of a lease",
    fields: &[
        stamp("started_at", ""),
        number("attempt", 2, ""),
        number("crashes", 2, ""),
        letter("suspicion", ""),
        number("blames", 1, ""),
    ],
    has_core: false,
    rest: "nothing",
};

const LAYOUTS: [&Layout; 53] = [
    &RECORD,
    &FRESH,
    &LEASE,
    &BATCH,
    &ENDING,
    &REMAINS,
    &CORE,
    &NEWS,
    &SPAN,
    &HISTORY,
    &ERROR,
    &COPY,
    &ENTRY,
    &FINISHED,
    &SAID,
    &KEPT,
    &REQUEST,
    &REPORT,
    &QUIET,
    &LOSS,
    &TOMBSTONE,
    &BURIED,
    &DUTY,
    &SCHEDULE,
    &LOGGED,
    &RUN,
    &RUN_PLACE,
    &ASIDE,
    &UNKNOWN,
    &SIZING,
    &OUTCOME,
    &LAST_HEARTBEAT,
    &START,
    &WISH,
    &TOLD,
    &FACTS,
    &EDGE,
    &DEPENDENT,
    &PARENTS,
    &SIGNAL,
    &AWAITED,
    &ENDING_DUE,
    &PIECES,
    &PIECE,
    &BOARD_TASK,
    &CONTENT,
    &LABEL,
    &BOARD_PLACE,
    &BOARD_TIME,
    &WHEN,
    &PICK,
    &GIVEN,
    &ANSWERED,
];

const OUTCOME: Layout = Layout {
    name: "outcome",
    what: "an argument of `cycle`: the outcome of an attempt",
    fields: &[letter("kind", ""), letter("dead_letter", "of `failed`, `stalled` and `unknown`: 1 or 0")],
    has_core: false,
    rest: "of `retry`, `released` and `unstarted` a delay in microseconds instead of the second letter; of `unknown` patience, `:`, \
           delay; of all but `completed` perhaps `;` and a span; of all perhaps `!` and a `last_heartbeat`",
};

/// The range of a field of a string, including those of the core.
fn find(layout: &Layout, name: &str) -> Option<Range<usize>> {
    let mut start = 0;
    for field in layout.fields {
        if field.name == name {
            return Some(start..start + field.width);
        }
        start += field.width;
    }
    match name {
        "rest" if !layout.has_core => Some(start..start),
        "core" if layout.has_core => Some(start..start),
        "queue" if layout.has_core || layout.name == CORE.name => {
            let end = if layout.has_core { start + CORE.len() } else { start };
            Some(end..end)
        }
        _ if layout.has_core => find(&CORE, name).map(|range| start + range.start..start + range.end),
        _ => None,
    }
}

/// The replacement for a name in a script; `None` for an unknown name.
fn meaning_of(name: &str) -> Option<String> {
    let mut parts = name.split('.');
    let (group, field, form) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() {
        return None;
    }
    if let Some(code) = CODES.iter().find(|code| code.group == group && code.name == field) {
        return match form {
            None => Some(format!("'{}'", code.letters)),
            Some("byte") => code.letters.bytes().next().map(|byte| byte.to_string()),
            Some(_) => None,
        };
    }
    if let Some(word) = history::meaning_of(name) {
        return Some(word);
    }
    let literal = match name {
        "digits.three" => Some((0..1_000).fold(String::new(), |text, number| format!("{text}{number:03}"))),
        "suspicion.capacities" => return Some(by_losses(&Suspicion::CAPACITIES)),
        "counter.first_number_at" => return Some(FIRST_NUMBER_AT.to_string()),
        "suspicion.step" => return Some(SUSPICION_STEP.to_string()),
        "suspicion.factors" => return Some(by_losses(&Suspicion::PROBATION_FACTORS)),
        "suspicion.shortest_run" => return Some(Suspicion::SHORTEST_RUN.as_secs().to_string()),
        "suspicion.longest_run" => return Some(Suspicion::LONGEST_RUN.as_secs().to_string()),
        "suspicion.unrenewed" => return Some(Suspicion::UNRENEWED.as_secs().to_string()),
        "batch.most" => return Some(BATCH_TASKS.to_string()),
        "batch.least" => return Some(LEAST_BATCH_TASKS.to_string()),
        "mark.most_bytes" => return Some(UNREAD_BYTES.to_string()),
        "limit.keep_parameters" => return Some(DEFAULT_KEEP_PARAMETERS.to_string()),
        "limit.board_changes" => return Some(MAX_BOARD_CHANGES.to_string()),
        "limit.board_bytes" => return Some(MAX_BOARD_COMMIT_BYTES.to_string()),
        "attempts.none" => Some(attempts(0)),
        "attempts.one" => Some(attempts(1)),
        _ => None,
    };
    if let Some(literal) = literal {
        return Some(format!("'{literal}'"));
    }
    let range = find(LAYOUTS.iter().find(|layout| layout.name == group)?, field)?;
    match form {
        None if range.is_empty() => None,
        None => Some(format!("{}, {}", range.start + 1, range.end)),
        Some("at") => Some((range.start + 1).to_string()),
        Some("last") if !range.is_empty() => Some(range.end.to_string()),
        Some(_) => None,
    }
}

/// Records of more bytes than this are read before they are deleted: freeing them is work that pruning must count.
const UNREAD_BYTES: usize = 4_096;

/// At most so many tasks are in one batch of leases: a settlement of some of them reads all their ids.
/// In a build for development it is so few that tests meet all there is to batches.
pub(crate) const BATCH_TASKS: u64 = if cfg!(debug_assertions) { 5 } else { 64 };

/// Fewer tasks than this get a lease each, which costs less than a batch of them.
const LEAST_BATCH_TASKS: u64 = if cfg!(debug_assertions) { 2 } else { 8 };

/// Numbers of the one counter are microseconds from here, in September 2020. So they stay below 10^15, and exact in a score,
/// until the year 2052.
pub(crate) const FIRST_NUMBER_AT: i64 = 1_600_000_000_000_000;

/// A byte for a suspicion is the losses in a row, and so many times the seconds by which the run was shorter than the longest.
pub(crate) const SUSPICION_STEP: u8 = 8;

/// A Lua table by losses in a row, from one on. No bound is a number that no worker holds.
fn by_losses<T: ToString>(numbers: &[T]) -> String {
    let numbers: Vec<String> = numbers.iter().skip(1).map(ToString::to_string).collect();
    format!("{{ {} }}", numbers.join(", "))
}

/// The fields of a lease from `attempt` to `blames`, as Lua writes them, of a task that was never lost.
fn attempts(attempt: u8) -> String {
    let mut text = String::new();
    let first = LEASE.fields.iter().position(|field| field.name == "attempt").unwrap_or_default();
    for field in LEASE.fields[first..].iter().take_while(|field| field.name != "worker_length") {
        match (field.kind, field.name) {
            (Kind::Letter, _) => text.push('0'),
            (_, "attempt") => (1..=field.width).for_each(|place| {
                let _ = write!(text, "\\{:03}", if place == field.width { attempt } else { 0 });
            }),
            _ => text.push_str(&"\\000".repeat(field.width)),
        }
    }
    text
}

/// Replaces the names in a line of a script by numbers and letters.
pub(crate) fn expand(line: &str, into: &mut String) {
    let mut rest = line;
    while let Some(at) = rest.find('@') {
        let (before, name) = (&rest[..at], &rest[at + 1..]);
        let end = name.find(|it: char| !it.is_ascii_lowercase() && it != '_' && it != '.').unwrap_or(name.len());
        let name = name[..end].trim_end_matches('.');
        into.push_str(before);
        match meaning_of(name) {
            Some(meaning) => into.push_str(&meaning),
            None => {
                into.push('@');
                into.push_str(name);
            }
        }
        rest = &rest[at + 1 + name.len()..];
    }
    into.push_str(rest);
}

/// The tables of `layout.md`.
#[cfg(test)]
fn document() -> String {
    let mut text = String::new();
    for layout in LAYOUTS {
        let _ = write!(
            text,
            "\n`{}`: {}\n\n| bytes | field | written as | meaning |\n|---|---|---|---|\n",
            layout.name, layout.what
        );
        let mut start = 1;
        for field::LayoutField { name, width, kind, meaning } in layout.fields {
            let end = start + width - 1;
            let places = if *width == 1 { start.to_string() } else { format!("{start}-{end}") };
            let kind = format!("{kind:?}").to_lowercase();
            let _ = writeln!(text, "| {places} | `{name}` | {kind} | {meaning} |");
            start = end + 1;
        }
        let core = if layout.has_core { "`core`, " } else { "" };
        let _ = writeln!(text, "| {start}- | | | {core}{} |", layout.rest);
    }
    text.push_str("\n| of | letters |\n|---|---|\n");
    for group in CODES.chunk_by(|a, b| a.group == b.group) {
        let letters: Vec<_> = group.iter().map(|code| format!("`{}` {}", code.letters, code.name)).collect();
        let _ = writeln!(text, "| `{}` | {} |", group[0].group, letters.join(", "));
    }
    text.trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jobbers_common::lifecycle::Status;

    use super::*;

    fn expanded(line: &str) -> String {
        let mut text = String::new();
        expand(line, &mut text);
        text
    }

    #[test]
    fn names_become_positions_and_letters() {
        assert_eq!(expanded("sub(x, @record.revision)"), "sub(x, 2, 16)");
        assert_eq!(expanded("@lease.attempt.at and @lease.attempt.last"), "46 and 47");
        assert_eq!(expanded("@state.fresh, @state.fresh.byte"), "'N', 78");
        assert_eq!(expanded("@core.queue.at @fresh.core.at"), format!("{} 17", CORE.len() + 1));
        assert_eq!(expanded("@lease.submitted_at.at"), (LEASE.len() + 1).to_string());
        assert_eq!(expanded("@attempts.one"), "'\\000\\001\\000\\0000\\000'");
        for untouched in ["worker@instance", "'^(.*)@(.*)$'", "@lease.nothing", "@lease", "@state.fresh.at"] {
            assert_eq!(expanded(untouched), untouched);
        }
    }

    #[test]
    fn an_ending_goes_on_as_its_lease_did() {
        let from = |layout: &Layout| {
            let place = layout.fields.iter().position(|field| field.name == "ready_at").unwrap();
            layout.fields[place..].iter().map(|field| (field.name, field.width)).collect::<Vec<_>>()
        };
        assert_eq!(from(&LEASE), from(&ENDING));
        for layout in [&FRESH, &LEASE, &ENDING] {
            assert_eq!(layout.range("revision"), RECORD.range("revision"), "{}", layout.name);
        }
    }

    #[test]
    fn states_are_the_codes_of_statuses_and_two_more() {
        let states: Vec<_> = CODES.iter().filter(|code| code.group == "state").collect();
        for status in Status::ALL {
            let state = states.iter().find(|code| code.letters == status.code().to_string()).unwrap();
            assert_eq!(state.name, status.to_string());
        }
        assert_eq!(states.len(), Status::ALL.len() + 2);
    }

    #[test]
    fn the_documented_layout_is_the_table() {
        let (file, real) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("src/redis/kernel/layout.md"), document());
        if std::env::var_os("REWRITE").is_some() {
            std::fs::write(&file, &real).unwrap();
        }
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(real == written, "write layout.md again with REWRITE=1 cargo test -p jobbers-engines layout");
    }
}
