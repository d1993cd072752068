//! Every statement, from its file in `sql/`. A test prepares each on the migrated schema.

use std::sync::LazyLock;

macro_rules! statements {
    ($($name:ident = $file:literal;)*) => {
        $(pub(crate) const $name: &str = include_str!(concat!("sql/", $file, ".sql"));)*

        #[cfg(test)]
        const PLAIN: &[(&str, &str)] = &[$(($file, $name)),*];
    };
}

macro_rules! filtered {
    ($($name:ident = $file:literal;)*) => {
        $(pub(crate) static $name: LazyLock<String> =
            LazyLock::new(|| include_str!(concat!("sql/", $file, ".sql")).replace("MATCHING", MATCHING));)*

        #[cfg(test)]
        const FILTERED: &[(&str, &LazyLock<String>)] = &[$(($file, &$name)),*];
    };
}

const MATCHING: &str = include_str!("sql/matching.sql");

statements! {
    ARCHIVE_ID = "archive_id";
    DELETE_OF_TASK = "delete_of_task";
    DELETE_ORPHANS = "delete_orphans";
    FIND_BY_KEY = "find_by_key";
    FIND_OPERATION = "find_operation";
    FINISH_OPERATION = "finish_operation";
    HISTORY = "history";
    INSERT_FAILURE = "insert_failure";
    INSERT_ITEM = "insert_item";
    INSERT_LETTER = "insert_letter";
    INSERT_OPERATION = "insert_operation";
    ITEMS = "items";
    LATEST_LETTER = "latest_letter";
    OLDEST_TO_KEEP = "oldest_to_keep";
    OUTCOMES = "outcomes";
    PENDING_ITEMS = "pending_items";
    PRUNE_LETTERS = "prune_letters";
    PRUNE_OPERATIONS = "prune_operations";
    RUNNING_OPERATIONS = "running_operations";
    SENT_LETTERS = "sent_letters";
    SETTLE_ITEM = "settle_item";
    SETTLE_LETTER = "settle_letter";
    SUPERSEDE = "supersede";
    TAKE_ITEMS = "take_items";
    TAKE_LETTER = "take_letter";
}

filtered! {
    COUNT_LETTERS = "count_letters";
    DELETE_MATCHING = "delete_matching";
    GROUPS = "groups";
    PAGE = "page";
    TAKE_MATCHING = "take_matching";
}

/// A number of rows, as SQL takes it.
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
        let filtered = FILTERED.iter().map(|(name, sql)| (*name, sql.as_str()));
        for (name, sql) in PLAIN.iter().copied().chain(filtered) {
            conn.prepare(sql).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(sql.starts_with(&format!("-- {name}: ")), "{name} begins with its name and its purpose");
        }
    }
}
