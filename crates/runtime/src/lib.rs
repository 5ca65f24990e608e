//! The runtime: joins kernel, store and world.
//!
//! [`driver`] takes commands, decides them with the kernel, commits them in batches and answers when they are durable.
//! [`world`] is what it needs from outside; [`host`] is that of a real machine, with the [`builtin`] agents
//! and those of the root ([`agents`]).
//! The [`ledger`] knows what they have used, and what they may use; [`quota`] says which of them may begin.
//! [`post`] has messages dealt with by agents that run here, [`file_bus`] lets programs take part that can do no more than rename files. [`rate_limits`] are those of providers.
//! [`settings`] are what operators may change, [`secrets`] what nobody may see.
//! [`spread`] counts what takes how long. [`root_clock`] says what time it is in a root. [`upkeep`] lets go of what is over, [`rebuild`] folds the log again.

pub mod agents;
pub mod builtin;
pub mod clock;
pub mod driver;
pub mod file_bus;
pub mod host;
mod inference;
pub mod ledger;
pub mod post;
pub mod quota;
pub mod rate_limits;
pub mod rebuild;
pub mod root_clock;
mod sealed;
pub mod secrets;
pub mod settings;
pub mod spread;
pub mod token;
pub mod upkeep;
mod workspace;
pub mod world;
