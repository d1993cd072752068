//! What keeps the list of engines closed.

/// Implemented by the engines of Jobbers and by what its own tests wrap around them. No part of the public interface.
pub trait Sealed {}
