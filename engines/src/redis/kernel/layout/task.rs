//! Strings of tasks: their records in each state, what is stored beside them, and their edges.

use super::field::{Layout, bytes, digits, letter, number, revision, stamp, time};

const WORKER: &str = "what only Rust reads (MessagePack), parameters unless they are large, or `remains` if the task \
                      completed, the worker";

/// The beginning of every task's record.
pub(crate) const RECORD: Layout = Layout {
    name: "record",
    what: "`t`: what all records begin with",
    fields: &[
        letter("state", "the task's state"),
        revision("revision", "the task's revision; while it runs, the fence"),
    ],
    has_core: false,
    rest: "as below, by the state",
};

/// The record of a task that still waits since its submission.
pub(crate) const FRESH: Layout = Layout {
    name: "fresh",
    what: "`t`, state `fresh`: ready as it was submitted; its revision is its position",
    fields: &[letter("state", "`fresh`"), revision("revision", "")],
    has_core: true,
    rest: "the queue's name, what only Rust reads (MessagePack), parameters unless they are large",
};

/// The record of a task that runs, or that waits and has a history.
pub(crate) const LEASE: Layout = Layout {
    name: "lease",
    what: "`t`, states `waiting` to `started` and `cancelling`: runs, or waits and has a history",
    fields: &[
        letter("state", ""),
        revision("revision", ""),
        revision("position", "its place among those of its priority"),
        stamp("ready_at", "when it became, or becomes, due"),
        stamp("started_at", "when its latest attempt started"),
        number("attempt", 2, "attempts that count"),
        number("crashes", 2, "lost leases"),
        letter(
            "suspicion",
            "the character 0; and above it with how many workers in a row it was lost, and 8 times the seconds by which it \
             had run less than 15 the last time",
        ),
        number("blames", 1, "workers that only it can have killed"),
        number("worker_length", 1, "the length of the name of who runs it, or ran it last"),
    ],
    has_core: true,
    rest: "the queue's name, what only Rust reads (MessagePack), parameters unless they are large, the worker",
};

/// Tasks that were leased together.
pub(crate) const BATCH: Layout = Layout {
    name: "batch",
    what: "`q:<queue>:c`: tasks that were leased together; their records stay `fresh`",
    fields: &[
        revision("last_position", "of the last of its tasks"),
        stamp("started_at", "when they started"),
        number("id_length", 1, "the length of each id"),
        number("worker_length", 1, "the length of the name of who runs them"),
    ],
    has_core: false,
    rest: "the worker; the ids in the order of their fences, blanks in place of those that have left",
};

/// The record of a finished task. From `ready_at` on it equals that of its lease.
pub(crate) const ENDING: Layout = Layout {
    name: "ending",
    what: "`t`, states `completed` to `stalled`: over",
    fields: &[
        letter("state", ""),
        revision("revision", ""),
        stamp("completed_at", ""),
        letter("dead_letter", "1 if it was put on the outbox, else 0"),
        letter("by", "who ended it: its worker, its worker when its cancel was requested, or the store"),
        revision("fence", "of the lease it was settled by; zeros if it had none"),
        stamp("ready_at", ""),
        stamp("started_at", ""),
        number("attempt", 2, ""),
        number("crashes", 2, ""),
        letter("suspicion", ""),
        number("blames", 1, ""),
        number("worker_length", 1, ""),
    ],
    has_core: true,
    rest: WORKER,
};

/// What the record of a completed task has in place of its parameters, unless that would be empty.
pub(crate) const REMAINS: Layout = Layout {
    name: "remains",
    what: "in an `ending`, state `completed`, unless all of it is empty: what the task was given and what it returned",
    fields: &[
        letter("mark", "of `remains`; without it only the result follows, as earlier versions wrote it"),
        number("result_length", 4, ""),
    ],
    has_core: false,
    rest: "result; parameters, unless they are large or longer than the queue keeps",
};

/// The submission, which never changes.
pub(crate) const CORE: Layout = Layout {
    name: "core",
    what: "what follows in each record and never changes",
    fields: &[
        stamp("submitted_at", ""),
        bytes("fingerprint", 16, "of the submission"),
        letter("size", "whether the parameters are here or in `b`"),
        letter("dead_letter", "1 if it is kept when it fails for good, else 0"),
        number("max_crashes", 1, "blames until it is failed"),
        letter("priority", "0 to 9"),
        letter("remember", "1 if its client chose its id, else 0"),
        letter(
            "linked",
            "a letter of `linked`: if it has dependencies, or others have depended on it; or if it ends by itself too",
        ),
        bytes("tries", 1, "its `max_tries` above the character 0, and 100 more if it ends as aborted; 0: not limited"),
        letter("expires", "1 if its policy says `expires_in` and it was not sent again, else 0"),
        number("open_length", 2, "the length of the queue's name and of what only Rust reads"),
        number("queue_length", 1, "the length of the queue's name"),
    ],
    has_core: false,
    rest: "the queue's name",
};

/// What a task's attempts reported.
pub(crate) const NEWS: Layout = Layout {
    name: "news",
    what: "`x`: what attempts reported; perhaps behind a `span`",
    fields: &[time("heartbeat_at", ""), digits("progress_length", 6, "")],
    has_core: false,
    rest: "progress, checkpoint",
};

pub(crate) const SPAN: Layout = Layout {
    name: "span",
    what: "what news begin with if the span of the last attempt is kept",
    fields: &[letter("mark", ""), bytes("span", 55, "as a `traceparent`")],
    has_core: false,
    rest: "news",
};

/// The errors of a task.
pub(crate) const HISTORY: Layout = Layout {
    name: "history",
    what: "`h`: errors of attempts",
    fields: &[digits("count", 3, "")],
    has_core: false,
    rest: "as many errors",
};

/// An error in a history.
pub(crate) const ERROR: Layout = Layout {
    name: "error",
    what: "an error in `h`",
    fields: &[digits("length", 5, "of what follows this field"), time("at", ""), digits("attempt", 6, "")],
    has_core: false,
    rest: "worker, `;`, a letter for the kind of failure, message; a capital letter is followed by the kind of error and `;`",
};

/// A copy on the outbox.
pub(crate) const COPY: Layout = Layout {
    name: "copy",
    what: "`o`: a copy of a task that failed for good",
    fields: &[digits("record_length", 8, ""), digits("news_length", 8, ""), digits("errors_length", 8, "")],
    has_core: false,
    rest: "record, news, errors, parameters if they are large",
};

pub(crate) const ENTRY: Layout = Layout {
    name: "entry",
    what: "`q:<queue>:q`, `o`, `o:sent`: a task by the revision it had",
    fields: &[revision("revision", "")],
    has_core: false,
    rest: "id",
};

/// An entry of a queue's list of finished tasks. Most are deleted by their entries alone.
pub(crate) const FINISHED: Layout = Layout {
    name: "finished",
    what: "`q:<queue>:f`: a task as it ended",
    fields: &[
        revision("revision", ""),
        letter("mark", "its state; or `needs_record`: its deletion leaves a tombstone, or its record is long"),
    ],
    has_core: false,
    rest: "id",
};

/// The tombstone of a deleted task.
pub(crate) const TOMBSTONE: Layout = Layout {
    name: "tombstone",
    what: "`e`: a deleted task whose id its client chose",
    fields: &[
        stamp("forget_at", "until when it is remembered"),
        letter("state", "as in its ending"),
        stamp("finished_at", ""),
        bytes("fingerprint", 16, "of the submission"),
    ],
    has_core: false,
    rest: "the queue's name",
};

pub(crate) const BURIED: Layout = Layout {
    name: "buried",
    what: "`e:order`: a tombstone, or one that is gone",
    fields: &[stamp("forget_at", "as in the tombstone")],
    has_core: false,
    rest: "id",
};

pub(crate) const UNKNOWN: Layout = Layout {
    name: "unknown",
    what: "`u`: the first time that a worker gave a task back for not knowing it",
    fields: &[time("since", ""), stamp("ready_at", "since when it was ready by then; older ones lack it")],
    has_core: false,
    rest: "",
};

pub(crate) const EDGE: Layout = Layout {
    name: "edge",
    what: "`g:in`, `g:out`: behind a task's id and a zero byte",
    fields: &[revision(
        "since",
        "when it was made: the position of the task that waits, or the revision of the call that added it",
    )],
    has_core: false,
    rest: "the other task's id, a zero byte, a letter of `policy`",
};

/// The number of a task's dependencies.
pub(crate) const DEPENDENT: Layout = Layout {
    name: "dependent",
    what: "`g`: a task with dependencies",
    fields: &[digits("total", 6, ""), digits("signals", 6, "how many of them are signalled")],
    has_core: false,
    rest: "if a predecessor aborted the task: that one's state and id; in a view of a waiting task the first edges: a \
           letter of `policy`, the predecessor's id, a zero byte; then, if the task has signals from outside, a byte 1, and \
           for each a `signal` and a zero byte",
};

/// A signal from outside.
pub(crate) const SIGNAL: Layout = Layout {
    name: "signal",
    what: "in a `dependent`: a signal from outside",
    fields: &[
        letter("state", "of `signal_state`"),
        letter("on_timeout", "of `on_timeout`"),
        digits("timeout", 16, "how long it may take, in microseconds; zeros: without end"),
        time("due", "until when it must come, once its task waits for no other task"),
        time("at", "since when it is in a later state than the first"),
    ],
    has_core: false,
    rest: "its name",
};

/// A signal from outside, as a task is submitted with it.
pub(crate) const AWAITED: Layout = Layout {
    name: "awaited",
    what: "an argument of `submit`: a signal from outside, in front of a zero byte",
    fields: &[letter("on_timeout", ""), digits("timeout", 16, "in microseconds; zeros: without end")],
    has_core: false,
    rest: "its name",
};

/// The predecessors of a task.
pub(crate) const PARENTS: Layout = Layout {
    name: "parents",
    what: "`g:from`: the predecessors of a task, as its submission named them",
    fields: &[letter("holds", "1 if the task is not over, so that it holds what is known of them, else 0")],
    has_core: false,
    rest: "their ids, a zero byte after each",
};

/// Edges of a new task that are stored in pieces.
pub(crate) const PIECES: Layout = Layout {
    name: "pieces",
    what: "an argument of `submit`: the edges of a task that are stored in pieces by later steps",
    fields: &[digits("total", 6, "how many edges these are")],
    has_core: false,
    rest: "the pieces, with a byte 1 behind each: for each edge a letter of `policy`, the predecessor's id, a zero byte",
};

/// Edges of a task that are still to be stored.
pub(crate) const PIECE: Layout = Layout {
    name: "piece",
    what: "`g:pieces`: edges of a waiting task that are still to be stored",
    fields: &[
        revision("since", "the position of the task: it is another, or waits no longer, if it has another one"),
        letter("holds", "1 if the task does not hold these predecessors yet, else 0: it was restored with them"),
    ],
    has_core: false,
    rest: "its id, a zero byte; for each edge a letter of `policy`, the predecessor's id, a zero byte",
};

pub(crate) const ENDING_DUE: Layout = Layout {
    name: "ending_due",
    what: "`g:due`: an end that is still to be signalled to some successors",
    fields: &[
        revision("before", "later edges belong to a later life of the task"),
        letter(
            "state",
            "as in its ending; or of `gone`: it was deleted before its end, or waited and has edges left to delete",
        ),
    ],
    has_core: false,
    rest: "id",
};
