//! What a panic said.

use std::any::Any;

/// The words of what was thrown: those of `panic!` and its like; `None` for anything else.
#[must_use]
pub fn words_of(thrown: &(dyn Any + Send)) -> Option<&str> {
    let formatted = thrown.downcast_ref::<String>().map(String::as_str);
    formatted.or_else(|| thrown.downcast_ref::<&str>().copied())
}

#[cfg(test)]
mod tests {
    use std::panic::{catch_unwind, panic_any};

    use super::*;

    #[test]
    fn words_are_told_from_other_things() {
        let formatted = catch_unwind(|| panic!("{} words", 2)).unwrap_err();
        assert_eq!(words_of(&*formatted), Some("2 words"));
        let plain = catch_unwind(|| panic!("plain")).unwrap_err();
        assert_eq!(words_of(&*plain), Some("plain"));
        let other = catch_unwind(|| panic_any(7)).unwrap_err();
        assert_eq!(words_of(&*other), None);
    }
}
