//! What the series of a metric differ in, and how many values each may have in one process.
//!
//! Never a task id, a worker id, an attempt's number or a message: these grow without end. Workers are distinguished by the
//! `instance` its series come from.

/// A key of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute {
    /// The key.
    pub key: &'static str,
    /// Most values one process gives it.
    pub most_values: usize,
    /// Which values these are.
    pub about: &'static str,
}

/// The value for names past [`MOST_NAMES`].
pub const OTHER: &str = "_other";
/// The most pairs of queue and task that one process distinguishes; later ones are counted as [`OTHER`].
pub const MOST_NAMES: usize = 1_000;
/// The most names of workflows that one process distinguishes, [`OTHER`] among them.
pub const MOST_WORKFLOWS: usize = 200;

macro_rules! attributes {
    ($($(#[$doc:meta])* $name:ident = $key:literal, $most:expr, $about:literal;)*) => {
        $(
            $(#[$doc])*
            pub const $name: Attribute = Attribute { key: $key, most_values: $most, about: $about };
        )*
        /// Every attribute there is.
        pub const ALL: &[Attribute] = &[$($name),*];
    };
}

attributes! {
    /// The queue.
    QUEUE = "queue", MOST_NAMES, "the queue's name; `_other` past the bound";
    /// The task's name.
    TASK = "task", MOST_NAMES, "the task's name; `_other` past the bound";
    /// The task's version.
    VERSION = "version", 100, "the task's version, or the program's in `jobbers.build.info`";
    /// The worker's role.
    ROLE = "role", 100, "the worker's role";
    /// A task's status.
    STATUS = "status", 10, "the task's status: one of [the lifecycle](lifecycle.md)";
    /// What a submission did.
    OUTCOME = "outcome", 8, "what came of it: see the metric's sentence";
    /// A stable error code.
    CODE = "code", 64, "the `code` of the problem document, see [the errors](http-api.md)";
    /// Why an attempt ended badly, or was given back.
    REASON = "reason", 12, "why: see the metric's sentence";
    /// What follows.
    NEXT = "next", 2, "`retry` or `over`";
    /// What an overdue heartbeat leads to.
    ACTION = "action", 3, "`stall`, `retry` or `fail`, by the task's `on_stall`";
    /// What of a queue is limited.
    LIMIT = "limit", 8, "which limit, by its name in the queue's configuration";
    /// The kind of store.
    ENGINE = "engine", 4, "`sqlite` or `redis`";
    /// A verb of the engine.
    OPERATION = "operation", 64, "the verb: `submit`, `cycle`, `extend` …";
    /// How a verb failed.
    ERROR = "error", 16, "the kind of failure: `unavailable`, `full`, `conflict` …";
    /// HTTP method.
    METHOD = "method", 8, "the request's method; `_other` for an unheard-of one";
    /// HTTP route.
    ROUTE = "route", 100, "the route's pattern, such as `/tasks/{id}`; `unmatched` where there is none";
    /// HTTP status.
    STATUS_CODE = "status_code", 60, "the answer's status";
    /// The state of a worker, or of a run of a workflow and its nodes.
    STATE = "state", 8, "of a worker, of a run of a workflow or of its nodes: see the metric's sentence";
    /// The workflow.
    WORKFLOW = "workflow", MOST_WORKFLOWS, "the workflow's name; `_unnamed` for runs without one, `_other` past the bound";
    /// What is wrong with the store.
    TROUBLE = "trouble", 4, "`damaged`, `full`, `commits_missing` or `durability_unmet`";
    /// A chore of the manager.
    CHORE = "chore", 8, "`promote`, `reclaim`, `prune` or `observe`";
    /// A pass of the cleaner.
    PASS = "pass", 16, "the pass's name, such as `prune_retention`";
    /// A board.
    BOARD = "board", 100, "the board: `masstasker`, `taskstore` and others; each front has one of its own";
    /// A group of a board.
    GROUP = "group", MOST_NAMES, "the group's name; `_other` past the bound";
    /// A call to a board.
    CALL = "call", 3, "`commit`, `take` or `wait`";
    /// The service.
    SERVICE = "service", 4, "`manager`, `worker`, `cleaner`, or `jobbers` for all of them in one process";
}
