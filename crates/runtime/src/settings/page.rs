//! The settings for people and for editors, made from the table.

use super::{
    TABLE, Value,
    mesh::{self, Variable},
};
use serde_json::json;

/// The reference page, in Markdown.
pub fn reference() -> String {
    let head = "\
# Settings

Generated from the program by `cargo xtask gen`; a test checks that it is current. [The guide](../how-to/settings.md) shows how to use them.

Later sources win: the default, `relaymesh-settings.json` in the root, `RELAYMESH_<NAME>` (the name in capitals), `relaymesh up --set NAME=VALUE`.

| setting | default | range | a change applies | description |
|---|---|---|---|---|
";
    let row = |setting: &super::Setting| {
        let bounds = match (&setting.default, setting.bound) {
            (_, Some((min, max))) => format!("{min} to {max}"),
            (Value::Text(_), None) => setting.allowed(),
            (Value::Number(_) | Value::Flag(_), None) => "true, false".to_owned(),
        };
        let (name, default, effect) = (setting.name, &setting.default, setting.effect.as_str());
        format!("| `{name}` | {default} | {bounds} | {effect} | {} |\n", setting.about)
    };
    let tail = "
Rules: `base_backoff_ms` is at most `max_backoff_ms`, `lease_heartbeat_ms` is less than half of `lease_timeout_ms`,
`thread_pool_core` is at most `thread_pool_max`, `suspect_recover_min_ms` is at most `dead_recover_min_ms`.

## Of a mesh

This version runs on one machine only; these variables are reserved. With `RELAYMESH_MESH_ENABLED` or `RELAYMESH_DB_URL`, the daemon
refuses to start, so that it is not mistaken for one of several; the others have no effect yet.

| variable | default | description |
|---|---|---|
";
    let kept = |Variable { name, default, about, .. }: &Variable| format!("| `{name}` | {default} | {about} |\n");
    format!(
        "{head}{}{tail}{}",
        TABLE.iter().map(row).collect::<String>(),
        mesh::VARIABLES.iter().map(kept).collect::<String>()
    )
}

/// A JSON schema of the file.
pub fn schema() -> serde_json::Value {
    let property = |setting: &super::Setting| {
        let mut property = match &setting.default {
            Value::Number(number) => json!({ "type": "integer", "default": number }),
            Value::Flag(flag) => json!({ "type": "boolean", "default": flag }),
            Value::Text(text) => json!({ "type": "string", "default": text }),
        };
        if let Some((min, max)) = setting.bound {
            property["minimum"] = json!(min);
            property["maximum"] = json!(max);
        }
        property["description"] = json!(format!("{} A change applies: {}.", setting.about, setting.effect.as_str()));
        (setting.name.to_owned(), property)
    };
    let mut properties: serde_json::Map<String, serde_json::Value> = TABLE.iter().map(property).collect();
    properties.insert("$schema".to_owned(), json!({ "type": "string" }));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "RelayMesh settings",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    })
}

#[cfg(test)]
mod tests {
    const PAGE: &str = include_str!("../../../../docs/reference/settings.md");

    #[test]
    fn the_reference_page_is_what_the_table_says() {
        assert_eq!(PAGE, super::reference(), "`cargo xtask gen` makes it anew");
    }

    #[test]
    fn the_schema_knows_every_setting() {
        let schema = super::schema();
        for setting in super::TABLE {
            let property = &schema["properties"][setting.name];
            assert_eq!(property["minimum"].as_u64(), setting.bound.map(|(min, _)| min), "{}", setting.name);
            assert!(property["description"].as_str().unwrap().contains(setting.about), "{}", setting.name);
        }
        assert_eq!(schema["additionalProperties"], false);
    }
}
