//! The statements of a connection that lives as long as its thread, kept ready.
//!
//! rusqlite's cache of statements hashes the text at each use, which costs as much as the shorter statements take to run. A
//! statement of this program is a constant, so its address is enough to find it.

use std::{
    cell::RefCell,
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    ops::{Deref, DerefMut},
};

use jobbers_common::engine::Result;
use rusqlite::{Connection, PrepFlags, Statement};

use super::error::OrStore;

/// Statements that are not in use, by the addresses of their texts.
pub(crate) struct Statements<'c> {
    conn: &'c Connection,
    idle: RefCell<HashMap<usize, Statement<'c>, BuildHasherDefault<AddressHasher>>>,
}

impl<'c> Statements<'c> {
    pub(crate) fn of(conn: &'c Connection) -> Self {
        Self { conn, idle: RefCell::default() }
    }

    /// A statement, ready to run. While one is in use, another is made of its text.
    ///
    /// # Errors
    /// Those of compiling it.
    pub(crate) fn prepare(&'c self, sql: &'static str) -> Result<HeldStatement<'c>> {
        let place = sql.as_ptr().addr();
        let idle = self.idle.borrow_mut().remove(&place);
        let statement = idle.map_or_else(|| self.compile(sql), Ok)?;
        Ok(HeldStatement { home: self, place, statement: Some(statement) })
    }

    /// Told that a statement stays, SQLite leaves the little fast memory that a connection has to what does not.
    fn compile(&self, sql: &str) -> Result<Statement<'c>> {
        self.conn.prepare_with_flags(sql, PrepFlags::SQLITE_PREPARE_PERSISTENT).or_store()
    }

    /// Ends all that are not in use, so that the connection can be closed.
    pub(crate) fn clear(&self) {
        self.idle.take();
    }
}

/// A statement in use. It goes back when it is dropped.
pub(crate) struct HeldStatement<'c> {
    home: &'c Statements<'c>,
    place: usize,
    /// `None` only while it is dropped.
    statement: Option<Statement<'c>>,
}

impl<'c> Deref for HeldStatement<'c> {
    type Target = Statement<'c>;

    #[expect(clippy::expect_used, reason = "only its drop takes it")]
    fn deref(&self) -> &Statement<'c> {
        self.statement.as_ref().expect("in use")
    }
}

impl DerefMut for HeldStatement<'_> {
    #[expect(clippy::expect_used, reason = "only its drop takes it")]
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.statement.as_mut().expect("in use")
    }
}

impl Drop for HeldStatement<'_> {
    fn drop(&mut self) {
        let Some(mut statement) = self.statement.take() else { return };
        // A payload that was bound is not kept.
        statement.clear_bindings();
        self.home.idle.borrow_mut().insert(self.place, statement);
    }
}

/// Spreads addresses, which differ in their middle bits.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, address: usize) {
        self.0 = (self.0.rotate_left(5) ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
mod tests {
    use std::mem::ManuallyDrop;

    use super::*;

    #[test]
    fn a_statement_is_compiled_once_unless_it_is_in_use_and_keeps_no_values() {
        const ECHO: &str = "SELECT ?1";
        let conn = Connection::open_in_memory().unwrap();
        let statements = ManuallyDrop::new(Statements::of(&conn));
        let count = || statements.idle.borrow().len();
        {
            let mut first = statements.prepare(ECHO).unwrap();
            let read = |statement: &mut Statement<'_>, value| statement.query_row([value], |row| row.get::<_, i64>(0));
            assert_eq!(read(&mut first, 1), Ok(1));
            let mut nested = statements.prepare(ECHO).unwrap();
            assert_eq!((read(&mut nested, 2), read(&mut first, 3), count()), (Ok(2), Ok(3), 0));
        }
        assert_eq!(count(), 1);
        let mut again = statements.prepare(ECHO).unwrap();
        assert_eq!(count(), 0);
        assert_eq!(again.raw_query().next().unwrap().unwrap().get::<_, Option<i64>>(0), Ok(None));
        drop(again);
        assert!(statements.prepare("SELECT").is_err());
        statements.clear();
        assert_eq!(count(), 0);
        assert!(conn.close().is_ok());
    }
}
