//! Variables of a mesh (V11). There is none in this version: whoever asks for one is told so, because a node that was meant to be one of
//! several and is alone must not look as if all were well (V9).

/// A variable of a mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it is when nobody says anything.
    pub default: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Whether it asks for something that is not there; the others only say how.
    is_asking: bool,
}

const fn asks(name: &'static str, default: &'static str, about: &'static str) -> Variable {
    Variable { name, default, about, is_asking: true }
}

const fn says(name: &'static str, default: &'static str, about: &'static str) -> Variable {
    Variable { name, default, about, is_asking: false }
}

/// All of them, in the order of the contract.
pub const VARIABLES: [Variable; 9] = [
    asks("RELAYMESH_MESH_ENABLED", "false", "Whether the node is one of several."),
    says("RELAYMESH_MESH_NODE_ID", "made at `init`", "Which one it is."),
    says("RELAYMESH_MESH_CONTROL_ADDR", "none", "Where the others are asked for."),
    says("RELAYMESH_MESH_SCOPE_ID", "none", "Whose mesh it is."),
    asks("RELAYMESH_DB_URL", "none", "The database that several nodes share."),
    says("RELAYMESH_DB_TOKEN", "none", "The token for it."),
    says("RELAYMESH_DB_PATH", "`cache/db/local.db` in the root", "Where its copy for reading lies."),
    says(
        "RELAYMESH_DB_CIRCUIT_BREAKER",
        "false",
        "Whether it is left alone for a while when it fails again and again.",
    ),
    says("RELAYMESH_MESH_TOKEN", "none", "What other nodes show to be let in."),
];

/// The first variable that asks for what is not there.
pub(super) fn asked(variables: &[(String, String)]) -> Option<&'static str> {
    let is_on = |value: &str| !matches!(value.to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off");
    let mut asking = VARIABLES.iter().filter(|variable| variable.is_asking);
    asking
        .find(|variable| variables.iter().any(|(name, value)| name == variable.name && is_on(value)))
        .map(|variable| variable.name)
}
