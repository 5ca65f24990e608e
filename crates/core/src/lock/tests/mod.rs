//! What the lock machine promises. Each story is played in a [`world::World`], which checks after every op that the rows
//! are valid, that a refusal changed nothing, that fences only grow, and that effects say what happened.

mod acquires;
mod bounds;
mod fences;
mod keys;
mod overlaps;
mod walks;
mod world;
