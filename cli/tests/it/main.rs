//! The `jobbers` command as a person or a script uses it: the real program, its output and its exit codes.

#[cfg(test)]
mod apply;
#[cfg(test)]
mod boards;
#[cfg(test)]
mod client;
#[cfg(test)]
mod complete;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod find;
#[cfg(test)]
mod hints;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod https;
#[cfg(test)]
mod jobbers;
#[cfg(test)]
mod journal;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod programs;
#[cfg(test)]
mod routing;
#[cfg(test)]
mod steer;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod top;
#[cfg(test)]
mod up;
