//! How the programs that serve many threads get memory.

use std::ffi::c_long;

/// Requests and tasks allocate from every thread; the system's allocator makes them wait for each other.
pub type Allocator = mimalloc::MiMalloc;

/// The value of the programs' `#[global_allocator]`.
pub const ALLOCATOR: Allocator = mimalloc::MiMalloc;

/// For how long what was freed is kept before it goes back to the system, in milliseconds. With the allocator's own
/// second, whoever comes after a short rest pays for fresh pages: a third of a worker's time per task, measured.
const KEPT_MS: c_long = 10_000;

/// The option `mi_option_purge_delay`, which the bindings have no name for. The test knows it by its default.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Has the programs' allocator keep what was freed for ten seconds. Call it first of all.
#[expect(unsafe_code, reason = "the allocator's options can be set in no other way from within the program")]
pub fn keep_what_is_freed() {
    // SAFETY: an option the allocator has, whose value it reads anew whenever it needs it, from any thread.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, KEPT_MS) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(unsafe_code, reason = "nor can they be read in another way")]
    fn kept() -> c_long {
        // SAFETY: as above.
        unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) }
    }

    #[test]
    fn what_is_freed_is_kept_for_ten_seconds_and_not_for_one() {
        assert_eq!(kept(), 1_000);
        keep_what_is_freed();
        assert_eq!(kept(), 10_000);
    }
}
