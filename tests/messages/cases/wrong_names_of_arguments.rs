//! Parameters that are called like an argument which comes from the attempt.

use jobbers_worker::prelude::*;

#[derive(Serialize, Deserialize)]
struct Labels {
    colour: String,
}

#[task]
async fn print(labels: Labels) -> Result<(), TaskError> {
    println!("{}", labels.colour);
    Ok(())
}

fn main() {}
