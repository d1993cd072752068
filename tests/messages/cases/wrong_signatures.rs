//! Signatures: what a function must look like to be a task.

use jobbers_worker::prelude::*;

#[task]
fn not_async() -> Result<(), TaskError> {
    Ok(())
}

#[task(blocking)]
async fn blocking_and_async() -> Result<(), TaskError> {
    Ok(())
}

#[task]
async fn generic<T: Send>(_job: T) -> Result<(), TaskError> {
    Ok(())
}

#[task]
async fn any_parameters(_job: impl Serialize) -> Result<(), TaskError> {
    Ok(())
}

#[task]
async fn borrowed_context(_ctx: &Context) -> Result<(), TaskError> {
    Ok(())
}

#[task]
async fn borrowed_text(_name: &str) -> Result<(), TaskError> {
    Ok(())
}

#[task]
async fn borrowed_inside(_name: std::borrow::Cow<'_, str>) -> Result<(), TaskError> {
    Ok(())
}

struct Shop;

impl Shop {
    #[task]
    async fn method(&self) -> Result<(), TaskError> {
        Ok(())
    }
}

#[task]
async fn two_parameters(_first: u32, _second: u32) -> Result<(), TaskError> {
    Ok(())
}

#[task]
async fn two_contexts(_first: Context, _second: Context) -> Result<(), TaskError> {
    Ok(())
}

#[task]
async fn borrowed_labels(_labels: &jobbers_worker::Labels) -> Result<(), TaskError> {
    Ok(())
}

#[task]
async fn two_fences(_first: jobbers_worker::Fence, _second: jobbers_worker::Fence) -> Result<(), TaskError> {
    Ok(())
}

#[task]
async fn no_result() {}

#[task]
async fn not_a_result() -> u32 {
    0
}

type Answer<T> = Result<T, TaskError>;

#[task]
async fn alias() -> Answer<u32> {
    Ok(0)
}

#[task]
async fn no_body() -> Result<(), TaskError>;

#[task(remote)]
async fn remote_with_a_body() -> Result<(), TaskError> {
    Ok(())
}

fn main() {}
