//! Every metric, a row each: first those of a task's way, then those of the processes.

use super::{
    Attribute, Kind, Metric, Service,
    attribute::{
        ACTION, BOARD, CALL, CHORE, CODE, ENGINE, ERROR, GROUP, LIMIT, METHOD, MOST_NAMES, MOST_WORKFLOWS, NEXT,
        OPERATION, OUTCOME, PASS, QUEUE, REASON, ROLE, ROUTE, SERVICE, STATE, STATUS, STATUS_CODE, TASK, TROUBLE,
        VERSION, WORKFLOW,
    },
};

/// Times of tasks, in milliseconds: from half a millisecond to four hours.
const TASK_MS: &[f64] = &[
    0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1e3, 2.5e3, 5e3, 1e4, 3e4, 6e4, 3e5, 9e5, 3.6e6, 1.44e7,
];
/// Calls, in seconds: from half a millisecond to the longest long poll.
const CALL_S: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
/// Waits and long chores, in seconds, up to four hours.
const LONG_S: &[f64] = &[0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0];
/// Sizes of batches; none is larger than the last.
const BATCH: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0];
/// Sizes of payloads, up to the default bound.
const PAYLOAD_BYTES: &[f64] = &[64.0, 256.0, 1_024.0, 4_096.0, 16_384.0, 65_536.0, 262_144.0];

const MANAGER: &[Service] = &[Service::Manager];
const WORKER: &[Service] = &[Service::Worker];
const CLEANER: &[Service] = &[Service::Cleaner];
/// Whichever of the two takes expired leases back counts what that ends.
const MANAGER_AND_WORKER: &[Service] = &[Service::Manager, Service::Worker];
/// Managers carry out what clients of boards ask for, and a cleaner what is past its retention.
const MANAGER_AND_CLEANER: &[Service] = &[Service::Manager, Service::Cleaner];
const EVERY: &[Service] = Service::ALL;

/// Series of a metric of queue and task with few further values each.
const PAIRS: usize = MOST_NAMES;
/// Series of a metric of queue and task and version: of the pairs that a process met, and of those it expects.
const PAIRS_BY_VERSION: usize = 2 * MOST_NAMES;
/// Series of a metric of queue and task and status.
const PAIRS_BY_STATUS: usize = 3 * MOST_NAMES;
/// Series of a metric of queue and the statuses of tasks that are not over.
const QUEUES_BY_STATUS: usize = 4 * MOST_NAMES;
/// Series of a metric of queue and limit.
const QUEUES_BY_LIMIT: usize = 5 * MOST_NAMES;

/// Series of a metric of queue and task, reason and what comes next.
const PAIRS_BY_REASON: usize = 10 * MOST_NAMES;

macro_rules! catalogue {
    ($($name:ident: $kind:ident $text:literal, $unit:literal, [$($attribute:ident),*], $most:expr, $buckets:expr, $services:expr, $about:literal;)*) => {
        $(
            #[doc = $about]
            pub const $name: Metric = Metric {
                name: $text,
                kind: Kind::$kind,
                unit: $unit,
                attributes: { const KEYS: &[Attribute] = &[$($attribute),*]; KEYS },
                most_series: $most,
                buckets: $buckets,
                services: $services,
                about: $about,
            };
        )*
        /// Every metric, in the order of the documentation.
        pub const ALL: &[&Metric] = &[$(&$name),*];
    };
}

catalogue! {
    // ---- submission ----
    TASKS_SUBMITTED: Counter "jobbers.tasks.submitted", "{task}", [QUEUE, TASK, OUTCOME], PAIRS_BY_STATUS, &[], MANAGER,
        "Tasks of accepted submissions over HTTP, of schedules, workflows and bridges: outcome is `created`, `existing` (nothing changed), `replaced` or `updated` (the holder of its unique key).";
    SUBMISSIONS_REFUSED: Counter "jobbers.submissions.refused", "{request}", [CODE], 64, &[], MANAGER,
        "Submissions that were answered with a problem, by its code; no task of such a request was taken in.";
    KEYS_REFUSED: Counter "jobbers.keys.refused", "{request}", [OUTCOME], 2, &[], MANAGER,
        "Requests whose access key was not valid: outcome is `refused`, or `limited` (429: its address had sent too many). A request without a key is not counted.";
    SUBMIT_BATCH_SIZE: Histogram "jobbers.submit.batch.size", "{task}", [], 1, BATCH, MANAGER,
        "Tasks per accepted submission.";
    PAYLOAD_SIZE: Histogram "jobbers.task.payload.size", "By", [QUEUE], PAIRS, PAYLOAD_BYTES, MANAGER,
        "Bytes of the parameters of submitted tasks.";

    // ---- schedules and workflows ----
    SCHEDULE_SLOTS: Counter "jobbers.schedule.slots", "{slot}", [OUTCOME], 4, &[], MANAGER,
        "Slots of schedules by outcome: outcome is `fired`, `missed` (no manager fired it in time, and the schedule's `catch_up` leaves it out), `refused` (its task was refused for good) or `skipped` (by the schedule's `overlap`). Counted by the manager that carried the step out.";
    SCHEDULE_DELAY: Histogram "jobbers.schedule.delay", "s", [], 1, LONG_S, MANAGER,
        "How long after its time a slot was fired.";
    SCHEDULES_OVERDUE: Gauge "jobbers.schedules.overdue", "s", [], 1, &[], MANAGER,
        "How long ago the schedule that has been due longest became due; 0 while none is. Above a few seconds no manager fires schedules; take the `max`.";
    WORKFLOWS: Gauge "jobbers.workflows", "{run}", [STATE], 5, &[], MANAGER,
        "Runs of workflows that the store holds, by state: state is `submitting`, `running`, `completed`, `failed` or `cancelled`. Take the `max`.";
    WORKFLOWS_OLDEST_AGE: Gauge "jobbers.workflows.oldest.age", "s", [STATE], 2, &[], MANAGER,
        "How long ago the latest attempt of the oldest run began that is `submitting` or `running`; 0 while none is. Of the first 100 runs of each state by their creation. Take the `max`.";
    WORKFLOWS_OVERDUE: Gauge "jobbers.workflows.overdue", "s", [], 1, &[], MANAGER,
        "How long ago the run that has been due longest became due: for its tasks to be submitted, to be looked at, or to be deleted after its retention; 0 while none is. Above some seconds managers do not get to it; take the `max`.";
    WORKFLOW_NODES: Gauge "jobbers.workflow.nodes", "{node}", [STATE], 8, &[], MANAGER,
        "Nodes of runs that are not over, as of the latest look at each run: state is `unsubmitted` (not stored as a task yet), `open` (its task is waiting, scheduled, ready or running), or the status it ended at, `completed`, `failed`, `cancelled`, `aborted`, `dropped` or `stalled`. Of the first 100 submitting and the first 100 running runs by their creation. Take the `max`.";
    WORKFLOWS_STARTED: Counter "jobbers.workflows.started", "{run}", [WORKFLOW], MOST_WORKFLOWS, &[], MANAGER,
        "Runs whose nodes were all submitted as tasks, counted by the manager that submitted the last of them. A retry of a run counts again.";
    WORKFLOWS_ENDED: Counter "jobbers.workflows.ended", "{run}", [WORKFLOW, STATE], 3 * MOST_WORKFLOWS, &[], MANAGER,
        "Runs that ended, counted by the manager that noted the end: state is `completed`, `failed` or `cancelled`.";
    WORKFLOW_DURATION: Histogram "jobbers.workflow.duration", "s", [WORKFLOW, STATE], 3 * MOST_WORKFLOWS, LONG_S, MANAGER,
        "From the beginning of a run's latest attempt until a manager noted its end, which is up to 15 s after the end of its last task. State is `completed`, `failed` or `cancelled`.";

    // ---- queues: the store's own numbers, read by every manager ----
    QUEUE_DEPTH: Gauge "jobbers.queue.depth", "{task}", [QUEUE, STATUS], QUEUES_BY_STATUS, &[], MANAGER,
        "Tasks that are not over, by where they stand: waiting, scheduled, submitted (ready) or started; every manager tells the same, so take the `max`, not the sum. The first 999 queues by name have series of their own; `_other` has the sum of the rest.";
    QUEUE_SUSPECTS: Gauge "jobbers.queue.suspects", "{task}", [QUEUE], PAIRS, &[], MANAGER,
        "Ready tasks that were lost with their worker twice or more in a row, so that a worker starts few of them at a time; take the `max`.";
    QUEUE_WAITING: Gauge "jobbers.queue.waiting", "By", [QUEUE], PAIRS, &[], MANAGER,
        "Bytes of the parameters that wait in a queue with a `max_bytes`, also those of tasks that limits hold back; absent for other queues, for they are counted only where they are limited. Take the `max`.";
    QUEUE_OLDEST_AGE: Gauge "jobbers.queue.oldest.age", "s", [QUEUE], PAIRS, &[], MANAGER,
        "How long the longest waiting ready task has been ready; 0 for a queue with none. The one number that says whether a queue is served; take the `max`.";
    SCHEDULE_LAG: Gauge "jobbers.schedule.lag", "s", [QUEUE], PAIRS, &[], MANAGER,
        "By how much the next scheduled task is overdue and still not ready; 0 while none is. Above a few seconds no process promotes; take the `max`.";
    QUEUE_OLDEST_WAITING_AGE: Gauge "jobbers.queue.oldest.waiting.age", "s", [QUEUE], PAIRS, &[], MANAGER,
        "How long ago the first of the queue's tasks was submitted that wait for others; 0 for a queue with none. Take the `max`.";
    QUEUE_ACCEPTED: ObservedCounter "jobbers.queue.accepted", "{task}", [QUEUE], PAIRS, &[], MANAGER,
        "Tasks the store ever accepted into the queue, from all clients; every manager reports the same, so take the `max`.";
    QUEUE_REMOVED: ObservedCounter "jobbers.queue.removed", "{task}", [QUEUE], PAIRS, &[], MANAGER,
        "Tasks the store ever deleted from the queue: pruned, purged or replaced; take the `max`.";
    QUEUE_PAUSED: Gauge "jobbers.queue.paused", "", [QUEUE], PAIRS, &[], MANAGER,
        "1 for a queue that is paused, else 0; take the `max`.";
    QUEUE_LIMIT: Gauge "jobbers.queue.limit", "", [QUEUE, LIMIT], QUEUES_BY_LIMIT, &[], MANAGER,
        "The queue's configured limits; one that is not set is absent, and `rate_limit` is in tasks per second. Take the `max`.";

    // ---- selection ----
    TASKS_SELECTED: Counter "tasks_selected", "{task}", [QUEUE, TASK, ROLE], PAIRS, &[], MANAGER_AND_WORKER,
        "Tasks a worker took on. One per attempt; a task the worker does not know is given back and not counted.";
    TIME_IN_QUEUE: Histogram "time_in_queue", "ms", [QUEUE, TASK, ROLE], PAIRS, TASK_MS, MANAGER_AND_WORKER,
        "From when a task was due (submitted, or its time had come) to the first line of its function: the wait in the queue and the wait in the worker for a slot or a thread. Delays and backoff are not in it; the delays after which a task that no live worker knew was offered again are.";
    CLAIMS: Counter "jobbers.claims", "{call}", [ROLE, OUTCOME], 800, &[], WORKER,
        "Calls that asked the store for work: outcome is `hit`, `empty` or `error`.";
    CLAIM_BATCH_SIZE: Histogram "jobbers.claim.batch.size", "{task}", [ROLE], 100, BATCH, WORKER,
        "Tasks per call that brought any.";
    TASKS_RECOVERED: Counter "jobbers.tasks.recovered", "{task}", [QUEUE, TASK], PAIRS, &[], MANAGER_AND_WORKER,
        "Attempts at tasks whose last worker had vanished or lost its lease.";

    // ---- execution ----
    TASKS_PROCESSED: Counter "tasks_processed", "{task}", [QUEUE, TASK, STATUS], PAIRS_BY_STATUS, &[], MANAGER_AND_WORKER,
        "Tasks that a worker brought to their end and whose end the store took, by the status they ended at; and those that failed as poison, or were cancelled, when their expired leases were taken back, or dropped because they had expired or no live worker knew them, counted by the manager or worker that did so. `failed` and `dropped` start at 0 with the first submission that a manager takes, and for all tasks that a worker knows in its queues, 500 at most.";
    TASKS_EXPIRED: Counter "jobbers.tasks.expired", "{task}", [QUEUE, TASK], PAIRS, &[], MANAGER_AND_WORKER,
        "Tasks that were dropped because no worker leased them within their `expires_in`, counted by the worker that asked for them, or by the manager that it asked. They are among the `dropped` of `tasks_processed` too.";
    EXECUTION_TIME: Histogram "execution_time", "ms", [QUEUE, TASK, STATUS], PAIRS_BY_STATUS, TASK_MS, MANAGER_AND_WORKER,
        "How long an attempt ran, by its task's status afterwards: an attempt that is retried counts under `scheduled` or `submitted`. Waits are not in it.";
    END_TO_END_LATENCY: Histogram "end_to_end_latency", "ms", [QUEUE, TASK, STATUS], PAIRS_BY_STATUS, TASK_MS, MANAGER_AND_WORKER,
        "From a task's first submission to its end, with all its delays, retries and waits.";
    ATTEMPTS_FAILED: Counter "jobbers.attempts.failed", "{attempt}", [QUEUE, TASK, REASON, NEXT], PAIRS_BY_REASON, &[], MANAGER_AND_WORKER,
        "Attempts that failed, and whether the task is retried or over: reason is `error`, `fatal`, `timeout`, `panic`, `stall` or `shutdown`.";
    TASKS_RELEASED: Counter "jobbers.tasks.released", "{task}", [QUEUE, TASK, REASON], PAIRS_BY_STATUS, &[], MANAGER_AND_WORKER,
        "Tasks given back unharmed: reason is `shutdown`, `lease_ending` (it could not be renewed in time), `unknown_task` (no live worker knows it), `unstarted` (it was claimed ahead and did not begin) or `abandoned` (it did not end within its grace).";

    // ---- retries and dead letters ----
    TASKS_RETRIED: Counter "tasks_retried", "{task}", [QUEUE, TASK, VERSION], PAIRS_BY_VERSION, &[], MANAGER_AND_WORKER,
        "Retries the store took: one per attempt that failed and will be tried again.";
    RETRY_DELAY: Histogram "jobbers.retry.delay", "s", [QUEUE, TASK], PAIRS, LONG_S, MANAGER_AND_WORKER,
        "The backoff given to retries.";
    TASKS_DEAD_LETTERED: Counter "tasks_dead_lettered", "{task}", [QUEUE, TASK, VERSION], PAIRS_BY_VERSION, &[], MANAGER_AND_WORKER,
        "Tasks that ended badly and were put on their way to the dead-letter archive in the same step, poison and dropped tasks among them.";
    DEAD_LETTERS_SIZE: Gauge "jobbers.dead_letters.size", "{task}", [QUEUE], PAIRS, &[], MANAGER,
        "Tasks in the dead-letter archive that were neither resubmitted nor deleted, counted every ten seconds by the manager that holds the archive; a queue with settings has 0 from the first count on.";
    DEAD_LETTERS_OLDEST_AGE: Gauge "jobbers.dead_letters.oldest.age", "s", [QUEUE], PAIRS, &[], MANAGER,
        "How long the oldest of these has been there.";
    DEAD_LETTERS_OUTBOX: Gauge "jobbers.dead_letters.outbox", "{task}", [], 1, &[], MANAGER,
        "Failed tasks on their way to the archive; more than a moment's worth says that no manager can write it. Take the `max`.";
    TOMBSTONES: Gauge "jobbers.tombstones", "{task}", [], 1, &[], MANAGER,
        "Pruned tasks that are remembered because their clients chose their ids; at `tombstone_count` the oldest is forgotten early. Take the `max`.";
    DEAD_LETTERS_RESUBMITTED: Counter "jobbers.dead_letters.resubmitted", "{task}", [QUEUE, TASK], PAIRS, &[], MANAGER,
        "Tasks sent again from the archive.";
    DEAD_LETTERS_DELETED: Counter "jobbers.dead_letters.deleted", "{task}", [], 1, &[], MANAGER,
        "Tasks deleted from the archive: by request, by age or by size.";

    // ---- cancels, leases and heartbeats ----
    CANCELS_OVERDUE: Gauge "jobbers.cancels.overdue", "{task}", [QUEUE, TASK], PAIRS, &[], WORKER,
        "Running tasks that were cancelled and have gone on for longer than the worker's `cancel_grace` since they were notified: they ignore it.";
    LEASES_LOST: Counter "jobbers.leases.lost", "{lease}", [QUEUE, TASK], PAIRS, &[], WORKER,
        "Attempts whose lease was gone when they were to be renewed or settled: what they did does not count, and the task may have run twice at once.";
    LEASES_RECLAIMED: Counter "jobbers.leases.reclaimed", "{lease}", [OUTCOME], 8, &[], MANAGER_AND_WORKER,
        "Expired leases that were taken back, by a manager's tick or a worker's claim: outcome is `requeued`, `failed` (too many crashes) or `cancelled`.";
    HEARTBEATS_OVERDUE: Gauge "jobbers.heartbeats.overdue", "{task}", [QUEUE, TASK], PAIRS, &[], WORKER,
        "Running tasks that have been silent for longer than their `max_heartbeat_interval` and have not ended yet.";
    TASKS_STALLED: Counter "jobbers.tasks.stalled", "{task}", [QUEUE, TASK, ACTION], PAIRS, &[], WORKER,
        "Attempts that were ended because their heartbeat was overdue.";
    RENEWALS: Counter "jobbers.renewals", "{lease}", [OUTCOME], 8, &[], WORKER,
        "Leases that were to be renewed: outcome is `renewed`, `lost` or `error` (the store did not answer; it is tried again).";

    // ---- workers ----
    WORKERS_ALIVE: Gauge "jobbers.workers.alive", "{worker}", [ROLE, STATE], 200, &[], MANAGER,
        "Workers the store has heard of lately: state is `running` or `draining`. Take the `max`.";
    WORKERS_DRAIN_AGE: Gauge "jobbers.workers.drain.age", "s", [ROLE], 100, &[], MANAGER,
        "How long the longest drain under way among the role's workers has taken, by their own word; 0 while none drains. What it was when the drain ended is its duration, to within the manager's look; take the `max`.";
    SCHEMAS_UNCHECKED: Gauge "jobbers.schemas.unchecked", "{task}", [], 1, &[], MANAGER,
        "Versions of tasks whose workers registered a JSON Schema of which a part is not checked, because it can't be compiled. `GET /tasks/registry` says which part. Take the `max`.";
    WORKER_SLOTS_LIMIT: Gauge "jobbers.worker.slots.limit", "{slot}", [ROLE], 100, &[], WORKER,
        "How many tasks the worker runs at a time at most.";
    WORKER_SLOTS_USED: Gauge "jobbers.worker.slots.used", "{slot}", [ROLE], 100, &[], WORKER,
        "How many it runs now.";
    WORKER_UNSETTLED: Gauge "jobbers.worker.unsettled", "{task}", [ROLE], 100, &[], WORKER,
        "Attempts that have ended and wait for the store to take their end; it grows while the store is away.";
    WORKER_THREADS_LIMIT: Gauge "jobbers.worker.threads.limit", "{thread}", [ROLE], 100, &[], WORKER,
        "How many blocking tasks the worker runs at a time at most; absent for a worker without blocking tasks.";
    WORKER_THREADS_BUSY: Gauge "jobbers.worker.threads.busy", "{thread}", [QUEUE, TASK], PAIRS, &[], WORKER,
        "Threads that run a blocking task, without those that were written off.";
    WORKER_THREADS_BUSY_AGE: Gauge "jobbers.worker.threads.busy.age", "s", [QUEUE, TASK], PAIRS, &[], WORKER,
        "For how long the task that holds one of these threads longest has run; 0 while none runs.";
    WORKER_THREADS_WAITING: Gauge "jobbers.worker.threads.waiting", "{task}", [QUEUE, TASK], PAIRS, &[], WORKER,
        "Blocking tasks that the worker has claimed and that wait for a thread.";
    WORKER_THREADS_FULL_AGE: Gauge "jobbers.worker.threads.full.age", "s", [ROLE], 100, &[], WORKER,
        "For how long every thread for blocking tasks has run its present task while others wait for a thread; 0 while a thread is free or none waits.";
    WORKER_THREADS_HUNG: Gauge "jobbers.worker.threads.hung", "{thread}", [QUEUE, TASK], PAIRS, &[], WORKER,
        "Threads held by blocking tasks whose attempts are over: the functions did not return within their grace. At `max_hung_threads` the worker drains and exits with 76.";
    WORKER_THREADS_HUNG_AGE: Gauge "jobbers.worker.threads.hung.age", "s", [QUEUE, TASK], PAIRS, &[], WORKER,
        "For how long the function that holds the longest held of these threads has run.";
    WORKER_DRAIN_DURATION: Histogram "jobbers.worker.drain.duration", "s", [ROLE, OUTCOME], 800, LONG_S, WORKER,
        "From the word to stop to the end of the worker: outcome is `done`, or `late` when tasks had to be given back or the store did not take the end of some. A worker that has ended is not scraped, so this leaves by OTLP only.";

    // ---- boards ----
    BOARD_TASKS: Gauge "jobbers.board.tasks", "{task}", [BOARD, GROUP], PAIRS, &[], MANAGER,
        "Tasks of a board by group, visible or not; a group that was emptied stays at 0. Of the first 950 groups by name; those of further ones are together in `_other`. Take the `max`.";
    BOARD_OLDEST_AGE: Gauge "jobbers.board.oldest.age", "s", [BOARD, GROUP], 100, &[], MANAGER,
        "For how long the first visible task of a group has been visible; 0 for a group with none. Of the first 100 groups. Tasks that clients only read, such as their settings, count too. Take the `max`.";
    BOARD_REVISIONS: ObservedCounter "jobbers.board.revisions", "{revision}", [BOARD], 100, &[], MANAGER,
        "Revisions that a board ever gave: one for each task that was created, updated or leased; take the `max`.";
    BOARD_CALLS: Counter "jobbers.board.calls", "{call}", [BOARD, CALL, OUTCOME], 800, &[], MANAGER_AND_CLEANER,
        "Calls to boards. A `commit` is `done`, `conflict` (a task that it names has changed) or `repeated` (its mark is taken); a `take` with a lease is `hit`, `empty` or `conflict` (a task that it requires has changed); either may be `error`; a `wait` is `begun`.";
    MASSTASKER_NUM_TASKS: Gauge "masstasker_num_tasks", "{task}", [GROUP], PAIRS, &[], MANAGER,
        "The gauge of the original MassTasker: tasks of its clients by group, as `jobbers.board.tasks` of the board `masstasker`. Take the `max`.";

    // ---- engine ----
    ENGINE_OPERATION_DURATION: Histogram "jobbers.engine.operation.duration", "s", [ENGINE, OPERATION], 128, CALL_S, EVERY,
        "How long calls to the store took, failed ones too; `wait` and `await_finished`, which wait for something to happen, are not measured.";
    ENGINE_ERRORS: Counter "jobbers.engine.errors", "{call}", [ENGINE, OPERATION, ERROR], 512, &[], EVERY,
        "Calls to the store that failed, by the kind of failure. `unavailable`, `full`, `read_only` and `corrupt` are the store's trouble; the others are answers.";
    STORE_TROUBLE: Gauge "jobbers.store.trouble", "", [TROUBLE], 4, &[], MANAGER,
        "1 while something is wrong with the store, else 0: some of it can't be read, it takes no tasks in, it lacks commits that were acknowledged, or it does not keep the durability that its address promises. `GET /health/ready` says more. Take the `max`.";

    // ---- manager ----
    HTTP_REQUEST_DURATION: Histogram "jobbers.http.request.duration", "s", [METHOD, ROUTE, STATUS_CODE], 2_000, CALL_S, MANAGER,
        "How long requests took, long polls among them.";
    HTTP_REQUESTS_ACTIVE: Gauge "jobbers.http.requests.active", "{request}", [], 1, &[], MANAGER,
        "Requests under way.";
    CHORE_DURATION: Histogram "jobbers.chore.duration", "s", [CHORE, OUTCOME], 64, CALL_S, MANAGER,
        "How long the manager's chores took per tick: outcome is `done` or `error`.";
    CHORE_TASKS: Counter "jobbers.chore.tasks", "{task}", [CHORE], 8, &[], MANAGER,
        "Tasks the manager's chores moved: promoted, reclaimed or pruned.";
    AUDIT_CHANGES: Counter "jobbers.audit.changes", "{change}", [OUTCOME], 4, &[], MANAGER,
        "Changes over HTTP that were logged for the audit log: outcome is `done`, `refused`, `failed` or `unknown`.";
    AUDIT_REFUSED: Counter "jobbers.audit.refused", "{change}", [], 1, &[], MANAGER,
        "Changes that were not made because they could not be logged.";
    AUDIT_WAITING: Gauge "jobbers.audit.waiting", "{change}", [], 1, &[], MANAGER,
        "Logged changes that wait in the store until a manager moves them to the file of the audit log; take the `max`.";
    AUDIT_WAITING_AGE: Gauge "jobbers.audit.waiting.age", "s", [], 1, &[], MANAGER,
        "How long the oldest of these has waited; take the `max`.";
    CONFIG_VERSION: Gauge "jobbers.config.version", "", [SERVICE], 4, &[], &[Service::Manager, Service::Worker],
        "The version of queues, roles and routing this process follows; processes of one store that differ for longer than a second lag behind.";
    CONFIG_AGE: Gauge "jobbers.config.age", "s", [SERVICE], 4, &[], MANAGER,
        "How long ago this process last read queues, roles and routing.";
    CERTIFICATE_REMAINING: Gauge "jobbers.tls.certificate.remaining", "s", [], 1, &[], MANAGER,
        "How long the certificate that the manager shows is still valid, the first to end if its ports show several; below 0 once it is over. Absent from a manager that does not speak TLS. Take the `min`.";
    CERTIFICATE_LIFETIME: Gauge "jobbers.tls.certificate.lifetime", "s", [], 1, &[], MANAGER,
        "How long that certificate is valid in all, from its beginning to its end.";

    // ---- cleaner ----
    CLEANER_RUNS: Counter "jobbers.cleaner.runs", "{run}", [PASS, OUTCOME], 128, &[], CLEANER,
        "Passes that ended: outcome is `done`, `stopped` or `failed`.";
    CLEANER_DURATION: Histogram "jobbers.cleaner.duration", "s", [PASS], 16, LONG_S, CLEANER,
        "How long a pass took.";
    CLEANER_REMOVED: Counter "jobbers.cleaner.removed", "{task}", [PASS], 16, &[], CLEANER,
        "Tasks a pass removed; none in a dry run.";
    CLEANER_LAST_SUCCESS: Gauge "jobbers.cleaner.last_success.timestamp", "s", [PASS], 16, &[], CLEANER,
        "When a pass was last done, as seconds of Unix time.";

    // ---- every process ----
    BUILD_INFO: Gauge "jobbers.build.info", "", [SERVICE, VERSION], 4, &[], EVERY,
        "Always 1: which service this process is, and which version of it.";
    PROCESS_CPU_TIME: ObservedCounter "jobbers.process.cpu.time", "s", [SERVICE], 4, &[], EVERY,
        "CPU time the process has used.";
    PROCESS_UPTIME: Gauge "jobbers.process.uptime", "s", [SERVICE], 4, &[], EVERY,
        "For how long the process has been running.";
    PROCESS_MEMORY: Gauge "jobbers.process.memory", "By", [SERVICE], 4, &[], EVERY,
        "Memory the process holds (resident set).";
}
