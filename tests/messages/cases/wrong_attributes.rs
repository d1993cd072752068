//! Attributes: names, values and bounds.

use jobbers_worker::prelude::*;

#[task(retries = 3)]
async fn unknown_attribute() -> Result<(), TaskError> {
    Ok(())
}

#[task(colour = "red")]
async fn unlike_any_attribute() -> Result<(), TaskError> {
    Ok(())
}

#[task(timeout = "5 minutes", retry_delay = "soon")]
async fn durations() -> Result<(), TaskError> {
    Ok(())
}

#[task(timeout = "0s")]
async fn no_time() -> Result<(), TaskError> {
    Ok(())
}

#[task(queue = mail)]
async fn queue_without_quotes() -> Result<(), TaskError> {
    Ok(())
}

#[task(priority = 10)]
async fn too_important() -> Result<(), TaskError> {
    Ok(())
}

#[task(labels = ["team"])]
async fn label_without_a_value() -> Result<(), TaskError> {
    Ok(())
}

#[task(backoff = "sideways")]
async fn unknown_backoff() -> Result<(), TaskError> {
    Ok(())
}

#[task(on_shutdown = "explode")]
async fn unknown_end() -> Result<(), TaskError> {
    Ok(())
}

#[task(max_retries = "three")]
async fn number_in_words() -> Result<(), TaskError> {
    Ok(())
}

#[task(timeout = "1m", timeout = "2m")]
async fn said_twice() -> Result<(), TaskError> {
    Ok(())
}

#[task(blocking = true)]
fn flag_with_a_value() -> Result<(), TaskError> {
    Ok(())
}

#[task(sensitive = false)]
async fn openness_is_not_said() -> Result<(), TaskError> {
    Ok(())
}

#[task(unique_for = "10m")]
async fn unique_without_a_key() -> Result<(), TaskError> {
    Ok(())
}

#[task(unique_by = "customer")]
async fn unique_by_nothing() -> Result<(), TaskError> {
    Ok(())
}

#[task(cron = "0 25 * * *")]
async fn no_such_hour() -> Result<(), TaskError> {
    Ok(())
}

#[task(cron = "0 2 * * *", time_zone = "Europe/Berln")]
async fn no_such_zone() -> Result<(), TaskError> {
    Ok(())
}

#[task(cron = "0 2 * * *")]
async fn scheduled_with_parameters(_day: u32) -> Result<(), TaskError> {
    Ok(())
}

fn main() {}
