//! The secrets of a root, for commands.

use relaymesh_agents::config::KEY_VARIABLE;
use relaymesh_api::error::{Code, Error};
use relaymesh_runtime::secrets::{self, KeyPlace, Secret, Vault};
use std::path::Path;

/// The variable that names the file of the key.
const KEY_FILE_VARIABLE: &str = "RELAYMESH_SECRET_KEY_FILE";

/// The secrets of this root, with the key that the environment names.
pub fn vault(root: &Path) -> Vault {
    let given =
        std::env::var(KEY_VARIABLE).ok().filter(|key| !key.is_empty()).map(|key| KeyPlace::Given(Secret::new(key)));
    let file =
        || std::env::var_os(KEY_FILE_VARIABLE).filter(|path| !path.is_empty()).map(|path| KeyPlace::File(path.into()));
    Vault::new(root, given.or_else(file).unwrap_or(KeyPlace::Beside))
}

/// The error as people see it. It names secrets and never shows one.
pub fn shown(error: &secrets::Error) -> Error {
    let code = match error {
        secrets::Error::Key(_) => Code::SecretKey,
        secrets::Error::Unfit(_) => Code::BadSecret,
        secrets::Error::Missing(_) => Code::NoSecret,
        secrets::Error::Io { .. } => Code::StoreIo,
    };
    Error::new(code, error.to_string())
}
