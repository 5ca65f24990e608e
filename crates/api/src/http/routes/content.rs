//! Content by its hash: inputs, results and artifacts down, inputs up; streamed both ways.

use super::{State, Who, id, messages::there, tasks::rows};
use crate::{
    error::{Code, Error},
    http::{
        desk::{Desk, blocking},
        json::{self, Query, Said},
        principal::Principal,
        problem::Problem,
    },
    view::{message, place},
};
use axum::{
    body::Body,
    extract::{Path, Request as HttpRequest},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures_util::stream;
use relaymesh_core::{
    canonical,
    content::{ContentRef, Media},
    hash::{Hash, Parts},
    id::{TaskId, ThreadId},
    message::Message,
    name::Name,
};
use relaymesh_store::{Content, ContentKey, Reader};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    sync::Arc,
};
use utoipa::{IntoParams, ToSchema};

/// Bytes that are read and sent at once.
const PART_BYTES: usize = 64 << 10;

/// Whose content.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct ContentQuery {
    /// Task that uses the content; the token must be allowed to read the task.
    task: Option<String>,
    /// Thread with a message that has the content, instead of `task`. An agent may read the messages from and to it.
    thread: Option<String>,
}

/// Whose content it is.
enum Owner {
    Task(TaskId),
    Thread(ThreadId),
}

impl ContentQuery {
    fn owner(&self) -> Result<Owner, Error> {
        match (&self.task, &self.thread) {
            (Some(task), None) => id(task).map(Owner::Task),
            (None, Some(thread)) => id(thread).map(Owner::Thread),
            (Some(_), Some(_)) | (None, None) => Err(Error::new(Code::Usage, "give `task` or `thread`")),
        }
    }
}

impl Owner {
    /// Where the content with this hash lies that it names, and that the caller may read.
    fn place(&self, reader: &mut dyn Reader, who: &Principal, hash: Hash) -> Result<(ContentRef, ContentKey), Error> {
        let found = match self {
            Self::Task(task) => place(&rows(reader, who, *task)?, &hash),
            Self::Thread(thread) => {
                let is_theirs = |row: &Message| {
                    let own = [&row.draft.to, &row.draft.from];
                    own.into_iter().any(|agent| who.check_agent(agent).is_ok())
                };
                message::place(&there(reader, who, *thread)?, &hash, is_theirs)
            }
        };
        found.ok_or_else(|| Error::new(Code::NoContent, format!("no content with the hash {hash} is named there")))
    }
}

/// Downloads content of a task or a message by its hash, as a stream. The bytes are checked against the hash.
#[utoipa::path(
    get, path = "/content/{hash}", tag = "content", params(("hash" = String, Path), ContentQuery), security(("token" = ["ro", "agent"])),
    responses((status = 200, description = "the bytes", content(
        (Value = "application/json"), (String = "text/plain"),
    ))),
)]
pub(super) async fn download(
    house: State,
    who: Who,
    Path(hash): Path<String>,
    Query(query): Query<ContentQuery>,
) -> Result<Response, Problem> {
    let (hash, owner, who): (Hash, _, _) = (id(&hash)?, query.owner()?, who.0);
    let found = house.desk.readers.read(move |reader| {
        let (named, key) = owner.place(reader, &who, hash)?;
        let missing = || Error::new(Code::Damaged, format!("the content {hash} is missing"));
        let content = reader.content(key)?.ok_or_else(missing)?;
        if let Content::Inline(bytes) = &content {
            named.check(bytes).map_err(|damaged| Error::new(Code::Damaged, damaged.to_string()))?;
        }
        Ok((named, content))
    });
    let (named, content) = found.await?;
    let media = match named.media {
        Media::Json => "application/json",
        Media::Text => "text/plain; charset=utf-8",
    };
    let body = match content {
        Content::Inline(bytes) => Body::from(bytes),
        Content::Blob(_) => {
            let desk = Arc::clone(&house.desk);
            let file = blocking(move || checked(&desk, named)).await?;
            Body::from_stream(stream::try_unfold(file, |file| async move {
                let read = blocking(move || part(file)).await;
                read.map_err(|error| std::io::Error::other(error.message))
            }))
        }
    };
    let headers = [
        (header::CONTENT_TYPE, media.to_owned()),
        (header::CONTENT_LENGTH, named.len.to_string()),
        // A browser must not treat the content as a page of ours.
        (header::CONTENT_DISPOSITION, "attachment".to_owned()),
    ];
    Ok((headers, body).into_response())
}

/// The file of a blob with the expected hash. A damaged one is refused before the first byte is sent.
pub(in crate::http) fn checked(desk: &Desk, named: ContentRef) -> Result<File, Error> {
    let unreadable = |error: std::io::Error| Error::new(Code::StoreIo, format!("the blob cannot be read: {error}"));
    let missing = || Error::new(Code::Damaged, format!("the blob {} is missing", named.hash));
    let mut file = (desk.blob)(&named.hash)?.ok_or_else(missing)?;
    let (mut parts, mut len, mut buffer) = (Parts::default(), 0, vec![0; PART_BYTES]);
    loop {
        let read = file.read(&mut buffer).map_err(unreadable)?;
        if read == 0 {
            break;
        }
        parts.update(&buffer[..read]);
        len += read as u64;
    }
    if parts.hash() != named.hash || len != u64::from(named.len) {
        return Err(Error::new(Code::Damaged, format!("the blob {} is damaged", named.hash)));
    }
    file.seek(SeekFrom::Start(0)).map_err(unreadable)?;
    Ok(file)
}

/// The next part of a file, and the file for the one after it.
pub(in crate::http) fn part(mut file: File) -> Result<Option<(Bytes, File)>, Error> {
    let mut buffer = vec![0; PART_BYTES];
    let read = file.read(&mut buffer);
    let read = read.map_err(|error| Error::new(Code::StoreIo, format!("the blob cannot be read: {error}")))?;
    buffer.truncate(read);
    Ok((read > 0).then(|| (Bytes::from(buffer), file)))
}

/// What it must be.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct UploadQuery {
    /// Namespace.
    #[param(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Expected SHA-256 of all bytes; if it differs, nothing is stored.
    #[param(value_type = Option<String>)]
    sha256: Option<Hash>,
}

/// Answer to an upload.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UploadedContent)]
pub(super) struct Uploaded {
    /// SHA-256, to use as `input_hash`.
    #[schema(value_type = String)]
    hash: Hash,
    /// Length in bytes.
    bytes: u32,
    /// Time until which it is kept unless a task uses it, in milliseconds since 1970.
    until_ms: u64,
}

/// Uploads content of any length, as a stream. It is durable when this answers. For one hour, or until the daemon stops, the same token can
/// use it as the `input_hash` of submits; content that no task uses is then deleted.
#[utoipa::path(
    post, path = "/content", tag = "content", params(UploadQuery), request_body(content = String, content_type = "application/octet-stream"),
    security(("token" = ["rw"])), responses((status = 201, body = Uploaded)),
)]
pub(super) async fn upload(
    house: State,
    who: Who,
    Query(query): Query<UploadQuery>,
    request: HttpRequest,
) -> Result<Response, Problem> {
    let namespace = who.namespace(query.namespace)?;
    house.uploads.check()?;
    let max = house.desk.settings().payload_max_bytes;
    let too_long = || {
        let error = Error::new(Code::TooLong, format!("the content is longer than {max} bytes"));
        error.hint("`payload_max_bytes` is the limit")
    };
    let (mut body, mut bytes) = (request.into_body(), 0);
    // If `Content-Length` is already too long, refuse before reading.
    if http_body::Body::size_hint(&body).lower() > max {
        return Err(too_long().into());
    }
    let desk = Arc::clone(&house.desk);
    let mut upload = blocking(move || (desk.upload)()).await?;
    while let Some(part) = json::next(&mut body).await? {
        bytes += part.len() as u64;
        if bytes > max {
            return Err(too_long().into());
        }
        upload = blocking(move || upload.write(&part).map(|()| upload)).await?;
    }
    let blob = blocking(move || upload.finish()).await?;
    let (hash, bytes) = (blob.hash, blob.len);
    if query.sha256.is_some_and(|expected| expected != hash) {
        drop(blob);
        let desk = Arc::clone(&house.desk);
        blocking(move || (desk.sweep)(&hash)).await?;
        return Err(Error::new(Code::BadInput, format!("the received bytes have the hash {hash}")).into());
    }
    let until_ms = house.uploads.keep(blob, who.caller.author.clone());
    let about = [("hash", hash.to_string()), ("bytes", bytes.to_string())];
    let about = about.each_ref().map(|(name, value)| (*name, value.as_str()));
    house.desk.note(&who.caller, "content.upload", Some(&namespace), &about).await?;
    Ok((StatusCode::CREATED, Said(json!(Uploaded { hash, bytes, until_ms }))).into_response())
}

/// What the caller has uploaded with this hash, as an input.
pub(super) async fn uploaded(house: &State, who: &Who, hash: Hash) -> Result<Value, Error> {
    let missing = || {
        let error = Error::new(Code::NoContent, format!("this token has not uploaded content with the hash {hash}"));
        error.hint("upload it with `POST /api/v1/content`; it is kept for an hour")
    };
    let blob = house.uploads.find(hash, &who.caller.author).ok_or_else(missing)?;
    let desk = Arc::clone(&house.desk);
    blocking(move || {
        let mut bytes = Vec::with_capacity(blob.len as usize);
        let mut file = checked(&desk, ContentRef { hash, len: blob.len, media: Media::Json })?;
        let read = file.read_to_end(&mut bytes);
        read.map_err(|error| Error::new(Code::StoreIo, format!("the upload cannot be read: {error}")))?;
        canonical::parse(&bytes)
            .map_err(|error| Error::new(Code::BadInput, format!("the upload cannot be used as an input: {error}")))
    })
    .await
}
