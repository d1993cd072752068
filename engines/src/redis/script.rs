//! The scripts: read from their files, assembled with their includes, and known to the server by their digest.
//!
//! A script opens with `#!lua` and its flags, and a comment on its purpose. A line `-- include …` is replaced by the
//! files of `scripts/lib` it names, in a branch where only that branch needs them. A name with an `@` is a position or
//! a letter of the table in `layout.rs`.

use std::sync::LazyLock;

use super::layout;

/// A script ready to be run.
pub(super) struct Script {
    /// Its whole text.
    pub(super) text: String,
    /// The digest by which the server knows it.
    pub(super) sha: String,
}

const LIBRARY: [(&str, &str); 91] = [
    ("base", include_str!("scripts/lib/base.lua")),
    ("numbers", include_str!("scripts/lib/numbers.lua")),
    ("clock", include_str!("scripts/lib/clock.lua")),
    ("time", include_str!("scripts/lib/time.lua")),
    ("records", include_str!("scripts/lib/records.lua")),
    ("counter", include_str!("scripts/lib/counter.lua")),
    ("scores", include_str!("scripts/lib/scores.lua")),
    ("spread", include_str!("scripts/lib/spread.lua")),
    ("ends", include_str!("scripts/lib/ends.lua")),
    ("returns", include_str!("scripts/lib/returns.lua")),
    ("copy", include_str!("scripts/lib/copy.lua")),
    ("again", include_str!("scripts/lib/again.lua")),
    ("apart", include_str!("scripts/lib/apart.lua")),
    ("plain", include_str!("scripts/lib/plain.lua")),
    ("wake", include_str!("scripts/lib/wake.lua")),
    ("sizes", include_str!("scripts/lib/sizes.lua")),
    ("sized", include_str!("scripts/lib/sized.lua")),
    ("awaited", include_str!("scripts/lib/awaited.lua")),
    ("moves", include_str!("scripts/lib/moves.lua")),
    ("agenda", include_str!("scripts/lib/agenda.lua")),
    ("maintain", include_str!("scripts/lib/maintain.lua")),
    ("settle", include_str!("scripts/lib/settle.lua")),
    ("tries", include_str!("scripts/lib/tries.lua")),
    ("outcomes", include_str!("scripts/lib/outcomes.lua")),
    ("lane", include_str!("scripts/lib/lane.lua")),
    ("merge", include_str!("scripts/lib/merge.lua")),
    ("places", include_str!("scripts/lib/places.lua")),
    ("claim", include_str!("scripts/lib/claim.lua")),
    ("expiry", include_str!("scripts/lib/expiry.lua")),
    ("expired", include_str!("scripts/lib/expired.lua")),
    ("replay", include_str!("scripts/lib/replay.lua")),
    ("limits", include_str!("scripts/lib/limits.lua")),
    ("aside", include_str!("scripts/lib/aside.lua")),
    ("suspected", include_str!("scripts/lib/suspected.lua")),
    ("held", include_str!("scripts/lib/held.lua")),
    ("suspects", include_str!("scripts/lib/suspects.lua")),
    ("pass", include_str!("scripts/lib/pass.lua")),
    ("unknown", include_str!("scripts/lib/unknown.lua")),
    ("losses", include_str!("scripts/lib/losses.lua")),
    ("gates", include_str!("scripts/lib/gates.lua")),
    ("length", include_str!("scripts/lib/length.lua")),
    ("judge", include_str!("scripts/lib/judge.lua")),
    ("unique", include_str!("scripts/lib/unique.lua")),
    ("duplicates", include_str!("scripts/lib/duplicates.lua")),
    ("edges", include_str!("scripts/lib/edges.lua")),
    ("parents", include_str!("scripts/lib/parents.lua")),
    ("dependencies", include_str!("scripts/lib/dependencies.lua")),
    ("cascade", include_str!("scripts/lib/cascade.lua")),
    ("held_audit", include_str!("scripts/lib/held_audit.lua")),
    ("put_off", include_str!("scripts/lib/put_off.lua")),
    ("link_pieces", include_str!("scripts/lib/link_pieces.lua")),
    ("withdrawn", include_str!("scripts/lib/withdrawn.lua")),
    ("link", include_str!("scripts/lib/link.lua")),
    ("external", include_str!("scripts/lib/external.lua")),
    ("end_signals", include_str!("scripts/lib/end_signals.lua")),
    ("kept_signals", include_str!("scripts/lib/kept_signals.lua")),
    ("edge_audit", include_str!("scripts/lib/edge_audit.lua")),
    ("time_out", include_str!("scripts/lib/time_out.lua")),
    ("withdraw", include_str!("scripts/lib/withdraw.lua")),
    ("view", include_str!("scripts/lib/view.lua")),
    ("over", include_str!("scripts/lib/over.lua")),
    ("trim", include_str!("scripts/lib/trim.lua")),
    ("remembered", include_str!("scripts/lib/remembered.lua")),
    ("tombstones", include_str!("scripts/lib/tombstones.lua")),
    ("remove", include_str!("scripts/lib/remove.lua")),
    ("audit", include_str!("scripts/lib/audit.lua")),
    ("queue", include_str!("scripts/lib/queue.lua")),
    ("note_waiting", include_str!("scripts/lib/note_waiting.lua")),
    ("board", include_str!("scripts/lib/board.lua")),
    ("board_labels", include_str!("scripts/lib/board_labels.lua")),
    ("board_time", include_str!("scripts/lib/board_time.lua")),
    ("board_run", include_str!("scripts/lib/board_run.lua")),
    ("board_revisions", include_str!("scripts/lib/board_revisions.lua")),
    ("board_write", include_str!("scripts/lib/board_write.lua")),
    ("board_missing", include_str!("scripts/lib/board_missing.lua")),
    ("board_selection", include_str!("scripts/lib/board_selection.lua")),
    ("board_commit", include_str!("scripts/lib/board_commit.lua")),
    ("board_when", include_str!("scripts/lib/board_when.lua")),
    ("board_create", include_str!("scripts/lib/board_create.lua")),
    ("board_delete", include_str!("scripts/lib/board_delete.lua")),
    ("board_take", include_str!("scripts/lib/board_take.lua")),
    ("board_audit", include_str!("scripts/lib/board_audit.lua")),
    ("board_woken", include_str!("scripts/lib/board_woken.lua")),
    ("board_calls", include_str!("scripts/lib/board_calls.lua")),
    ("schedules", include_str!("scripts/lib/schedules.lua")),
    ("workflows", include_str!("scripts/lib/workflows.lua")),
    ("touch_run", include_str!("scripts/lib/touch_run.lua")),
    // Whole scripts, as bodies of functions whose parameter is their ARGV.
    ("submit", include_str!("scripts/submit.lua")),
    ("cancel", include_str!("scripts/cancel.lua")),
    ("put_workflow", include_str!("scripts/put_workflow.lua")),
    ("signal", include_str!("scripts/signal.lua")),
];

const INCLUDE: &str = "-- include ";

fn library(name: &str) -> &'static str {
    LIBRARY.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
}

/// Adds a source with its includes, and theirs. An included script is the body of a function and sees what the including
/// one includes at its top: `visible`. That is not included again, since a function has room for 200 names.
fn put_together(source: &str, visible: &[&str], text: &mut String) {
    // An included script takes the flags of the including one.
    let is_body = !text.is_empty() && source.starts_with("#!");
    for line in source.lines().skip(usize::from(is_body)) {
        match line.trim_start().strip_prefix(INCLUDE) {
            Some(names) => names
                .split(' ')
                .filter(|name| !(is_body && visible.contains(name)))
                .for_each(|name| put_together(library(name), visible, text)),
            None => layout::expand(line, text),
        }
        text.push('\n');
    }
}

impl Script {
    fn new(source: &str) -> Self {
        let mut text = String::with_capacity(16 * 1024);
        let visible: Vec<&str> =
            source.lines().filter_map(|line| line.strip_prefix(INCLUDE)).flat_map(|names| names.split(' ')).collect();
        put_together(source, &visible, &mut text);
        let sha = redis::Script::new(&text).get_hash().to_owned();
        Self { text, sha }
    }
}

macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {
        $(pub(super) static $name: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!($file)));)*

        /// Every script and its source, for the tests.
        #[cfg(test)]
        pub(super) const ALL: &[(&str, &LazyLock<Script>, &str)] = &[$(($file, &$name, include_str!($file))),*];
    };
}

scripts! {
    ADD_DEPENDENCIES = "scripts/add_dependencies.lua";
    AUDIT = "scripts/audit.lua";
    AWAIT = "scripts/await.lua";
    BOARD_ADD = "scripts/board_add.lua";
    BOARD_FREE = "scripts/board_free.lua";
    BOARD_GET = "scripts/board_get.lua";
    BOARD_GROUPS = "scripts/board_groups.lua";
    BOARD_LIST = "scripts/board_list.lua";
    BOARD_MARKS = "scripts/board_marks.lua";
    BOARD_NAMES = "scripts/board_names.lua";
    BOARD_RESTORE = "scripts/board_restore.lua";
    BOARD_WAIT = "scripts/board_wait.lua";
    CANCEL = "scripts/cancel.lua";
    CATALOGUE = "scripts/catalogue.lua";
    CLAIM_DUTY = "scripts/claim_duty.lua";
    CONFIG = "scripts/config.lua";
    COUNT_WORKFLOWS = "scripts/count_workflows.lua";
    CONFIGURE = "scripts/configure.lua";
    CREATE_QUEUES = "scripts/create_queues.lua";
    CYCLE = "scripts/cycle.lua";
    DEAD_LETTERS = "scripts/dead_letters.lua";
    DELETE = "scripts/delete.lua";
    DELETE_SCHEDULE = "scripts/delete_schedule.lua";
    DELETE_WORKFLOW = "scripts/delete_workflow.lua";
    DEREGISTER = "scripts/deregister.lua";
    DUE_SCHEDULES = "scripts/due_schedules.lua";
    DUE_WORKFLOWS = "scripts/due_workflows.lua";
    DUMP = "scripts/dump.lua";
    DUTY = "scripts/duty.lua";
    EXTEND = "scripts/extend.lua";
    FINISHED = "scripts/finished.lua";
    FIRE = "scripts/fire.lua";
    FORGET_DEAD_LETTERS = "scripts/forget_dead_letters.lua";
    FORGET_RECEIPTS = "scripts/forget_receipts.lua";
    GET = "scripts/get.lua";
    HOLDERS = "scripts/holders.lua";
    KEEP_CATALOGUE = "scripts/keep_catalogue.lua";
    KEEP_SIGNAL = "scripts/keep_signal.lua";
    LEASES = "scripts/leases.lua";
    LINK_PIECES = "scripts/link_pieces.lua";
    LINK_RESTORED = "scripts/link_restored.lua";
    LIST_LIVE = "scripts/list_live.lua";
    LIST_OVER = "scripts/list_over.lua";
    LIST_SCHEDULES = "scripts/list_schedules.lua";
    LIST_WORKFLOWS = "scripts/list_workflows.lua";
    MOVE = "scripts/move.lua";
    OPEN = "scripts/open.lua";
    PARENTS = "scripts/parents.lua";
    PLACE = "scripts/place.lua";
    PRESS = "scripts/press.lua";
    PROMOTE = "scripts/promote.lua";
    PRUNE = "scripts/prune.lua";
    PRUNING = "scripts/pruning.lua";
    PURGE = "scripts/purge.lua";
    PUT_SCHEDULE = "scripts/put_schedule.lua";
    PUT_WORKFLOW = "scripts/put_workflow.lua";
    QUEUES = "scripts/queues.lua";
    READ = "scripts/read.lua";
    RECLAIM = "scripts/reclaim.lua";
    REGISTER = "scripts/register.lua";
    RELEASE_DUTY = "scripts/release_duty.lua";
    RENEW_AWAITING = "scripts/renew_awaiting.lua";
    REPAIR = "scripts/repair.lua";
    RESTORE = "scripts/restore.lua";
    RESUBMIT = "scripts/resubmit.lua";
    SCHEDULE = "scripts/schedule.lua";
    SETTLE_EDGES = "scripts/settle_edges.lua";
    SIGNAL = "scripts/signal.lua";
    STATS = "scripts/stats.lua";
    STATUSES = "scripts/statuses.lua";
    SUBMIT = "scripts/submit.lua";
    TRIM = "scripts/trim.lua";
    TOMBSTONE = "scripts/tombstone.lua";
    TOMBSTONES = "scripts/tombstones.lua";
    VIEWS = "scripts/views.lua";
    WORKFLOW = "scripts/workflow.lua";
    SWEEP_AWAITED = "scripts/sweep_awaited.lua";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_says_what_it_may_and_includes_what_is_there() {
        for (file, script, source) in ALL {
            assert!(source.starts_with("#!lua"), "{file} declares its flags");
            let included = source.lines().filter_map(|line| line.trim_start().strip_prefix(INCLUDE));
            for name in included.flat_map(|names| names.split(' ')) {
                assert!(!library(name).is_empty(), "{file} includes {name}");
            }
            assert!(!script.text.contains(INCLUDE), "{file}: all is put in its place");
        }
    }

    /// The arguments of each call of a function in a line of a script, up to the first that is a call itself.
    fn calls_of<'a>(line: &'a str, function: &str) -> Vec<Vec<&'a str>> {
        let starts = line
            .match_indices(function)
            .filter(|(at, _)| !line[..*at].ends_with(|before: char| before.is_ascii_alphanumeric() || before == '_'));
        let calls = starts.map(|(at, _)| &line[at + function.len()..]).filter_map(|rest| rest.strip_prefix('('));
        calls
            .map(|rest| {
                let mut depth = 0;
                let end = rest.find(|letter| {
                    depth += i32::from(letter == '(') - i32::from(letter == ')');
                    depth < 0
                });
                rest[..end.unwrap_or(rest.len())].split(',').map(str::trim).collect()
            })
            .collect()
    }

    fn is_number(word: &str) -> bool {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// Positions and letters in a line that have no name. The first byte and the two parts of a pair need none, nor do
    /// places in a script's arguments, which its header lists.
    fn riddles(line: &str) -> Vec<String> {
        let mut found = Vec::new();
        for function in ["sub", "byte", "find", "match", "unpack_at"] {
            for arguments in calls_of(line, function) {
                let is_bare = arguments.iter().skip(1).any(|word| is_number(word) && *word != "1");
                if is_bare || arguments.get(2).is_some_and(|word| is_number(word)) && function == "sub" {
                    found.push(format!("{function}({})", arguments.join(", ")));
                }
            }
        }
        let compared = ["byte(", "state ", "kind "].iter().any(|what| line.contains(what));
        for operator in ["== ", "~= ", ">= ", "<= ", "> ", "< "] {
            let numbers =
                line.split(operator).skip(1).map(|rest| rest.split([' ', ')', ',']).next().unwrap_or_default());
            found.extend(numbers.filter(|word| compared && is_number(word) && *word > "1").map(str::to_owned));
        }
        for (at, _) in line.match_indices('[') {
            let (before, inside) = (&line[..at], line[at + 1..].split(']').next().unwrap_or_default());
            let is_argument = before.ends_with("ARGV") || before.ends_with("KEYS");
            if is_number(inside) && !is_argument && !matches!(inside, "1" | "2") {
                found.push(format!("[{inside}]"));
            }
        }
        found
    }

    #[test]
    fn a_position_without_a_name_is_found() {
        for line in
            ["sub(x, 49, 54)", "byte(x, 33)", "byte(x) == 75", "run[7]", "sub(call('HGET', T, id), 2)", "sub(x, 1, 5)"]
        {
            assert!(!riddles(line).is_empty(), "{line}");
        }
        for line in
            ["sub(x, @lease.fence)", "found[2][i]", "ARGV[12]", "#answer > 2", "sub(x, 1, at - 1)", "hash_sub(x, 7)"]
        {
            assert_eq!(riddles(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn no_script_reads_by_a_position_without_a_name() {
        let of_library = LIBRARY.iter().map(|(name, text)| (*name, *text));
        for (file, source) in ALL.iter().map(|(file, _, source)| (*file, *source)).chain(of_library) {
            for line in source.lines().filter(|line| !line.trim_start().starts_with("--")) {
                assert_eq!(riddles(line), [""; 0], "{file}: {line}");
            }
        }
    }

    #[test]
    fn every_name_is_known() {
        for (file, script, _) in ALL {
            let left: Vec<_> = script.text.lines().filter(|line| is_named(line)).collect();
            assert_eq!(left, [""; 0], "{file}");
        }
    }

    /// Whether an `@` and a name with a dot in it are left in a line.
    fn is_named(line: &str) -> bool {
        line.split('@').skip(1).any(|rest| {
            let end = rest.find(|letter: char| !letter.is_ascii_lowercase() && letter != '_').unwrap_or(rest.len());
            end > 0 && rest[end..].starts_with('.') && !rest[end..].starts_with("..")
        })
    }

    #[test]
    fn what_drains_a_full_server_may_run_on_one_and_what_fills_it_may_not() {
        let flags = |script: &Script| script.text.lines().next().unwrap().to_owned();
        let writers =
            [&CYCLE, &EXTEND, &CANCEL, &PROMOTE, &SIGNAL, &RECLAIM, &PRUNE, &TRIM, &PRESS, &PURGE, &DELETE, &REPAIR];
        for script in writers.into_iter().chain([&FORGET_DEAD_LETTERS, &FORGET_RECEIPTS, &BOARD_FREE]) {
            assert_eq!(flags(script), "#!lua flags=allow-oom");
        }
        for script in [
            &SUBMIT,
            &ADD_DEPENDENCIES,
            &RESUBMIT,
            &RESTORE,
            &MOVE,
            &FIRE,
            &PUT_SCHEDULE,
            &PUT_WORKFLOW,
            &BOARD_ADD,
            &BOARD_RESTORE,
        ] {
            assert_eq!(flags(script), "#!lua");
        }
    }
}
