//! What the plan machine promises. Each story is played in a [`world::World`], which checks after every op that the rows
//! are valid, that a refusal changed nothing, and that revisions say what happened.

mod bounds;
mod follows;
mod invariants;
mod levels;
mod places;
mod revisions;
mod table_exact;
mod walks;
mod world;
