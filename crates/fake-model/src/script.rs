//! What the model says, one turn for each request.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Turn {
    /// It says something and is done.
    Say(String),
    /// It calls a tool of the agent's. The answer to it comes with the next request.
    Call {
        /// The tool's name, as the agent has it.
        name: String,
        /// What it is given.
        arguments: Value,
    },
    /// It says the beginning of something, and the connection is gone.
    Cut(String),
    /// It says the beginning of something, and then nothing more for ever.
    Hang(String),
    /// It says all of this, piece by piece, and is done.
    Pieces(Vec<String>),
    /// It says the beginning of something, and then that it has too much to do.
    Overload(String),
    /// It takes the request and never answers.
    Silent,
    /// It refuses.
    Status {
        /// The HTTP status.
        code: u16,
        /// Headers, by name.
        #[serde(default)]
        headers: Vec<(String, String)>,
        /// The body.
        #[serde(default)]
        body: Value,
    },
}

/// What is said when the script is over, and to whoever asks something beside the conversation.
pub(crate) const NOTHING_MORE: &str = "There is nothing more to say.";
