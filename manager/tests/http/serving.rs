//! How a manager serves: its program, slow and broken clients, a store that fails, the end.

mod bad_input;
mod binary;
mod clients;
mod stop;
mod store;
mod store_down;
mod version;
