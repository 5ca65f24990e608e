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
    asks("RELAYMESH_MESH_ENABLED", "false", "Run as one of several nodes."),
    says("RELAYMESH_MESH_NODE_ID", "made at `init`", "Id of this node."),
    says("RELAYMESH_MESH_CONTROL_ADDR", "none", "Address for finding the other nodes."),
    says("RELAYMESH_MESH_SCOPE_ID", "none", "Id of the mesh."),
    asks("RELAYMESH_DB_URL", "none", "Database that several nodes share."),
    says("RELAYMESH_DB_TOKEN", "none", "Token for that database."),
    says("RELAYMESH_DB_PATH", "`cache/db/local.db` in the root", "Path of the local read replica of that database."),
    says("RELAYMESH_DB_CIRCUIT_BREAKER", "false", "Stop using that database for a while after repeated failures."),
    says("RELAYMESH_MESH_TOKEN", "none", "Token with which other nodes join."),
];

/// The first variable that asks for what is not there.
pub(super) fn asked(variables: &[(String, String)]) -> Option<&'static str> {
    let is_on = |value: &str| !matches!(value.to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off");
    let mut asking = VARIABLES.iter().filter(|variable| variable.is_asking);
    asking
        .find(|variable| variables.iter().any(|(name, value)| name == variable.name && is_on(value)))
        .map(|variable| variable.name)
}
