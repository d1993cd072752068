//! Errors: those of the function, and those that its attribute lists.

use jobbers_worker::prelude::*;

#[derive(Debug)]
enum NotAnError {
    Declined,
}

#[task]
async fn answers_no_error() -> Result<(), NotAnError> {
    Err(NotAnError::Declined)
}

#[task(fatal_on = ["gone"])]
async fn answers_no_error_and_lists_some() -> Result<(), NotAnError> {
    Err(NotAnError::Declined)
}

#[task(fatal_on = ["std::io::Error"])]
async fn type_in_quotes() -> Result<(), TaskError> {
    Ok(())
}

#[task(retry_on = ["TimeOut"])]
async fn word_like_a_type() -> Result<(), TaskError> {
    Ok(())
}

#[task(fatal_on = "spam")]
async fn not_a_list() -> Result<(), TaskError> {
    Ok(())
}

#[task(fatal_on = [])]
async fn empty_list() -> Result<(), TaskError> {
    Ok(())
}

fn main() {}
