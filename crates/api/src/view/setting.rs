//! Settings: every value with where it comes from, and changing the file.

use crate::error::{Code, Error};
use relaymesh_core::hash::Hash;
use relaymesh_runtime::settings::{self, FILE, Layers, Loaded, Source, TABLE, Value, history};
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};
use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};
use utoipa::ToSchema;

/// A setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Setting)]
pub struct Shown {
    /// Name.
    pub name: String,
    /// Current value.
    pub value: serde_json::Value,
    /// Default value.
    pub default: serde_json::Value,
    /// Source of the value.
    pub source: String,
    /// When a change applies.
    pub effect: String,
    /// Description.
    pub about: String,
    /// Minimum value.
    pub min: Option<u64>,
    /// Maximum value.
    pub max: Option<u64>,
}

/// All settings, with the revision of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = SettingList)]
pub struct All {
    /// Revision of the file; a change must cite it.
    pub revision: String,
    /// The settings.
    pub settings: Vec<Shown>,
    /// Names of the changed settings, in the answer to a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_fields: Option<Vec<String>>,
}

/// Changes of settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = SettingsHistory)]
pub struct History {
    /// The changes, newest first.
    #[schema(value_type = Vec<super::schema::SettingsChange>)]
    pub history: Vec<history::Entry>,
}

/// Every setting, in the order of the contract.
pub fn shown(loaded: &Loaded) -> Vec<Shown> {
    let all = TABLE.iter().zip(loaded.settings.values().into_iter().zip(&loaded.sources));
    let rows = all.map(|(setting, (value, source))| Shown {
        name: setting.name.to_owned(),
        value: plain(&value),
        default: plain(&setting.default),
        source: source.as_str().to_owned(),
        effect: setting.effect.as_str().to_owned(),
        about: setting.about.to_owned(),
        min: setting.bound.map(|(min, _)| min),
        max: setting.bound.map(|(_, max)| max),
    });
    rows.collect()
}

fn plain(value: &Value) -> serde_json::Value {
    match value {
        Value::Number(number) => json!(number),
        Value::Flag(flag) => json!(flag),
        Value::Text(text) => json!(text),
    }
}

/// Which version of the file is there: what a change must cite, so that nobody overwrites what they have not seen.
pub fn revision(root: &Path) -> Result<String, Error> {
    Ok(Hash::sha256(&read(root)?).to_string()[..16].to_owned())
}

/// Changes the file if it is still the one with this revision: all of it or nothing. `null` takes a setting out. It is durable when this returns.
pub fn change(layers: &Layers, seen: &str, changes: &BTreeMap<String, serde_json::Value>) -> Result<(), Error> {
    let root = &layers.root;
    let found = revision(root)?;
    if found != seen {
        let message = format!("{FILE} has changed: its revision is {found}");
        return Err(Error::new(Code::ChangedMeanwhile, message));
    }
    let text = read(root)?;
    let mut object: Map<String, serde_json::Value> = match text.trim_ascii().is_empty() {
        true => Map::new(),
        false => serde_json::from_slice(&text).map_err(|error| Error::new(Code::BadSettings, error.to_string()))?,
    };
    for (name, value) in changes {
        if value.is_null() {
            object.remove(name);
        } else {
            object.insert(name.clone(), value.clone());
        }
    }
    let new = format!("{:#}\n", serde_json::Value::Object(object));
    layers.over(Some(&new)).map_err(|error| wrong(&error))?;
    write(root, new.as_bytes()).map_err(|error| Error::new(Code::StoreIo, format!("cannot write {FILE}: {error}")))
}

fn wrong(error: &settings::Error) -> Error {
    let whose = match error.layer {
        Source::File => "",
        Source::Default | Source::Environment | Source::Flag => "together with the environment and the arguments: ",
    };
    Error::new(Code::BadSettings, format!("{whose}{}", error.message))
}

fn read(root: &Path) -> Result<Vec<u8>, Error> {
    match fs::read(root.join(FILE)) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::new(Code::StoreIo, format!("cannot read {FILE}: {error}"))),
    }
}

fn write(root: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = root.join(format!("{FILE}.new"));
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(new, root.join(FILE))?;
    File::open(root)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_needs_the_revision_that_is_there_and_is_taken_whole_or_not_at_all() {
        let root = tempfile::tempdir().unwrap();
        let layers = Layers { root: root.path().to_owned(), ..Layers::default() };
        let changes = |pairs: &[(&str, serde_json::Value)]| -> BTreeMap<String, serde_json::Value> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
        };
        let first = revision(root.path()).unwrap();
        change(&layers, &first, &changes(&[("queue_capacity", json!(7))])).unwrap();
        let again = change(&layers, &first, &changes(&[("queue_capacity", json!(8))]));
        assert_eq!(again.unwrap_err().code, Code::ChangedMeanwhile);
        let second = revision(root.path()).unwrap();
        let bad = change(&layers, &second, &changes(&[("queue_capacity", json!(9)), ("nonsense", json!(1))]));
        assert_eq!(bad.unwrap_err().code, Code::BadSettings);
        assert_eq!(layers.load().unwrap().settings.queue_capacity, 7, "none of it was taken");
        change(&layers, &second, &changes(&[("queue_capacity", json!(null))])).unwrap();
        assert_eq!(layers.load().unwrap().settings.queue_capacity, 100);
    }
}
