//! What is wrong with a configuration.

use std::path::PathBuf;

/// Why the configuration is invalid.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The requested file can't be read.
    #[error("configuration file {path}: {source}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The configuration has problems: one line each, with the key and its source.
    #[error("configuration: {0}")]
    Invalid(String),
    /// The system in the working directory keeps its tasks in memory.
    #[error(
        "the `jobbers up` of {path} keeps its tasks in memory, and no other process can open them; name a store with --engine-url"
    )]
    Unshared {
        /// The path of its address file.
        path: PathBuf,
    },
}
