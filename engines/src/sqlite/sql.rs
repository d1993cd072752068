//! Every statement, by the file in `sql/` that has it. A test prepares each on the migrated schema.

jobbers_sqlite_file::statements! {
    pub(super) in "sql", listed in ALL:
    tasks {
        INSERT_TASK, INSERT_RESTORED, SET_METADATA, INSERT_LARGE_PARAMETERS, FIND_SUBMISSION, FIND_TASK, GET_TASK,
        DUMP_TASK, TASK_ID, IS_AT_REVISION, IS_FINISHED, FIND_WAITING, FIND_ENDED, FIND_REPLACED,
        SET_PARAMETERS, MOVE_TASK, MOVABLE_TASKS, UNCLAIMED_TASKS, DUE_TASKS, NEXT_DUE, PROMOTE_TASK, RESCHEDULE_TASK,
        REQUEST_CANCEL, REQUEUE_TASK, END_TASK, COMPLETED_AT, RESUBMIT_TASK, RESTORE_TASK, NOTE_FAILURE,
        FAILURES, LATEST_FAILURE, TRIM_FAILURES, SAVE_CHECKPOINT, ANY_CHOSEN, SIDE_TABLES, DELETE_TASKS,
        LET_LARGE_PARAMETERS_GO, DELETE_LARGE_PARAMETERS, DELETE_FAILURES, DELETE_CHECKPOINT,
    }
    leases {
        IS_ANY_READY, IS_ANY_ASIDE, NEXT_READY, READY_TASK, CLAIM_TASK, NOTE_HEARTBEAT, EXTEND_LEASE,
        EXPIRED_LEASES, NEXT_EXPIRY, LOSE_LEASE, LOST_TASK, ALL_LEASES, CANCEL_REQUESTS, WORKERS_ASKED_TO_CANCEL,
        NOTE_UNKNOWN_TASK, FORGET_UNKNOWN_TASK,
    }
    workers {
        PUT_WORKER, FIND_WORKER, ALL_WORKERS, DELETE_WORKER, SILENT_WORKERS, PUT_DRAINING,
        ALL_DRAINING, DELETE_DRAINING, PUT_LOSS, FIND_LOSS, FORGET_LOSSES, KEEP_CATALOGUE, GET_CATALOGUE,
        DELETE_OLD_CATALOGUES,
    }
    lists {
        LIST_TASK, LIST_SUBMITTED, LIST_SCHEDULED, LIST_WAITING, LIST_STARTED, FINISHED_LATEST, FINISHED_OLDEST,
        LATEST_RUNS, OLDEST_RUNS, PLACE, OLDEST_READY,
    }
    queues {
        CREATE_QUEUE, PUT_QUEUE, FIND_QUEUE, QUEUE_NAME, NEXT_QUEUE, QUEUES_FROM, QUEUES_AFTER,
        CONFIGURED_QUEUES, DELETE_QUEUE, RATE_MARK, SET_RATE_MARK, INTAKE_MARK, SET_INTAKE_MARK, INSERT_TALLY,
        UPDATE_TALLY, PUT_TALLY, QUEUE_TALLY, TALLIES, TALLIES_OF_QUEUE, COUNT_FINISHED, COUNT_REMOVED,
        QUEUE_REMOVED, DELETE_NUMBERS,
    }
    history { FIND_MINUTE, SET_MINUTE, INSERT_MINUTE, INSERT_SLOT, FORGET_SLOTS, READ_SLOTS, LAST_SLOT, DELETE_SLOTS }
    waiting_bytes {
        WAITING_BYTES, COUNT_BYTES, CLEAR_BYTES, TASK_BYTES, ADD_WEIGHT, TAKE_WEIGHT, DELETE_WEIGHT,
        FORGET_WEIGHTS, BEGIN_WEIGHING, BEING_WEIGHED, TASKS_TO_WEIGH, NOTE_WEIGHED, END_WEIGHING,
    }
    gates {
        GATES_OF_TASK, NEXT_GATED, SET_ASIDE, LET_PASS, IS_AWAITED, NEXT_GATE, NEXT_UNLIMITED_GATE,
        COUNT_ASIDE, LEASED_OF_KEY, LEASED_OF_NAMES, HOLDERS_OF_KEY, HOLDERS_OF_NAME, READY_SUSPECTS, HELD_SUSPECTS,
        COUNT_SUSPECTS, RUNNING_SUSPECTS,
        GATE_MARK, SET_GATE_MARK, FORGET_GATE_MARKS, DELETE_GATE_MARKS, SET_GATE_DUE, IS_GATE_DUE, DUE_GATES,
        NEXT_GATE_DUE, FORGET_GATE_DUE, DELETE_GATES_DUE, SET_GATE_SWEEP, GATE_SWEEP, ALL_GATE_SWEEPS,
        END_GATE_SWEEP,
    }
    dependencies {
        INSERT_DEPENDENCY, INSERT_DEPENDENT, LINK_TASK, LINKED_TASKS, ANY_DEPENDENT, COUNT_DEPENDENCIES, FIND_DEPENDENT, SET_DEPENDENCIES,
        WAIT_FOR_OTHERS, PUT_LINK_DUE, NEXT_LINK_DUE, DELETE_LINK_DUE, ANY_LINK_DUE, WAITS_SINCE, SUBMITTED_AFTER,
        LAST_PARENT, DEPENDENCY_POLICY, WAITS_FOR, NEXT_PREDECESSORS, ENDED_PREDECESSORS, SUCCESSORS,
        NEXT_SUCCESSORS, PASS_SUCCESSORS_ON, COUNT_SIGNALS, COUNT_ENDS, NOTE_ABORTED_BY, IS_SPONTANEOUS, RELEASE_TASK,
        DELETE_SIGNALLED, DELETE_DEPENDENCIES, DELETE_DEPENDENTS, INSERT_PARENT, PARENTS_OF, FIND_PARENT,
        HELD_PARENTS, KEEP_RESULTS, RELEASE_PARENTS, RELEASE_SOME_PARENTS, DELETE_PARENTS, DELETE_HELD_RESULT,
        DELETE_RELEASED, DELETE_SOME_RELEASED,
    }
    signals {
        INSERT_SIGNAL, FIND_SIGNAL, SIGNALS_OF_TASK, FIND_UNLINKED, BEGIN_TIMEOUTS, LATE_SIGNALS, END_SIGNAL,
        ANY_SIGNAL_DUE, DROP_SIGNALS, DELETE_SIGNALS, KEEP_SIGNAL, TAKE_KEPT_SIGNAL, FORGET_KEPT_SIGNALS, PUT_SIGNAL_DUE,
        SIGNALS_DUE, DELETE_SIGNAL_DUE, SIGNALLED_BEFORE,
    }
    keys { PUT_KEY, ALL_KEYS, DELETE_KEY }
    sessions { PUT_SESSION, FIND_SESSION, END_SESSION, FORGET_SESSIONS }
    unique_keys { TAKE_KEY, FIND_KEY, INSERT_UNIQUENESS, FIND_UNIQUENESS, DELETE_UNIQUE_KEYS, DELETE_UNIQUENESS }
    tombstones {
        PUT_TOMBSTONES, FIND_TOMBSTONE, TASK_STATUS, TASK_TIMES, DELETE_TOMBSTONE, COUNT_TOMBSTONES, NOTE_TOMBSTONES,
        CLEAR_TOMBSTONES, SWEEP_TOMBSTONES, CUT_TOMBSTONES,
    }
    outbox { PUT_IN_OUTBOX, OUTBOX_COPIES, OUTBOX_SIZE, FORGET_COPY, LEAVE_RECEIPT, FIND_RECEIPT, FORGET_RECEIPT }
    audit_log { LOG_CHANGE, IS_LOGGED, LOG_OUTCOME, LOGGED_CHANGES, COUNT_LOGGED, FORGET_LOGGED }
    routes {
        PUT_ROLE, ALL_ROLES, DELETE_ROLE, PUT_ROUTE, PUT_ROUTE_RANGE, ALL_ROUTES, DELETE_ROUTE,
        DELETE_ROUTE_RANGE,
    }
    schedules {
        PUT_SCHEDULE, FIND_SCHEDULE, SCHEDULE_REVISION, LIST_SCHEDULES, COUNT_SCHEDULES, DUE_SCHEDULES,
        DELETE_SCHEDULE,
    }
    workflows {
        PUT_WORKFLOW, FIND_WORKFLOW, WORKFLOW_REVISION, LIST_WORKFLOWS, LIST_WORKFLOWS_IN,
        LIST_WORKFLOWS_OLDEST, LIST_WORKFLOWS_OLDEST_IN, COUNT_WORKFLOWS, DUE_WORKFLOWS, TOUCH_WORKFLOW, DELETE_WORKFLOW,
        PUT_WORKFLOW_DEFINITION, FIND_WORKFLOW_DEFINITION, DELETE_WORKFLOW_DEFINITION,
    }
    boards {
        CREATE_BOARD, FIND_BOARD, LIST_BOARDS, ADVANCE_BOARD, INSERT_BOARD_TASK, FIND_BOARD_TASK,
        GET_BOARD_TASK, LIST_BOARD_TASKS, NEXT_BOARD_TASKS, BOARD_TASKS_OF_GROUP, BOARD_TASKS_OF_LABEL,
        SET_BOARD_CONTENT, MOVE_BOARD_TASK, DELETE_BOARD_TASK, INSERT_BOARD_LABEL, LABELS_OF_BOARD_TASK,
        BOARD_LABELS_OF_TASK, DELETE_BOARD_LABELS, COUNT_BOARD_GROUP, BOARD_GROUP_SIZE, BOARD_GROUP_WOKEN_AT,
        LIST_BOARD_GROUPS, DROP_BOARD_GROUP, DROP_EMPTY_BOARD_GROUPS, PUT_BOARD_MARK, FIND_BOARD_MARK,
        ALL_BOARD_MARKS, RECOUNT_BOARD, RECOUNT_BOARD_GROUPS,
    }
    chores {
        READ_META, WRITE_META, NOTE_DUE, FIND_DUE, SET_DUE, DUE_QUEUES, FORGET_DUE, DELETE_DUE, PUT_DUTY,
        FIND_DUTY, END_DUTY,
    }
    audits {
        AUDIT_BOARD, AUDIT_BOARD_GROUPS, AUDIT_BOARD_LABELS, AUDIT_BOARD_TASKS, AUDIT_BYTES, AUDIT_CHECKPOINTS,
        AUDIT_COUNTS, AUDIT_DEPENDENCIES, AUDIT_DEPENDENTS, AUDIT_FAILURES, AUDIT_HELD_RESULTS, AUDIT_HOLDERS,
        AUDIT_LARGE_PARAMETERS, AUDIT_PARENTS, AUDIT_SIGNALS, AUDIT_UNKNOWN_TASKS, AUDIT_TABLES, AUDIT_TASKS,
        AUDIT_UNIQUE_KEYS, AUDIT_UNIQUENESS, AUDIT_WAITING, AUDIT_WEIGHTS,
    }
}

/// A number of rows in SQL's type.
pub(super) fn count(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use jobbers_common::{lifecycle::Status, queue::Config};
    use rusqlite::{Connection, ErrorCode};

    use super::{
        super::{
            kernel::catalog::Catalog,
            store::{
                address::{Address, StoreLocation, Synchronous},
                connection,
            },
        },
        *,
    };

    fn store() -> Connection {
        let address = Address {
            location: StoreLocation::Memory,
            synchronous: Synchronous::Full,
            max_bytes: None,
            reserve_bytes: None,
        };
        connection::open_writer(&address).unwrap().conn
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
    fn every_statement_can_be_prepared() {
        let conn = store();
        for (name, sql) in ALL {
            conn.prepare(sql).unwrap_or_else(|error| panic!("{name}: {error}"));
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
            (COUNT_SUSPECTS, "task_gate"),
            (NEXT_GATE, "task_gate"),
            (NEXT_UNLIMITED_GATE, "task_gate"),
            (COUNT_ASIDE, "task_gate"),
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
