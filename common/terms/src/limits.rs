//! Bounds. Past each of them there is a clear error, never a silent drop.

use std::time::Duration;

/// Most tasks in one submission, list page, settle, extend or cancel call.
pub const MAX_BATCH: usize = 1_000;
/// Most different queues that the tasks of one submission may go to: a store touches each of them in the same step.
pub const MAX_QUEUES_PER_BATCH: usize = 100;
/// Most queues whose history one call reads.
pub const MAX_QUEUES_PER_READ: usize = 100;
/// Longest task id, task name, queue, role or worker name, in bytes.
pub const MAX_NAME_BYTES: usize = 128;
/// Longest kind of error, in bytes.
pub const MAX_ERROR_KIND_BYTES: usize = 256;
/// Most predecessors of one task.
pub const MAX_DEPENDENCIES: usize = 10_000;
/// Most dependencies in one submission.
pub const MAX_BATCH_DEPENDENCIES: usize = 10_000;
/// Dependencies that the step which stores a submission links at most. The others are linked in pieces by the steps that follow.
pub const DEPENDENCIES_A_STEP: usize = 500;
/// Most dependencies of a piece.
pub const DEPENDENCIES_A_PIECE: usize = 250;
/// Most signals from outside that one task waits for.
pub const MAX_SIGNALS: usize = 16;
/// Signals from outside that one tick times out at most.
pub const TIMEOUTS_A_TICK: usize = 500;
/// Longest that a signal is kept for a task that does not exist yet.
pub const MAX_SIGNAL_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Most signals that a store keeps for tasks that do not exist yet.
pub const MAX_SIGNALS_KEPT: usize = 10_000;
/// Most edges that one call adds between stored tasks.
pub const MAX_ADDED_DEPENDENCIES: usize = 100;
/// Most edges that a check for a circle follows in either direction.
pub const MAX_EDGES_CHECKED: usize = 400;
/// Most edges of one task that a look at it lists.
pub const MAX_DEPENDENCIES_SHOWN: usize = 100;
/// Edges that the ends of one step signal at most. The claims and ticks that follow signal the others, each as many.
pub const SIGNALS_A_STEP: usize = 200;
/// Most tasks that one commit to a board may create, update and delete together.
pub const MAX_BOARD_CHANGES: usize = 10_000;
/// Most groups and labels by which one commit to a board may select tasks.
pub const MAX_BOARD_SELECTIONS: usize = 64;
/// Longest name of a board's group, in bytes.
pub const MAX_BOARD_GROUP_BYTES: usize = 1_024;
/// Longest content type, label or value of a label of a board's task, in bytes.
pub const MAX_BOARD_TEXT_BYTES: usize = 1_024;
/// Most labels of a board's task.
pub const MAX_BOARD_LABELS: usize = 64;
/// Most bytes of data, labels and errors in one commit to a board.
pub const MAX_BOARD_COMMIT_BYTES: usize = 16 * 1024 * 1024;
/// A page of a board's tasks ends once their contents are so many bytes together.
pub const MAX_BOARD_PAGE_BYTES: usize = 8 * 1024 * 1024;
/// Among how many of the earliest visible tasks of a group a random take chooses.
pub const BOARD_RANDOM_CHOICE: usize = 64;
/// Longest unique key, in bytes.
pub const MAX_UNIQUE_KEY_BYTES: usize = 256;
/// Longest concurrency key, in bytes.
pub const MAX_CONCURRENCY_KEY_BYTES: usize = 256;
/// Most labels of one task.
pub const MAX_LABELS: usize = 16;
/// Longest value of a label, in bytes.
pub const MAX_LABEL_VALUE_BYTES: usize = 256;
/// Most tasks' names for which one queue may have limits of their own.
pub const MAX_TASK_LIMITS: usize = 100;
/// Default bound on one task's parameters, and on one result, in bytes.
pub const DEFAULT_MAX_PAYLOAD_BYTES: usize = 256 * 1024;
/// Highest bound that may be set on one task's parameters, in bytes: calls carry many tasks, and are to be answered soon.
pub const HIGHEST_MAX_PAYLOAD_BYTES: usize = 1024 * 1024;
/// Deepest nesting of arrays and objects in JSON parameters.
pub const MAX_JSON_DEPTH: usize = 64;
/// Parameters of up to so many bytes are kept in their task's record, longer ones apart from it.
pub const KEPT_PARAMETER_BYTES: usize = 1_024;
/// Longest error message kept per attempt, in bytes; longer ones are cut and end in `…`.
pub const MAX_ERROR_BYTES: usize = 4 * 1024;
/// Longest message a task may give with its progress, in bytes; workers cut longer ones, which end in `…`.
pub const MAX_PROGRESS_BYTES: usize = 1_024;
/// Most attempts kept in a task's error history; the oldest are dropped first.
pub const MAX_ERRORS_KEPT: usize = 100;
/// Most retries a submission may ask for.
pub const MAX_RETRIES: u32 = 1_000;
/// Most kinds of errors in one list of a policy.
pub const MAX_ERROR_KINDS: usize = 64;
/// Most lost leases a submission may allow.
pub const MAX_CRASHES: u32 = 100;
/// Most tries a submission may allow.
pub const MAX_TRIES: u32 = 100;
/// Longest delay, backoff cap or timeout a task may carry.
pub const MAX_DELAY: Duration = Duration::from_secs(366 * 24 * 3_600);
/// Most queues whose settings were put, roles or routing rules.
pub const MAX_CONFIG_ENTRIES: usize = 10_000;
/// Most tasks in a period of a rate limit, and in a burst.
pub const MAX_RATE_TASKS: u32 = 100_000;
/// Longest period of a rate limit. Times [`MAX_RATE_TASKS`] it is a whole number that a double holds exactly.
pub const MAX_RATE_PERIOD: Duration = Duration::from_secs(24 * 3_600);
/// Largest weight of a queue in a role.
pub const MAX_WEIGHT: u32 = 1_000_000;
/// Largest catalogue of a worker's tasks, in bytes.
pub const MAX_CATALOGUE_BYTES: usize = 4 * 1024 * 1024;
/// Most queues one claim may name, and one role may serve: asking so many takes a store a few milliseconds.
pub const MAX_QUEUES_PER_CLAIM: usize = 1_024;
/// Most patterns of queues' names in one role: a store looks for the queues of each when the configuration changes.
pub const MAX_PATTERNS_PER_ROLE: usize = 100;
/// Most kinds of tasks one claim may refuse.
pub const MAX_REFUSALS_PER_CLAIM: usize = 100;
/// Most sessions of the pages that a store keeps.
pub const MAX_SESSIONS: usize = 1_000;
/// Longest time a blocked call (claim, result) waits before it answers with nothing.
pub const MAX_WAIT: Duration = Duration::from_secs(60);
/// Lease a worker takes on a task unless told otherwise; it renews four times within it.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(8);
/// Longest note of a duty's holder, in bytes.
pub const MAX_DUTY_NOTE_BYTES: usize = 1_024;
/// Copies of dead letters answered by one call are at most about this many bytes, or one.
pub const DEAD_LETTERS_BYTES: usize = 16 * 1024 * 1024;
/// Most logged changes that wait in a store until an archive has them. Beyond that, changes are refused.
pub const MAX_LOGGED_CHANGES: usize = 10_000;
/// Largest record of a change, and of its outcome, as they are stored, in bytes.
pub const MAX_LOGGED_BYTES: usize = 16 * 1024;
/// Logged changes answered by one call are at most about this many bytes, or one.
pub const LOGGED_CHANGES_BYTES: usize = 4 * 1024 * 1024;
/// The greatest revision that a restored task may have: what stores give out by the year 2049, so that numbers stay legal.
pub const MAX_RESTORED_REVISION: u64 = 900_000_000_000_000;
/// Most schedules of a store.
pub const MAX_SCHEDULES: usize = 10_000;
/// Longest name of a schedule, in bytes: the ids of its tasks contain it.
pub const MAX_SCHEDULE_NAME_BYTES: usize = 80;
/// Longest name of a schedule that starts a workflow, in bytes: the ids of its runs are `schedule:NAME:` and 20 bytes more.
pub const MAX_WORKFLOW_SCHEDULE_NAME_BYTES: usize = MAX_WORKFLOW_ID_BYTES - "schedule::".len() - 20;
/// Largest schedule with the parameters of its tasks, as it is stored, in bytes.
pub const MAX_SCHEDULE_BYTES: usize = 64 * 1024;
/// Longest cron expression, in bytes.
pub const MAX_CRON_BYTES: usize = 256;
/// Most expressions that one cron expression joins by `|`.
pub const MAX_CRON_EXPRESSIONS: usize = 5;
/// Most late slots that a schedule may catch up with.
pub const MAX_CATCH_UP: u32 = 1_000;
/// Longest jitter of a schedule.
pub const MAX_JITTER: Duration = Duration::from_secs(24 * 3_600);
/// Most nodes of a workflow.
pub const MAX_WORKFLOW_NODES: usize = 10_000;
/// Most edges of a workflow.
pub const MAX_WORKFLOW_EDGES: usize = 100_000;
/// Longest id of a run, in bytes: the ids of its tasks contain it.
pub const MAX_WORKFLOW_ID_BYTES: usize = 64;
/// Longest name of a node, in bytes: the id of its task contains it.
pub const MAX_NODE_NAME_BYTES: usize = 63;
/// Largest workflow with the parameters of its tasks, as it is stored, in bytes.
pub const MAX_WORKFLOW_BYTES: usize = 8 * 1024 * 1024;
/// Largest record of a run, as it is stored, in bytes: a byte per node, and some text.
pub const MAX_RUN_BYTES: usize = 16 * 1024;
/// Most runs of workflows that a store holds.
pub const MAX_RUNS: usize = 10_000;
