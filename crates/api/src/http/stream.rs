//! Documents as the bodies of answers: written part by part, as they are read.
//!
//! What a client that does not read makes the daemon hold is one part. Long content is never held: it goes from the file of its blob to the
//! connection. It is checked against its hash before its first byte is sent. What is found damaged later than the status was sent ends the
//! connection before the end of the answer, so nobody takes half of it for all.

use super::{
    desk::{Desk, blocking},
    routes::content::{checked, part},
};
use crate::{
    error::{Code, Error},
    view::document::{Document, Piece, Written},
};
use axum::{
    body::Body,
    http::header,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures_util::stream;
use relaymesh_core::{
    content::{ContentRef, Media},
    hash::Hash,
};
use serde::de::IgnoredAny;
use std::{
    collections::{HashMap, VecDeque},
    fs::File,
    io::{BufReader, Seek as _, SeekFrom},
    sync::Arc,
};

/// Documents, with what is written before, between and after them.
pub(super) struct Documents {
    all: VecDeque<Document>,
    before: &'static str,
    after: &'static str,
}

impl Documents {
    /// One, as it is.
    pub(super) fn one(document: Document) -> Self {
        Self { all: VecDeque::from([document]), before: "", after: "" }
    }

    /// One or several, within this.
    pub(super) fn within(before: &'static str, all: Vec<Document>, after: &'static str) -> Self {
        Self { all: all.into(), before, after }
    }

    /// Their answer. The first part is read before it has a status.
    pub(super) async fn answer(self, desk: &Arc<Desk>) -> Result<Response, Error> {
        let headers = [(header::CONTENT_TYPE, "application/json")];
        let Self { mut all, before, after } = self;
        if let Some(mut first) = all.pop_front_if(|first| !first.has_begun()) {
            let read = desk.readers.read(move |reader| first.fill(reader).map(|()| first));
            all.push_front(read.await?);
        }
        let mut text = before.as_bytes().to_vec();
        while let Some(document) = all.front_mut() {
            match document.piece() {
                Some(Piece::Text(piece)) => text.extend(piece),
                Some(blob @ Piece::Blob(_)) => {
                    document.put_back(blob);
                    break;
                }
                None if document.is_over() && all.len() == 1 => {
                    text.extend_from_slice(after.as_bytes());
                    return Ok((headers, text).into_response());
                }
                None => break,
            }
        }
        if all.is_empty() {
            text.extend_from_slice(after.as_bytes());
        }
        let writer =
            Writer { desk: Arc::clone(desk), all, after, ready: Some(text.into()), blob: None, known: HashMap::new() };
        let parts = stream::try_unfold(writer, |mut writer| async move {
            let part = writer.next().await.map_err(|error| std::io::Error::other(error.message))?;
            Ok::<_, std::io::Error>(part.map(|part| (part, writer)))
        });
        Ok((headers, Body::from_stream(parts)).into_response())
    }
}

/// Writes documents, one part after the other.
struct Writer {
    desk: Arc<Desk>,
    /// The first of them is under way.
    all: VecDeque<Document>,
    after: &'static str,
    ready: Option<Bytes>,
    /// The blob that is being written.
    blob: Option<(File, Written)>,
    /// Blobs that were found whole, and what is in them: documents name the same one again and again.
    known: HashMap<Hash, Media>,
}

impl Writer {
    /// The next part; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            if let Some(ready) = self.ready.take().filter(|ready| !ready.is_empty()) {
                return Ok(Some(ready));
            }
            if let Some((file, mut written)) = self.blob.take() {
                self.ready = Some(match blocking(move || part(file)).await? {
                    Some((bytes, file)) => {
                        let text = written.part(bytes.into());
                        self.blob = Some((file, written));
                        text.into()
                    }
                    None => written.end().into(),
                });
                continue;
            }
            let Some(document) = self.all.front_mut() else { return Ok(None) };
            match document.piece() {
                Some(Piece::Text(text)) => self.ready = Some(text.into()),
                Some(Piece::Blob(named)) => self.blob = Some(self.open(named).await?),
                None if document.is_over() => {
                    self.all.pop_front();
                    let rest = if self.all.is_empty() { self.after } else { "," };
                    self.ready = Some(Bytes::from_static(rest.as_bytes()));
                }
                None => self.fill().await?,
            }
        }
    }

    /// Reads the next part. An answer that has begun cannot be told to come again, so it waits for its turn.
    async fn fill(&mut self) -> Result<(), Error> {
        let Some(mut document) = self.all.pop_front() else { return Ok(()) };
        let read = self.desk.readers.read_in_turn(move |reader| document.fill(reader).map(|()| document));
        self.all.push_front(read.await?);
        Ok(())
    }

    async fn open(&mut self, named: ContentRef) -> Result<(File, Written), Error> {
        let (desk, known) = (Arc::clone(&self.desk), self.known.get(&named.hash).copied());
        let opened = blocking(move || match known {
            Some(media) => {
                let missing = || Error::new(Code::Damaged, format!("the blob {} is missing", named.hash));
                Ok(((desk.blob)(&named.hash)?.ok_or_else(missing)?, media))
            }
            None => {
                let mut file = checked(&desk, named)?;
                let is_json = named.media == Media::Json
                    && serde_json::from_reader::<_, IgnoredAny>(BufReader::new(&mut file)).is_ok();
                let unreadable = |error| Error::new(Code::StoreIo, format!("the blob cannot be read: {error}"));
                file.seek(SeekFrom::Start(0)).map_err(unreadable)?;
                Ok((file, if is_json { Media::Json } else { Media::Text }))
            }
        });
        let (file, media) = opened.await?;
        self.known.insert(named.hash, media);
        Ok((file, Written::new(media)))
    }
}
