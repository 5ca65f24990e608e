//! Secrets: texts that processes are given and nobody else sees.
//!
//! ```text
//! root/secrets       0600, XChaCha20-Poly1305 over all names and values; written anew as a whole
//! root/secrets.key   0600, 32 random bytes in hexadecimal digits, unless the key is kept elsewhere
//! ```
//!
//! Everything else has names alone: `agents.toml` says which variable is which secret, and an input says `{"$secret": "name"}`
//! ([`reference`](mod@reference)). Both are looked up when an attempt begins, on the thread that begins it, and the vault is opened for no longer than that.
//! The key file beside the secrets keeps them out of what is shown, sent or logged; against whoever can read the root it is no
//! protection, and a key elsewhere is.

pub mod reference;
mod vault;

#[cfg(test)]
mod tests;

pub use relaymesh_agents::Secret;
pub use vault::{Error, FILE, KEY_FILE, KeyPlace, Vault, check};
