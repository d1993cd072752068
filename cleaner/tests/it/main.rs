//! The cleaner on the reference store, its runner on passes made for the purpose, and its command line.

#[cfg(test)]
mod boards;
#[cfg(test)]
mod command_line;
#[cfg(test)]
mod prune;
#[cfg(test)]
mod runner;
#[cfg(test)]
mod store;
