//! Every statement, from its file in `sql/`. A test prepares each on the migrated schema.

macro_rules! statements {
    ($($name:ident = $file:literal;)*) => {
        $(pub(super) const $name: &str = include_str!(concat!("sql/", $file, ".sql"));)*

        #[cfg(test)]
        const ALL: &[(&str, &str)] = &[$(($file, $name)),*];
    };
}

statements! {
    ALL_QUEUES = "all_queues";
    ALL_ROLES = "all_roles";
    ALL_ROUTES = "all_routes";
    ALL_WORKERS = "all_workers";
    CANCEL_REQUESTS = "cancel_requests";
    CLAIM_TASK = "claim_task";
    COMPLETE_TASK = "complete_task";
    COMPLETED_AT = "completed_at";
    COUNT_CRASH = "count_crash";
    COUNT_REMOVED = "count_removed";
    DELETE_LARGE_PARAMETERS = "delete_large_parameters";
    DELETE_QUEUE = "delete_queue";
    DELETE_ROLE = "delete_role";
    DELETE_ROUTE = "delete_route";
    DELETE_SILENT_WORKERS = "delete_silent_workers";
    DELETE_TASK = "delete_task";
    DELETE_WORKER = "delete_worker";
    DUE_TASKS = "due_tasks";
    END_TASK = "end_task";
    EXPIRED_LEASES = "expired_leases";
    EXTEND_LEASE = "extend_lease";
    FAILURES = "failures";
    FIND_SUBMISSION = "find_submission";
    FIND_TASK = "find_task";
    FINISHED_LATEST = "finished_latest";
    FINISHED_OLDEST = "finished_oldest";
    GET_TASK = "get_task";
    INSERT_LARGE_PARAMETERS = "insert_large_parameters";
    INSERT_TALLY = "insert_tally";
    INSERT_TASK = "insert_task";
    IS_FINISHED = "is_finished";
    LIST_SCHEDULED = "list_scheduled";
    LIST_STARTED = "list_started";
    LIST_SUBMITTED = "list_submitted";
    LIST_TASK = "list_task";
    LIST_WAITING = "list_waiting";
    NEXT_DUE = "next_due";
    NEXT_READY = "next_ready";
    NOTE_FAILURE = "note_failure";
    NOTE_HEARTBEAT = "note_heartbeat";
    OLDEST_READY = "oldest_ready";
    PROMOTE_TASK = "promote_task";
    PUT_QUEUE = "put_queue";
    PUT_ROLE = "put_role";
    PUT_ROUTE = "put_route";
    PUT_WORKER = "put_worker";
    QUEUE_REMOVED = "queue_removed";
    READ_META = "read_meta";
    REQUEST_CANCEL = "request_cancel";
    REQUEUE_TASK = "requeue_task";
    SAVE_CHECKPOINT = "save_checkpoint";
    TALLIES = "tallies";
    TRIM_FAILURES = "trim_failures";
    UNCLAIMED_TASKS = "unclaimed_tasks";
    UPDATE_TALLY = "update_tally";
    WORKERS_TOLD_TO_CANCEL = "workers_told_to_cancel";
    WRITE_META = "write_meta";
}

/// A number of rows, as SQL takes it.
pub(super) fn count(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
