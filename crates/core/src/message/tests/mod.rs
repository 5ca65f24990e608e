//! What the message machine promises. Each story is played in a [`world::World`], which checks after every op that the
//! rows are valid, that a refusal changed nothing, and that effects and revisions say what happened.

mod answers;
mod bounds;
mod fences;
mod lives;
mod table_exact;
mod walks;
mod world;
