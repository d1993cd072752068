//! Types and functions in `fatal_on` and `fatal_if` that the compiler resolves.

use jobbers_worker::prelude::*;

struct NotAnError;

fn is_large(number: u64) -> bool {
    number > 7
}

#[task(fatal_on = [NotAnError])]
async fn not_an_error() -> Result<(), TaskError> {
    Ok(())
}

#[task(fatal_if = is_large)]
async fn of_a_number() -> Result<(), TaskError> {
    Ok(())
}

fn main() {}
