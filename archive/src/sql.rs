//! Every statement, by the file in `sql/` that has it. A test prepares each on the migrated schema.

/// The conditions of letters, and those of changes.
pub(crate) const OF_LETTERS: &str = include_str!("sql/matching.sql");
pub(crate) const OF_CHANGES: &str = include_str!("sql/matching_changes.sql");

jobbers_sqlite_file::statements! {
    pub(crate) in "sql", listed in ALL:
    letters {
        INSERT_LETTER, ADVANCE_LETTER, LATEST_LETTER, HISTORY, INSERT_FAILURE, COUNT_OF_TASK, DELETE_OF_TASK,
        SUPERSEDE, SETTLE_LETTER, TAKE_LETTER, FREE_LETTERS, SENT_LETTERS, WHOLE_LETTERS, WAITING, TOTAL,
        ARCHIVE_ID, PRUNE_BY_AGE, PRUNE_OF_STATE,
    }
    changes { PUT_CHANGE, WHOLE_CHANGES, COUNT_CHANGES, PRUNE_CHANGES_BY_AGE, PRUNE_CHANGES, HAS_CHANGES }
    found_changes { PAGE_OF_CHANGES }
    filtered { PAGE, COUNT_LETTERS, GROUPS, TAKE_MATCHING, DELETE_MATCHING }
    operations {
        INSERT_OPERATION, INSERT_ITEM, FIND_OPERATION, FIND_BY_KEY, OPERATIONS, LATEST_OPERATION,
        RUNNING_OPERATIONS, ITEMS, PENDING_ITEMS, TAKE_ITEMS, OUTCOMES, SETTLE_ITEM, IS_CANCELLED,
        CANCEL_OPERATION, CANCEL_ITEMS, FINISH_OPERATION, PRUNE_OPERATIONS,
    }
}

/// A statement with those conditions whose parameters are given.
pub(crate) fn matching(statement: &str, conditions: &str, given: &[&str]) -> String {
    let is_given = |line: &&str| line.split([' ', ')']).any(|word| given.contains(&word));
    let conditions: Vec<&str> = conditions.lines().filter(|line| !line.starts_with("--")).filter(is_given).collect();
    let conditions = if conditions.is_empty() { "TRUE".to_owned() } else { conditions.join(" AND ") };
    statement.replace("MATCHING", &format!("({conditions})"))
}

/// A number of rows in SQL's type.
pub(crate) fn count(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_can_be_prepared() {
        let folder = tempfile::tempdir().unwrap();
        let conn = crate::connection::open_writer(&folder.path().join("dead.db")).unwrap();
        for (name, sql) in ALL {
            conn.prepare(&matching(sql, OF_LETTERS, &[])).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn only_the_conditions_that_are_given_stand_in_a_statement() {
        assert_eq!(matching("WHERE MATCHING", OF_LETTERS, &[]), "WHERE (TRUE)");
        let given = [":queue", ":error", ":failed_before"];
        let expected = "WHERE (queue = :queue AND instr(lower(error), :error) > 0 AND failed_at < :failed_before)";
        assert_eq!(matching("WHERE MATCHING", OF_LETTERS, &given), expected);
    }

    #[test]
    fn what_is_asked_often_is_answered_by_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let conn = crate::connection::open_writer(&folder.path().join("dead.db")).unwrap();
        let plan = |sql: &str| {
            let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let mut rows = statement.raw_query();
            let mut steps = String::new();
            while let Some(row) = rows.next().unwrap() {
                steps.push_str(&row.get::<_, String>("detail").unwrap());
                steps.push(';');
            }
            steps
        };
        for (sql, given) in [
            (PAGE, &[":state"][..]),
            (PAGE, &[":state", ":queue"]),
            (PAGE, &[":state", ":name"]),
            (COUNT_LETTERS, &[":state", ":queue"]),
            (TAKE_MATCHING, &[":queue"]),
            (WAITING, &[]),
            (TOTAL, &[]),
            (PRUNE_BY_AGE, &[]),
            (PRUNE_OF_STATE, &[]),
            (OPERATIONS, &[]),
            (LATEST_OPERATION, &[]),
            (WHOLE_LETTERS, &[]),
            (SUPERSEDE, &[]),
        ] {
            let plan = plan(&matching(sql, OF_LETTERS, given));
            assert!(!plan.contains("SCAN letter") && !plan.contains("USE TEMP B-TREE"), "{sql} with {given:?}: {plan}");
        }
        let pages = [&[][..], &[":key"], &[":operation"], &[":object"], &[":from", ":to"], &[":key", ":result"]];
        let pages = pages.map(|given| matching(PAGE_OF_CHANGES, OF_CHANGES, given));
        let others = [WHOLE_CHANGES, PRUNE_CHANGES_BY_AGE, PRUNE_CHANGES].map(str::to_owned);
        for sql in pages.into_iter().chain(others) {
            let plan = plan(&sql);
            let is_indexed = !plan.contains("SCAN change;") && !plan.contains("USE TEMP B-TREE");
            assert!(is_indexed, "{sql}: {plan}");
        }
    }
}
