//! What sync promises, in a small [`world::World`] of nodes with real logs: that all come to hold the same, whatever the network does; and
//! that whoever lies, floods or has a wild clock stops nobody else.

mod ahead;
mod contents;
mod forks;
mod frames;
mod hostile;
mod meeting;
mod requests;
mod world;

use super::*;
