//! Encoding and decoding: what was written is read back, and what was not written is refused by name.

use super::{
    arbitrary,
    samples::{body, bytes_of, header, one_of_each},
};
use crate::{
    canonical, message,
    op::{Body, CAUSAL_DEPS_MAX, DecodeError, Kind, Op, append},
    task,
};
use proptest::prelude::*;

proptest! {
    #[test]
    fn what_was_encoded_is_decoded(header in arbitrary::header(), body in arbitrary::body(), pos: u64) {
        let op = Op::decode(pos, &bytes_of(&header, &body)).unwrap();
        prop_assert_eq!(op, Op { pos, header, body });
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Op::decode(1, &bytes);
        let mut known_format = vec![1 + (bytes.len() % 2) as u8];
        known_format.extend(&bytes);
        let _ = Op::decode(1, &known_format);
    }

    #[test]
    fn arbitrary_bodies_of_a_known_kind_never_panic(
        kind in proptest::sample::select(Kind::ALL),
        rest in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut bytes = head(kind as u16, 1);
        bytes.extend(rest);
        let _ = Op::decode(1, &bytes);
    }

    #[test]
    fn encoding_appends_and_leaves_what_was_there(header in arbitrary::header(), body in arbitrary::body()) {
        let mut out = b"before".to_vec();
        Op::encode(&header, &body, &mut out);
        prop_assert_eq!(&out[..6], b"before");
        prop_assert_eq!(&out[6..], &bytes_of(&header, &body)[..]);
    }
}

#[test]
fn every_truncation_is_refused() {
    for (kind, bytes) in one_of_each() {
        for len in 0..bytes.len() {
            assert!(Op::decode(1, &bytes[..len]).is_err(), "{kind:?} cut to {len} of {}", bytes.len());
        }
    }
}

#[test]
fn no_changed_byte_panics_or_decodes_to_the_same_op() {
    for (kind, bytes) in one_of_each() {
        let op = Op::decode(1, &bytes).unwrap();
        for index in 0..bytes.len() {
            for change in [1, 2, 4, 8, 16, 32, 64, 128, 0xff] {
                let mut changed = bytes.clone();
                changed[index] ^= change;
                assert_ne!(Op::decode(1, &changed).as_ref(), Ok(&op), "{kind:?} byte {index} ^ {change:#x}");
            }
        }
    }
}

#[test]
fn trailing_bytes_are_refused_by_number() {
    for (kind, mut bytes) in one_of_each() {
        bytes.extend([0, 0, 0]);
        let error = Op::decode(1, &bytes).unwrap_err();
        let expected = DecodeError::Damaged { part: "body", detail: "3 bytes too many".to_owned() };
        assert_eq!(error, expected, "{kind:?}");
    }
}

#[test]
fn unknown_format_is_refused_by_name() {
    let (_, mut bytes) = one_of_each().remove(0);
    bytes[0] = 3;
    let error = Op::decode(1, &bytes).unwrap_err();
    assert_eq!(error, DecodeError::Format { found: 3 });
    assert!(error.to_string().contains("op format 3 is not known here"), "{error}");
    assert_eq!(Op::decode(1, &[]), Err(DecodeError::Format { found: 0 }));
}

#[test]
fn unknown_kind_and_version_are_refused_by_name() {
    for (kind, version) in [(0, 1), (Kind::ALL.len() as u16 + 1, 1), (u16::MAX, 1), (1, 0), (1, 4), (2, 2), (11, 255)] {
        let error = Op::decode(1, &head(kind, version)).unwrap_err();
        assert_eq!(error, DecodeError::Kind { kind, version });
        assert!(error.to_string().contains(&format!("kind {kind} version {version}")), "{error}");
    }
}

#[test]
fn damage_is_refused_with_the_part_that_is_damaged() {
    let part = |bytes: &[u8]| match Op::decode(1, bytes).unwrap_err() {
        DecodeError::Damaged { part, .. } => part,
        other @ (DecodeError::Format { .. } | DecodeError::Kind { .. }) => panic!("{other}"),
    };
    let (head, whole) = (head(1, 1), bytes_of(&header(1), &body(Kind::ScheduleJob)));
    assert_eq!(part(&whole[..20]), "header");
    assert_eq!(part(&head[..head.len() - 1]), "kind");
    assert_eq!(part(&whole[..whole.len() - 1]), "body");
}

#[test]
fn an_op_that_cites_more_than_allowed_is_refused() {
    let mut header = header(1);
    header.causal_deps = vec![header.op_id; CAUSAL_DEPS_MAX];
    assert!(Op::decode(1, &bytes_of(&header, &body(Kind::CancelTask))).is_ok());
    header.causal_deps.push(header.op_id);
    let detail = "it cites 257 ops, more than 256".to_owned();
    let expected = DecodeError::Damaged { part: "header", detail };
    assert_eq!(Op::decode(1, &bytes_of(&header, &body(Kind::CancelTask))), Err(expected));
}

#[test]
fn kinds_and_bodies_name_each_other() {
    for kind in Kind::ALL {
        assert_eq!(body(*kind).kind(), *kind);
        assert_eq!(serde_json::to_value(body(*kind)).unwrap()["kind"], format!("{kind:?}"));
    }
}

#[test]
fn every_body_has_a_canonical_json_form_and_comes_back_from_it() {
    for kind in Kind::ALL {
        let mut body: Body = body(*kind);
        if let Body::Task(task::Body::ScheduleJob { schedule }) = &mut body {
            schedule.trace_id = u128::MAX; // no JSON number holds it
        }
        if let Body::Message(message::Body::SendMessage { draft }) = &mut body {
            draft.trace_id = u128::MAX;
        }
        let text = canonical::to_vec(&serde_json::to_value(&body).unwrap()).unwrap();
        assert_eq!(serde_json::from_slice::<Body>(&text).unwrap(), body);
    }
}

/// An op without a body: format, header, kind and version.
fn head(kind: u16, version: u8) -> Vec<u8> {
    let mut bytes = vec![1];
    append(&header(1), &mut bytes);
    append(&(kind, version), &mut bytes);
    bytes
}
