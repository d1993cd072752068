//! Operations, page by page.

use rusqlite::Transaction;
use ulid::Ulid;

use super::{MAX_ITEMS, Operation, OperationState, read_operation};
use crate::{Archive, Error, Result, letters::MAX_PAGE, sql};

/// Greater than every id.
const END: &str = "~";

/// A page of operations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OperationPage {
    /// The operations, the latest first.
    pub operations: Vec<Operation>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<String>,
}

impl Archive {
    /// Operations in a state, or all, the latest first. Returns up to `limit`, at most [`MAX_PAGE`], and fewer large
    /// ones, because their items are counted.
    ///
    /// # Errors
    /// [`Error::ForeignCursor`]; those of the file.
    pub fn operations(
        &self,
        state: Option<OperationState>,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<OperationPage> {
        if cursor.is_some_and(|cursor| Ulid::from_string(cursor).is_err()) {
            return Err(Error::ForeignCursor);
        }
        let limit = limit.clamp(1, MAX_PAGE);
        self.read(|transaction| page(transaction, state, limit, cursor.unwrap_or(END), MAX_ITEMS as u64))
    }
}

/// As many operations as have up to `most_items` items together, but at least one.
fn page(
    transaction: &Transaction<'_>,
    state: Option<OperationState>,
    limit: usize,
    before: &str,
    most_items: u64,
) -> Result<OperationPage> {
    let (finished, cancelled) = state.map(facts).unzip();
    let mut statement = transaction.prepare_cached(sql::OPERATIONS)?;
    let mut rows = statement.query((before, finished, cancelled, sql::count(limit + 1)))?;
    let (mut page, mut items) = (OperationPage::default(), 0);
    while let Some(row) = rows.next()? {
        if page.operations.len() == limit || items > most_items {
            page.next = page.operations.last().map(|last| last.id.clone());
            break;
        }
        let operation = read_operation(transaction, row)?;
        items += operation.total();
        page.operations.push(operation);
    }
    Ok(page)
}

/// Whether an operation in this state is finished, and whether it was cancelled.
const fn facts(state: OperationState) -> (bool, bool) {
    match state {
        OperationState::Running => (false, false),
        OperationState::Cancelling => (false, true),
        OperationState::Cancelled => (true, true),
        OperationState::Done => (true, false),
    }
}

#[cfg(test)]
mod tests {
    use jobbers_common::{name::TaskId, time::Timestamp};

    use super::*;
    use crate::{NewOperation, Options, Selection};

    #[test]
    fn a_page_of_large_operations_is_short_and_has_a_successor() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Archive::open(&folder.path().join("dead.db"), Options::default()).unwrap();
        let begin = |items: usize| {
            let tasks = (0..items).map(|n| TaskId::new(format!("t{n}")).unwrap()).collect();
            let new =
                NewOperation { key: None, digest: 0, request: "{}".to_owned(), selection: Selection::Tasks(tasks) };
            archive.begin(&new, Timestamp::from_micros(1)).unwrap().id
        };
        let begun: Vec<String> = [3, 1, 2, 7].map(begin).into_iter().rev().collect();
        let (mut seen, mut sizes, mut before) = (Vec::new(), Vec::new(), END.to_owned());
        loop {
            let page = archive.read(|transaction| page(transaction, None, 9, &before, 2)).unwrap();
            sizes.push(page.operations.len());
            seen.extend(page.operations.into_iter().map(|operation| operation.id));
            let Some(next) = page.next else { break };
            before = next;
        }
        assert_eq!((seen, sizes), (begun, vec![1, 2, 1]));
    }
}
