//! What a worker and a relay are given.

use jobbers_worker::{
    Start,
    outbox::Relay,
    prelude::*,
};

struct Pool;

fn of_a_context(_ctx: &Context) {}

fn by_value(_ctx: Context, attempt: Start) -> Start {
    attempt
}

fn main() {
    let _ = Worker::from_env().layer(of_a_context);
    let _ = Worker::from_env().layer(by_value);
    let _ = Worker::from_env().layer(Pool);
    let _ = Worker::from_env().hooks(Pool);
    let _ = Worker::from_env().codec(Pool);
    let _ = |client: Client| Relay::new(Pool, client);
}
