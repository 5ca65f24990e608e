//! Agents that are processes: what they are told, how they are watched, and how they are ended.
//!
//! [`config`] says which agents there are. A [`Pool`] runs attempts on one thread of its own: each in a session and a folder of
//! its own, its input on stdin, its result on stdout, its progress on stderr, both kept in files. However an attempt ends, nothing
//! that it started outlives it ([`tree`]).

pub mod config;
mod judge;
mod output;
mod pool;
mod process;
pub mod tree;

pub use config::{Agents, Script};
pub use judge::End;
pub use pool::{Input, Key, Launch, Pool};
pub use process::program;
