//! The fold of a mesh: several authors, one truth.
//!
//! Authors sign nothing here (that is `feed`), but their names are those of their keys, their chains are real, and each has heard
//! only a part of what the others wrote. The owner lets them in, takes rights back, routes work, freezes, and a coordinator seals.

mod author;
mod claims;
mod deciding;
mod history;
mod orders;
mod registers;
mod room;
mod seals;
mod standing;
