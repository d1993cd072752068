//! A closure whose arguments have no types, where the compiler does not know for which lifetimes it is.

use jobbers_worker::prelude::*;

fn main() {
    let _ = Worker::from_env().layer(|_, attempt| attempt);
}
