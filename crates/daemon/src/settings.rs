//! The settings of a root, for commands.

use relaymesh_api::error::{Code, Error, Place};
use relaymesh_core::suggest;
use relaymesh_runtime::settings::{self, FILE, Layers, Loaded, Source, TABLE, VARIABLE_PREFIX};
use std::path::Path;

/// Where the settings of this root are looked for; `flags` are names and values of arguments.
pub fn layers(root: &Path, flags: &[(String, String)]) -> Layers {
    let ours = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        let name = name.into_string().ok().filter(|name| name.starts_with(VARIABLE_PREFIX))?;
        // What is not text is no value of any setting, and is refused as such.
        Some((name, value.to_string_lossy().into_owned()))
    };
    let variables = std::env::vars_os().filter_map(ours).collect();
    Layers { root: root.to_owned(), variables, flags: flags.to_vec() }
}

/// The settings, or where they are wrong.
pub fn load(layers: &Layers) -> Result<Loaded, Error> {
    layers.load().map_err(|error| shown(error, &layers.root))
}

/// The error as people see it, with its place in the file.
pub fn shown(error: settings::Error, root: &Path) -> Error {
    let file = root.join(FILE);
    let place = error.place.map(|(line, column)| {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let text = text.lines().nth(line.saturating_sub(1)).unwrap_or_default().chars().take(160).collect();
        Place { file: file.display().to_string(), line, column: column.max(1), text }
    });
    let message = match (error.layer, place.is_some()) {
        (Source::File, false) => format!("{}: {}", file.display(), error.message),
        (Source::Flag, _) => format!("--set {}", error.message),
        (Source::File, true) | (Source::Environment | Source::Default, _) => error.message,
    };
    let near = error.unknown.as_deref().and_then(|name| suggest::nearest(name, TABLE.iter().map(|known| known.name)));
    let shown = Error::new(Code::BadSettings, message).at(place);
    match near {
        Some(near) => shown.hint(format!("did you mean `{near}`?")),
        None => shown,
    }
}
