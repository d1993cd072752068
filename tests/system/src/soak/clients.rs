//! The clients of a soak. Each is one that repeats what may be repeated until it is answered, and writes down what it asks
//! before it asks.

pub(crate) mod boards;
pub(crate) mod leases;
pub(crate) mod letters;
pub(crate) mod schedules;
pub(crate) mod tasks;
pub(crate) mod workflows;

use super::world::World;

/// Clients under way.
pub(crate) type Clients = tokio::task::JoinSet<()>;

/// Starts all of them.
pub(crate) fn start(world: &World, seed: u64) -> Clients {
    let mut clients = Clients::new();
    clients.spawn(tasks::submit(world.clone()));
    clients.spawn(workflows::submit(world.clone()));
    clients.spawn(letters::send_again(world.clone()));
    for number in 0..3 {
        clients.spawn(leases::work(world.clone(), number, seed));
        clients.spawn(boards::work(world.clone(), number, seed));
    }
    clients.spawn(boards::post_to_the_bridge(world.clone()));
    clients
}
