//! Content by its hash: inputs, results and artifacts, streamed.

use super::{State, Who, id, tasks::rows};
use crate::{
    error::{Code, Error},
    http::{json::Query, problem::Problem},
};
use axum::{
    body::Body,
    extract::Path,
    http::header,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures_util::stream;
use relaymesh_core::{
    content::{ContentRef, Media},
    hash::Hash,
    id::TaskId,
    task::TaskRows,
};
use relaymesh_store::ContentKey;
use serde::Deserialize;
use std::convert::Infallible;
use utoipa::IntoParams;

/// Bytes that are sent at once.
const PART_BYTES: usize = 64 << 10;

/// Whose content.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct ContentQuery {
    /// The task that names it: who may see the task may see what it names.
    task: String,
}

/// What a task names by this hash, checked against it, in parts.
#[utoipa::path(
    get, path = "/content/{hash}", tag = "content", params(("hash" = String, Path), ContentQuery), security(("token" = ["ro", "agent"])),
    responses((status = 200, content_type = "application/octet-stream", body = String)),
)]
pub(super) async fn download(
    house: State,
    who: Who,
    Path(hash): Path<String>,
    Query(query): Query<ContentQuery>,
) -> Result<Response, Problem> {
    let (hash, task, who): (Hash, TaskId, _) = (id(&hash)?, id(&query.task)?, who.0);
    let found = house.desk.readers.read(move |reader| {
        let rows = rows(reader, &who, task)?;
        let missing = || Error::new(Code::NoContent, format!("{task} names nothing with the hash {hash}"));
        let (named, key) = places(&rows).into_iter().find(|(named, _)| named.hash == hash).ok_or_else(missing)?;
        let bytes = reader.bytes(key)?.ok_or_else(missing)?;
        named.check(&bytes).map_err(|damaged| Error::new(Code::Damaged, damaged.to_string()))?;
        Ok((named.media, bytes))
    });
    let (media, bytes) = found.await?;
    let media = match media {
        Media::Json => "application/json",
        Media::Text => "text/plain; charset=utf-8",
    };
    let length = bytes.len().to_string();
    let parts = stream::unfold(Bytes::from(bytes), |mut rest| async move {
        let part = rest.split_to(rest.len().min(PART_BYTES));
        (!part.is_empty()).then_some((Ok::<_, Infallible>(part), rest))
    });
    let headers = [
        (header::CONTENT_TYPE, media.to_owned()),
        (header::CONTENT_LENGTH, length),
        // Whatever it is, a browser must not take it for a page of ours.
        (header::CONTENT_DISPOSITION, "attachment".to_owned()),
    ];
    Ok((headers, Body::from_stream(parts)).into_response())
}

/// Everything that the rows name, and where it lies.
fn places(rows: &TaskRows) -> Vec<(ContentRef, ContentKey)> {
    let mut found = Vec::new();
    for (index, step) in rows.indexed() {
        found.extend(step.spec.input.map(|named| (named, ContentKey::new(rows.task.key, rows.input_place(index)))));
        found.extend(step.result.map(|named| (named, ContentKey::new(step.result_pos, 0))));
        found.extend(step.output_artifacts.iter().map(|artifact| (artifact.content, ContentKey::new(artifact.pos, 0))));
    }
    found
}
