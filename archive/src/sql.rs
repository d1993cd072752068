//! Every statement, from its file in `sql/`. A test prepares each on the migrated schema.

macro_rules! statements {
    ($($name:ident = $file:literal;)*) => {
        $(pub(crate) const $name: &str = include_str!(concat!("sql/", $file, ".sql"));)*

        #[cfg(test)]
        const PLAIN: &[(&str, &str)] = &[$(($file, $name)),*];
    };
}

macro_rules! filtered {
    ($($name:ident = $file:literal;)*) => {
        $(pub(crate) const $name: &str = include_str!(concat!("sql/", $file, ".sql"));)*

        #[cfg(test)]
        const FILTERED: &[(&str, &str)] = &[$(($file, $name)),*];
    };
}

const MATCHING: &str = include_str!("sql/matching.sql");

statements! {
    ADVANCE_LETTER = "advance_letter";
    ARCHIVE_ID = "archive_id";
    CANCEL_ITEMS = "cancel_items";
    CANCEL_OPERATION = "cancel_operation";
    COUNT_OF_TASK = "count_of_task";
    DELETE_OF_TASK = "delete_of_task";
    FIND_BY_KEY = "find_by_key";
    FIND_OPERATION = "find_operation";
    FINISH_OPERATION = "finish_operation";
    FREE_LETTERS = "free_letters";
    HISTORY = "history";
    INSERT_FAILURE = "insert_failure";
    INSERT_ITEM = "insert_item";
    INSERT_LETTER = "insert_letter";
    INSERT_OPERATION = "insert_operation";
    IS_CANCELLED = "is_cancelled";
    ITEMS = "items";
    LATEST_LETTER = "latest_letter";
    LATEST_OPERATION = "latest_operation";
    OPERATIONS = "operations";
    OUTCOMES = "outcomes";
    PENDING_ITEMS = "pending_items";
    PRUNE_BY_AGE = "prune_by_age";
    PRUNE_OF_STATE = "prune_of_state";
    PRUNE_OPERATIONS = "prune_operations";
    RUNNING_OPERATIONS = "running_operations";
    SENT_LETTERS = "sent_letters";
    SETTLE_ITEM = "settle_item";
    SETTLE_LETTER = "settle_letter";
    SUPERSEDE = "supersede";
    TAKE_ITEMS = "take_items";
    TAKE_LETTER = "take_letter";
    TOTAL = "total";
    WAITING = "waiting";
    WHOLE_LETTERS = "whole_letters";
}

filtered! {
    COUNT_LETTERS = "count_letters";
    DELETE_MATCHING = "delete_matching";
    GROUPS = "groups";
    PAGE = "page";
    TAKE_MATCHING = "take_matching";
}

/// A statement of [`filtered!`] with the conditions whose parameters are given.
pub(crate) fn matching(statement: &str, given: &[&str]) -> String {
    let is_given = |line: &&str| line.split([' ', ')']).any(|word| given.contains(&word));
    let conditions: Vec<&str> = MATCHING.lines().filter(|line| !line.starts_with("--")).filter(is_given).collect();
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
    fn every_statement_can_be_prepared_and_says_what_it_is_for() {
        let folder = tempfile::tempdir().unwrap();
        let conn = crate::connection::open_writer(&folder.path().join("dead.db")).unwrap();
        for (name, sql) in PLAIN.iter().chain(FILTERED) {
            conn.prepare(&matching(sql, &[])).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(sql.starts_with(&format!("-- {name}: ")), "{name} begins with its name and its purpose");
        }
    }

    #[test]
    fn only_the_conditions_that_are_given_stand_in_a_statement() {
        assert_eq!(matching("WHERE MATCHING", &[]), "WHERE (TRUE)");
        let given = [":queue", ":error", ":failed_before"];
        let expected = "WHERE (queue = :queue AND instr(lower(error), :error) > 0 AND failed_at < :failed_before)";
        assert_eq!(matching("WHERE MATCHING", &given), expected);
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
                steps.push_str(&row.get::<_, String>(3).unwrap());
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
            let plan = plan(&matching(sql, given));
            assert!(!plan.contains("SCAN letter") && !plan.contains("USE TEMP B-TREE"), "{sql} with {given:?}: {plan}");
        }
    }
}
