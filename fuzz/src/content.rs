//! The content index: references on the log, keys of the tables, and the bytes that they name.

use crate::{samples, say, survives_json, survives_postcard};
use relaymesh_core::{
    content::{ContentRef, INLINE_BYTES_MAX, Media},
    task::artifact::inference::{Inference, SourceJob},
};
use relaymesh_store::{Blob, Content, ContentKey, StepKey};

/// The data is a key, a reference in either form, and content; references are checked against all of it.
pub fn target(data: &[u8]) {
    if let Some(raw) = data.first_chunk::<8>() {
        keys(u64::from_be_bytes(*raw));
    }
    for media in [Media::Json, Media::Text] {
        let named = ContentRef::of(media, data);
        assert_eq!(named.check(data), Ok(()));
        survives_json(&named);
        survives_postcard(&named);
        if let Some((_, shorter)) = data.split_last() {
            say(&named.check(shorter).expect_err("a byte is missing"));
        }
    }
    match postcard::take_from_bytes::<ContentRef>(data) {
        Ok((named, rest)) => reference(&named, rest),
        Err(error) => say(&error),
    }
    match Inference::parse(data) {
        Ok(inference) => {
            let (bytes, named) = inference.to_content().expect("a snapshot can be recorded");
            assert_eq!((&bytes[..], named), (data, ContentRef::of(Media::Json, data)), "one spelling");
        }
        Err(error) => say(&error),
    }
    // What serde_json says about another text quotes it; nobody is shown that.
    if let Ok(named) = serde_json::from_slice::<ContentRef>(data) {
        reference(&named, data);
    }
}

fn keys(raw: u64) {
    let step = StepKey::from_raw(raw);
    assert_eq!((step.raw(), StepKey::new(step.task(), step.place())), (raw, step));
    let content = ContentKey::from_raw(raw);
    assert_eq!((content.raw(), ContentKey::new(content.pos(), content.place())), (raw, content));
}

fn reference(named: &ContentRef, bytes: &[u8]) {
    survives_json(named);
    survives_postcard(named);
    let as_blob = Content::Blob(Blob::new(named.hash, named.len, None));
    assert_eq!(as_blob.named(named.media), *named);
    assert_eq!(as_blob.check(named), Ok(()));
    let inline = Content::Inline(bytes[..bytes.len().min(INLINE_BYTES_MAX)].to_vec());
    assert_eq!(inline.check(named).is_ok(), inline.named(named.media) == *named);
    match named.check(bytes) {
        Ok(()) => assert_eq!(ContentRef::of(named.media, bytes), *named),
        Err(damaged) => say(&damaged),
    }
}

/// References in both forms, with the bytes that they name and with others.
pub fn seeds() -> Vec<Vec<u8>> {
    let bytes = b"{\"answer\":42}";
    let named = ContentRef::of(Media::Json, bytes);
    let binary = postcard::to_stdvec(&named).expect("a reference encodes");
    let json = serde_json::to_vec(&ContentRef::of(Media::Text, bytes)).expect("a reference has a JSON form");
    let source = SourceJob { task: samples::task_id(), step: 1, epoch: 2 };
    let parameters = [("seed".to_owned(), 7.into()), ("temperature".to_owned(), 0.2.into())].into_iter().collect();
    let (inference, _) = Inference::new("2+2?".into(), "acme/large-2", parameters, "4".into(), source)
        .to_content()
        .expect("a sample can be recorded");
    let key = ContentKey::new(77, 4095).raw().to_be_bytes();
    vec![[&binary[..], bytes].concat(), [&binary[..], b"{}"].concat(), json, inference, key.to_vec()]
}
