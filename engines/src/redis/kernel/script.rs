//! The scripts: read from their files, assembled with their includes, and known to the server by their digest.
//!
//! A script opens with `#!lua` and its flags, and a comment on its purpose. A line `-- include …` is replaced by the
//! files of `scripts/lib` it names, in a branch where only that branch needs them. A name with an `@` is a position or
//! a letter of the table in `layout.rs`.

use std::sync::LazyLock;

use super::layout;

#[cfg(test)]
mod names;

/// A script ready to be run.
pub(crate) struct Script {
    /// Its whole text.
    pub(crate) text: String,
    /// The digest by which the server knows it.
    pub(crate) sha: String,
}

impl Script {
    /// Whether it may write.
    pub(crate) fn writes(&self) -> bool {
        !self.text.lines().next().unwrap_or_default().contains("no-writes")
    }
}

const LIBRARY: [(&str, &str); 115] = [
    ("base", include_str!("../scripts/lib/store/base.lua")),
    ("numbers", include_str!("../scripts/lib/store/numbers.lua")),
    ("clock", include_str!("../scripts/lib/store/clock.lua")),
    ("digits", include_str!("../scripts/lib/store/digits.lua")),
    ("take", include_str!("../scripts/lib/store/take.lua")),
    ("keys", include_str!("../scripts/lib/store/keys.lua")),
    ("now", include_str!("../scripts/lib/store/now.lua")),
    ("time", include_str!("../scripts/lib/store/time.lua")),
    ("remains", include_str!("../scripts/lib/kernel/remains.lua")),
    ("records", include_str!("../scripts/lib/kernel/records.lua")),
    ("counter", include_str!("../scripts/lib/store/counter.lua")),
    ("listeners", include_str!("../scripts/lib/store/listeners.lua")),
    ("heartbeats", include_str!("../scripts/lib/store/heartbeats.lua")),
    ("scores", include_str!("../scripts/lib/kernel/scores.lua")),
    ("spread", include_str!("../scripts/lib/store/spread.lua")),
    ("ends", include_str!("../scripts/lib/kernel/ends.lua")),
    ("returns", include_str!("../scripts/lib/kernel/returns.lua")),
    ("heard", include_str!("../scripts/lib/kernel/heard.lua")),
    ("history", include_str!("../scripts/lib/follow/history/history.lua")),
    ("history_turn", include_str!("../scripts/lib/follow/history/history_turn.lua")),
    ("copy", include_str!("../scripts/lib/follow/copy.lua")),
    ("batches", include_str!("../scripts/lib/kernel/batches.lua")),
    ("running", include_str!("../scripts/lib/kernel/running.lua")),
    ("overdue_leases", include_str!("../scripts/lib/verbs/overdue_leases.lua")),
    ("owned", include_str!("../scripts/lib/kernel/owned.lua")),
    ("own_leases", include_str!("../scripts/lib/kernel/own_leases.lua")),
    ("lease_batches", include_str!("../scripts/lib/verbs/lease_batches.lua")),
    ("again", include_str!("../scripts/lib/kernel/again.lua")),
    ("apart", include_str!("../scripts/lib/kernel/apart.lua")),
    ("plain", include_str!("../scripts/lib/verbs/plain.lua")),
    ("wake", include_str!("../scripts/lib/store/wake.lua")),
    ("sizes", include_str!("../scripts/lib/follow/sizes.lua")),
    ("sized", include_str!("../scripts/lib/follow/sized.lua")),
    ("awaited", include_str!("../scripts/lib/follow/waiting/awaited.lua")),
    ("moves", include_str!("../scripts/lib/kernel/moves.lua")),
    ("agenda", include_str!("../scripts/lib/kernel/agenda.lua")),
    ("maintain", include_str!("../scripts/lib/verbs/maintain.lua")),
    ("due", include_str!("../scripts/lib/verbs/due.lua")),
    ("settle", include_str!("../scripts/lib/verbs/settle.lua")),
    ("end_batches", include_str!("../scripts/lib/verbs/end_batches.lua")),
    ("tries", include_str!("../scripts/lib/verbs/tries.lua")),
    ("outcomes", include_str!("../scripts/lib/verbs/outcomes.lua")),
    ("lane", include_str!("../scripts/lib/kernel/lane.lua")),
    ("merge", include_str!("../scripts/lib/kernel/merge.lua")),
    ("places", include_str!("../scripts/lib/kernel/places.lua")),
    ("claim", include_str!("../scripts/lib/verbs/claim.lua")),
    ("expiry", include_str!("../scripts/lib/verbs/expiry.lua")),
    ("expired", include_str!("../scripts/lib/verbs/expired.lua")),
    ("replay", include_str!("../scripts/lib/verbs/replay.lua")),
    ("limits", include_str!("../scripts/lib/follow/limits.lua")),
    ("kind", include_str!("../scripts/lib/follow/kind.lua")),
    ("alike", include_str!("../scripts/lib/follow/alike.lua")),
    ("aside", include_str!("../scripts/lib/follow/aside.lua")),
    ("suspected", include_str!("../scripts/lib/follow/blame/suspected.lua")),
    ("held", include_str!("../scripts/lib/follow/blame/held.lua")),
    ("suspects", include_str!("../scripts/lib/follow/blame/suspects.lua")),
    ("pass", include_str!("../scripts/lib/follow/pass.lua")),
    ("unknown", include_str!("../scripts/lib/follow/unknown.lua")),
    ("losses", include_str!("../scripts/lib/follow/blame/losses.lua")),
    ("gates", include_str!("../scripts/lib/follow/gates.lua")),
    ("length", include_str!("../scripts/lib/follow/length.lua")),
    ("judge", include_str!("../scripts/lib/verbs/judge.lua")),
    ("unique", include_str!("../scripts/lib/follow/unique.lua")),
    ("duplicates", include_str!("../scripts/lib/verbs/duplicates.lua")),
    ("edges", include_str!("../scripts/lib/follow/dependency/edges.lua")),
    ("parents", include_str!("../scripts/lib/follow/parents.lua")),
    ("dependencies", include_str!("../scripts/lib/follow/dependency/dependencies.lua")),
    ("cascade", include_str!("../scripts/lib/follow/dependency/cascade.lua")),
    ("held_audit", include_str!("../scripts/lib/audit/held_audit.lua")),
    ("put_off", include_str!("../scripts/lib/follow/dependency/put_off.lua")),
    ("link_pieces", include_str!("../scripts/lib/follow/dependency/link_pieces.lua")),
    ("withdrawn", include_str!("../scripts/lib/follow/dependency/withdrawn.lua")),
    ("link", include_str!("../scripts/lib/follow/dependency/link.lua")),
    ("left_due", include_str!("../scripts/lib/follow/left_due.lua")),
    ("external", include_str!("../scripts/lib/follow/dependency/external.lua")),
    ("end_signals", include_str!("../scripts/lib/follow/dependency/end_signals.lua")),
    ("kept_signals", include_str!("../scripts/lib/follow/dependency/kept_signals.lua")),
    ("side_audit", include_str!("../scripts/lib/audit/side_audit.lua")),
    ("batch_audit", include_str!("../scripts/lib/audit/batch_audit.lua")),
    ("edge_audit", include_str!("../scripts/lib/audit/edge_audit.lua")),
    ("time_out", include_str!("../scripts/lib/follow/dependency/time_out.lua")),
    ("withdraw", include_str!("../scripts/lib/verbs/withdraw.lua")),
    ("view", include_str!("../scripts/lib/kernel/view.lua")),
    ("over", include_str!("../scripts/lib/kernel/over.lua")),
    ("trim", include_str!("../scripts/lib/verbs/trim.lua")),
    ("remembered", include_str!("../scripts/lib/follow/remembered.lua")),
    ("tombstones", include_str!("../scripts/lib/follow/tombstones.lua")),
    ("remove", include_str!("../scripts/lib/kernel/remove.lua")),
    ("audit", include_str!("../scripts/lib/audit/audit.lua")),
    ("queue", include_str!("../scripts/lib/store/queue.lua")),
    ("keep_awaited", include_str!("../scripts/lib/follow/waiting/keep_awaited.lua")),
    ("note_waiting", include_str!("../scripts/lib/follow/waiting/note_waiting.lua")),
    ("board", include_str!("../scripts/lib/boards/board.lua")),
    ("board_labels", include_str!("../scripts/lib/boards/board_labels.lua")),
    ("board_time", include_str!("../scripts/lib/boards/board_time.lua")),
    ("board_run", include_str!("../scripts/lib/boards/board_run.lua")),
    ("board_revisions", include_str!("../scripts/lib/boards/board_revisions.lua")),
    ("board_write", include_str!("../scripts/lib/boards/board_write.lua")),
    ("board_missing", include_str!("../scripts/lib/boards/board_missing.lua")),
    ("board_selection", include_str!("../scripts/lib/boards/board_selection.lua")),
    ("board_commit", include_str!("../scripts/lib/boards/board_commit.lua")),
    ("board_when", include_str!("../scripts/lib/boards/board_when.lua")),
    ("board_create", include_str!("../scripts/lib/boards/board_create.lua")),
    ("board_delete", include_str!("../scripts/lib/boards/board_delete.lua")),
    ("board_take", include_str!("../scripts/lib/boards/board_take.lua")),
    ("board_audit", include_str!("../scripts/lib/boards/board_audit.lua")),
    ("board_woken", include_str!("../scripts/lib/boards/board_woken.lua")),
    ("board_calls", include_str!("../scripts/lib/boards/board_calls.lua")),
    ("schedules", include_str!("../scripts/lib/schedules/schedules.lua")),
    ("workflows", include_str!("../scripts/lib/workflows/workflows.lua")),
    ("touch_run", include_str!("../scripts/lib/workflows/touch_run.lua")),
    // Whole scripts, as bodies of functions whose parameter is their ARGV.
    ("submit", include_str!("../scripts/verbs/submit.lua")),
    ("cancel", include_str!("../scripts/verbs/cancel.lua")),
    ("put_workflow", include_str!("../scripts/workflows/put_workflow.lua")),
    ("signal", include_str!("../scripts/follow/signal.lua")),
];

const INCLUDE: &str = "-- include ";

fn library(name: &str) -> &'static str {
    LIBRARY.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
}

/// Opens the function that has all of a script but its names and time, and ends it. A function that takes a name over from the
/// chunk walks all names that others took over before, and from a function around it none.
const BODY: (&str, &str) = ("return (function()\n", "end)()\n");

/// Adds a source with its includes, and theirs. An included script is the body of a function and sees what the including
/// one includes at its top: `visible`. That is not included again, since a function has room for 200 names. `is_top`: whether
/// this is at the top of the script. Returns whether that opened its body.
fn put_together(source: &str, visible: &[&str], is_top: bool, text: &mut String) -> bool {
    // An included script takes the flags of the including one.
    let (is_script, mut is_open) = (!text.is_empty() && source.starts_with("#!"), false);
    for line in source.lines().skip(usize::from(is_script)) {
        if let Some(names) = line.trim_start().strip_prefix(INCLUDE) {
            let is_top = is_top && line.starts_with(INCLUDE);
            for name in names.split(' ').filter(|name| !(is_script && visible.contains(name))) {
                is_open |= put_together(library(name), visible, is_top, text);
                if is_top && name == "time" {
                    text.push_str(BODY.0);
                    is_open = true;
                }
            }
        } else {
            layout::expand(line, text);
        }
        text.push('\n');
    }
    is_open
}

impl Script {
    fn new(source: &str) -> Self {
        let mut text = String::with_capacity(16 * 1024);
        let visible: Vec<&str> =
            source.lines().filter_map(|line| line.strip_prefix(INCLUDE)).flat_map(|names| names.split(' ')).collect();
        if put_together(source, &visible, true, &mut text) {
            text.push_str(BODY.1);
        }
        let sha = redis::Script::new(&text).get_hash().to_owned();
        Self { text, sha }
    }
}

macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {
        $(pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!($file)));)*

        /// Every script and its source, for the tests.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &LazyLock<Script>, &str)] = &[$(($file, &$name, include_str!($file))),*];
    };
}

scripts! {
    ADD_DEPENDENCIES = "../scripts/follow/add_dependencies.lua";
    AUDIT = "../scripts/audit/audit.lua";
    AWAIT = "../scripts/read/await.lua";
    BOARD_ADD = "../scripts/boards/board_add.lua";
    BOARD_FREE = "../scripts/boards/board_free.lua";
    BOARD_GET = "../scripts/boards/board_get.lua";
    BOARD_GROUPS = "../scripts/boards/board_groups.lua";
    BOARD_LIST = "../scripts/boards/board_list.lua";
    BOARD_MARKS = "../scripts/boards/board_marks.lua";
    BOARD_NAMES = "../scripts/boards/board_names.lua";
    BOARD_RESTORE = "../scripts/boards/board_restore.lua";
    BOARD_WAIT = "../scripts/boards/board_wait.lua";
    CANCEL = "../scripts/verbs/cancel.lua";
    CATALOGUE = "../scripts/verbs/catalogue.lua";
    CLAIM_DUTY = "../scripts/verbs/claim_duty.lua";
    CONFIG = "../scripts/store/config.lua";
    COUNT_WORKFLOWS = "../scripts/workflows/count_workflows.lua";
    CONFIGURE = "../scripts/store/configure.lua";
    CREATE_QUEUES = "../scripts/store/create_queues.lua";
    CYCLE = "../scripts/verbs/cycle.lua";
    DEAD_LETTERS = "../scripts/follow/dead_letters.lua";
    DELETE = "../scripts/verbs/delete.lua";
    DELETE_SCHEDULE = "../scripts/schedules/delete_schedule.lua";
    DELETE_WORKFLOW = "../scripts/workflows/delete_workflow.lua";
    DEREGISTER = "../scripts/verbs/deregister.lua";
    DUE_SCHEDULES = "../scripts/schedules/due_schedules.lua";
    DUE_WORKFLOWS = "../scripts/workflows/due_workflows.lua";
    DUMP = "../scripts/backup/dump.lua";
    DUTY = "../scripts/verbs/duty.lua";
    END_SESSION = "../scripts/verbs/sessions/end_session.lua";
    EXTEND = "../scripts/verbs/extend.lua";
    FINISHED = "../scripts/read/finished.lua";
    FIRE = "../scripts/schedules/fire.lua";
    FORGET_CHANGES = "../scripts/audit_log/forget_changes.lua";
    FORGET_DEAD_LETTERS = "../scripts/follow/forget_dead_letters.lua";
    FORGET_RECEIPTS = "../scripts/follow/forget_receipts.lua";
    GET = "../scripts/read/get.lua";
    HISTORY = "../scripts/read/history.lua";
    HOLDERS = "../scripts/read/holders.lua";
    KEEP_CATALOGUE = "../scripts/verbs/keep_catalogue.lua";
    KEEP_SIGNAL = "../scripts/follow/keep_signal.lua";
    LATEST_ERRORS = "../scripts/read/latest_errors.lua";
    LEASES = "../scripts/read/leases.lua";
    LINK_PIECES = "../scripts/follow/link_pieces.lua";
    LINK_RESTORED = "../scripts/backup/link_restored.lua";
    LIST_LIVE = "../scripts/read/list_live.lua";
    LIST_OVER = "../scripts/read/list_over.lua";
    LIST_SCHEDULES = "../scripts/schedules/list_schedules.lua";
    LIST_WORKFLOWS = "../scripts/workflows/list_workflows.lua";
    LOGGED_CHANGES = "../scripts/audit_log/logged_changes.lua";
    LOG_CHANGE = "../scripts/audit_log/log_change.lua";
    LOG_OUTCOME = "../scripts/audit_log/log_outcome.lua";
    MOVE = "../scripts/verbs/move.lua";
    OPEN = "../scripts/store/open.lua";
    PARENTS = "../scripts/follow/parents.lua";
    PLACE = "../scripts/read/place.lua";
    PRESS = "../scripts/verbs/press.lua";
    PROMOTE = "../scripts/verbs/promote.lua";
    PRUNE = "../scripts/verbs/prune.lua";
    PRUNING = "../scripts/read/pruning.lua";
    PURGE = "../scripts/verbs/purge.lua";
    PUT_SCHEDULE = "../scripts/schedules/put_schedule.lua";
    PUT_SESSION = "../scripts/verbs/sessions/put_session.lua";
    PUT_WORKFLOW = "../scripts/workflows/put_workflow.lua";
    QUEUES = "../scripts/store/queues.lua";
    RECLAIM = "../scripts/verbs/reclaim.lua";
    REGISTER = "../scripts/verbs/register.lua";
    RELEASE_DUTY = "../scripts/verbs/release_duty.lua";
    RENEW_AWAITING = "../scripts/read/renew_awaiting.lua";
    REPAIR = "../scripts/audit/repair.lua";
    RESCHEDULE = "../scripts/verbs/reschedule.lua";
    RESTORE = "../scripts/backup/restore.lua";
    RESUBMIT = "../scripts/verbs/resubmit.lua";
    SCHEDULE = "../scripts/schedules/schedule.lua";
    SESSION = "../scripts/verbs/sessions/session.lua";
    SETTLE_EDGES = "../scripts/follow/settle_edges.lua";
    SIGNAL = "../scripts/follow/signal.lua";
    STATS = "../scripts/read/stats.lua";
    STATUSES = "../scripts/read/statuses.lua";
    TIMES = "../scripts/read/times.lua";
    SUBMIT = "../scripts/verbs/submit.lua";
    TRIM = "../scripts/verbs/trim.lua";
    TOMBSTONE = "../scripts/follow/tombstone.lua";
    TOMBSTONES = "../scripts/follow/tombstones.lua";
    VIEWS = "../scripts/read/views.lua";
    WORKERS = "../scripts/read/workers.lua";
    WORKFLOW = "../scripts/workflows/workflow.lua";
    SWEEP_AWAITED = "../scripts/read/sweep_awaited.lua";
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
        let writers = [
            &CYCLE,
            &EXTEND,
            &CANCEL,
            &RESCHEDULE,
            &PROMOTE,
            &SIGNAL,
            &RECLAIM,
            &PRUNE,
            &TRIM,
            &PRESS,
            &PURGE,
            &DELETE,
            &REPAIR,
        ];
        for script in writers.into_iter().chain([
            &FORGET_DEAD_LETTERS,
            &FORGET_RECEIPTS,
            &BOARD_FREE,
            &LOG_CHANGE,
            &LOG_OUTCOME,
            &FORGET_CHANGES,
        ]) {
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
