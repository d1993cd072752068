//! The commands that documents print: followed as a reader types them, and known by the program.

mod guide;
mod printed;
mod walk;
