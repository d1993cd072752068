//! What the compiler says about mistakes in tasks, one file of `cases` for each subject, with its messages beside it.
//!
//! A message names the subject in the reader's words, says what is wrong at the place where it is, and what to write instead. Most
//! are sentences of `#[task]`; those of the compiler's own are here too, so that a change of the library does not turn a short
//! message into a riddle. A new compiler may word them in another way: `TRYBUILD=overwrite` writes them again, to be read and
//! judged.
//!
//! The sentences of the macro alone are tested in its crate, in no time. This test compiles the library a second time, so it is a
//! long one.

#[cfg(test)]
#[path = "../cases/right.rs"]
mod right;

#[cfg(test)]
mod tests {
    #[test]
    #[ignore = "long: compiles the library in a project of its own"]
    fn each_mistake_gets_a_message_that_says_what_to_write() {
        trybuild::TestCases::new().compile_fail("cases/wrong_*.rs");
    }

    #[test]
    fn what_the_messages_ask_for_compiles() {
        super::right::main();
    }
}
