//! Settings: what they are, and changing them in their file.

use super::{Answered, State, Who};
use crate::{
    error::{Code, Error},
    http::{
        desk::blocking,
        json::{Json, Query, Said},
        problem::Problem,
        query::Whole,
    },
    view::setting,
};
use relaymesh_runtime::settings::{
    TABLE,
    history::{self, ENTRIES_MAX},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};
use utoipa::{IntoParams, ToSchema};

/// Lists every setting with its source, and the revision of the file. Needs a token for all namespaces.
#[utoipa::path(get, path = "/settings", tag = "settings", security(("token" = ["ro"])), responses((status = 200, body = setting::All)))]
pub(super) async fn show(house: State, who: Who) -> Answered {
    who.check_everywhere("reading settings")?;
    Ok(Said(json!(current(&house).await?)))
}

async fn current(house: &State) -> Result<setting::All, Error> {
    let desk = Arc::clone(&house.desk);
    blocking(move || {
        let revision = setting::revision(&desk.root)?;
        Ok(setting::All { revision, settings: setting::shown(&(desk.settings)()), changed_fields: None })
    })
    .await
}

/// A change of settings.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SettingsUpdate)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    /// Revision that the caller has read; if it is not current, the answer is 409 with the current state.
    revision: String,
    /// New values by name; `null` removes one from the file.
    #[schema(value_type = Object)]
    settings: BTreeMap<String, Value>,
}

/// Changes settings in their file, all or none, and loads them. Settings from the environment and from arguments are not changed. Needs a
/// token for all namespaces.
#[utoipa::path(post, path = "/settings", tag = "settings", request_body = Update, security(("token" = ["admin"])), responses((status = 200, body = setting::All)))]
pub(super) async fn update(house: State, who: Who, Json(body): Json<Update>) -> Answered {
    who.check_everywhere("changing settings")?;
    let desk = Arc::clone(&house.desk);
    let changed = blocking(move || (desk.change)(&body.revision, &body.settings)).await;
    let (_, changed) = match changed {
        Ok(changed) => changed,
        Err(error) if error.code == Code::ChangedMeanwhile => {
            return Err(Problem::from(error).with_current(json!(current(&house).await?)));
        }
        Err(error) => return Err(error.into()),
    };
    let known: Vec<&str> =
        TABLE.iter().map(|known| known.name).filter(|name| changed.iter().any(|c| c == name)).collect();
    house.desk.note(&who.caller, "settings.update", None, &[("changed_fields", &known.join(","))]).await?;
    let shown = current(&house).await?;
    Ok(Said(json!(setting::All { changed_fields: Some(changed), ..shown })))
}

/// How many.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryQuery {
    /// Maximum number of results, from 1 to 1000; by default, 20.
    #[param(value_type = Option<u64>)]
    limit: Option<Whole<1, { ENTRIES_MAX as u64 }>>,
}

/// Lists changes of settings, newest first: names, never values. Needs a token for all namespaces.
#[utoipa::path(get, path = "/settings/history", tag = "settings", params(HistoryQuery), security(("token" = ["ro"])), responses((status = 200, body = setting::History)))]
pub(super) async fn history(house: State, who: Who, Query(query): Query<HistoryQuery>) -> Answered {
    who.check_everywhere("reading settings")?;
    let (root, limit) = (house.desk.root.clone(), query.limit.map_or(20, Whole::count));
    let entries = blocking(move || {
        history::newest(&root, limit).map_err(|error| Error::new(Code::StoreIo, format!("{}: {error}", history::FILE)))
    });
    Ok(Said(json!(setting::History { history: entries.await? })))
}
