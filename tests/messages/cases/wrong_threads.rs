//! Values that can't go from one thread to another.

use std::{cell::RefCell, rc::Rc};

use jobbers_worker::prelude::*;

#[task]
async fn held_over_an_await(ctx: Context) -> Result<usize, TaskError> {
    let shared = Rc::new(5);
    ctx.heartbeat().await?;
    Ok(*shared)
}

fn main() {
    let _ = Worker::from_env().state(RefCell::new(5)).state(Rc::new(5));
}
