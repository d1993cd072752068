//! Every statement, from its file in `sql/`. A test prepares each on the migrated schema.

macro_rules! statements {
    ($($name:ident = $file:literal;)*) => {
        $(pub(super) const $name: &str = include_str!(concat!("sql/", $file, ".sql"));)*

        #[cfg(test)]
        const ALL: &[(&str, &str)] = &[$(($file, $name)),*];
    };
}

statements! {
    ADD_WEIGHT = "add_weight";
    ADVANCE_BOARD = "advance_board";
    ALL_BOARD_MARKS = "all_board_marks";
    ALL_DRAINING = "all_draining";
    ALL_GATE_SWEEPS = "all_gate_sweeps";
    ALL_LEASES = "all_leases";
    ALL_ROLES = "all_roles";
    ALL_ROUTES = "all_routes";
    ALL_WORKERS = "all_workers";
    ANY_CHOSEN = "any_chosen";
    AUDIT_BOARD = "audit_board";
    AUDIT_BOARD_GROUPS = "audit_board_groups";
    AUDIT_BOARD_LABELS = "audit_board_labels";
    AUDIT_BOARD_TASKS = "audit_board_tasks";
    AUDIT_BYTES = "audit_bytes";
    AUDIT_CHECKPOINTS = "audit_checkpoints";
    AUDIT_COUNTS = "audit_counts";
    AUDIT_DEPENDENCIES = "audit_dependencies";
    AUDIT_DEPENDENTS = "audit_dependents";
    AUDIT_FAILURES = "audit_failures";
    AUDIT_HELD_RESULTS = "audit_held_results";
    AUDIT_HOLDERS = "audit_holders";
    AUDIT_LARGE_PARAMETERS = "audit_large_parameters";
    AUDIT_PARENTS = "audit_parents";
    AUDIT_SIGNALS = "audit_signals";
    AUDIT_STRANGERS = "audit_strangers";
    AUDIT_TABLES = "audit_tables";
    AUDIT_TASKS = "audit_tasks";
    AUDIT_UNIQUENESS = "audit_uniqueness";
    AUDIT_UNIQUE_KEYS = "audit_unique_keys";
    AUDIT_WAITING = "audit_waiting";
    AUDIT_WEIGHTS = "audit_weights";
    BEGIN_TIMEOUTS = "begin_timeouts";
    BEGIN_WEIGHING = "begin_weighing";
    BEING_WEIGHED = "being_weighed";
    BOARD_GROUP_SIZE = "board_group_size";
    BOARD_GROUP_WOKEN_AT = "board_group_woken_at";
    BOARD_LABELS_OF_TASK = "board_labels_of_task";
    BOARD_TASKS_OF_GROUP = "board_tasks_of_group";
    BOARD_TASKS_OF_LABEL = "board_tasks_of_label";
    CANCEL_REQUESTS = "cancel_requests";
    CLAIM_TASK = "claim_task";
    CLEAR_BYTES = "clear_bytes";
    CLEAR_TOMBSTONES = "clear_tombstones";
    COMPLETED_AT = "completed_at";
    CONFIGURED_QUEUES = "configured_queues";
    COUNT_BOARD_GROUP = "count_board_group";
    COUNT_BYTES = "count_bytes";
    COUNT_ENDS = "count_ends";
    COUNT_FINISHED = "count_finished";
    COUNT_REMOVED = "count_removed";
    COUNT_SCHEDULES = "count_schedules";
    COUNT_SIGNALS = "count_signals";
    COUNT_TOMBSTONES = "count_tombstones";
    COUNT_WORKFLOWS = "count_workflows";
    CREATE_BOARD = "create_board";
    CREATE_QUEUE = "create_queue";
    CUT_TOMBSTONES = "cut_tombstones";
    DELETE_BOARD_LABELS = "delete_board_labels";
    DELETE_BOARD_TASK = "delete_board_task";
    DELETE_CHECKPOINT = "delete_checkpoint";
    DELETE_DEPENDENCIES = "delete_dependencies";
    DELETE_DEPENDENTS = "delete_dependents";
    DELETE_DRAINING = "delete_draining";
    DELETE_DUE = "delete_due";
    DELETE_FAILURES = "delete_failures";
    DELETE_GATES_DUE = "delete_gates_due";
    DELETE_GATE_MARKS = "delete_gate_marks";
    DELETE_HELD_RESULT = "delete_held_result";
    DELETE_LARGE_PARAMETERS = "delete_large_parameters";
    DELETE_OLD_CATALOGUES = "delete_old_catalogues";
    DELETE_PARENTS = "delete_parents";
    DELETE_QUEUE = "delete_queue";
    DELETE_RELEASED = "delete_released";
    DELETE_ROLE = "delete_role";
    DELETE_ROUTE = "delete_route";
    DELETE_ROUTE_RANGE = "delete_route_range";
    DELETE_SCHEDULE = "delete_schedule";
    DELETE_SIGNALLED = "delete_signalled";
    DELETE_SIGNALS = "delete_signals";
    DELETE_SIGNAL_DUE = "delete_signal_due";
    DELETE_SILENT_WORKERS = "delete_silent_workers";
    DELETE_SOME_RELEASED = "delete_some_released";
    DELETE_TALLIES = "delete_tallies";
    DELETE_TASKS = "delete_tasks";
    DELETE_TOMBSTONE = "delete_tombstone";
    DELETE_UNIQUENESS = "delete_uniqueness";
    DELETE_UNIQUE_KEYS = "delete_unique_keys";
    DELETE_WEIGHT = "delete_weight";
    DELETE_WORKER = "delete_worker";
    DELETE_WORKFLOW = "delete_workflow";
    DELETE_WORKFLOW_DEFINITION = "delete_workflow_definition";
    DEPENDENCY_POLICY = "dependency_policy";
    DROP_BOARD_GROUP = "drop_board_group";
    DROP_EMPTY_BOARD_GROUPS = "drop_empty_board_groups";
    DROP_SIGNALS = "drop_signals";
    DUE_GATES = "due_gates";
    DUE_QUEUES = "due_queues";
    DUE_SCHEDULES = "due_schedules";
    DUE_TASKS = "due_tasks";
    DUE_WORKFLOWS = "due_workflows";
    DUMP_TASK = "dump_task";
    ENDED_PREDECESSORS = "ended_predecessors";
    END_DUTY = "end_duty";
    END_GATE_SWEEP = "end_gate_sweep";
    END_SIGNAL = "end_signal";
    END_TASK = "end_task";
    END_WEIGHING = "end_weighing";
    EXPIRED_LEASES = "expired_leases";
    EXTEND_LEASE = "extend_lease";
    FAILURES = "failures";
    FIND_BOARD = "find_board";
    FIND_BOARD_MARK = "find_board_mark";
    FIND_BOARD_TASK = "find_board_task";
    FIND_DEPENDENT = "find_dependent";
    FIND_DUE = "find_due";
    FIND_DUTY = "find_duty";
    FIND_ENDED = "find_ended";
    FIND_KEY = "find_key";
    FIND_LOSS = "find_loss";
    FIND_PARENT = "find_parent";
    FIND_QUEUE = "find_queue";
    FIND_RECEIPT = "find_receipt";
    FIND_REPLACED = "find_replaced";
    FIND_SCHEDULE = "find_schedule";
    FIND_SIGNAL = "find_signal";
    FIND_SUBMISSION = "find_submission";
    FIND_TASK = "find_task";
    FIND_TOMBSTONE = "find_tombstone";
    FIND_UNIQUENESS = "find_uniqueness";
    FIND_UNLINKED = "find_unlinked";
    FIND_WAITING = "find_waiting";
    FIND_WORKFLOW = "find_workflow";
    FIND_WORKFLOW_DEFINITION = "find_workflow_definition";
    FINISHED_LATEST = "finished_latest";
    FINISHED_OLDEST = "finished_oldest";
    FORGET_COPY = "forget_copy";
    FORGET_DUE = "forget_due";
    FORGET_GATE_DUE = "forget_gate_due";
    FORGET_GATE_MARKS = "forget_gate_marks";
    FORGET_KEPT_SIGNALS = "forget_kept_signals";
    FORGET_LOSSES = "forget_losses";
    FORGET_RECEIPT = "forget_receipt";
    FORGET_STRANGER = "forget_stranger";
    FORGET_WEIGHTS = "forget_weights";
    GATES_OF_TASK = "gates_of_task";
    GATE_MARK = "gate_mark";
    GATE_SWEEP = "gate_sweep";
    GET_BOARD_TASK = "get_board_task";
    GET_CATALOGUE = "get_catalogue";
    GET_TASK = "get_task";
    HELD_PARENTS = "held_parents";
    HELD_SUSPECTS = "held_suspects";
    HOLDERS_OF_KEY = "holders_of_key";
    HOLDERS_OF_NAME = "holders_of_name";
    INSERT_BOARD_LABEL = "insert_board_label";
    INSERT_BOARD_TASK = "insert_board_task";
    INSERT_DEPENDENCY = "insert_dependency";
    INSERT_DEPENDENT = "insert_dependent";
    INSERT_LARGE_PARAMETERS = "insert_large_parameters";
    INSERT_PARENT = "insert_parent";
    INSERT_RESTORED = "insert_restored";
    INSERT_SIGNAL = "insert_signal";
    INSERT_TALLY = "insert_tally";
    INSERT_TASK = "insert_task";
    INSERT_UNIQUENESS = "insert_uniqueness";
    INTAKE_MARK = "intake_mark";
    IS_ANY_ASIDE = "is_any_aside";
    IS_ANY_READY = "is_any_ready";
    IS_AT_REVISION = "is_at_revision";
    IS_AWAITED = "is_awaited";
    IS_FINISHED = "is_finished";
    IS_GATE_DUE = "is_gate_due";
    IS_WORKER_ALIVE = "is_worker_alive";
    KEEP_CATALOGUE = "keep_catalogue";
    KEEP_RESULTS = "keep_results";
    KEEP_SIGNAL = "keep_signal";
    LABELS_OF_BOARD_TASK = "labels_of_board_task";
    LATEST_RUNS = "latest_runs";
    LATE_SIGNALS = "late_signals";
    LEASED_OF_KEY = "leased_of_key";
    LEASED_OF_NAMES = "leased_of_names";
    LEAVE_RECEIPT = "leave_receipt";
    LET_PASS = "let_pass";
    LINKED_TASKS = "linked_tasks";
    LINK_TASK = "link_task";
    LIST_BOARD_GROUPS = "list_board_groups";
    LIST_BOARD_TASKS = "list_board_tasks";
    LIST_BOARDS = "list_boards";
    LIST_SCHEDULED = "list_scheduled";
    LIST_SCHEDULES = "list_schedules";
    LIST_STARTED = "list_started";
    LIST_SUBMITTED = "list_submitted";
    LIST_TASK = "list_task";
    LIST_WAITING = "list_waiting";
    LIST_WORKFLOWS = "list_workflows";
    LIST_WORKFLOWS_IN = "list_workflows_in";
    LIST_WORKFLOWS_OLDEST = "list_workflows_oldest";
    LIST_WORKFLOWS_OLDEST_IN = "list_workflows_oldest_in";
    LOSE_LEASE = "lose_lease";
    LOST_TASK = "lost_task";
    MOVABLE_TASKS = "movable_tasks";
    MOVE_BOARD_TASK = "move_board_task";
    MOVE_TASK = "move_task";
    NEXT_BOARD_TASKS = "next_board_tasks";
    NEXT_DUE = "next_due";
    NEXT_EXPIRY = "next_expiry";
    NEXT_GATE = "next_gate";
    NEXT_GATED = "next_gated";
    NEXT_GATE_DUE = "next_gate_due";
    NEXT_PREDECESSORS = "next_predecessors";
    NEXT_QUEUE = "next_queue";
    NEXT_READY = "next_ready";
    NEXT_SUCCESSORS = "next_successors";
    NEXT_UNLIMITED_GATE = "next_unlimited_gate";
    NOTE_ABORTED_BY = "note_aborted_by";
    NOTE_DUE = "note_due";
    NOTE_FAILURE = "note_failure";
    NOTE_HEARTBEAT = "note_heartbeat";
    NOTE_STRANGER = "note_stranger";
    NOTE_TOMBSTONES = "note_tombstones";
    NOTE_WEIGHED = "note_weighed";
    OLDEST_READY = "oldest_ready";
    OLDEST_RUNS = "oldest_runs";
    OUTBOX_COPIES = "outbox_copies";
    OUTBOX_SIZE = "outbox_size";
    PARENTS_OF = "parents_of";
    PASS_SUCCESSORS_ON = "pass_successors_on";
    PLACE = "place";
    PROMOTE_TASK = "promote_task";
    PUT_BOARD_MARK = "put_board_mark";
    PUT_DRAINING = "put_draining";
    PUT_DUTY = "put_duty";
    PUT_IN_OUTBOX = "put_in_outbox";
    PUT_LOSS = "put_loss";
    PUT_QUEUE = "put_queue";
    PUT_ROLE = "put_role";
    PUT_ROUTE = "put_route";
    PUT_ROUTE_RANGE = "put_route_range";
    PUT_SCHEDULE = "put_schedule";
    PUT_SIGNAL_DUE = "put_signal_due";
    PUT_TALLY = "put_tally";
    PUT_TOMBSTONES = "put_tombstones";
    PUT_WORKER = "put_worker";
    PUT_WORKFLOW = "put_workflow";
    PUT_WORKFLOW_DEFINITION = "put_workflow_definition";
    QUEUES_AFTER = "queues_after";
    QUEUES_FROM = "queues_from";
    QUEUE_NAME = "queue_name";
    QUEUE_REMOVED = "queue_removed";
    QUEUE_TALLY = "queue_tally";
    RATE_MARK = "rate_mark";
    READY_SUSPECTS = "ready_suspects";
    READY_TASK = "ready_task";
    READ_META = "read_meta";
    RECOUNT_BOARD = "recount_board";
    RECOUNT_BOARD_GROUPS = "recount_board_groups";
    RELEASE_PARENTS = "release_parents";
    RELEASE_SOME_PARENTS = "release_some_parents";
    RELEASE_TASK = "release_task";
    REQUEST_CANCEL = "request_cancel";
    REQUEUE_TASK = "requeue_task";
    RESTORE_TASK = "restore_task";
    RESUBMIT_TASK = "resubmit_task";
    SAVE_CHECKPOINT = "save_checkpoint";
    SCHEDULE_REVISION = "schedule_revision";
    SET_ASIDE = "set_aside";
    SET_BOARD_CONTENT = "set_board_content";
    SET_DEPENDENCIES = "set_dependencies";
    SET_DUE = "set_due";
    SET_GATE_DUE = "set_gate_due";
    SET_GATE_MARK = "set_gate_mark";
    SET_GATE_SWEEP = "set_gate_sweep";
    SET_INTAKE_MARK = "set_intake_mark";
    SET_LABELS = "set_labels";
    SET_PARAMETERS = "set_parameters";
    SET_RATE_MARK = "set_rate_mark";
    SIDE_TABLES = "side_tables";
    SIGNALS_DUE = "signals_due";
    SIGNALS_OF_TASK = "signals_of_task";
    SUCCESSORS = "successors";
    SWEEP_TOMBSTONES = "sweep_tombstones";
    TAKE_KEPT_SIGNAL = "take_kept_signal";
    TAKE_KEY = "take_key";
    TAKE_WEIGHT = "take_weight";
    TALLIES = "tallies";
    TALLIES_OF_QUEUE = "tallies_of_queue";
    TASKS_TO_WEIGH = "tasks_to_weigh";
    TASK_BYTES = "task_bytes";
    TASK_ID = "task_id";
    TASK_STATUS = "task_status";
    TRIM_FAILURES = "trim_failures";
    UNCLAIMED_TASKS = "unclaimed_tasks";
    UPDATE_TALLY = "update_tally";
    WAITING_BYTES = "waiting_bytes";
    WAITS_FOR = "waits_for";
    WAIT_FOR_OTHERS = "wait_for_others";
    WORKERS_TOLD_TO_CANCEL = "workers_told_to_cancel";
    WORKFLOW_REVISION = "workflow_revision";
    WRITE_META = "write_meta";
}

/// A number of rows in SQL's type.
pub(super) fn count(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use jobbers_common::{lifecycle::Status, queue::Config};
    use rusqlite::{Connection, ErrorCode};

    use super::*;
    use crate::sqlite::{
        address::{Address, Place, Synchronous},
        catalog::Catalog,
        connection,
    };

    fn store() -> Connection {
        let address = Address { place: Place::Memory, synchronous: Synchronous::Full, max_bytes: None };
        connection::open_writer(&address).unwrap()
    }

    /// SQLite's plan for a statement, one line per stage.
    fn plan(conn: &Connection, sql: &str) -> Vec<String> {
        let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        for parameter in 1..=statement.parameter_count() {
            statement.raw_bind_parameter(parameter, 1).unwrap();
        }
        let mut rows = statement.raw_query();
        let mut plan = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            plan.push(row.get("detail").unwrap());
        }
        plan
    }

    #[test]
    fn every_statement_can_be_prepared_and_says_what_it_is_for() {
        let conn = store();
        for (name, sql) in ALL {
            conn.prepare(sql).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(sql.starts_with(&format!("-- {name}: ")), "{name} begins with its name and its purpose");
        }
    }

    #[test]
    fn every_file_is_a_statement() {
        let named: HashSet<String> = ALL.iter().map(|(name, _)| format!("{name}.sql")).collect();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sqlite/sql");
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            assert!(entry.path().is_dir() || named.contains(&name), "{name} is used nowhere");
        }
    }

    #[test]
    fn what_is_done_for_each_task_or_each_claim_reads_one_range_of_one_index() {
        let conn = store();
        for (sql, index) in [
            (NEXT_READY, "task_ready"),
            (LIST_SUBMITTED, "task_ready"),
            (LIST_SUBMITTED, "task_aside"),
            (NEXT_GATED, "task_ready"),
            (LET_PASS, "task_gate"),
            (READY_SUSPECTS, "task_gate"),
            (HELD_SUSPECTS, "task_held_suspect"),
            (NEXT_GATE, "task_gate"),
            (NEXT_UNLIMITED_GATE, "task_gate"),
            (LEASED_OF_KEY, "task_leased_key"),
            (DUE_GATES, "gate_due_time"),
            (DUE_TASKS, "task_scheduled"),
            (NEXT_DUE, "task_scheduled"),
            (LIST_SCHEDULED, "task_scheduled"),
            (LIST_WAITING, "task_waiting"),
            (FINISHED_LATEST, "task_finished"),
            (FINISHED_OLDEST, "task_finished"),
            (CANCEL_REQUESTS, "task_cancelling"),
            (NEXT_EXPIRY, "task_leased"),
            (DUE_QUEUES, "due_at"),
            (DUE_SCHEDULES, "schedule_due"),
            (DUE_WORKFLOWS, "workflow_due"),
            (LIST_WORKFLOWS, "workflow_created"),
            (LIST_WORKFLOWS_OLDEST, "workflow_created"),
            (LIST_WORKFLOWS_IN, "workflow_state"),
            (LIST_WORKFLOWS_OLDEST_IN, "workflow_state"),
            (LATEST_RUNS, "task_finished"),
            (OLDEST_RUNS, "task_finished"),
            (FIND_BOARD_TASK, "board_task_revision"),
            (GET_BOARD_TASK, "board_task_revision"),
            (BOARD_TASKS_OF_GROUP, "board_task_order"),
            (BOARD_TASKS_OF_LABEL, "board_label_value"),
            (NEXT_BOARD_TASKS, "board_task_order"),
            (LIST_BOARD_TASKS, "board_task_order"),
        ] {
            let plan = plan(&conn, sql);
            assert!(plan.iter().any(|stage| stage.contains(&format!("INDEX {index} "))), "{sql}: {plan:?}");
            let sorts_all = |stage: &String| {
                stage.contains("TEMP B-TREE") && !sql.contains("cancel_requested") && !sql.contains("AS head")
            };
            assert!(!plan.iter().any(sorts_all), "{sql}: {plan:?}");
            assert!(!plan.iter().any(|stage| stage.starts_with("SCAN task")), "{sql}: {plan:?}");
        }
        // A page of a group begins at its place, and a take reads the index alone.
        assert!(
            plan(&conn, LIST_BOARD_TASKS)[0].contains("(at,revision)>(?,?)"),
            "{:?}",
            plan(&conn, LIST_BOARD_TASKS)
        );
        assert!(plan(&conn, NEXT_BOARD_TASKS)[0].contains("COVERING INDEX"), "{:?}", plan(&conn, NEXT_BOARD_TASKS));
        assert!(
            plan(&conn, LIST_BOARD_GROUPS)[0].contains("(board=? AND name>?)"),
            "{:?}",
            plan(&conn, LIST_BOARD_GROUPS)
        );
        for sql in [TALLIES_OF_QUEUE, COUNT_FINISHED] {
            assert!(plan(&conn, sql)[0].contains("(queue=?"), "{sql}: {:?}", plan(&conn, sql));
        }
        for sql in [FIND_TASK, FIND_SUBMISSION, GET_TASK] {
            assert!(plan(&conn, sql)[0].contains("(id=?)"), "{sql}: {:?}", plan(&conn, sql));
        }
        // A deep page begins at its place, not at the queue's front.
        let pages = plan(&conn, LIST_SUBMITTED).into_iter().filter(|stage| stage.contains("(rank,position)>(?,?)"));
        assert_eq!(pages.count(), 2, "{:?}", plan(&conn, LIST_SUBMITTED));
        assert!(plan(&conn, LIST_SCHEDULED)[0].contains("(ready_at,id)>(?,?)"), "{:?}", plan(&conn, LIST_SCHEDULED));
        // The last term of its order sorts only leases of one instant.
        assert!(plan(&conn, EXPIRED_LEASES)[0].contains("INDEX task_leased (queue=? AND lease_expires_at<?)"));
    }

    #[test]
    fn the_statuses_of_the_schema_are_those_of_the_lifecycle() {
        let conn = store();
        let put = |status: i64| {
            let is = |is: bool| is.then_some(1);
            conn.execute(
                "INSERT INTO task (id, fingerprint, name, version, queue, rank, status, revision, position, submitted_at,
                                   ready_at, lease_expires_at, completed_at)
                 VALUES (?1, x'', '', 1, 1, 0, ?2, 1, 1, 1, 1, ?3, ?4)",
                (status.to_string(), status, is(status == 3), is(status > 3)),
            )
        };
        for status in Status::ALL {
            assert_eq!(status == Status::Started, status.code() == 3);
            assert_eq!(status.is_finished(), status.code() > 3);
            put(i64::from(status.code())).unwrap_or_else(|error| panic!("{status}: {error}"));
        }
        for none in [-1, i64::try_from(Status::ALL.len()).unwrap()] {
            assert_eq!(put(none).unwrap_err().sqlite_error_code(), Some(ErrorCode::ConstraintViolation));
        }
        // The numbers that statements contain.
        assert_eq!(
            [Status::Waiting, Status::Scheduled, Status::Submitted, Status::Completed].map(Status::code),
            [0, 1, 2, 4]
        );
    }

    #[test]
    fn a_new_store_has_the_configuration_that_all_stores_begin_with() {
        let catalog = Catalog::load(&store(), 1).unwrap();
        assert_eq!(*catalog.config, Config::initial());
    }
}
