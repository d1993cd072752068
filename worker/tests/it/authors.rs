//! What the author of a task writes: declarations, errors, hooks, layers, states, codecs.

mod declarations;
mod declared;
mod encoding;
mod errors;
mod hooks;
mod layers;
mod parents;
mod states;
