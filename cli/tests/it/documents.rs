//! The commands that documents print: followed as a reader types them, and known by the program.

mod guide;
mod installation;
mod printed;
mod walk;
