//! Holds what no compiler holds: who may import whom, the habits of the sources, and that the documents say what the
//! code does.
//!
//! Every complaint names a file and says what to do. This crate runs nothing of the product and knows no style that
//! `rustfmt` or `clippy` can hold. Start reading at `layers`.

#[cfg(test)]
mod bench;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod circles;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod folders;
#[cfg(test)]
mod invariants;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod names;
#[cfg(test)]
mod packages;
#[cfg(test)]
mod prose;
#[cfg(test)]
mod rust;
#[cfg(test)]
mod scripts;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod weight;
#[cfg(test)]
mod workspace;
